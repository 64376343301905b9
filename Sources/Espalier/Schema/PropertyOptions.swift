// What `@Attribute(...)` and `@Relationship(...)` say about a property beyond its name and type.

public import EspalierModel

/// Options of one property; each concerns attributes, relationships or both, and is ignored where it has no meaning.
public struct PropertyOptions: Sendable, Hashable {
    /// Attribute: whether an index is kept for it.
    public var isIndexed: Bool
    /// Attribute: whether no two objects may have the same value.
    public var isUnique: Bool
    /// Attribute: whether it lives in the object only.
    public var isTransient: Bool
    /// Relationship: the name of the relationship back, on the destination.
    public var inverse: String?
    /// Relationship: what happens to destinations when the object is deleted.
    public var deleteRule: DeleteRule
    /// Relationship: whether it must not be empty when saved.
    public var isRequired: Bool
    /// Relationship: the least number of destinations; 0 = no limit.
    public var minCount: Int
    /// Relationship: the greatest number of destinations; `nil` = no limit, or 1 if it is to-one.
    public var maxCount: Int?
    /// The name in an older version of the model.
    public var renamingIdentifier: String?

    /// Options; what is not named keeps its default.
    public init(
        isIndexed: Bool = false, isUnique: Bool = false, isTransient: Bool = false, inverse: String? = nil,
        deleteRule: DeleteRule = .nullify, isRequired: Bool = false, minCount: Int = 0, maxCount: Int? = nil,
        renamingIdentifier: String? = nil
    ) {
        self.isIndexed = isIndexed
        self.isUnique = isUnique
        self.isTransient = isTransient
        self.inverse = inverse
        self.deleteRule = deleteRule
        self.isRequired = isRequired
        self.minCount = minCount
        self.maxCount = maxCount
        self.renamingIdentifier = renamingIdentifier
    }
}

/// One described property: what `_property` gives and `EntityDescription.init(_:properties:)` takes.
///
/// For @Entity only.
public enum _PropertyDescription: Sendable {
    /// An attribute, and whether its value must be unique.
    case attribute(AttributeDescription, isUnique: Bool)
    /// A relationship.
    case relationship(RelationshipDescription)
}
