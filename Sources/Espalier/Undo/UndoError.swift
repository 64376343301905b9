// Why nothing was undone or redone.

/// Why an undo manager did not do what it was asked for; nothing has changed then.
public enum UndoError: Error, Equatable {
    case nothingToUndo
    case nothingToRedo
    /// So many groups have begun and not ended.
    case openGroup(level: Int)
    /// No group is open that could end.
    case noGroup
    /// Registration is not disabled.
    case registrationIsEnabled
    /// Something is being undone or redone.
    case isBusy
    /// The context has no undo manager.
    case noUndoManager
    /// The context saves.
    case contextIsSaving
}

extension UndoError: CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .nothingToUndo: "there is nothing to undo; ask `canUndo` first"
        case .nothingToRedo: "there is nothing to redo; ask `canRedo` first"
        case .openGroup(let level):
            "\(level) undo groups are open; call `endUndoGrouping` for each `beginUndoGrouping` first"
        case .noGroup: "no undo group is open; `endUndoGrouping` ends one that `beginUndoGrouping` has begun"
        case .registrationIsEnabled:
            "undo registration is enabled; `enableUndoRegistration` takes back one `disableUndoRegistration`"
        case .isBusy: "an action is being undone or redone; what it calls cannot undo or redo"
        case .noUndoManager: "the context has no undo manager; set `undoManager` before the first change"
        case .contextIsSaving: "the context is saving; its hooks cannot undo or redo"
        }
    }
}
