// Executes a plan step by step, to tell how many rows each step finds and how long it takes.
//
// Invariants
//   1. Each step runs by itself, with the steps below it and without the limit above it: its numbers are those of the
//      whole step. So a fetch that stops early takes less time than the steps below it.
//   2. The first step is the whole fetch, on the path that `fetch` takes: its rows are copied, and their number kept.

internal import EspalierModel

extension BTreeSnapshot {
    /// The steps of the plan of `fetch` after it was executed, with the numbers of rows expected and found.
    ///
    /// - Complexity: that of the fetch without its limit, times the number of steps.
    public func analyze(_ fetch: StoreFetch) throws(StoreError) -> PlanStep {
        try check(fetch)
        if let remaining = fetch.remaining {
            return PlanStep(Self.foundText(remaining.count), foundCount: try self.fetch(fetch).count)
        }
        return try withSession(for: fetch) { session, fetch throws(StoreError) in
            let plan = try session.plan(fetch, wantsRows: true, store)
            return try PlanAnalysis(plan: plan, session: session, snapshot: self).result()
        }
    }
}

/// The analysis of one plan.
struct PlanAnalysis {
    let plan: FetchPlan
    let session: ReadSession
    let snapshot: BTreeSnapshot

    private var schema: StoreSchema { session.catalog.schema }

    /// The whole fetch.
    func result() throws(StoreError) -> PlanStep {
        let source = try source()
        var (readsAll, isSorted) = (false, false)
        var spilledByteCount: UInt64 = 0
        let (count, duration) = try measure { () throws(StoreError) in
            if let rows = try snapshot.rowsOfOneValue(plan, session.transaction) { return rows.count }
            let sink = try FetchExecution(plan, .rows, session).run()
            (readsAll, isSorted) = (sink.comesFromScan, sink.hasLeftIndex)
            spilledByteCount = sink.spilledByteCount
            return sink.count
        }
        var note = isSorted ? "; too few rows along the index pass, and rows were sorted" : ""
        if readsAll { note += "; all rows were read instead, in their order" }
        if spilledByteCount > 0 { note += "; \(spilledByteCount) bytes were sorted in a temporary file" }
        return PlanStep(
            plan.resultText + note, expectedCount: plan.limit.map { min($0, plan.estimate.wholeCount) },
            foundCount: count, duration: duration, sources: [source])
    }

    /// The rows that are read and tested, without order and limit.
    func source() throws(StoreError) -> PlanStep {
        let read = try access()
        return plan.residual.isEmpty ? read : try tests(on: read)
    }

    /// The entries of an index in some ranges, of which `action` tells the use.
    func entries(
        of group: Int, _ ranges: [EntryRange], expected: Double, _ action: String
    ) throws(StoreError) -> PlanStep {
        let found = try step(of: .index(group: group, ranges), RowEstimate(count: expected))
        return PlanStep(
            action, expectedCount: found.expectedCount, foundCount: found.foundCount, duration: found.duration)
    }

    /// The conditions that the access does not answer.
    private func tests(on source: PlanStep) throws(StoreError) -> PlanStep {
        var all = plan
        (all.limit, all.offset) = (nil, 0)
        if case .sorted = all.order { all.order = .primaryKey }
        let (count, duration) = try measure { () throws(StoreError) in
            try FetchExecution(all, .ids, session).run().count
        }
        return PlanStep(plan.testText, foundCount: count, duration: duration, sources: [source])
    }

    /// The rows that are read.
    private func access() throws(StoreError) -> PlanStep {
        switch plan.access {
        case .nothing: return PlanStep("nothing can match", expectedCount: 0, foundCount: 0)
        case .rows: return try allRows()
        case .oneValue(let group, let prefix):
            return try step(of: .index(group: group, [.beginning(with: prefix)]), plan.estimate)
        case .candidates(let source): return try step(of: source, plan.estimate)
        case .index(let group, let range, let isReversed):
            let found = try step(of: .index(group: group, [range]), plan.estimate)
            return PlanStep(
                found.action + (isReversed ? ", backwards" : ""), expectedCount: found.expectedCount,
                foundCount: found.foundCount, duration: found.duration)
        }
    }

    private func allRows() throws(StoreError) -> PlanStep {
        let (count, duration) = try measure { () throws(StoreError) in
            var count = 0
            var cursor = try session.transaction.cursor(over: session.catalog.rowTree(of: plan.entity))
            guard try cursor.first() else { return 0 }
            try cursor.forEachBeginning { _, _, _ throws(StoreError) in
                count += 1
                return true
            }
            return count
        }
        return PlanStep(
            plan.accessText(schema), expectedCount: plan.estimate.wholeCount, foundCount: count, duration: duration)
    }

    /// The step of a source of candidates, with the steps of the sources that it uses.
    private func step(of source: CandidateSource, _ estimate: RowEstimate) throws(StoreError) -> PlanStep {
        var sources: [PlanStep] = []
        for (part, index) in zip(source.parts, source.parts.indices) {
            let estimates = estimate.parts
            sources.append(
                try step(of: part, estimates.indices.contains(index) ? estimates[index] : RowEstimate(count: 0)))
        }
        assert(source.parts.count == estimate.parts.count, "a source of a plan was not estimated")
        let (count, duration) = try measure { () throws(StoreError) in
            try CandidateCollector(session: session, countMax: .max).candidates(source)?.count ?? 0
        }
        return PlanStep(
            source.ownExplanation(schema), expectedCount: estimate.wholeCount, foundCount: count, duration: duration,
            sources: sources)
    }

    func measure(_ body: () throws(StoreError) -> Int) throws(StoreError) -> (count: Int, Duration) {
        defer { session.forgetRows() }
        let begun = ContinuousClock.now
        let count = try body()
        assert(count >= 0, "\(count) rows were found")
        return (count, begun.duration(to: .now))
    }
}
