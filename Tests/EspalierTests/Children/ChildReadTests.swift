// A child's save reads each row that it changes once.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct ChildReadTests {
    @Test(arguments: [0, 1, 50])
    func `a save of a child reads the rows that it updates and deletes once`(_ count: Int) throws {
        let model = try ManagedObjectModel(for: teamClasses)
        let store = CountingStore(model: model)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let writer = ManagedObjectContext(coordinator)
        for number in 0..<2 * count { Duty(context: writer).number = number }
        try writer.save()
        let root = ManagedObjectContext(coordinator)
        let child = ManagedObjectContext(parent: root)
        let duties = try child.fetch(FetchRequest<Duty>(sortedBy: [SortKey("number")]))
        // One that the parent has changed has its row in memory.
        if let last = duties.last, let changed = try root.existingObject(with: last.objectID) as? Duty {
            changed.number += 100
            child.refresh(last, mergesChanges: false)
            #expect(last.number == 2 * count + 99)
        }
        for duty in duties.prefix(count) { duty.number += 1 }
        for duty in duties.dropFirst(count) { try child.delete(duty) }
        let before = store.rowsRead

        try child.save()

        #expect(store.rowsRead - before == max(0, 2 * count - 1))
        #expect(root.updatedObjects.count == count && root.deletedObjects.count == count)
        try root.save()
        let stored = try ManagedObjectContext(coordinator).fetch(FetchRequest<Duty>(sortedBy: [SortKey("number")]))
        #expect(stored.map(\.number) == Array(1..<count + 1))
    }
}

/// A store in memory that counts the rows that are read by ID.
private final class CountingStore: PersistentStore {
    private let base: InMemoryStore
    private let counter = Counter()

    init(model: ManagedObjectModel) { base = InMemoryStore(model: model) }

    /// The number of rows that were read by ID.
    var rowsRead: Int { counter.count.withLock(\.self) }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Counting") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { CountingSnapshot(try base.snapshot(), counter) }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try base.save(request) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

private final class Counter: Sendable {
    let count = Mutex(0)
}

/// A snapshot of a `CountingStore`.
private final class CountingSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let counter: Counter

    init(_ base: any StoreSnapshot, _ counter: Counter) { (self.base, self.counter) = (base, counter) }

    var generation: UInt64 { base.generation }
    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList { try base.fetch(fetch) }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try base.fetchIDs(fetch) }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int { try base.count(fetch) }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        counter.count.withLock { $0 += ids.count }
        return try base.snapshots(of: ids)
    }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try base.destinations(of: relationship, for: owners)
    }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }
}
