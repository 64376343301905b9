// The errors of undo and redo.

/// The reason why an undo manager refused a call; the call has changed nothing.
public enum UndoError: Error, Equatable {
    case nothingToUndo
    case nothingToRedo
    /// `level` groups are open.
    case openGroup(level: Int)
    /// No group is open that `endUndoGrouping` can end.
    case noGroup
    /// Registration is not disabled.
    case registrationIsEnabled
    /// An action is being undone or redone.
    case isBusy
    /// The context has no undo manager.
    case noUndoManager
    /// The context is saving.
    case contextIsSaving
    /// The context is merging a save of another one, refreshing objects, or running delete rules without registration.
    case contextIsMerging
}

extension UndoError: CustomStringConvertible {
    /// The problem, and the way to correct it.
    public var description: String {
        switch self {
        case .nothingToUndo: "there is nothing to undo; ask `canUndo` first"
        case .nothingToRedo: "there is nothing to redo; ask `canRedo` first"
        case .openGroup(let level):
            "\(level) undo groups are open; call `endUndoGrouping` for each `beginUndoGrouping` first"
        case .noGroup: "no undo group is open; call `beginUndoGrouping` before `endUndoGrouping`"
        case .registrationIsEnabled:
            "undo registration is enabled; call `disableUndoRegistration` before `enableUndoRegistration`"
        case .isBusy: "an action is being undone or redone; it cannot call undo or redo itself"
        case .noUndoManager: "the context has no undo manager; set `undoManager` before the first change"
        case .contextIsSaving: "the context is saving; a hook cannot undo or redo, so do it after save() has returned"
        case .contextIsMerging:
            "the context is merging, refreshing or running delete rules without registration; a hook of an object "
                + "cannot undo or redo there, so do it after that call has returned"
        }
    }
}
