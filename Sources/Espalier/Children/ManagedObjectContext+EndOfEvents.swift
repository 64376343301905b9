// The end of the events in a tree of contexts: after a turn of the main actor, a block, or a job of an actor (MC-36).
//
// Invariants
//   1. The events of children end together with that of the root, children before their parents: a child that saves by
//      itself changes its parent, which then saves after it.
//   2. No child is retained longer than its own event takes to end: an application cancels a draft by releasing it,
//      also in an observer that runs meanwhile, and a released child saves nothing.

/// A context whose event ends.
private struct EndingContext {
    weak var context: ManagedObjectContext?
}

extension ManagedObjectContext {
    /// Ends the event of this context, and those of its children at any depth that wait for that (MC-36).
    ///
    /// A child waits if it has begun an event, if a change of its parent was delivered to it, or if one of its own
    /// children waits.
    ///
    /// - Complexity: O(children), and that of `processPendingChanges` for each context whose event ends.
    func endEvents() {
        guard let childSource else { return processPendingChanges() }
        var contexts: [EndingContext] = []
        for child in childSource.children { child.appendWaiting(to: &contexts) }
        contexts.append(EndingContext(context: self))
        for ending in contexts {
            guard let context = ending.context else { continue }
            // Changes that observers make from now on are an event of their own.
            context.awaitsEndOfEvent = false
            context.mergeAndRunDeleteRules()
        }
        // Contexts that share an undo manager have one group: it ends when all have registered their actions.
        for ending in contexts { ending.context?.endUndoEvent() }
        for ending in contexts { ending.context?.savesLater = true }
        for ending in contexts {
            guard let context = ending.context else { continue }
            context.savesLater = false
            if context.autosaveEnabled { context.autosave() }
        }
    }

    /// Appends the children of this child that wait, at any depth, and then the child itself if it waits; returns
    /// whether it does.
    @discardableResult
    private func appendWaiting(to contexts: inout [EndingContext]) -> Bool {
        var waits = awaitsEndOfEvent || mailbox?.isEmpty == false
        for child in childSource?.children ?? [] {
            if child.appendWaiting(to: &contexts) { waits = true }
        }
        if waits { contexts.append(EndingContext(context: self)) }
        return waits
    }
}
