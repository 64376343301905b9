// A store in memory that tells of its calls before it answers them: a test counts them, holds them up as a slow disk
// does, comes between them, or makes them fail.

import Dispatch
import EspalierModel
import EspalierStore
import Foundation
import Synchronization

/// A store that calls a closure before each fetch of rows or of IDs, each count, each reading of rows by ID and of
/// lists, each snapshot, each reservation of IDs, each save, and its closing.
final class WatchedStore: PersistentStore {
    enum Call {
        case fetch
        /// A fetch of IDs.
        case ids
        case count
        /// The reading of the rows of these IDs.
        case rows([ObjectID])
        case destinations, snapshot, reserve, save, close
    }

    private let base: InMemoryStore
    private let watch: @Sendable (Call) throws(StoreError) -> Void

    init(model: ManagedObjectModel, _ watch: @escaping @Sendable (Call) throws(StoreError) -> Void) {
        (base, self.watch) = (InMemoryStore(model: model), watch)
    }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Watched") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot {
        try watch(.snapshot)
        return WatchedSnapshot(try base.snapshot(), watch)
    }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try watch(.reserve)
        return try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult {
        try watch(.save)
        return try base.save(request)
    }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) {
        try watch(.close)
        try base.close()
    }
}

/// A snapshot of a `WatchedStore`.
private final class WatchedSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let watch: @Sendable (WatchedStore.Call) throws(StoreError) -> Void

    init(_ base: any StoreSnapshot, _ watch: @escaping @Sendable (WatchedStore.Call) throws(StoreError) -> Void) {
        (self.base, self.watch) = (base, watch)
    }

    var generation: UInt64 { base.generation }
    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        try watch(.fetch)
        return try base.fetch(fetch)
    }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        try watch(.ids)
        return try base.fetchIDs(fetch)
    }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        try watch(.count)
        return try base.count(fetch)
    }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        try watch(.rows(ids))
        return try base.snapshots(of: ids)
    }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try watch(.destinations)
        return try base.destinations(of: relationship, for: owners)
    }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }
}

/// Suspends the calling task until `isDone`, or for ten minutes, which pass only in case of a fault: other tests may
/// hold the processor for minutes.
func wait(isolation: isolated (any Actor)? = #isolation, until isDone: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(600)
    while !isDone(), .now < deadline { try? await Task.sleep(for: .milliseconds(1)) }
}

/// A gate at which calls wait, each for one `release`, or until the time limit has passed.
final class Gate: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let seconds: Double
    private let counts = Mutex((waiting: 0, timedOut: 0))

    init(seconds: Double) { self.seconds = seconds }

    /// The number of calls that are waiting.
    var waitingCount: Int { counts.withLock(\.waiting) }
    /// The number of calls that were not released in time.
    var timedOutCount: Int { counts.withLock(\.timedOut) }

    func release(_ count: Int) { for _ in 0..<count { gate.signal() } }

    func wait() {
        counts.withLock { $0.waiting += 1 }
        let result = gate.wait(timeout: .now() + seconds)
        counts.withLock { counts in
            counts.waiting -= 1
            if result == .timedOut { counts.timedOut += 1 }
        }
    }
}
