// A store in memory whose fetches wait, as on a slow disk.

import Dispatch
import EspalierModel
import EspalierStore
import Foundation
import Synchronization

/// A store whose fetches each wait for one `release`, or until the time limit has passed.
final class BlockingStore: PersistentStore {
    private let base: InMemoryStore
    private let gate = DispatchSemaphore(value: 0)
    private let seconds: Double
    private let counts = Mutex((waiting: 0, timedOut: 0))

    init(model: ManagedObjectModel, seconds: Double) {
        base = InMemoryStore(model: model)
        self.seconds = seconds
    }

    /// The number of fetches that are waiting.
    var waitingCount: Int { counts.withLock(\.waiting) }
    /// The number of fetches that were not released in time.
    var timedOutCount: Int { counts.withLock(\.timedOut) }

    func release(_ count: Int) { for _ in 0..<count { gate.signal() } }

    private func wait() {
        counts.withLock { $0.waiting += 1 }
        let result = gate.wait(timeout: .now() + seconds)
        counts.withLock { counts in
            counts.waiting -= 1
            if result == .timedOut { counts.timedOut += 1 }
        }
    }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Blocking") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { BlockingSnapshot(try base.snapshot(), wait) }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try base.save(request) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

/// A snapshot of a `BlockingStore`, whose fetches wait.
private final class BlockingSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let wait: @Sendable () -> Void

    init(_ base: any StoreSnapshot, _ wait: @escaping @Sendable () -> Void) { (self.base, self.wait) = (base, wait) }

    var generation: UInt64 { base.generation }
    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        wait()
        return try base.fetch(fetch)
    }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try base.fetchIDs(fetch) }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int { try base.count(fetch) }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] { try base.snapshots(of: ids) }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try base.destinations(of: relationship, for: owners)
    }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }
}
