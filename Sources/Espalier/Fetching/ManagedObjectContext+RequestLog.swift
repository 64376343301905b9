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
        var request = LoggedRequest(question)
        do {
            let answer = try body(snapshot, question)
            request.note(answer)
            report(request, to: log, since: start, snapshot, failure: nil)
            return answer
        } catch {
            report(request, to: log, since: start, snapshot, failure: error)
            throw error
        }
    }

    private func report(
        _ request: LoggedRequest, to log: RequestLog, since start: ContinuousClock.Instant,
        _ snapshot: any StoreSnapshot, failure: StoreError?
    ) {
        let duration = start.duration(to: .now)
        var plan: [String] = []
        if log.level >= .plans, failure == nil, request.kind != .explain, let fetch = request.fetch {
            plan = (try? snapshot.explain(fetch)) ?? []
        }
        let condition = request.fetch == nil ? nil : lastCondition
        log.receive(
            StoreRequestRecord(
                kind: request.kind, entityName: request.entityName, contextName: name, isOfParent: parent != nil,
                rowCount: request.rowCount, duration: duration, plan: plan,
                values: log.level >= .values ? request.values(condition) : nil, failure: failure.map { "\($0)" }))
    }

    /// Calls `save`, which sends the request of a save, and reports it to the log.
    func loggedSave(
        _ log: RequestLog, _ request: SaveRequest, _ save: () throws(StoreError) -> SaveResult
    ) throws(StoreError) -> SaveResult {
        let start = ContinuousClock.now
        var failure: StoreError?
        defer {
            log.receive(
                StoreRequestRecord(
                    kind: .save, entityName: nil, contextName: name, isOfParent: parent != nil,
                    rowCount: request.insertions.count + request.updates.count + request.deletions.count,
                    duration: start.duration(to: .now), plan: [],
                    values: log.level >= .values ? Self.values(of: request) : nil, failure: failure.map { "\($0)" }))
        }
        do {
            return try save()
        } catch {
            failure = error
            throw error
        }
    }

    private static func values(of request: SaveRequest) -> String {
        "\(request.insertions.count) insertions, updates of \(LoggedRequest.text(request.updates.map(\.id))), "
            + "deletions of \(LoggedRequest.text(request.deletions.map(\.id)))"
    }
}

/// One request, as a log reports it.
private struct LoggedRequest {
    var kind = StoreRequestRecord.Kind.rows
    var fetch: StoreFetch?
    var ids: [ObjectID] = []
    var rowCount = 0

    init(_ question: some Any) {
        switch question {
        case let fetch as StoreFetch: (self.fetch, kind) = (fetch, .fetch)
        case let values as StoreValueFetch: (fetch, kind) = (values.rows, .values)
        case let ids as [ObjectID]: self.ids = ids
        case let id as ObjectID: (ids, kind) = ([id], .membership)
        default: break
        }
    }

    var entityName: String? { fetch?.entity.name ?? ids.first?.entityName }

    /// Notes the size of an answer, whose type tells what was asked.
    mutating func note(_ answer: some Any) {
        switch answer {
        case let rows as SnapshotList: rowCount = rows.ids.count
        case let batch as FetchBatch: rowCount = batch.rows.ids.count
        case let values as ValueCollector: rowCount = values.count
        case let batch as (ValueCollector, StoreFetch?): rowCount = batch.0.count
        case let found as [ObjectID]: (rowCount, kind) = (found.count, .fetchIDs)
        case let count as Int: (rowCount, kind) = (count, fetch == nil ? .destinationCount : .count)
        case let rows as [ObjectSnapshot?]: rowCount = rows.lazy.filter { $0 != nil }.count
        case let lists as [[ObjectID]]: (rowCount, kind) = (lists.reduce(0) { $0 + $1.count }, .destinations)
        case let isMember as Bool: rowCount = isMember ? 1 : 0
        case let lines as [String]: (rowCount, kind) = (lines.count, .explain)
        case let step as PlanStep: (rowCount, kind) = (step.foundCount ?? 0, .explain)
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
