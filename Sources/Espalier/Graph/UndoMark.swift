// The undo steps and names of a context at one moment, to which a call that fails returns.
//
// Invariants
//   1. After `restore`, the steps that wait, and those of the action to which delete rules that run again append
//      theirs, are as they were at `init`. An undo manager that was set since stays, and has no steps.
//   2. After `restore`, groups have the names that they had: one that was given to what was taken back is gone.
// Not here: the objects and their values (ContextCheckpoint, ParentCheckpoint).

/// The state of undoing in a context at one moment.
struct UndoMark {
    /// The number of steps in the undo journals.
    private let stepCount: Int
    /// The journal of that moment, unless it is gone.
    private weak var journal: UndoJournal?
    private weak var manager: UndoStack?
    private let names: UndoNames?
    /// The action to which steps were appended, because a hook of rules that run again has made the call.
    private weak var reopened: UndoAction?
    private let reopenedCount: Int

    init(_ context: ManagedObjectContext) {
        let present = context.journal
        stepCount = context.undoStepCount
        journal = present
        manager = present?.manager
        names = present?.manager.names(of: ObjectIdentifier(context))
        reopened = present?.reopened
        reopenedCount = present?.reopened?.steps.count ?? 0
    }

    /// Returns to this moment; the objects of the context are as they were then.
    ///
    /// Call it last: it frees objects and notifies observers of names, and both may run application code.
    func restore(_ context: ManagedObjectContext) {
        let (source, isReplaced) = (ObjectIdentifier(context), context.journal !== journal)
        // A freed object may change others: not before all is as it was, or the steps of that would be removed, too.
        let former = (context.journal?.steps, reopened?.steps)
        defer { withExtendedLifetime(former) {} }
        // A hook or the closure of a transaction has set another undo manager, which stays.
        if isReplaced { context.markDeletionsUnrecorded() }
        if let journal, let reopened { journal.truncate(reopened, to: reopenedCount) }
        context.truncateJournal(to: stepCount)
        if let manager, let names { manager.restore(names, of: source) }
        // The names in the other one were taken back, too.
        if isReplaced { context.journal?.manager.restore(UndoNames(of: nil, nextName: ""), of: source) }
    }
}
