// Runs of deleted destinations in ordered relationships: with them the place of the next destination that is deleted or
// removed is found without a walk over those before it.
//
// Invariants
//   1. All destinations in the range of a run are deleted. `predecessor` is the destination directly before the range,
//      and was not deleted when the run was found; `nil` if there is none.
//   2. A run ends with a step that may move its destinations (`follow`). A change without a step ends all runs, and so
//      does a deletion that is taken back (UndoJournal).
//   3. An order has at most one run, the longest of those that its last steps have found. A run retains its owner.
// Not here: how places are found (UndoJournal), and what they are for (Reversal).

import EspalierModel

/// Deleted destinations that stand one after the other in an order.
struct DeletedRun {
    fileprivate let owner: ManagedObject
    /// Their indices.
    fileprivate(set) var range: Range<Int>
    let predecessor: UndoStep.End?

    /// The deleted destinations directly before a place.
    fileprivate init(before place: UndoStep.Place, in owner: ManagedObject) {
        self.owner = owner
        range = place.index - place.deletedCount..<place.index
        predecessor = place.predecessor
    }

    /// Whether all destinations from the first one of the run up to `index`, which is not among them, are deleted.
    func reaches(_ index: Int) -> Bool { range.lowerBound <= index && index <= range.upperBound }

    /// The run after the removal of the destination at `index`; `nil` if that was its predecessor.
    fileprivate func afterRemoval(at index: Int) -> DeletedRun? {
        if index == range.lowerBound - 1 { return nil }
        var run = self
        let (lower, upper) = (range.lowerBound, range.upperBound)
        run.range = (index < lower ? lower - 1 : lower)..<(index < upper ? upper - 1 : upper)
        return run
    }

    /// This run with those of another one that overlap it or follow it; the longer of the two if there is a gap.
    fileprivate func joined(with other: DeletedRun) -> DeletedRun {
        guard reaches(other.range.lowerBound) else { return other.range.count > range.count ? other : self }
        var run = self
        run.range = range.lowerBound..<max(range.upperBound, other.range.upperBound)
        return run
    }
}

/// The runs that are known, by order.
struct DeletedRuns {
    /// An ordered relationship of an object, which the run retains.
    private struct Order: Hashable {
        let owner: ObjectIdentifier
        let slot: Int

        init(_ owner: ManagedObject, _ slot: Int) { (self.owner, self.slot) = (ObjectIdentifier(owner), slot) }
    }

    private var runs: [Order: DeletedRun] = [:]

    /// The run in an ordered relationship; `nil` if none is known.
    func run(of owner: ManagedObject, at slot: Int) -> DeletedRun? {
        runs.isEmpty ? nil : runs[Order(owner, slot)]
    }

    /// The runs that the deletion of a step has extended; none if the step is another one.
    func only(of step: UndoStep?) -> DeletedRuns {
        var kept = DeletedRuns()
        guard let step, !runs.isEmpty else { return kept }
        Self.forEachPlace(of: step) { owner, slot, _ in
            let order = Order(owner, slot)
            kept.runs[order] = runs[order]
        }
        return kept
    }

    /// Follows a change, before it is made.
    ///
    /// - Returns: the former runs, which the caller releases after the access: freeing an object may run application
    ///   code.
    /// - Complexity: O(1); O(destinations) for a deletion, whose step has all of them.
    mutating func follow(_ step: UndoStep) -> [DeletedRun] {
        switch step.change {
        case .deleted:
            var former: [DeletedRun] = []
            Self.forEachPlace(of: step) { owner, slot, place in
                var run = DeletedRun(before: place, in: owner)
                run.range = run.range.lowerBound..<place.index + 1
                let order = Order(owner, slot)
                if let known = runs[order] { run = run.joined(with: known) }
                if let known = runs.updateValue(run, forKey: order) { former.append(known) }
            }
            return former
        case .removed(let slot, _, let place?):
            let (order, owner) = (Order(step.object, slot), step.object)
            let known = runs.isEmpty ? nil : runs[order]
            guard known != nil || place.deletedCount > 0 else { return [] }
            var run = DeletedRun(before: place, in: owner)
            if let known = known?.afterRemoval(at: place.index) { run = run.joined(with: known) }
            return runs.updateValue(run, forKey: order).map { [$0] } ?? []
        case .removed(let slot, _, nil), .added(let slot, _), .moved(let slot, _, _), .order(let slot, _):
            guard !runs.isEmpty else { return [] }
            return runs.removeValue(forKey: Order(step.object, slot)).map { [$0] } ?? []
        case .inserted, .attribute, .destination:
            return []
        }
    }

    /// Calls `body` with the place of a deleted object in each order of an object in memory that keeps it.
    private static func forEachPlace(of step: UndoStep, _ body: (ManagedObject, Int, UndoStep.Place) -> Void) {
        guard case .deleted(let relations) = step.change else { return }
        for (relationship, relations) in zip(step.object.entity.relationships, relations) {
            guard let inverse = step.object.withShape({ $0.inverses[relationship.slot] }), inverse.isOrdered else {
                continue
            }
            for relation in relations {
                if let place = relation.place, case .object(let owner) = relation.end {
                    body(owner, inverse.slot, place)
                }
            }
        }
    }
}
