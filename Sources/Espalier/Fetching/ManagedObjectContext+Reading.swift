// Reads of the generation that the context reads; `LeftGenerations` alone reads older ones. Errors of stores become
// errors of the context. Every fetch, fault and list passes through `read`.
//
// Invariants
//   1. If no open store could answer, the answer is an error and never empty.
//   2. If a store has discarded the generation, the context moves to the newest one and repeats the read, once. A
//      context that the application has pinned to that generation gets an error instead.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The matching rows of every store that may hold some, one list per store.
    func storedRows(_ fetch: StoreFetch) throws(ContextError) -> [SnapshotList] {
        var lists: [SnapshotList] = []
        for position in try positions(for: fetch) {
            lists.append(try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.fetch(fetch) })
        }
        return lists
    }

    /// The stores' plans for a fetch, line by line.
    func storedExplanation(_ fetch: StoreFetch, as form: FetchForm) throws(ContextError) -> [String] {
        var lines: [String] = []
        for position in try positions(for: fetch) {
            lines += try read(position, fetch) { snapshot, fetch throws(StoreError) in
                try snapshot.explain(fetch, as: form)
            }
        }
        return lines
    }

    /// The stores' plans for a fetch after their execution.
    func storedAnalysis(_ fetch: StoreFetch) throws(ContextError) -> PlanStep {
        var steps: [PlanStep] = []
        for position in try positions(for: fetch) {
            steps.append(
                try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.analyze(fetch) })
        }
        return Self.joined(steps)
    }

    /// The steps of several stores as one.
    static func joined(_ steps: [PlanStep]) -> PlanStep {
        guard steps.count != 1 else { return steps[0] }
        return PlanStep("join the rows of \(steps.count) stores", sources: steps)
    }

    /// Rows by ID, all of one store; `nil` for an ID without a row.
    func storedRows(of ids: [ObjectID]) throws(ContextError) -> [ObjectSnapshot?] {
        guard let first = ids.first else { return [] }
        assert(StepCount.note(ids.count))
        return try read(holding: first, ids) { snapshot, ids throws(StoreError) in try snapshot.snapshots(of: ids) }
    }

    /// Calls `body` with the snapshot of the store that holds the object, and with `question`.
    func read<Question, Answer>(
        holding id: ObjectID, _ question: Question,
        _ body: (any StoreSnapshot, Question) throws(StoreError) -> Answer
    ) throws(ContextError) -> Answer {
        guard let position = generation.position(holding: id) else { throw .noStore(entity: id.entityName) }
        return try read(position, question, body)
    }

    /// Calls `body` with the snapshot of the store at `position` and with `question`, which it gets as an argument,
    /// because a closure that captured the question would copy it.
    func read<Question, Answer>(
        _ position: Int, _ question: Question, _ body: (any StoreSnapshot, Question) throws(StoreError) -> Answer
    ) throws(ContextError) -> Answer {
        do {
            return try ask(position, question, body)
        } catch {
            guard error.isSnapshotExpired else { throw ContextError(error) }
        }
        guard !isPinned else { throw .queryGenerationExpired(path: generation.parts[position].part.path) }
        leaveLostGeneration()
        do { return try ask(position, question, body) } catch { throw ContextError(error) }
    }

    @inline(__always)
    private func ask<Question, Answer>(
        _ position: Int, _ question: Question, _ body: (any StoreSnapshot, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let snapshot = try generation.snapshot(at: position)
        guard memory.logsRequests, let requestLog else { return try body(snapshot, question) }
        return try logged(requestLog, snapshot, question, body)
    }

    /// The stores that a fetch asks.
    ///
    /// - Throws: `ContextError.noStore` if there are none: an empty list would mean that a store has answered.
    func positions(for fetch: StoreFetch) throws(ContextError) -> [Int] {
        let positions = generation.positions(for: fetch)
        guard !positions.isEmpty else { throw .noStore(entity: fetch.entity.name) }
        return positions
    }

    /// The position of the part that has begun to answer a fetch.
    ///
    /// A walk that calls the application keeps the store tag, because positions change when stores are added or
    /// removed. A parent is one part without a tag.
    ///
    /// - Throws: `ContextError.noStore` if the store was removed.
    func position(ofStore tag: UInt32?, for fetch: StoreFetch) throws(ContextError) -> Int {
        guard let position = generation.position(ofStore: tag) else { throw .noStore(entity: fetch.entity.name) }
        return position
    }

    /// Whether the application has chosen the generation that this context or its parent reads.
    private var isPinned: Bool { generation.isPinned || parent?.isPinned == true }

    /// Moves to the newest generation, because a store has discarded the one that was read.
    ///
    /// Unchanged objects become faults. Changed objects keep their changes and the rows on which these were made: the
    /// next save finds out whether another context or process has changed the rows.
    private func leaveLostGeneration() {
        // A child reads the stores below its parent: the parent has to read another generation, too.
        parent?.leaveLostGeneration()
        generation.lose()
        forgetReads()
        childSource?.tellEverything()
        for object in memory.registry.objects where object.isClean && object.hasRow {
            noteRefreshed(object)
            object.turnIntoFault()
        }
        noteLostGeneration()
    }
}
