// Descriptions of attributes whose type is not `AttributeConvertible`: raw values, `Codable` types, and those that a
// registered transformer handles.
//
// Invariants
//   1. The overloads rank as those of `ManagedObject+ConvertedAccess`, so that a property is read as it is described.

public import EspalierModel

extension EntityDescription {
    /// An attribute with the raw value of an enumeration, which must have one.
    ///
    /// For @Entity only.
    @_disfavoredOverload
    public static func _property<Value: RawRepresentable>(
        _ name: String, _ type: Value.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription where Value.RawValue: AttributeConvertible {
        attribute(
            name, Value.RawValue.attributeType, isOptional: false, defaultValue?.rawValue.attributeValue, options,
            elements: Value.RawValue.attributeElements)
    }

    /// An attribute with the raw value of an enumeration, which may be without one.
    ///
    /// For @Entity only.
    @_disfavoredOverload
    public static func _property<Value: RawRepresentable>(
        _ name: String, _ type: Value?.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription where Value.RawValue: AttributeConvertible {
        attribute(
            name, Value.RawValue.attributeType, isOptional: true, defaultValue?.rawValue.attributeValue, options,
            elements: Value.RawValue.attributeElements)
    }

    /// An attribute that a registered transformer handles.
    ///
    /// For @Entity only.
    public static func _transformable<Value>(
        _ name: String, _ type: Value?.Type, by transformer: String, options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        attribute(name, .transformable, isOptional: true, nil, options, transformerName: transformer)
    }
}

/// Carries the descriptions of attributes of `Codable` types.
///
/// For @Entity only.
public protocol _CodableDescriptions {}

extension EntityDescription: _CodableDescriptions {}

extension _CodableDescriptions where Self == EntityDescription {
    /// An attribute of a `Codable` type, which must have a value unless the type is an optional.
    ///
    /// For @Entity only.
    @_disfavoredOverload
    public static func _property<Value: Codable>(
        _ name: String, _ type: Value.Type, defaultValue: Value? = nil, options: PropertyOptions = .init()
    ) -> _PropertyDescription {
        var value = AttributeValue.null
        if let defaultValue {
            // A default that cannot be encoded is no bytes, and the check of the model reports this text.
            do { value = .transformable(try CodableForm.data(from: defaultValue)) } catch {
                value = .string("\(error)")
            }
        }
        return EntityDescription.attribute(
            name, .transformable, isOptional: type is any OptionalType.Type, value, options,
            transformerName: AttributeTransformers.codableName)
    }
}
