// Checks of a property's type by the compiler, which alone knows it: `@Entity` writes calls of these functions, one for
// each mark, into a function that nothing calls.
//
// Invariants
//   1. The type of the property alone selects the overload of `_kind`; then a mark that does not fit is a call of an
//      unavailable method. One step would not do: the compiler prefers any available overload.

public import EspalierModel

/// A property that is an attribute, for the check of its marks.
///
/// For @Entity only.
public struct _AttributeKind {
    /// Accepts `@Attribute` and `@Transient`.
    public func _checkAttributeMark() {}
    /// Refuses `@Relationship`.
    @available(
        *, unavailable,
        message: "@Relationship is for properties whose types are entities, and this is an attribute: write @Attribute"
    )
    public func _checkRelationshipMark() {}
}

/// A property that is a relationship, for the check of its marks.
///
/// For @Entity only.
public struct _RelationshipKind {
    /// Accepts `@Relationship`.
    public func _checkRelationshipMark() {}
    /// Refuses `@Attribute` and `@Transient`.
    @available(
        *, unavailable,
        message: "@Attribute and @Transient are for attributes, and this is a relationship: write @Relationship"
    )
    public func _checkAttributeMark() {}
}

extension EntityDescription {
    /// The kind of an attribute.
    ///
    /// For @Entity only.
    @_disfavoredOverload
    public static func _kind<Value>(of type: Value.Type) -> _AttributeKind { _AttributeKind() }

    /// The kind of a to-one relationship.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(of type: Destination?.Type) -> _RelationshipKind {
        _RelationshipKind()
    }

    /// The kind of a to-one relationship that is not optional, which is reported elsewhere.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(of type: Destination.Type) -> _RelationshipKind {
        _RelationshipKind()
    }

    /// The kind of a to-many relationship.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(of type: Set<Destination>.Type) -> _RelationshipKind {
        _RelationshipKind()
    }

    /// The kind of an ordered to-many relationship.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(of type: [Destination].Type) -> _RelationshipKind {
        _RelationshipKind()
    }

    /// The kind of a live to-many relationship.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(of type: ToMany<Destination>.Type) -> _RelationshipKind {
        _RelationshipKind()
    }

    /// The kind of a live ordered to-many relationship.
    ///
    /// For @Entity only.
    public static func _kind<Destination: ManagedObject>(
        of type: OrderedToMany<Destination>.Type
    ) -> _RelationshipKind { _RelationshipKind() }
}
