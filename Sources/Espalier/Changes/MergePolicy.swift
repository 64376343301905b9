// What a save does about rows that another context or process has changed since they were read.

/// How a save resolves conflicts (Behaviour MP-01 to MP-05).
///
/// There is a conflict if a row to be written is newer in the store than the one that the context has read. If a newer
/// row was merged or refreshed below unsaved changes, there is one if both sides have changed the same property to
/// different values, or the order of the same ordered relationship; changes of different properties merge without. What
/// either side has added to a to-many relationship, or removed from it, is never in conflict.
///
/// An object whose row somebody else has deleted is inserted again under its own ID by `objectTrump` and `overwrite`,
/// and given up by `storeTrump` and `rollback`.
public enum MergePolicy: Sendable, Hashable {
    /// The save fails with `ContextError.conflicts`.
    case error
    /// Property by property: what the context has not changed comes from the store, and so does what both changed.
    case storeTrump
    /// Property by property: what the context has not changed comes from the store; what both changed, from the
    /// context.
    case objectTrump
    /// The object is written as the context has it.
    case overwrite
    /// The context's changes of the object are given up.
    case rollback

    /// What decides about an object that is not in conflict itself, but related to one that is.
    var byProperty: MergePolicy {
        switch self {
        case .error, .storeTrump, .rollback: .storeTrump
        case .objectTrump, .overwrite: .objectTrump
        }
    }
}
