// The merge of an ordered list that two sides have changed.
//
// Invariants
//   1. An ID that one side added is in the result, and one that a side removed is not, whichever order wins.
//   2. The sides are in conflict only if each has moved destinations that all three lists contain, and the two orders
//      differ.
// Not here: which lists are merged, and when (+NewerRows).

import EspalierModel

/// Three versions of a list: the common base, this context's, and the store's.
struct ListMerge {
    /// The list from which both sides started.
    let base: [ObjectID]
    /// Without duplicates, like the other two.
    let mine: [ObjectID]
    let stored: [ObjectID]

    /// Whether this context has changed the order of destinations of the base list, as far as both sides kept them.
    var isMovedHere: Bool { base != mine && isMoved(in: mine) }
    /// Whether the store has changed the order of destinations of the base list, as far as both sides kept them.
    var isMovedThere: Bool { base != stored && isMoved(in: stored) }
    /// Whether no order suits both sides.
    var isConflict: Bool {
        // The common case: the store still has the base list.
        base != stored && Self.differInOrder(mine, stored) && isMovedHere && isMovedThere
    }

    /// The additions and removals of both sides, in the order of one side.
    ///
    /// An addition of the other side is inserted before the destination that follows it there, or appended at the end.
    ///
    /// - Complexity: O(length) expected.
    func merged(inOrderOfStore: Bool) -> [ObjectID] {
        if base == stored && !inOrderOfStore { return mine }
        let (before, here) = (Set(base), Set(mine))
        var members = Set(stored.lazy.filter { here.contains($0) || !before.contains($0) })
        for id in mine where !before.contains(id) { members.insert(id) }
        let (first, second) = inOrderOfStore ? (stored, mine) : (mine, stored)
        let placed = first.filter(members.contains)
        var rest = members
        for id in placed { rest.remove(id) }
        guard !rest.isEmpty else { return placed }
        // For each placed destination, the unplaced ones that the other side has directly before it.
        var (leading, run): ([ObjectID: [ObjectID]], [ObjectID]) = ([:], [])
        for id in second where members.contains(id) {
            if rest.contains(id) {
                run.append(id)
            } else if !run.isEmpty {
                leading[id] = run
                run = []
            }
        }
        let merged = placed.flatMap { (leading[$0] ?? []) + [$0] } + run
        assert(merged.count == members.count, "\(merged.count) of \(members.count) destinations have a place")
        return merged
    }

    /// Whether the destinations that all three lists contain are in another order in `list` than in the base list.
    private func isMoved(in list: [ObjectID]) -> Bool {
        let common = Set(base).intersection(mine).intersection(stored)
        return base.filter(common.contains) != list.filter(common.contains)
    }

    /// Whether the IDs that both lists contain are in different orders.
    private static func differInOrder(_ left: [ObjectID], _ right: [ObjectID]) -> Bool {
        if left == right { return false }
        let (inLeft, inRight) = (Set(left), Set(right))
        return left.filter(inRight.contains) != right.filter(inLeft.contains)
    }
}
