// The check of the objects, on stores that lie: each of its rules is broken on purpose and found.

import EspalierModel
import EspalierStore
import Foundation
import Testing

@testable import dbtool

@Suite struct ObjectCheckTests {
    private func findings(_ tamper: (LyingStore) throws -> Void = { _ in }) throws -> [String] {
        let store = LyingStore(try AlbumStore.model())
        try AlbumStore.fill(store)
        try tamper(store)
        let console = Console(output: StringSink(), errors: StringSink())
        return try ObjectCheck(OpenStore(store, path: "lies"), console).findings
    }

    @Test func `a store whose objects agree has no findings`() throws {
        #expect(try findings() == [])
    }

    @Test func `a listed row that does not exist is found`() throws {
        let found = try findings { store in store.editRow = { $0.id.shortText == "Label/1" ? nil : $0 } }

        #expect(found == ["Label: listed rows that do not exist: 1."])
    }

    @Test func `a required attribute without a value is found`() throws {
        let found = try findings { store in
            store.editRow = { row in
                row.id.shortText != "Artist/1"
                    ? row : ObjectSnapshot(id: row.id, version: 1, values: [.null], destinations: [nil])
            }
        }

        #expect(found == ["Artist/1 has no value for name, which requires one."])
    }

    @Test func `two rows with the same unique value are found`() throws {
        let found = try findings { store in
            store.editRow = { row in
                row.id.entityName != "Artist"
                    ? row : ObjectSnapshot(id: row.id, version: 1, values: [.string("X")], destinations: [nil])
            }
        }

        #expect(found.count == 1)
        #expect(found.first?.hasSuffix("have the same name.") == true)
    }

    @Test func `a destination that does not exist, or is of another entity, is found`() throws {
        for (key, entity, words) in [(99, "Artist", "does not exist."), (1, "Label", "is of another entity.")] {
            let found = try findings { store in
                let stray = ObjectID(entityName: entity, storeIdentifier: store.identifier, key: UInt64(key))
                store.editRow = { row in
                    row.id.shortText != "Album/3"
                        ? row
                        : ObjectSnapshot(
                            id: row.id, version: 1, values: Array(repeating: .null, count: 4),
                            destinations: [stray, nil])
                }
            }

            #expect(found.contains("Album/3: artist leads to \(entity)/\(key), which \(words)"), "\(found)")
        }
    }

    @Test func `an end of a relationship that the other end does not know is found, on both kinds`() throws {
        let oneToMany = try findings { store in
            store.editDestinations = { relationship, ids in relationship.name == "albums" ? ids.dropLast() : ids }
        }

        #expect(oneToMany.contains { $0.hasSuffix("only Album.artist links them.") }, "\(oneToMany)")
        #expect(oneToMany.contains { $0.contains("only Album.labels links them.") }, "\(oneToMany)")
    }

    @Test func `an index that finds fewer rows than there are is found`() throws {
        let found = try findings { store in store.editSortedIDs = { $0.dropLast() } }

        #expect(found == ["Index name of Artist: 1 rows found, 2 there are."])
    }
}

/// A store in memory whose answers a test can change on their way out.
// SAFETY: each test makes its own store and uses it from one thread.
private final class LyingStore: PersistentStore, @unchecked Sendable {
    private let store: InMemoryStore
    var editRow: (ObjectSnapshot) -> ObjectSnapshot? = { $0 }
    var editDestinations: (Relationship, [ObjectID]) -> [ObjectID] = { $1 }
    var editSortedIDs: ([ObjectID]) -> [ObjectID] = { $0 }

    init(_ model: ManagedObjectModel) { store = InMemoryStore(model: model) }

    var identifier: UUID { store.identifier }
    var type: StoreType { store.type }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { store.model }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList { try store.fetch(fetch) }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        fetch.sort.isEmpty ? try store.fetchIDs(fetch) : editSortedIDs(try store.fetchIDs(fetch))
    }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int { try store.count(fetch) }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        try store.snapshots(of: ids).map { $0.flatMap(editRow) }
    }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try store.destinations(of: relationship, for: owners).map { editDestinations(relationship, $0) }
    }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try store.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try store.save(request) }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try store.explain(fetch) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try store.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try store.setMetadata(metadata) }
    func close() throws(StoreError) { try store.close() }
}
