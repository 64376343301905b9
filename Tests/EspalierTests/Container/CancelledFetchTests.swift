// Fetches with progress that are cancelled while a store searches: the store is told, and does not search to its end.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct CancelledFetchTests {
    private func makeStore(_ kind: StoreKind) throws -> CancellingStore {
        let model = try ManagedObjectModel(for: musicClasses)
        return switch kind {
        case .inMemory: CancellingStore(InMemoryStore(model: model))
        case .btree: CancellingStore(try BTreeStore.inMemory(model: model))
        }
    }

    @Test(arguments: StoreKind.allCases, ["objects", "IDs", "number", "values", "sums"])
    func `a store that searches stops when the fetch is cancelled, and the context goes on (FR-22)`(
        _ kind: StoreKind, _ question: String
    ) async throws {
        let store = try makeStore(kind)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        try coordinator.execute(
            BatchInsertRequest(entityName: "Track", objects: (0..<1000).map { ["name": "Track \($0)"] }))
        let context = ManagedObjectContext(coordinator)
        let request = FetchRequest<Track>(try FetchPredicate(format: "name CONTAINS 'rac'"))
        let values = ValueRequest(request.terms, columns: question == "sums" ? [.sum("bytes", as: "sum")] : ["name"])
        let progress = FetchProgress()
        store.cancel(progress)

        var error: ContextError?
        do throws(ContextError) {
            switch question {
            case "objects": _ = try await context.fetch(request, progress: progress)
            case "IDs": _ = try await context.fetchIDs(request, progress: progress)
            case "number": _ = try await context.count(for: request, progress: progress)
            default: _ = try await context.fetch(values, progress: progress)
            }
        } catch let thrown {
            error = thrown
        }

        guard case .fetchCancelled? = error else {
            Issue.record("\(question): \(String(describing: error))")
            return
        }
        // The store was asked once, and has not found the answer.
        #expect(store.outcomes == [false] && progress.completedCount == 0)
        #expect(try context.count(for: request) == 1000)
        #expect(try await context.fetchIDs(request, progress: FetchProgress()).count == 1000)
    }

    @Test(arguments: StoreKind.allCases)
    func `the search for what leads to the changes of a parent stops when the fetch is cancelled (FR-22)`(
        _ kind: StoreKind
    ) async throws {
        let store = try makeStore(kind)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        let artist = Artist(context: context)
        artist.name = "Artist"
        for number in 0..<1000 {
            let album = Album(context: context)
            (album.title, album.artist) = ("Album \(number)", artist)
        }
        try context.save()
        artist.name = "Changed"
        let child = ManagedObjectContext(parent: context)
        let request = FetchRequest<Album>(try FetchPredicate(format: "artist.name BEGINSWITH 'Ch'"))
        #expect(try child.count(for: request) == 1000)
        let progress = FetchProgress()
        store.cancel(progress)

        var error: ContextError?
        do throws(ContextError) {
            _ = try await child.count(for: request, progress: progress)
        } catch let thrown {
            error = thrown
        }

        guard case .fetchCancelled? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        // The store was asked which albums lead to the artist, and has not found all.
        #expect(store.outcomes == [false])
        #expect(try child.count(for: request) == 1000)
    }
}

/// A store that cancels a fetch when it is asked for the first rows, as another thread might.
private final class CancellingStore: PersistentStore {
    private let base: any PersistentStore
    private let progress = Mutex<FetchProgress?>(nil)
    private let told = Mutex<[Bool]>([])

    init(_ base: any PersistentStore) { self.base = base }

    /// Cancels this progress when the store is asked next.
    func cancel(_ progress: FetchProgress) { self.progress.withLock { $0 = progress } }

    /// Whether the answers to questions that were cancelled were found nevertheless.
    var outcomes: [Bool] { told.withLock { $0 } }

    /// Cancels the progress, if there is one, and answers.
    func answering<Answer>(_ body: () throws(StoreError) -> Answer) throws(StoreError) -> Answer {
        let cancelled = progress.withLock { $0.take() }
        cancelled?.cancel()
        do throws(StoreError) {
            let answer = try body()
            if cancelled != nil { told.withLock { $0.append(true) } }
            return answer
        } catch {
            if case .fetchCancelled = error { told.withLock { $0.append(false) } }
            throw error
        }
    }

    var identifier: UUID { base.identifier }
    var type: StoreType { StoreType(rawValue: "Cancelling") }
    var path: String? { nil }
    var isReadOnly: Bool { false }
    var model: ManagedObjectModel { base.model }

    func snapshot() throws(StoreError) -> any StoreSnapshot { CancellingSnapshot(try base.snapshot(), self) }
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID] {
        try base.reserveIDs(for: entity, count: count)
    }
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult { try base.save(request) }
    func metadata() throws(StoreError) -> [String: AttributeValue] { try base.metadata() }
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError) { try base.setMetadata(metadata) }
    func close() throws(StoreError) { try base.close() }
}

/// A snapshot of a `CancellingStore`.
private final class CancellingSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let store: CancellingStore

    init(_ base: any StoreSnapshot, _ store: CancellingStore) { (self.base, self.store) = (base, store) }

    var generation: UInt64 { base.generation }
    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        try store.answering { () throws(StoreError) in try base.fetch(fetch) }
    }
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        try store.answering { () throws(StoreError) in try base.fetchIDs(fetch) }
    }
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        try store.answering { () throws(StoreError) in try base.count(fetch) }
    }
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] { try base.snapshots(of: ids) }
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]] {
        try base.destinations(of: relationship, for: owners)
    }
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }
}
