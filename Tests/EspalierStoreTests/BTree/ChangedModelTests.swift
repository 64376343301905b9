// A store that is open while another store of the process, or another process, changes the model of its file.

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct ChangedModelTests {
    /// The differences of the newer model.
    enum Change: String, CaseIterable, Sendable {
        case newIndex, noIndex, required, otherOrder, newAttribute, otherName
    }

    static func model(_ change: Change? = nil) throws -> ManagedObjectModel {
        var entity = EntityDescription(
            "Person",
            attributes: [
                AttributeDescription("serial", .integer64), AttributeDescription("name", .string, isIndexed: true),
                AttributeDescription("town", .string),
            ])
        switch change {
        case nil: break
        case .newIndex: entity.attributes[2].isIndexed = true
        case .noIndex: entity.attributes[1].isIndexed = false
        case .required: entity.attributes[1].isOptional = false
        case .otherOrder: entity.attributes.swapAt(1, 2)
        case .newAttribute: entity.attributes.append(AttributeDescription("street", .string))
        case .otherName: (entity.attributes[2].name, entity.attributes[2].renamingIdentifier) = ("city", "town")
        }
        return try ManagedObjectModel(entities: [entity])
    }

    private static func add(_ serial: Int64, to store: BTreeStore) throws {
        var graph = GraphInsertion(store.model)
        try graph.add(serial, "Person", ["name": .string("name \(serial)"), "town": .string("here")])
        try graph.save(in: store)
    }

    /// Whether the body fails because the model has changed, with the path in the error.
    private func isRefused(_ path: String, _ body: () throws -> Void) -> Bool {
        do throws(any Error) { try body() } catch {
            guard case .modelChanged(let found)? = error as? StoreError else { return false }
            return found == path && "\(error)".contains("open it again")
        }
        return false
    }

    @Test(arguments: Change.allCases)
    func `a store whose model another store has changed neither reads nor saves, and is unharmed`(
        _ change: Change
    ) throws {
        try withStorePath { path in
            let older = try BTreeStore.open(path: path, model: Self.model())
            try Self.add(1, to: older)
            let snapshot = try older.snapshot()
            let person = try #require(older.model.entity(named: "Person"))
            let newer = try BTreeStore.open(path: path, model: Self.model(change))

            #expect(isRefused(path) { try Self.add(2, to: older) })
            #expect(isRefused(path) { _ = try older.snapshot() })
            #expect(isRefused(path) { _ = try older.metadata() })
            #expect(try snapshot.fetchIDs(StoreFetch(entity: person)).count == 1, "a snapshot shows its own commit")
            try Self.add(3, to: newer)
            #expect(try newer.check().findings.map(\.description) == [])
            #expect(try GraphDump(newer).rows.keys.sorted() == [1, 3])
            try older.close()
            try newer.close()
            let again = try BTreeStore.open(path: path, model: Self.model(change), migration: .off)
            try Self.add(4, to: again)
            #expect(try again.check().isOK)
            try again.close()
        }
    }

    @Test func `a store stays usable beside others that change nothing, and after a trial and a refusal`() throws {
        try withStorePath { path in
            let store = try BTreeStore.open(path: path, model: Self.model())
            try Self.add(1, to: store)
            let same = try BTreeStore.open(path: path, model: Self.model())
            try Self.add(2, to: same)
            let trial = try BTreeStore.migrationPlan(at: path, to: Self.model(.newIndex), checkingRows: true)
            #expect(trial.outcome?.indexesBuilt == 1)
            let unique = try ManagedObjectModel(
                entities: Self.model().descriptions.map { entity in
                    var entity = entity
                    entity.uniquenessConstraints = [["town"]]
                    return entity
                })
            #expect(throws: StoreError.self) { try BTreeStore.open(path: path, model: unique) }

            try Self.add(3, to: store)
            try Self.add(4, to: same)

            #expect(try GraphDump(store).rows.count == 4 && GraphDump(same).rows.count == 4)
            #expect(try store.check().isOK)
            try same.close()
            try store.close()
        }
    }

    @Test func `a model that was changed and changed back has other trees and layouts`() throws {
        try withStorePath { path in
            let store = try BTreeStore.open(path: path, model: Self.model())
            try Self.add(1, to: store)
            try BTreeStore.open(path: path, model: Self.model(.otherOrder)).close()
            try BTreeStore.open(path: path, model: Self.model()).close()

            #expect(isRefused(path) { try Self.add(2, to: store) })

            try store.close()
        }
    }

    /// The other process: it opens the store with a newer model, and adds a row.
    static func changeModel(of path: String) throws {
        let store = try BTreeStore.open(path: path, model: model(.newAttribute))
        try add(2, to: store)
        try store.close()
    }

    @Test func `a process that reads a store notices that the one that writes it has changed the model`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("read.espalier").path
        let writer = try BTreeStore.open(path: path, model: Self.model())
        try Self.add(1, to: writer)
        try writer.close()
        let reader = try BTreeStore.open(path: path, model: Self.model(), isReadOnly: true)
        #expect(try GraphDump(reader).rows.count == 1)

        await #expect(processExitsWith: .success) { [path = path as String] in
            try ChangedModelTests.changeModel(of: path)
        }

        #expect(isRefused(path) { _ = try reader.snapshot() })
        try reader.close()
        let again = try BTreeStore.open(path: path, model: Self.model(.newAttribute), isReadOnly: true)
        #expect(try GraphDump(again).rows.count == 2)
        try again.close()
    }
}
