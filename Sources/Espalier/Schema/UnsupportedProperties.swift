// Overloads for stored properties that no entity can have: the compiler chooses them for unsupported types only, and
// says what to do.
//
// Invariants
//   1. Each is unavailable, so none of these bodies ever runs; a supported type always has a better overload.

public import EspalierModel

extension ManagedObject {
    /// Chosen for no supported type.
    @available(
        *, unavailable,
        message: """
            an entity stores AttributeConvertible values or optionals of them, and T?, ToMany<T>, OrderedToMany<T>, \
            Set<T>, [T] of entities
            """
    )
    @_disfavoredOverload
    public final func _get<Value>(_ name: StaticString, at index: Int) -> Value { preconditionFailure("unavailable") }

    /// Chosen for a to-one relationship that is not optional.
    @available(
        *, unavailable, message: "a to-one relationship can be empty in memory: write it as an optional"
    )
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Destination {
        preconditionFailure("unavailable")
    }

    /// Chosen for no supported type.
    @available(
        *, unavailable,
        message: """
            an entity stores AttributeConvertible values or optionals of them, and T?, ToMany<T>, OrderedToMany<T>, \
            Set<T>, [T] of entities
            """
    )
    public final func _set<Value>(_ name: StaticString, at index: Int, _ newValue: Value) {}
}

extension EntityDescription {
    /// Chosen for no supported type.
    @available(
        *, unavailable,
        message: """
            an entity stores AttributeConvertible values or optionals of them, and T?, ToMany<T>, OrderedToMany<T>, \
            Set<T>, [T] of entities
            """
    )
    public static func _property<Value>(
        _ name: String, _ type: Value.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription { preconditionFailure("unavailable") }

    /// Chosen for a to-one relationship that is not optional.
    @available(
        *, unavailable, message: "a to-one relationship can be empty in memory: write it as an optional"
    )
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: Destination.Type, defaultValue: Destination? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription { preconditionFailure("unavailable") }
}
