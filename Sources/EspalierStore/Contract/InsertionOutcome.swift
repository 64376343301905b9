// The outcome of an insertion: a row of its own, or the row into which a constraint's action has merged it.

public import EspalierModel

/// The outcome of an insertion.
public enum InsertionOutcome: Sendable, Hashable {
    /// The insertion created a row.
    case inserted(version: UInt64)
    /// The insertion was merged into this row: a stored one, or that of another insertion.
    case merged(into: ObjectID, version: UInt64)
}
