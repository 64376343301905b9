// The steps of one event, which the undo stack keeps until they are undone.
//
// Invariants
//   1. The steps are in the order of their changes.
//   2. A merge is no action: it registers none, and what was undone before can still be redone. If delete rules run
//      again because a merge has put a newer row below a deletion, their steps are appended to the action of that
//      deletion. Actions that were registered since may be undone while these objects are still deleted.
// Not here: the steps of the current event (UndoJournal), and how they are undone (Reversal).

/// An action of a context.
final class UndoAction {
    private(set) var steps: [UndoStep]
    /// The edition of the journal in which the first step was made.
    let edition: Int
    /// Whether it is on the redo stack.
    let isRedo: Bool

    init(_ steps: [UndoStep], _ edition: Int, isRedo: Bool) {
        (self.steps, self.edition, self.isRedo) = (steps, edition, isRedo)
    }

    func append(_ step: UndoStep) { steps.append(step) }

    /// Removes all steps after the first `count`, and returns them: the caller releases them after the access.
    func removeSteps(after count: Int) -> ArraySlice<UndoStep> {
        assert(count >= 0, "\(count) steps")
        let former = steps
        guard count < former.count else { return [] }
        steps = Array(former.prefix(count))
        return former[count...]
    }
}
