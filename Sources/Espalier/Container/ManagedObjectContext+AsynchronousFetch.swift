// Fetches that read on a queue of their own, while the context does other work (FR-22).
//
// Invariants
//   1. Only snapshots, questions and rows cross to the queue, all of which are Sendable.
//   2. The result is the one that `fetch(_:)` would return at its end: rows are used only if neither the context nor
//      its generation has changed by the time that unsaved changes have joined them.
// Elsewhere: IDs, counts and values (+AsynchronousValues).

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
    /// the rows are read, or a store discards their generation before unsaved changes have joined them, they are read
    /// again, the third time without another thread. Cancelling the task cancels the fetch.
    ///
    /// - Throws: as `fetch(_:)`; `ContextError.fetchCancelled`.
    /// - Complexity: that of `fetch(_:)`, and of the count that the progress expects. A limit beside c changed or
    ///   deleted objects of the entity reads c rows more.
    public nonisolated(nonsending) func fetch<Object: ManagedObject>(
        _ request: FetchRequest<Object>, progress: FetchProgress
    ) async throws(ContextError) -> [Object] {
        guard let found = try await objects(request.terms, progress, refreshes: true) else {
            return try fetch(request)
        }
        var result: [Object] = []
        result.reserveCapacity(found.count)
        for object in found {
            guard let typed = object as? Object else {
                throw .wrongResultType(
                    entity: object.entity.name, found: "\(type(of: object))", expected: "\(Object.self)")
            }
            result.append(typed)
        }
        refresh(found, for: request.terms)
        try loadRequestedContents(found, request.terms)
        return result
    }

    /// The matching objects, whose rows were read on another thread; `nil` if the context has changed each time.
    ///
    /// - Parameter refreshes: whether the objects are the result, which may ask for the newest values (FR-14).
    nonisolated(nonsending) func objects(
        _ terms: FetchTerms, _ progress: FetchProgress, refreshes: Bool
    ) async throws(ContextError) -> [ManagedObject]? {
        for _ in 0..<2 {
            if refreshes { beginRefreshing(for: terms) }
            let fetch = try processAndResolve(terms, progress)
            let pending = try pendingChanges(for: fetch, terms.includesPendingChanges)
            let lossCount = generation.lossCount
            let positions = try positions(for: fetch)
            let isPlain = pending == nil && positions.count == 1
            let question = isPlain ? fetch : fetch.widened(by: pending?.hiddenCountMax ?? 0)
            let answers = try await readElsewhere(question, positions, counting: question, progress) {
                snapshot throws(StoreError) in
                try ManagedObjectContext.rows(question, snapshot, progress)
            }
            guard let rows = answers?.flatMap(\.self) else { continue }
            let found: [ManagedObject] =
                try isPlain ? rows.flatMap { materialized($0) } : joined(fetch, pending, rows: rows)
            guard hasLostGeneration(since: lossCount, terms.includesPendingChanges) else { return found }
            progress.beginAgain()
        }
        return nil
    }

    /// The fetch for a request, which `progress` can cancel while a store reads.
    func processAndResolve(_ terms: FetchTerms, _ progress: FetchProgress) throws(ContextError) -> StoreFetch {
        var fetch = try processAndResolve(terms)
        fetch.isCancelled = progress.cancellation
        return fetch
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

    /// The answers of the stores at these positions, each read on a queue of its own; `nil` if they have to be read
    /// again, because the context has changed meanwhile, or because a store has discarded the snapshot.
    ///
    /// - Parameters:
    ///   - question: the question that `body` asks each store, for the log.
    ///   - counted: the rows that the progress expects before the first answer; `nil` = `body` tells them.
    /// - Throws: `.fetchCancelled`, or the error of a store that gives no snapshot.
    nonisolated(nonsending) func readElsewhere<Answer: Sendable>(
        _ question: some Sendable, _ positions: [Int], counting counted: StoreFetch?, _ progress: FetchProgress,
        _ body: @escaping @Sendable (any StoreSnapshot) throws(StoreError) -> Answer
    ) async throws(ContextError) -> [Answer]? {
        let moment = ReadingMoment(changeCount: changeCount, readCount: cache.changeCount)
        let snapshots: [any StoreSnapshot]
        do {
            snapshots = try positions.map { position throws(StoreError) in try generation.snapshot(at: position) }
        } catch { throw ContextError(error) }
        let condition = lastCondition
        // Waiting ends an event of a context that an actor owns.
        readsAside += 1
        defer { readsAside -= 1 }
        let outcome = await Self.answers(of: snapshots, counting: counted, progress, body)
        report(question, outcome, counted, from: snapshots, condition, isCancelled: progress.isCancelled)
        if progress.isCancelled { throw .fetchCancelled }
        guard outcome.failure == nil, isUnchanged(since: moment, positions, snapshots) else {
            progress.beginAgain()
            return nil
        }
        return outcome.answers
    }

    private nonisolated(nonsending) static func answers<Answer: Sendable>(
        of snapshots: [any StoreSnapshot], counting counted: StoreFetch?, _ progress: FetchProgress,
        _ body: @escaping @Sendable (any StoreSnapshot) throws(StoreError) -> Answer
    ) async -> AnswersReadAside<Answer> {
        let executor = ContextExecutor(label: "espalier.fetch")
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                executor.async { continuation.resume(returning: Self.read(snapshots, counted, progress, body)) }
            }
        } onCancel: {
            progress.cancel()
        }
    }

    private nonisolated static func read<Answer: Sendable>(
        _ snapshots: [any StoreSnapshot], _ counted: StoreFetch?, _ progress: FetchProgress,
        _ body: (any StoreSnapshot) throws(StoreError) -> Answer
    ) -> AnswersReadAside<Answer> {
        var aside = AnswersReadAside<Answer>()
        var start = ContinuousClock.now
        do throws(StoreError) {
            if let counted {
                var count = 0
                for snapshot in snapshots {
                    let matching = try snapshot.count(counted)
                    progress.expect(matching)
                    count += matching
                }
                (aside.count, aside.countDuration) = (count, start.duration(to: .now))
                start = .now
            }
            for snapshot in snapshots where progress.advance(by: 0) { aside.answers.append(try body(snapshot)) }
        } catch {
            aside.failure = error
        }
        aside.duration = start.duration(to: .now)
        return aside
    }

    /// The rows that a snapshot has.
    private nonisolated static func rows(
        _ fetch: StoreFetch, _ snapshot: any StoreSnapshot, _ progress: FetchProgress
    ) throws(StoreError) -> [SnapshotList] {
        var lists: [SnapshotList] = []
        var rest: StoreFetch? = fetch
        while let next = rest, progress.advance(by: 0) {
            let batch = try snapshot.fetchBatch(next, of: 1000)
            lists.append(batch.rows)
            rest = batch.rest
            guard progress.advance(by: batch.rows.count) else { break }
        }
        return lists
    }
}
