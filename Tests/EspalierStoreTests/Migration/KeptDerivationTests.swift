// Derived values and computed indexes in a migration: kept where their rules and sources stay, computed anew where one
// of them changes.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct KeptDerivationTests {
    /// Bands with albums; something is derived from the row itself, across a relationship and from a list, and an index
    /// has a condition, another one an expression.
    private static func model(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription(
                "Band",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("name", .string),
                    AttributeDescription("plainName", .string, derivation: .canonical(of: "name")),
                    AttributeDescription("seconds", .integer64, derivation: .sum(of: "seconds", in: "albums")),
                    AttributeDescription(
                        "longCount", .integer64, derivation: .count(of: "albums", where: "seconds >= 100")),
                ],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "band", .toMany)]),
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("title", .string),
                    AttributeDescription("seconds", .integer16),
                    AttributeDescription("bandName", .string, derivation: .value(of: "band.plainName")),
                ],
                relationships: [RelationshipDescription("band", to: "Band", inverse: "albums")],
                indexes: [
                    EntityDescription.Index("long", on: [.init("title")], predicateFormat: "seconds >= 100"),
                    EntityDescription.Index("loud", on: [.init(expression: "uppercase(title)")]),
                ]),
            EntityDescription(
                "Note",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("text", .string)]),
        ]
        change(&entities)
        return try ManagedObjectModel(entities: entities)
    }

    /// A closed file with bands 1 and 2, albums 11 to 16 and a note.
    private static func makeStore(at path: String) throws -> GraphDump {
        let model = try model()
        let store = try BTreeStore.open(path: path, model: model)
        var graph = GraphInsertion(model)
        for serial in 1...2 as ClosedRange<Int64> {
            try graph.add(serial, "Band", ["name": .string("Bänd \(serial)")])
        }
        for serial in 11...16 as ClosedRange<Int64> {
            try graph.add(
                serial, "Album", ["title": .string("album \(serial)"), "seconds": .integer(serial * 10 - 20)],
                to: ["band": serial % 2 + 1])
        }
        try graph.add(21, "Note", ["text": .string("a note")])
        try graph.save(in: store)
        let dump = try GraphDump(store)
        try store.close()
        return dump
    }

    /// Migrates a new store; returns its content before and after, the plan, and the parts of the work.
    private static func migrate(
        _ change: (inout [EntityDescription]) -> Void
    ) throws -> (before: GraphDump, after: GraphDump, plan: MigrationPlan, parts: [String]) {
        try withStorePath { path in
            let before = try makeStore(at: path)
            let (model, parts) = (try model(change), RecordedParts())

            let plan = try BTreeStore.migrate(at: path, to: model, migration: MigrationOptions(log: parts.log))

            let store = try BTreeStore.open(path: path, model: model)
            #expect(try store.check().findings.map(\.description) == [])
            let after = try GraphDump(store)
            try store.close()
            return (before, after, plan, parts.names)
        }
    }

    @Test func `a new name elsewhere computes no derived value and builds no index`() throws {
        let (before, after, plan, parts) = try Self.migrate { entities in
            (entities[2].attributes[1].name, entities[2].attributes[1].renamingIdentifier) = ("words", "text")
        }

        #expect(plan.difference.isConstantTime && plan.outcome?.isConstantTime == true)
        #expect(!parts.contains { $0.hasPrefix("derived") || $0.hasPrefix("index") }, "\(parts)")
        for name in ["Band", "Album"] { #expect(after.rows(of: name) == before.rows(of: name)) }
        #expect(after.value(1, "plainName") == .string("band 1") && after.value(1, "seconds") == .integer(360))
        #expect(after.value(12, "bandName") == .string("band 1") && after.value(2, "longCount") == .integer(2))
    }

    @Test func `derived values stay if their sources get other names`() throws {
        let (before, after, plan, parts) = try Self.migrate { entities in
            (entities[0].attributes[1].name, entities[0].attributes[1].renamingIdentifier) = ("title", "name")
            entities[0].attributes[2].derivation = .canonical(of: "title")
            (entities[0].relationships[0].name, entities[0].relationships[0].renamingIdentifier) = ("discs", "albums")
            entities[0].attributes[3].derivation = .sum(of: "seconds", in: "discs")
            entities[0].attributes[4].derivation = .count(of: "discs", where: "seconds >= 100")
            entities[1].relationships[0].inverse = "discs"
        }

        #expect(plan.outcome?.isConstantTime == true)
        #expect(!parts.contains { $0.hasPrefix("derived") }, "\(parts)")
        for (serial, row) in before.rows(of: "Band") {
            for name in ["plainName", "seconds", "longCount"] { #expect(after.value(serial, name) == row.values[name]) }
        }
    }

    @Test func `another rule is computed for all rows, and so is what derives from it`() throws {
        let (_, after, plan, parts) = try Self.migrate { $0[0].attributes[2].derivation = .uppercase(of: "name") }

        #expect(plan.outcome?.derivedValuesWritten == 2 + 6 && plan.outcome?.isConstantTime == false)
        #expect(parts.contains("derived values"))
        #expect(after.value(1, "plainName") == .string("BÄND 1") && after.value(12, "bandName") == .string("BÄND 1"))
    }

    @Test func `an attribute that takes over the name of a source is a new source`() throws {
        // The rules, the condition and the expression keep their texts.
        let (before, after, plan, _) = try Self.migrate { entities in
            entities[1].attributes[2] = AttributeDescription("length", .integer16, renamingIdentifier: "seconds")
            entities[1].attributes.append(AttributeDescription("seconds", .integer16, defaultValue: .integer(500)))
        }

        #expect(plan.outcome?.indexesBuilt == 1 && plan.outcome?.derivedValuesWritten == 3)
        #expect(after.value(1, "seconds") == .integer(1500) && after.value(2, "longCount") == .integer(3))
        #expect(after.value(12, "length") == before.value(12, "seconds"))
    }

    /// The changes of names and families of entities.
    enum NameChange: String, Sendable {
        case exchangedNames, newName, movedSubentity
    }

    /// Zoos that count the animals for which a condition holds, and an index of these animals.
    private static func zoo(_ condition: String, _ change: NameChange? = nil) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription(
                "Zoo",
                attributes: [
                    AttributeDescription("serial", .integer64),
                    AttributeDescription("catCount", .integer64, derivation: .count(of: "animals", where: condition)),
                ],
                relationships: [RelationshipDescription("animals", to: "Animal", inverse: "zoo", .toMany)]),
            EntityDescription(
                "Animal",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("zoo", to: "Zoo", inverse: "animals")],
                indexes: [EntityDescription.Index("cats", on: [.init("name")], predicateFormat: condition)]),
            EntityDescription("Cat", superentity: "Animal"), EntityDescription("Dog", superentity: "Animal"),
            EntityDescription("Lion", superentity: "Animal"),
        ]
        switch change {
        case nil: break
        case .exchangedNames: (entities[2].renamingIdentifier, entities[3].renamingIdentifier) = ("Dog", "Cat")
        case .newName: (entities[2].name, entities[2].renamingIdentifier) = ("Tabby", "Cat")
        case .movedSubentity: entities[4].superentity = "Cat"
        }
        return try ManagedObjectModel(entities: entities)
    }

    @Test(arguments: [
        ("entity.name == 'Cat'", NameChange.exchangedNames, 1), ("entity == 'Cat'", .newName, 0),
        ("entity IN entityFamily('Cat')", .movedSubentity, 5), ("name IN entityFamily('Cat')", .movedSubentity, 5),
    ])
    func `a condition that reads names or families of entities is evaluated anew`(
        condition: String, change: NameChange, count: Int
    ) throws {
        try withStorePath { path in
            let older = try Self.zoo(condition)
            let store = try BTreeStore.open(path: path, model: older)
            var graph = GraphInsertion(older)
            try graph.add(1, "Zoo")
            for (position, name) in ["Cat", "Cat", "Dog", "Lion", "Lion", "Lion"].enumerated() {
                try graph.add(Int64(11 + position), name, ["name": .string(name)], to: ["zoo": 1])
            }
            try graph.save(in: store)
            #expect(try GraphDump(store).value(1, "catCount") == .integer(2))
            try store.close()
            let newer = try Self.zoo(condition, change)

            let plan = try BTreeStore.migrate(at: path, to: newer)

            let migrated = try BTreeStore.open(path: path, model: newer, migration: .off)
            #expect(plan.outcome?.indexesBuilt == 1 && plan.outcome?.derivedValuesWritten == 1)
            #expect(try GraphDump(migrated).value(1, "catCount") == .integer(Int64(count)))
            #expect(try migrated.check().findings.map(\.description) == [])
            try migrated.close()
        }
    }

    @Test func `values that are derived anew count as progress, and can be cancelled`() throws {
        try withStorePath { path in
            func model(_ derivation: Derivation) throws -> ManagedObjectModel {
                try ManagedObjectModel(entities: [
                    EntityDescription(
                        "Note",
                        attributes: [
                            AttributeDescription("serial", .integer64), AttributeDescription("text", .string),
                            AttributeDescription("loud", .string, derivation: derivation),
                        ])
                ])
            }
            let (older, newer) = (try model(.uppercase(of: "text")), try model(.lowercase(of: "text")))
            let store = try BTreeStore.open(path: path, model: older)
            var graph = GraphInsertion(older)
            for serial in 1...1100 as ClosedRange<Int64> { try graph.add(serial, "Note", ["text": .string("Text")]) }
            try graph.save(in: store)
            try store.close()
            let holder = Mutex<MigrationProgress?>(nil)
            let cancelled = MigrationProgress { if $0 > 0.2, $0 < 0.9 { holder.withLock { $0 }?.cancel() } }
            holder.withLock { $0 = cancelled }

            let error = #expect(throws: StoreError.self) {
                try BTreeStore.migrate(at: path, to: newer, migration: MigrationOptions(progress: cancelled))
            }

            guard case .migrationCancelled? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            holder.withLock { $0 = nil }
            let same = try BTreeStore.open(path: path, model: older, migration: .off)
            #expect(try GraphDump(same).value(1100, "loud") == .string("TEXT"))
            try same.close()
            let plan = try BTreeStore.migrate(at: path, to: newer)
            #expect(plan.outcome?.derivedValuesWritten == 1100)
        }
    }
}

/// The names of the parts that a log receives.
private final class RecordedParts: Sendable {
    private let received = Mutex<[String]>([])

    var names: [String] { received.withLock { $0 } }

    var log: MigrationLog {
        MigrationLog(.parts) { record in
            if case .part(let name, _, _) = record { self.received.withLock { $0.append(name) } }
        }
    }
}
