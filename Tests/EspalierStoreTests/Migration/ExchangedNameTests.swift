// Two parts of a model that exchange their names, where nothing may be migrated: the names of both models are the same,
// and so are the types, but each name stands for other values.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ExchangedNameTests {
    /// The parts that exchange their names.
    enum Exchange: String, CaseIterable {
        case attributes, toOneRelationships, toManyRelationships, entities

        /// The reason for which a store refuses the newer model.
        var reason: String {
            switch self {
            case .attributes: "entity Album: attribute title was called motto, attribute motto was called title"
            case .toOneRelationships:
                "entity Album: relationship first was called second, relationship second was called first"
            case .toManyRelationships:
                "entity Album: relationship notes was called hints, relationship hints was called notes"
            case .entities: "entity Draft was called Memo; entity Memo was called Draft"
            }
        }
    }

    private func model(_ exchange: Exchange? = nil) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("title", .string),
                    AttributeDescription("motto", .string),
                ],
                relationships: [
                    RelationshipDescription("first", to: "Note"), RelationshipDescription("second", to: "Note"),
                    RelationshipDescription("notes", to: "Note", .toMany),
                    RelationshipDescription("hints", to: "Note", .toMany),
                ]),
            EntityDescription("Note", attributes: [AttributeDescription("serial", .integer64)]),
            EntityDescription("Draft", attributes: [AttributeDescription("serial", .integer64)]),
            EntityDescription("Memo", attributes: [AttributeDescription("serial", .integer64)]),
        ]
        switch exchange {
        case nil: break
        case .attributes:
            entities[0].attributes[1].renamingIdentifier = "motto"
            entities[0].attributes[2].renamingIdentifier = "title"
        case .toOneRelationships:
            entities[0].relationships[0].renamingIdentifier = "second"
            entities[0].relationships[1].renamingIdentifier = "first"
        case .toManyRelationships:
            entities[0].relationships[2].renamingIdentifier = "hints"
            entities[0].relationships[3].renamingIdentifier = "notes"
        case .entities:
            entities[2].renamingIdentifier = "Memo"
            entities[3].renamingIdentifier = "Draft"
        }
        return try ManagedObjectModel(entities: entities)
    }

    private func makeStore(at path: String) throws {
        let model = try model()
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        for serial in [11, 12] as [Int64] { try graph.add(serial, "Note") }
        try graph.add(
            1, "Album", ["title": .string("the title"), "motto": .string("the motto")], to: ["first": 11, "second": 12])
        try graph.link(1, "notes", [11])
        try graph.link(1, "hints", [12])
        try graph.add(21, "Draft")
        try graph.add(31, "Memo")
        try graph.save(in: store)
        try store.close()
    }

    private func reason(_ body: () throws -> Void) -> String? {
        do throws(any Error) { try body() } catch {
            if case .incompatibleModel(_, let reason)? = error as? StoreError { return reason }
        }
        return nil
    }

    @Test(arguments: Exchange.allCases)
    func `names that are exchanged are refused where nothing may be migrated`(_ exchange: Exchange) throws {
        try withStorePath { path in
            try makeStore(at: path)
            let old = try BTreeStore.openWithStoredModel(path: path)
            let before = try GraphDump(old)
            try old.close()
            let newer = try model(exchange)

            let refused = reason { try BTreeStore.open(path: path, model: newer, migration: .off).close() }
            let unread = reason { try BTreeStore.open(path: path, model: newer, isReadOnly: true).close() }

            let differences = "the model differs: \(exchange.reason); "
            #expect(refused?.hasPrefix(differences) == true && unread?.hasPrefix(differences) == true)
            // Nothing was recorded: the older model still reads its values, and a migration exchanges them.
            let still = try BTreeStore.open(path: path, model: try model(), migration: .off)
            #expect(try GraphDump(still) == before)
            try still.close()
            let migrated = try BTreeStore.open(path: path, model: newer)
            let after = try GraphDump(migrated)
            try migrated.close()
            #expect(after != before && Self.exchanging(after, exchange) == before)
            // The names stand for the same parts from now on.
            let again = try BTreeStore.open(path: path, model: newer, migration: .off)
            #expect(try GraphDump(again) == after)
            try again.close()
        }
    }

    @Test(arguments: Exchange.allCases)
    func `names that are exchanged are refused by a binary file`(_ exchange: Exchange) throws {
        let files = MemoryFileSystem()
        func open(_ model: ManagedObjectModel) throws -> WholeGraphStore {
            try WholeGraphStore(GraphFile("/graph", BinaryGraphFormat(), in: files), type: .binary, model: model)
        }
        let (older, newer) = (try model(), try model(exchange))
        try open(older).close()

        let refused = reason { try open(newer).close() }

        #expect(refused?.contains(exchange.reason) == true, "\(refused ?? "no refusal")")
        try open(older).close()
    }

    /// A dump with the names exchanged.
    private static func exchanging(_ dump: GraphDump, _ exchange: Exchange) -> GraphDump {
        var dump = dump
        func swapped<Value>(_ values: inout [String: Value], _ first: String, _ second: String) {
            (values[first], values[second]) = (values[second], values[first])
        }
        for (serial, row) in dump.rows {
            var row = row
            switch exchange {
            case .attributes: swapped(&row.values, "title", "motto")
            case .toOneRelationships: swapped(&row.references, "first", "second")
            case .toManyRelationships: swapped(&row.lists, "notes", "hints")
            case .entities: row.entity = ["Draft": "Memo", "Memo": "Draft"][row.entity] ?? row.entity
            }
            dump.rows[serial] = row
        }
        return dump
    }
}
