// Fetches that read on a queue of their own, while the context does other work (FR-22).
//
// Invariants
//   1. Only snapshots, questions and rows cross to the queue, all of which are Sendable.
//   2. The result is the one that `fetch(_:)` would return at its end: rows are used only if neither the context nor
//      its generation has changed meanwhile.

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The objects that `fetch(_:)` returns, read on another thread; the context can be used meanwhile (FR-22).
    ///
    /// ```swift
    /// let progress = FetchProgress { print($0.completedCount, "of", $0.totalCount ?? 0) }
    /// let tracks = try await context.fetch(FetchRequest<Track>(), progress: progress)
    /// ```
    ///
    /// Unsaved changes are part of the result, as of the moment at which it is returned. If the context changes while
    /// the rows are read, they are read again, the third time without another thread. Cancelling the task cancels the
    /// fetch.
    ///
    /// - Throws: as `fetch(_:)`; `ContextError.fetchCancelled`.
    public nonisolated(nonsending) func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, progress: FetchProgress
    ) async throws(ContextError) -> [Object] {
        for _ in 0..<2 {
            beginRefreshing(for: request.terms)
            let fetch = try processAndResolve(request.terms)
            let pending = try pendingChanges(for: fetch, request.terms.includesPendingChanges)
            let positions = try positions(for: fetch)
            let isPlain = pending == nil && positions.count == 1
            let question = isPlain ? fetch : fetch.widened(by: pending ?? PendingChanges())
            let moment = ReadingMoment(changeCount: changeCount, readCount: cache.changeCount)
            let snapshots: [any StoreSnapshot]
            do {
                snapshots = try positions.map { position throws(StoreError) in try generation.snapshot(at: position) }
            } catch { throw ContextError(error) }
            let condition = lastCondition
            let answer = await Self.read(question, snapshots, progress)
            report(question, answer, from: snapshots, condition, isCancelled: progress.isCancelled)
            if progress.isCancelled { throw .fetchCancelled }
            // A store that has discarded the snapshot is asked again.
            guard answer.failure == nil, isUnchanged(since: moment, positions, snapshots) else {
                progress.beginAgain()
                continue
            }
            let found =
                try isPlain
                ? answer.lists.flatMap { materialized($0) }
                : joined(fetch, pending ?? PendingChanges(), rows: answer.lists)
            var objects: [Object] = []
            objects.reserveCapacity(found.count)
            for object in found {
                guard let typed = object as? Object else {
                    throw .wrongResultType(
                        entity: object.entity.name, found: "\(type(of: object))", expected: "\(Object.self)")
                }
                objects.append(typed)
            }
            refresh(found, for: request.terms)
            try loadRequestedContents(found, request.terms)
            return objects
        }
        return try fetch(request)
    }

    /// The state of the context to which the rows of a fetch belong.
    private struct ReadingMoment: Equatable {
        let changeCount: Int
        let readCount: Int
    }

    private func isUnchanged(
        since moment: ReadingMoment, _ positions: [Int], _ snapshots: [any StoreSnapshot]
    ) -> Bool {
        guard moment == ReadingMoment(changeCount: changeCount, readCount: cache.changeCount) else { return false }
        return zip(positions, snapshots).allSatisfy { position, snapshot in
            generation.parts.indices.contains(position) && generation.parts[position].snapshot === snapshot
        }
    }

    /// The rows that snapshots have, read on a queue of its own.
    private nonisolated(nonsending) static func read(
        _ fetch: StoreFetch, _ snapshots: [any StoreSnapshot], _ progress: FetchProgress
    ) async -> RowsReadAside {
        let executor = ContextExecutor(label: "espalier.fetch")
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                executor.async { continuation.resume(returning: Self.rows(fetch, snapshots, progress)) }
            }
        } onCancel: {
            progress.cancel()
        }
    }

    private nonisolated static func rows(
        _ fetch: StoreFetch, _ snapshots: [any StoreSnapshot], _ progress: FetchProgress
    ) -> RowsReadAside {
        var answer = RowsReadAside()
        var start = ContinuousClock.now
        do throws(StoreError) {
            var count = 0
            for snapshot in snapshots {
                let matching = try snapshot.count(fetch)
                progress.expect(matching)
                count += matching
            }
            (answer.count, answer.countDuration) = (count, start.duration(to: .now))
            start = .now
            for snapshot in snapshots {
                var rest: StoreFetch? = fetch
                while let next = rest, progress.advance(by: 0) {
                    let batch = try snapshot.fetchBatch(next, of: 1000)
                    answer.lists.append(batch.rows)
                    rest = batch.rest
                    guard progress.advance(by: batch.rows.count) else { break }
                }
            }
        } catch {
            answer.failure = error
        }
        answer.duration = start.duration(to: .now)
        return answer
    }
}
