// What becomes of a new row whose unique values another row has already: what a request asks for, and what the answer
// says.

public import EspalierModel

/// A uniqueness constraint by name: the entity that declares it, and its properties in their order (MD-12).
public struct ConstraintName: Hashable, Sendable {
    /// The entity that declares the constraint; it holds for subentities too.
    public var entityName: String
    /// The properties whose values together are unique.
    public var properties: [String]

    /// Names a constraint.
    public init(_ entityName: String, _ properties: [String]) {
        (self.entityName, self.properties) = (entityName, properties)
    }
}

/// What a save does with an insertion whose unique values a row has already (MP-10, F-6).
public enum ConstraintAction: Sendable, Hashable {
    /// The save fails with `StoreError.constraint`.
    case refuse
    /// The insertion goes into the row, which keeps its ID.
    ///
    /// Values that differ from the default of their attribute, and destinations of to-one relationships, take the place
    /// of those that the row has. Relationships of other rows to the insertion lead to the row, and its to-many lists
    /// get what the insertion has in them, behind what is there.
    case merge
    /// As `merge`, but values and to-one relationships stay as the row has them.
    ///
    /// A one-to-one relationship follows its other end if the request sets that.
    case keep
}

/// What has become of an insertion.
public enum InsertionOutcome: Sendable, Hashable {
    /// There is a new row.
    case inserted(version: UInt64)
    /// The insertion went into this row: one that was there before, or that of another insertion.
    case merged(into: ObjectID, version: UInt64)
}
