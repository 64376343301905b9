// IDs, counts and values that are read on a queue of their own, while the context does other work (FR-22).
//
// Invariants
//   1. Only snapshots, questions and answers cross to the queue, all of which are Sendable.
//   2. The result is the one that the call without progress would return at its end.

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The IDs that `fetchIDs(_:)` returns, read on another thread; the context can be used meanwhile (FR-22).
    ///
    /// Unsaved changes are part of the result, as of the moment at which it is returned. Cancelling the task cancels
    /// the fetch, also while a store searches.
    ///
    /// - Throws: as `fetchIDs(_:)`; `ContextError.fetchCancelled`.
    /// - Complexity: that of `fetchIDs(_:)`.
    public nonisolated(nonsending) func fetchIDs<Result>(
        _ request: FetchRequest<Result>, progress: FetchProgress
    ) async throws(ContextError) -> [ObjectID] {
        for _ in 0..<2 {
            let fetch = try processAndResolve(request.terms, progress)
            let pending = try pendingChanges(for: fetch, request.includesPendingChanges)
            let positions = try positions(for: fetch)
            guard pending == nil, positions.count == 1 else {
                // Unsaved objects and the rows of several stores are put in one order as objects.
                guard let found = try await objects(request.terms, progress, refreshes: false) else { break }
                return found.map(\.storedID)
            }
            let answers = try await readElsewhere(fetch, positions, counting: nil, progress) {
                snapshot throws(StoreError) -> [ObjectID] in
                let ids = try snapshot.fetchIDs(fetch)
                progress.expect(ids.count)
                _ = progress.advance(by: ids.count)
                return ids
            }
            if let ids = answers?.first { return ids }
        }
        return try fetchIDs(request)
    }

    /// The number that `count(for:)` returns, read on another thread; the context can be used meanwhile (FR-22).
    ///
    /// Unsaved changes are part of the result, as of the moment at which it is returned. Cancelling the task cancels
    /// the count, also while a store counts.
    ///
    /// - Throws: as `count(for:)`; `ContextError.fetchCancelled`.
    /// - Complexity: that of `count(for:)`, and O(c log c) beside c changed or deleted objects of the entity, whatever
    ///   the predicate asks for.
    public nonisolated(nonsending) func count<Result>(
        for request: FetchRequest<Result>, progress: FetchProgress
    ) async throws(ContextError) -> Int {
        for _ in 0..<2 {
            var fetch = try processAndResolve(request.terms, progress)
            fetch.sort = []
            let pending = try pendingChanges(for: fetch, request.includesPendingChanges)
            let positions = try positions(for: fetch)
            guard pending == nil || positions.count == 1 else {
                guard let found = try await objects(request.terms, progress, refreshes: false) else { break }
                return found.count
            }
            let lossCount = generation.lossCount
            var all = fetch
            (all.offset, all.limit) = (0, nil)
            let hidden = pending.flatMap { hiddenRows(of: all, $0) }
            let answers = try await readElsewhere(all, positions, counting: nil, progress) {
                [all] snapshot throws(StoreError) -> Int in
                var count = try snapshot.count(all)
                if let hidden { count -= try snapshot.count(hidden) }
                progress.expect(count)
                _ = progress.advance(by: count)
                return count
            }
            guard var count = answers?.reduce(0, +) else { continue }
            if let pending { count += try matching(fetch, pending).count }
            guard hasLostGeneration(since: lossCount, request.includesPendingChanges) else {
                return min(max(0, count - fetch.offset), fetch.limit ?? .max)
            }
            progress.beginAgain()
        }
        return try count(for: request)
    }

    /// The rows of values that `fetch(_:)` returns, read on another thread; the context can be used meanwhile (FR-22).
    ///
    /// ```swift
    /// let rows = try await context.fetch(ValueRequest(entityName: "Track", columns: ["name"]), progress: progress)
    /// ```
    ///
    /// Unsaved changes are part of the result, as of the moment at which it is returned. The progress counts objects.
    /// It is told after each thousand of them, if each object has a row of its own and there are no unsaved changes;
    /// otherwise after each store. Cancelling the task cancels the fetch, also while a store reads.
    ///
    /// - Throws: as `fetch(_:)`; `ContextError.fetchCancelled`.
    /// - Complexity: that of `fetch(_:)`, and of the count of the objects that match; also O(changed objects of the
    ///   entity), whatever the predicate asks for.
    public nonisolated(nonsending) func fetch(
        _ request: ValueRequest, progress: FetchProgress
    ) async throws(ContextError) -> ResultRows {
        for _ in 0..<2 {
            var resolved = try processAndResolve(request)
            resolved.rows.isCancelled = progress.cancellation
            let fetch = resolved
            let pending = try pendingChanges(
                for: fetch.rows, reading: fetch.values.inputs, request.includesPendingChanges)
            let lossCount = generation.lossCount
            let stored = leavingOut(pending, fetch)
            let isInBatches = pending == nil && parent == nil && fetch.values.rowOrder != nil
            let answers = try await readElsewhere(
                stored, try positions(for: fetch.rows), counting: isInBatches ? fetch.rows : nil, progress
            ) { snapshot throws(StoreError) -> ValueCollector in
                if isInBatches { return try ManagedObjectContext.valuesInBatches(stored, snapshot, progress) }
                return try ManagedObjectContext.values(stored, snapshot, progress)
            }
            guard let answers else { continue }
            var collector = ValueCollector(fetch.values)
            for answer in answers { collector.merge(answer) }
            if let pending {
                for object in try matching(fetch.rows, pending) { try collector.add(GraphSubject(object: object)) }
            }
            guard hasLostGeneration(since: lossCount, request.includesPendingChanges) else {
                return try rows(of: collector)
            }
            progress.beginAgain()
        }
        return try fetch(request)
    }

    private nonisolated static func values(
        _ fetch: StoreValueFetch, _ snapshot: any StoreSnapshot, _ progress: FetchProgress
    ) throws(StoreError) -> ValueCollector {
        let count = try snapshot.count(fetch.rows)
        progress.expect(count)
        let collector = try snapshot.values(fetch)
        _ = progress.advance(by: count)
        return collector
    }

    private nonisolated static func valuesInBatches(
        _ fetch: StoreValueFetch, _ snapshot: any StoreSnapshot, _ progress: FetchProgress
    ) throws(StoreError) -> ValueCollector {
        var collector = ValueCollector(fetch.values)
        var rest: StoreFetch? = fetch.rows
        while let next = rest, progress.advance(by: 0) {
            let batch = try snapshot.fetchBatch(next, of: 1000)
            collector.merge(try snapshot.values(fetch.values, of: batch.rows, isInOrder: fetch.isOrdered))
            rest = batch.rest
            guard progress.advance(by: batch.rows.count) else { break }
        }
        return collector
    }
}
