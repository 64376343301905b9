// Structs as composite attributes: each stored property is an element, which predicates reach by `attribute.element`
// (MD-26).
//
// Invariants
//   1. An element without a value is absent from the composite value, so that equal structs are equal values.
//   2. A composite with an element that its property cannot represent has no value of the struct at all.

public import EspalierModel

/// A struct whose stored properties are the elements of a composite attribute; `@Composite` makes a struct conform.
public protocol CompositeConvertible: AttributeConvertible {
    /// The elements, in the order of the struct's properties.
    static var _elements: [_PropertyDescription] { get }
    /// Reads the elements.
    init(_from reader: inout CompositeReader)
    /// Writes the elements.
    func _write(to writer: inout CompositeWriter)
}

extension CompositeConvertible {
    /// `composite`.
    public static var attributeType: AttributeType { .composite }
    /// The elements.
    public static var attributeElements: [AttributeDescription] {
        _elements.compactMap { if case .attribute(let element, _, _) = $0 { element } else { nil } }
    }
    /// The struct whose elements have their defaults.
    public static var unsetValue: Self {
        var reader = CompositeReader([:])
        return Self(_from: &reader)
    }
    /// The struct with these elements; `nil` if one of them is not a value of its property's type.
    public init?(attributeValue: AttributeValue) {
        guard case .composite(let parts) = attributeValue else { return nil }
        var reader = CompositeReader(parts)
        self.init(_from: &reader)
        if reader.hasFailed { return nil }
    }
    /// The elements that have a value.
    public var attributeValue: AttributeValue {
        var writer = CompositeWriter()
        _write(to: &writer)
        return .composite(writer.parts)
    }
}

/// Reads the elements of a composite value, for `@Composite` only.
public struct CompositeReader {
    private let parts: [String: AttributeValue]
    /// Whether an element has a value that its property cannot represent.
    private(set) var hasFailed = false

    init(_ parts: [String: AttributeValue]) { self.parts = parts }

    private mutating func found<Value>(_ name: String, _ convert: (AttributeValue) -> Value?) -> Value? {
        guard let part = parts[name], !part.isNull else { return nil }
        let value = convert(part)
        if value == nil { hasFailed = true }
        return value
    }

    /// An element that must have a value.
    public mutating func value<Value: AttributeConvertible>(_ name: String) -> Value {
        found(name, Value.init(attributeValue:)) ?? Value.unsetValue
    }
    /// An element that must have a value, and has `unset` until it is set.
    public mutating func value<Value: AttributeConvertible>(_ name: String, unset: @autoclosure () -> Value) -> Value {
        found(name, Value.init(attributeValue:)) ?? unset()
    }
    /// An element that may be without a value.
    public mutating func value<Value: AttributeConvertible>(_ name: String) -> Value? {
        found(name, Value.init(attributeValue:))
    }
    /// An element with a raw value that must have one.
    @_disfavoredOverload
    public mutating func value<Value: RawRepresentable>(_ name: String, unset: @autoclosure () -> Value) -> Value
    where Value.RawValue: AttributeConvertible {
        let element: Value? = value(name)
        return element ?? unset()
    }
    /// An element with a raw value that may be without one.
    @_disfavoredOverload
    public mutating func value<Value: RawRepresentable>(_ name: String) -> Value?
    where Value.RawValue: AttributeConvertible {
        found(name) { Value.RawValue(attributeValue: $0).flatMap(Value.init(rawValue:)) }
    }
}

/// Writes the elements of a composite value, for `@Composite` only.
public struct CompositeWriter {
    private(set) var parts: [String: AttributeValue] = [:]

    /// An element that has a value.
    public mutating func set<Value: AttributeConvertible>(_ name: String, _ value: Value) {
        parts[name] = value.attributeValue
    }
    /// An element that may be without a value.
    public mutating func set<Value: AttributeConvertible>(_ name: String, _ value: Value?) {
        parts[name] = value?.attributeValue
    }
    /// An element with a raw value.
    @_disfavoredOverload
    public mutating func set<Value: RawRepresentable>(_ name: String, _ value: Value)
    where Value.RawValue: AttributeConvertible {
        parts[name] = value.rawValue.attributeValue
    }
    /// An element with a raw value that may be without one.
    @_disfavoredOverload
    public mutating func set<Value: RawRepresentable>(_ name: String, _ value: Value?)
    where Value.RawValue: AttributeConvertible {
        parts[name] = value?.rawValue.attributeValue
    }
}
