// The choice between reading rows in their order along an index, and sorting the rows of another source.
//
// Invariants
//   1. Either way finds the same rows in the same order, so that the choice may also be changed while rows are read.

internal import EspalierModel

/// A source of rows with the conditions that it leaves to be tested, and its cost.
struct PricedSource: Sendable {
    let access: FetchPlan.Access
    /// Conditions that every row must still pass.
    let residual: [ResolvedPredicate.Node]
    /// Whether all rows that `access` finds exist and pass the whole condition.
    let isExact: Bool
    /// The number of rows that `access` is expected to find.
    let estimate: RowEstimate
    /// The expected cost of reading as many of them as are needed; a scan costs 1 for each row.
    var cost: Double
    /// The share of the rows of `access` that are expected to pass, above 0.
    var passShare = 1.0

    /// The cost as a whole number.
    var wholeCost: Int { Int(min(max(0, cost.rounded()), 0x1p62)) }
}

/// The two ways to the order of a fetch.
///
/// A class, because plans are copied.
final class OrderChoice: Sendable {
    /// Along the cheapest of the indexes that have the order.
    let byIndex: PricedSource
    /// By sorting the rows of the cheapest other source; the cost includes the sort.
    let bySorting: PricedSource
    /// The order.
    let sort: [ResolvedSortKey]

    init(byIndex: PricedSource, bySorting: PricedSource, sort: [ResolvedSortKey]) {
        (self.byIndex, self.bySorting, self.sort) = (byIndex, bySorting, sort)
        assert(!sort.isEmpty && byIndex.passShare > 0, "a choice of the order by \(sort.count) sort keys")
    }

    /// Whether the rows are read along the index.
    var takesIndex: Bool { byIndex.cost < bySorting.cost }

    /// Whether the rest of a walk along the index is expected to cost more than sorting from the start.
    ///
    /// The share of the rows that pass is taken from the rows that the walk has visited; the expectation of the plan
    /// counts like one more row that has passed. So a walk for 20 rows on which none passes ends after about a
    /// twentieth of the cost of sorting.
    ///
    /// - Parameters:
    ///   - foundCount: The number of visited rows that have passed.
    ///   - wanted: The number of rows that are to be found.
    func isOutrun(after visitedCount: Int, found foundCount: Int, of wanted: Double) -> Bool {
        assert(foundCount <= visitedCount, "\(foundCount) of \(visitedCount) rows have passed")
        let rowsForEach = (Double(visitedCount) + 1 / byIndex.passShare) / Double(foundCount + 1)
        var rest = rowsForEach * max(0, wanted - Double(foundCount))
        // The range may end earlier. An estimate that the walk has exceeded was wrong, and says nothing.
        let left = byIndex.estimate.count - Double(visitedCount)
        if left > 0 { rest = min(rest, left) }
        return FetchPlanner.indexCost(rest) > bySorting.cost
    }
}

extension FetchPlan {
    /// Whether the execution may leave the index that has the order, because too few rows along it pass.
    var mayLeaveIndex: Bool {
        guard case .asRead = order, limit != nil, let orderChoice else { return false }
        return orderChoice.takesIndex && !residual.isEmpty
    }

    /// The reason for the order, in words: what either way is expected to cost, and what happens if the expectation
    /// fails.
    func orderReason(_ schema: StoreSchema) -> [String] {
        guard let choice = orderChoice else { return [] }
        let (byIndex, bySorting) = (choice.byIndex.wholeCost, choice.bySorting.wholeCost)
        guard choice.takesIndex else {
            let index = Self.text(of: choice.byIndex.access, of: entity, schema)
            return ["cost: \(bySorting) by sorting, \(byIndex) by \(index)"]
        }
        let cost = "cost: \(byIndex) by this index, \(bySorting) by sorting"
        guard mayLeaveIndex else { return [cost] }
        let source = Self.text(of: choice.bySorting.access, of: entity, schema)
        return [cost, "if too few rows pass: \(source), \(sortText(choice.sort))"]
    }
}
