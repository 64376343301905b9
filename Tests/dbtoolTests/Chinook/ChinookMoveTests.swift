// The library moves through every built-in kind of store, and all of its rows, lists and keys arrive.

import Espalier
import EspalierCoreData
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct ChinookMoveTests {
    /// A line for each row: its values, and what its relationships lead to, by names of rows.
    private func lines(of store: any PersistentStore, _ names: [ObjectID: String]) throws -> [String] {
        let snapshot = try store.snapshot()
        var lines: [String] = []
        for row in try rows(of: store) {
            let entity = try #require(store.model.entity(named: row.id.entityName))
            var parts = [names[row.id] ?? "?"] + entity.attributes.map { "\(row.value(at: $0.slot))" }
            for relationship in entity.relationships {
                let ids =
                    relationship.isToMany
                    ? try snapshot.destinations(of: relationship, for: [row.id])[0]
                    : row.destination(at: relationship.slot).map { [$0] } ?? []
                let found = ids.map { names[$0] ?? "?" }
                parts.append("\(relationship.isOrdered ? found : found.sorted())")
            }
            lines.append(parts.joined(separator: "|"))
        }
        return lines.sorted()
    }

    private func rows(of store: any PersistentStore) throws -> [ObjectSnapshot] {
        try store.model.entities.filter { $0.root == $0.index }.flatMap { try store.fetch(StoreFetch(entity: $0)) }
    }

    @Test func `the library moves from kind to kind with all rows and lists (PS-03)`() throws {
        try withTemporaryFolder { folder in
            XMLGraphFormat.register()
            let model = try ManagedObjectModel(for: DemoStore.classes)
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            var store = try coordinator.addPersistentStore(.inMemory)
            var importer = ChinookImporter(
                into: ManagedObjectContext(coordinator), path: "", commitInterval: nil, didStep: { _ in },
                didCommit: { _ throws(ToolError) in })
            try importer.run(try ChinookTables.load())
            var names: [ObjectID: String] = [:]
            for row in try rows(of: store) { names[row.id] = row.id.uriRepresentation }
            let expected = try lines(of: store, names)
            #expect(expected.count == 6_892)
            for type in [StoreType.binary, .xml, .btree] {
                let path = folder.appending(path: type.rawValue).path
                let moved = try coordinator.migratePersistentStore(
                    store, to: PersistentStoreDescription(type: type, path: path))
                var newNames: [ObjectID: String] = [:]
                for (id, name) in names { newNames[try #require(moved.copy.id(of: id))] = name }
                (store, names) = (moved.store, newNames)
                #expect(try lines(of: store, names) == expected, "\(type.rawValue)")
            }
            try coordinator.remove(store)
        }
    }
}
