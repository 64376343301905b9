// The end of the events in a tree of contexts: after a turn of the main actor, a block, or a job of an actor (MC-36).
//
// Invariants
//   1. The events of children end together with that of the root, children before their parents: a child that saves by
//      itself changes its parent, which then saves after it.
//   2. No child is retained longer than its own event takes to end: an application cancels a draft by releasing it,
//      also in an observer that runs meanwhile, and a released child saves nothing.
//   3. An event that begins in a child meanwhile ends, too: in another turn, for which the notice of the root asks, or
//      in another round, if the root has no notice. There are at most `roundCountMax` rounds.

/// The greatest number of times that one call ends events: observers that change children again and again wait for the
/// next call.
private let roundCountMax = 8

/// A context whose event ends.
private struct EndingContext {
    weak var context: ManagedObjectContext?
}

extension ManagedObjectContext {
    /// Ends the event of this context, and those of its children at any depth that wait for that (MC-36).
    ///
    /// A child waits if it has begun an event, if it merges a change of its parent that was delivered to it, or if one
    /// of its own children waits. Without a notice, nobody else would end an event that an observer begins in a child
    /// meanwhile: then all is done again while a child waits.
    ///
    /// - Complexity: O(children), and that of `processPendingChanges` for each context whose event ends; both once for
    ///   each round, of which there are at most `roundCountMax`.
    func endEvents() {
        for _ in 0..<roundCountMax {
            endEventsOnce()
            guard eventNotice == nil, hasWaitingChild else { return }
        }
    }

    private func endEventsOnce() {
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

    /// Whether this child waits, apart from its own children.
    ///
    /// A pinned context merges nothing: its mailbox is full until it is no longer pinned.
    private var waitsAlone: Bool { awaitsEndOfEvent || (mailbox?.isEmpty == false && !generation.isPinned) }

    /// Whether a child waits, at any depth.
    private var hasWaitingChild: Bool {
        childSource?.children.contains { $0.waitsAlone || $0.hasWaitingChild } == true
    }

    /// Appends the children of this child that wait, at any depth, and then the child itself if it waits; returns
    /// whether it does.
    @discardableResult
    private func appendWaiting(to contexts: inout [EndingContext]) -> Bool {
        var waits = waitsAlone
        for child in childSource?.children ?? [] {
            if child.appendWaiting(to: &contexts) { waits = true }
        }
        if waits { contexts.append(EndingContext(context: self)) }
        return waits
    }
}
