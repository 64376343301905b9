// What a save does about rows that somebody else has changed since they were read.

/// How a save resolves conflicts (semantics MP-01 to MP-05).
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
}
