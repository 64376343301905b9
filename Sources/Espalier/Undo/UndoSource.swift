// An object whose changes are actions of an undo manager, as the undo manager knows it.
//
// Invariants
//   1. The closures retain no object: the undo manager does not keep its sources alive.
// Not here: when they are called (UndoStack).

/// A source of actions.
struct UndoSource {
    /// The reason why neither an undo nor a redo can run now.
    let reason: () -> UndoError?
    /// Whether changes wait to be registered.
    let hasWaiting: () -> Bool
    /// Registers its waiting changes, and ends no group.
    let register: () -> Void
    /// Does what follows the end of the event.
    let afterEvent: () -> Void
    /// The name for the group of the changes that wait; empty if they have none.
    var nextName = ""
}
