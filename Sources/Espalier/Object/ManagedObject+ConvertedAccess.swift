// Typed access to attributes whose type is not `AttributeConvertible`: raw values, `Codable` types, and those that a
// registered transformer handles. `@Entity` expands stored properties to calls of these methods.
//
// Invariants
//   1. Reading and writing never trap, as in +TypedAccess: what cannot be read is `nil` or the property's default, what
//      cannot be written is refused, and the next save reports both.
//   2. For a type that fits several forms the compiler prefers `AttributeConvertible` to a raw value, and a raw value
//      to `Codable`: the first by `@_disfavoredOverload` on the others, the second because a method of a protocol's
//      extension is less specialized than one of a class.

public import EspalierModel
import FoundationEssentials

extension ManagedObject {
    // MARK: Raw values

    /// A value that must be there, and is `unset` while it is not.
    ///
    /// For @Entity only.
    @inlinable
    @_disfavoredOverload
    public final func _get<Value: RawRepresentable>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> Value
    ) -> Value where Value.RawValue: AttributeConvertible {
        let found: Value? = _get(name, at: index)
        return found ?? unset()
    }

    /// A value that may be missing.
    ///
    /// For @Entity only.
    @inlinable
    @_disfavoredOverload
    public final func _get<Value: RawRepresentable>(_ name: StaticString, at index: Int) -> Value?
    where Value.RawValue: AttributeConvertible {
        let value = attributeValue(name, at: index)
        if let raw = Value.RawValue(attributeValue: value), let found = Value(rawValue: raw) { return found }
        noteUnconverted(name, value, Value.self)
        return nil
    }

    /// A value that must be there.
    ///
    /// For @Entity only.
    @inlinable
    @_disfavoredOverload
    public final func _set<Value: RawRepresentable>(_ name: StaticString, at index: Int, _ newValue: Value)
    where Value.RawValue: AttributeConvertible {
        setAttributeValue(name, at: index, newValue.rawValue.attributeValue)
    }

    /// A value that may be missing.
    ///
    /// For @Entity only.
    @inlinable
    @_disfavoredOverload
    public final func _set<Value: RawRepresentable>(_ name: StaticString, at index: Int, _ newValue: Value?)
    where Value.RawValue: AttributeConvertible {
        setAttributeValue(name, at: index, newValue?.rawValue.attributeValue ?? .null)
    }

    // MARK: Registered transformers

    /// A value that a registered transformer handles.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes), at each read.
    public final func _getTransformed<Value>(_ name: StaticString, at index: Int, by transformer: String) -> Value? {
        transformed(attributeValue(name, at: index), name) { data throws(AttributeTransformerError) in
            try AttributeTransformers.value(from: data, by: transformer)
        }
    }

    /// Sets a value that a registered transformer handles.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes).
    public final func _setTransformed<Value>(
        _ name: StaticString, at index: Int, by transformer: String, _ newValue: Value?
    ) {
        setTransformed(newValue, name, at: index) { value throws(AttributeTransformerError) in
            try AttributeTransformers.data(from: value, by: transformer)
        }
    }

    /// The value of the bytes of an attribute; `nil` if it has none, or if they cannot be read, which is recorded.
    final func transformed<Value>(
        _ stored: AttributeValue, _ name: StaticString,
        _ transform: (Data) throws(AttributeTransformerError) -> Value
    ) -> Value? {
        switch stored {
        case .null: return nil
        case .transformable(let data):
            do {
                return try transform(data)
            } catch {
                recordOnce(.transformer, of: name.description, .transformer(error))
                return nil
            }
        default:
            noteUnconverted(name, stored, Value.self)
            return nil
        }
    }

    /// Sets the bytes of a value, or records why it has none.
    final func setTransformed<Value>(
        _ newValue: Value?, _ name: StaticString, at index: Int,
        _ transform: (Value) throws(AttributeTransformerError) -> Data
    ) {
        do {
            guard let newValue else { return setAttributeValue(name, at: index, .null) }
            setAttributeValue(name, at: index, .transformable(try transform(newValue)))
        } catch {
            refuse(name.description, .transformer(error))
        }
    }
}

/// Carries the access to properties of `Codable` types.
///
/// For @Entity only.
public protocol _CodableProperties {}

extension ManagedObject: _CodableProperties {}

extension _CodableProperties where Self: ManagedObject {
    /// A value that must be there, and is `unset` while it is not.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes), at each read.
    @_disfavoredOverload
    public func _get<Value: Codable>(_ name: StaticString, at index: Int, unset: @autoclosure () -> Value) -> Value {
        let found: Value? = _get(name, at: index)
        return found ?? unset()
    }

    /// A value that may be missing.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes), at each read.
    @_disfavoredOverload
    public func _get<Value: Codable>(_ name: StaticString, at index: Int) -> Value? {
        transformed(attributeValue(name, at: index), name) { data throws(AttributeTransformerError) in
            try CodableForm.value(from: data)
        }
    }

    /// A value that must be there.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes).
    @_disfavoredOverload
    public func _set<Value: Codable>(_ name: StaticString, at index: Int, _ newValue: Value) {
        setTransformed(newValue, name, at: index) { value throws(AttributeTransformerError) in
            try CodableForm.data(from: value)
        }
    }

    /// A value that may be missing.
    ///
    /// For @Entity only.
    /// - Complexity: O(bytes).
    @_disfavoredOverload
    public func _set<Value: Codable>(_ name: StaticString, at index: Int, _ newValue: Value?) {
        setTransformed(newValue, name, at: index) { value throws(AttributeTransformerError) in
            try CodableForm.data(from: value)
        }
    }
}
