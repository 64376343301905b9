// Overloads for classes and stored properties that no entity can have: the compiler selects them only for unsupported
// types, and their messages say how to correct the class or the property.
//
// Invariants
//   1. A supported type always has a better overload.
//   2. Each function that reads is unavailable, so that the compiler reports an unsupported property once, at its own
//      place. The others accept the property, and none of these bodies ever runs.

public import EspalierModel

extension ManagedObject {
    /// Selected for a raw value without default.
    @available(
        *, unavailable,
        message: "give the property a default, such as '= .first', or write it as an optional: it may have no value"
    )
    @_disfavoredOverload
    public final func _get<Value: RawRepresentable>(_ name: StaticString, at index: Int) -> Value
    where Value.RawValue: AttributeConvertible { preconditionFailure("unavailable") }

    /// Selected for a value of a `Codable` type without default.
    @available(
        *, unavailable,
        message: "give the property a default, such as '= []', or write it as an optional: it may have no value"
    )
    @_disfavoredOverload
    public final func _get<Value: Codable>(_ name: StaticString, at index: Int) -> Value {
        preconditionFailure("unavailable")
    }

    /// Selected for a transformable attribute that is not optional.
    @available(
        *, unavailable,
        message: "a transformable attribute may have no value: write it as an optional"
    )
    public final func _getTransformed<Value>(_ name: StaticString, at index: Int, by transformer: String) -> Value {
        preconditionFailure("unavailable")
    }

    /// Selected for unsupported types with a default.
    @available(
        *, unavailable,
        message: """
            an entity stores AttributeConvertible, RawRepresentable and Codable values or optionals of them, and T?, \
            ToMany<T>, OrderedToMany<T>, Set<T>, [T] of entities
            """
    )
    @_disfavoredOverload
    public final func _get<Value>(_ name: StaticString, at index: Int, unset: @autoclosure () -> Value) -> Value {
        preconditionFailure("unavailable")
    }

    /// Selected for unsupported types.
    @available(
        *, unavailable,
        message: """
            an entity stores AttributeConvertible, RawRepresentable and Codable values or optionals of them, and T?, \
            ToMany<T>, OrderedToMany<T>, Set<T>, [T] of entities
            """
    )
    @_disfavoredOverload
    public final func _get<Value>(_ name: StaticString, at index: Int) -> Value { preconditionFailure("unavailable") }

    /// Selected for a to-one relationship that is not optional.
    @available(
        *, unavailable, message: "a to-one relationship can be empty in memory: write it as an optional"
    )
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Destination {
        preconditionFailure("unavailable")
    }
}

extension _CodableProperties where Self: ManagedObject {
    /// Selected for unsupported types.
    @_disfavoredOverload
    public func _set<Value>(_ name: StaticString, at index: Int, _ newValue: Value) {}
}

extension EntityDescription {
    /// Selected for a class whose superclass is no entity.
    @available(
        *, unavailable,
        message: "a class with @Entity inherits from ManagedObject, or from another class with @Entity"
    )
    @_disfavoredOverload
    public static func _checkClass<Object>(_ objectClass: Object.Type) {}

    /// Selected for a default that is a literal of another type, which the compiler refuses at the property.
    @_disfavoredOverload
    public static func _literal<Value, Literal>(_ value: Literal, of type: Value.Type) -> Value {
        preconditionFailure("unavailable")
    }

    /// Selected for a transformable attribute that is not optional.
    public static func _transformable<Value>(
        _ name: String, _ type: Value.Type, by transformer: String, options: PropertyOptions = .init()
    ) -> _PropertyDescription { .attribute(AttributeDescription(name, .undefined), isUnique: false) }

    /// Selected for a to-one relationship that is not optional.
    public static func _property<Destination: ManagedObject>(
        _ name: String, _ type: Destination.Type, defaultValue: Destination? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription { .attribute(AttributeDescription(name, .undefined), isUnique: false) }
}

extension _CodableDescriptions where Self == EntityDescription {
    /// Selected for unsupported types.
    @_disfavoredOverload
    public static func _property<Value>(
        _ name: String, _ type: Value.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription { .attribute(AttributeDescription(name, .undefined), isUnique: false) }
}

extension CompositeReader {
    /// Selected for unsupported types of elements.
    @available(
        *, unavailable,
        message: """
            an element of a composite is AttributeConvertible, or RawRepresentable with a default, or an optional of \
            one of them
            """
    )
    @_disfavoredOverload
    public mutating func value<Value>(_ name: String) -> Value { preconditionFailure("unavailable") }

    /// Selected for unsupported types of elements with a default.
    @available(
        *, unavailable,
        message: """
            an element of a composite is AttributeConvertible, or RawRepresentable with a default, or an optional of \
            one of them
            """
    )
    @_disfavoredOverload
    public mutating func value<Value>(_ name: String, unset: @autoclosure () -> Value) -> Value {
        preconditionFailure("unavailable")
    }
}

extension CompositeWriter {
    /// Selected for unsupported types of elements.
    @_disfavoredOverload
    public mutating func set<Value>(_ name: String, _ value: Value) {}
}
