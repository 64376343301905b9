// Requests to stores, timed and described for a log (DB-01).
//
// Invariants
//   1. The plan is made after the request was answered: its time is no part of the duration that is reported.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Calls `body` with a snapshot and a question, and reports the question and the answer to the log.
    @inline(never)
    func logged<Question, Answer>(
        _ log: RequestLog, _ snapshot: any StoreSnapshot, _ question: Question,
        _ body: (any StoreSnapshot, Question) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let start = ContinuousClock.now
        var request = LoggedRequest(question, answer: Answer.self)
        do {
            let answer = try body(snapshot, question)
            request.note(answer)
            report(request, to: log, start.duration(to: .now), snapshot, lastCondition, failure: nil)
            return answer
        } catch {
            report(request, to: log, start.duration(to: .now), snapshot, lastCondition, failure: "\(error)")
            throw error
        }
    }

    /// Reports the requests that another thread has made: a count, if there was one, and the question itself.
    ///
    /// - Parameters:
    ///   - condition: the condition of the fetch, if the log wants values.
    ///   - isCancelled: whether the request was cancelled while another thread was reading.
    func report<Answer>(
        _ question: some Any, _ aside: AnswersReadAside<Answer>, _ counted: StoreFetch?,
        from snapshots: [any StoreSnapshot], _ condition: String?, isCancelled: Bool
    ) {
        guard memory.logsRequests, let log = requestLog, let snapshot = snapshots.first else { return }
        if let counted, let count = aside.count {
            var counting = LoggedRequest(counted, answer: Int.self)
            counting.note(count)
            report(counting, to: log, aside.countDuration, snapshot, condition, failure: nil)
        }
        var request = LoggedRequest(question, answer: Answer.self)
        var rowCount = 0
        for answer in aside.answers {
            request.note(answer)
            rowCount += request.rowCount
        }
        request.rowCount = rowCount
        let failure = aside.failure.map { "\($0)" }
        report(
            request, to: log, aside.duration, snapshot, condition,
            failure: failure ?? (isCancelled ? "\(ContextError.fetchCancelled)" : nil))
    }

    private func report(
        _ request: LoggedRequest, to log: RequestLog, _ duration: Duration, _ snapshot: any StoreSnapshot,
        _ lastCondition: String?, failure: String?
    ) {
        var plan: [String] = []
        if log.level >= .plans, failure == nil, request.kind != .explain, let fetch = request.fetch {
            plan = (try? snapshot.explain(fetch, as: request.form)) ?? []
        }
        let condition = request.fetch == nil ? nil : lastCondition
        log.receive(
            StoreRequestRecord(
                kind: request.kind, entityName: request.entityName, contextName: name, isOfParent: parent != nil,
                rowCount: request.rowCount, duration: duration, plan: plan,
                values: log.level >= .values ? request.values(condition) : nil, failure: failure))
    }

    /// Calls `save`, which sends the request of a save, and reports it to the log.
    func loggedSave(
        _ log: RequestLog, _ request: SaveRequest, _ save: () throws(StoreError) -> SaveResult
    ) throws(StoreError) -> SaveResult {
        var writing = LoggedWriting(.save, nil, isOfParent: parent != nil) { Self.values(of: request) }
        writing.rowCount = request.insertions.count + request.updates.count + request.deletions.count
        do {
            let result = try save()
            report(writing, to: log, failure: nil)
            return result
        } catch {
            report(writing, to: log, failure: "\(error)")
            throw error
        }
    }

    /// Calls `reserve`, which takes IDs for new rows, and reports it to the log, if there is one.
    func reservation(
        of count: Int, for entity: Entity, _ reserve: () throws(StoreError) -> [ObjectID]
    ) throws(StoreError) -> [ObjectID] {
        guard let requestLog else { return try reserve() }
        var ids: [ObjectID] = []
        var writing = LoggedWriting(.reserveIDs, entity.name, isOfParent: parent != nil) { LoggedRequest.text(ids) }
        writing.rowCount = count
        do {
            ids = try reserve()
            report(writing, to: requestLog, failure: nil)
            return ids
        } catch {
            report(writing, to: requestLog, failure: "\(error)")
            throw error
        }
    }

    /// Reports a request that has written, or has failed.
    func report(_ request: LoggedWriting, to log: RequestLog, failure: String?) {
        log.receive(
            StoreRequestRecord(
                kind: request.kind, entityName: request.entityName, contextName: name, isOfParent: request.isOfParent,
                rowCount: request.rowCount, duration: request.start.duration(to: .now), plan: [],
                values: log.level >= .values ? request.values() : nil, failure: failure))
    }

    private static func values(of request: SaveRequest) -> String {
        "\(request.insertions.count) insertions, updates of \(LoggedRequest.text(request.updates.map(\.id))), "
            + "deletions of \(LoggedRequest.text(request.deletions.map(\.id)))"
    }
}

/// The answers that another thread has read, and the time of each request.
struct AnswersReadAside<Answer: Sendable>: Sendable {
    /// One answer for each store, in the order of the stores.
    var answers: [Answer] = []
    /// The number of matching rows; `nil` if nobody asked for it, or the stores could not count them.
    var count: Int?
    var countDuration = Duration.zero
    var duration = Duration.zero
    /// The error of a store, after which `answers` are incomplete.
    var failure: StoreError?
}

/// A request that writes, as a log reports it.
struct LoggedWriting {
    let kind: StoreRequestRecord.Kind
    let entityName: String?
    let isOfParent: Bool
    /// Called after the request, and only for a log with values.
    let values: () -> String?
    let start = ContinuousClock.now
    var rowCount = 0

    init(
        _ kind: StoreRequestRecord.Kind, _ entityName: String?, isOfParent: Bool = false,
        _ values: @escaping () -> String?
    ) {
        (self.kind, self.entityName, self.isOfParent, self.values) = (kind, entityName, isOfParent, values)
    }

    /// The first of some IDs, and the number of the others.
    static func text(_ ids: [ObjectID]) -> String { LoggedRequest.text(ids) }
}

/// One request, as a log reports it.
private struct LoggedRequest {
    var kind = StoreRequestRecord.Kind.rows
    var fetch: StoreFetch?
    var ids: [ObjectID] = []
    var rowCount = 0

    /// - Parameter answer: the type of the answer. It tells what was asked, also if no answer comes.
    init<Answer>(_ question: some Any, answer: Answer.Type) {
        switch question {
        case let fetch as StoreFetch: (self.fetch, kind) = (fetch, .fetch)
        case let values as StoreValueFetch: (fetch, kind) = (values.rows, .values)
        case let ids as [ObjectID]: self.ids = ids
        case let id as ObjectID: (ids, kind) = ([id], .membership)
        default: break
        }
        if answer == [ObjectID].self {
            kind = .fetchIDs
        } else if answer == Int.self {
            kind = fetch == nil ? .destinationCount : .count
        } else if answer == [[ObjectID]].self {
            kind = .destinations
        } else if answer == [String].self || answer == PlanStep.self {
            kind = .explain
        }
    }

    /// The form of the answer.
    var form: FetchForm {
        switch kind {
        case .fetchIDs: .ids
        case .count: .count
        default: .rows
        }
    }

    var entityName: String? { fetch?.entity.name ?? ids.first?.entityName }

    /// Notes the size of an answer.
    mutating func note(_ answer: some Any) {
        switch answer {
        // An empty array is an array of any type, and of no rows.
        case let found as [ObjectID]: rowCount = found.count
        case let rows as SnapshotList: rowCount = rows.ids.count
        case let lists as [SnapshotList]: rowCount = lists.reduce(0) { $0 + $1.ids.count }
        case let batch as FetchBatch: rowCount = batch.rows.ids.count
        case let values as ValueCollector: rowCount = values.count
        case let batch as (SnapshotList, ValueCollector, StoreFetch?): rowCount = batch.1.count
        case let count as Int: rowCount = count
        case let rows as [ObjectSnapshot?]: rowCount = rows.lazy.filter { $0 != nil }.count
        case let lists as [[ObjectID]]: rowCount = lists.reduce(0) { $0 + $1.count }
        case let isMember as Bool: rowCount = isMember ? 1 : 0
        case let lines as [String]: rowCount = lines.count
        case let step as PlanStep: rowCount = step.foundCount ?? 0
        default: break
        }
    }

    /// The condition of a fetch, or the IDs.
    func values(_ condition: String?) -> String {
        guard let fetch else { return Self.text(ids) }
        let limits = (fetch.limit.map { ", limit \($0)" } ?? "") + (fetch.offset > 0 ? ", offset \(fetch.offset)" : "")
        return (condition ?? "all objects") + limits
    }

    /// The first of some IDs, and the number of the others.
    static func text(_ ids: [ObjectID]) -> String {
        let shownCountMax = 10
        let more = ids.count > shownCountMax ? ["and \(ids.count - shownCountMax) more"] : []
        return ids.isEmpty ? "nothing" : (ids.prefix(shownCountMax).map(\.description) + more).joined(separator: ", ")
    }
}
