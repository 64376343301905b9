// Uniqueness constraints by name, and what a save does with a new object whose values another one has already.

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

/// The action of a save on an insertion whose unique values a row has already (MP-10, F-6).
public enum ConstraintAction: Sendable, Hashable, Codable {
    /// The save fails.
    case refuse
    /// The insertion is merged into the row, which keeps its ID.
    ///
    /// Values that differ from the default of their attribute, and destinations of to-one relationships, replace those
    /// of the row; of a row of a batch insertion, exactly the properties that it names do, also if they have the
    /// default value or none. Relationships of other rows to the insertion lead to the row, and the destinations in the
    /// insertion's to-many lists are appended to the row's lists.
    case merge
    /// As `merge`, but the row keeps its values and to-one relationships.
    ///
    /// A one-to-one relationship follows its other end if the save sets that.
    case keep
}
