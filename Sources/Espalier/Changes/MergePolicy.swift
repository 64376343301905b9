// The policies of a save for rows that another context or process has changed since this context read them.

/// The way in which a save resolves conflicts (Behaviour MP-01 to MP-05).
///
/// An object is in conflict if its row in the store is newer than the row that the context has read. If the context has
/// already merged a newer row, or refreshed the object, below unsaved changes, the object is in conflict only if both
/// sides have changed the same property to different values, or the order of the same ordered relationship. Changes of
/// different properties merge without a conflict. Additions to a to-many relationship and removals from it never
/// conflict.
///
/// If another context has deleted the row, `objectTrump` and `overwrite` insert the object again under its own ID;
/// `storeTrump` and `rollback` discard the object.
public enum MergePolicy: Sendable, Hashable {
    /// The save fails with `ContextError.conflicts`.
    case error
    /// Property by property: the store's value, unless only the context has changed the property.
    case storeTrump
    /// Property by property: the context's value if the context has changed the property, otherwise the store's.
    case objectTrump
    /// The save writes the object with the values that the context has.
    case overwrite
    /// The save discards the context's changes of the object.
    case rollback

    /// The policy for an object that is not in conflict itself, but related to one that is.
    var byProperty: MergePolicy {
        switch self {
        case .error, .storeTrump, .rollback: .storeTrump
        case .objectTrump, .overwrite: .objectTrump
        }
    }
}
