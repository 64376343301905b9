// The names that an application may give in a call that fails: taking the call back restores them.
//
// Invariants
//   1. They keep no group alive: a group that the undo manager has dropped needs no name.
// Not here: which group gets a name (UndoStack), and which calls are taken back (UndoMark).

/// The names in an undo manager at one moment, as far as `setActionName` may change them.
struct UndoNames {
    /// The group that would have got a name; `nil` if there was none, or if it is gone.
    private(set) weak var group: UndoGroup?
    /// Its name at that moment.
    let name: String
    /// The name for the changes of the source that waited.
    let nextName: String

    init(of group: UndoGroup?, nextName: String) {
        self.group = group
        self.nextName = nextName
        name = group?.name ?? ""
    }
}
