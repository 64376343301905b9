// One property as the class of an entity describes it: what a model needs, and the class to which a relationship or a
// fetched property leads.

public import EspalierModel

/// One described property: the result of `_property`, and a parameter of `EntityDescription.init(_:properties:)`.
///
/// For @Entity only.
public enum _PropertyDescription: Sendable {
    /// An attribute, whether its value must be unique, and the action on values that are not.
    case attribute(AttributeDescription, isUnique: Bool, action: ConstraintAction? = nil)
    /// A relationship, and the class of its destinations.
    case relationship(RelationshipDescription, to: ManagedObject.Type)
    /// A fetched property, and the class of its objects.
    case fetched(FetchedPropertyDescription, of: ManagedObject.Type)
}
