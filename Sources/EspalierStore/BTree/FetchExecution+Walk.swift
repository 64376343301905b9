// Leaves the way along an index on which too few rows pass, and sorts the rows of another source.
//
// Invariants
//   1. Sorting begins anew, with no row of the way: the result is that of either way alone.

internal import EspalierModel

extension FetchExecution {
    /// Whether the rest of the way is expected to cost more than sorting from the start (`OrderChoice`).
    func leavesIndex(_ choice: OrderChoice, after visitedCount: Int) -> Bool {
        assert(visitedCount > 0, "\(visitedCount) rows were visited")
        let wanted = Double(plan.offset) + Double(plan.limit ?? 0)
        return choice.isOutrun(after: visitedCount, found: sink.foundCount, of: wanted)
    }

    /// Finds the rows by the other source of a choice, to be sorted.
    mutating func sort(insteadOf choice: OrderChoice) throws(StoreError) {
        assert(sink.kind != .count, "a number of rows has an order")
        let source = choice.bySorting
        (plan.access, plan.isExact, plan.order) = (source.access, source.isExact, .sorted(choice.sort))
        let kind = sink.kind
        sink = FetchSink(
            kind, offset: plan.offset, limit: plan.limit, numbering: catalog.numbering, columns)
        sink.hasLeftIndex = true
        sortBuffer = SortBuffer(for: plan, session.sortSpace)
        sortsByOwnValues = choice.sort.allSatisfy(\.isOfOwnValue)
        acceptsEveryRow = false
        // Chooses the tests, for which order and sort buffer have to be known.
        residual = source.residual
        if case .candidates(let candidates) = source.access { return try find(candidates) }
        sink.comesFromScan = true
        try scan()
    }
}
