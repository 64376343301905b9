// Merging an ordered list that two sides have changed.
//
// Invariants
//   1. An ID that one side added is in the result, and one that a side removed is not, whichever order wins.
//   2. Sides are in conflict only if each has moved destinations that were there before, and not to the same order.
// Not here: which lists are merged, and when (+NewerRows).

import EspalierModel

/// A list as it was, as this context has it, and as the store has it.
struct ListMerge {
    /// What both began with.
    let base: [ObjectID]
    /// Without destinations twice, as the others.
    let mine: [ObjectID]
    let stored: [ObjectID]

    /// Whether destinations that were there before stand in another order here.
    var isMovedHere: Bool { Self.differInOrder(base, mine) }
    /// Whether destinations that were there before stand in another order in the store.
    var isMovedThere: Bool { Self.differInOrder(base, stored) }
    /// Whether no order does justice to both sides.
    var isConflict: Bool {
        // Mostly the store has what both began with.
        base != stored && Self.differInOrder(mine, stored) && isMovedHere && isMovedThere
    }

    /// Both sides' additions and removals, in the order of one side; additions of the other stand before what they
    /// stand before there, or at the end.
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
        // For each destination, those of the other side that stand before it and are not placed yet.
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

    /// Whether what stands in both lists stands in another order.
    static func differInOrder(_ left: [ObjectID], _ right: [ObjectID]) -> Bool {
        if left == right { return false }
        let (inLeft, inRight) = (Set(left), Set(right))
        return left.filter(inRight.contains) != right.filter(inLeft.contains)
    }
}
