// The values that answers of merge policies give to properties, by key path: with the types of the properties.
//
// Invariants
//   1. A key path that leads to no property of the model gives a value to a name that no property has, so that the save
//      refuses the answer and names it.

public import EspalierModel

/// An answer that gives values to properties of a class.
public protocol PropertyChoosing {
    /// Gives an attribute a value, or a to-one relationship a destination, as `.objectID` or `.null`, by name.
    mutating func choose(_ value: AttributeValue, forKey key: String)
}

extension PropertyChoosing {
    /// Gives an attribute of a class a value.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Value: AttributeConvertible>(
        _ path: KeyPath<Object, Value>, to value: Value
    ) {
        choose(value.attributeValue, for: path)
    }

    /// Gives an optional attribute of a class a value, or none.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Value: AttributeConvertible>(
        _ path: KeyPath<Object, Value?>, to value: Value?
    ) {
        choose(value?.attributeValue ?? .null, for: path)
    }

    /// Gives an attribute of a class the raw value of a case.
    ///
    /// - Complexity: O(1).
    @_disfavoredOverload
    public mutating func set<Object: ManagedObject, Value: RawRepresentable>(
        _ path: KeyPath<Object, Value>, to value: Value
    ) where Value.RawValue: AttributeConvertible {
        choose(value.rawValue.attributeValue, for: path)
    }

    /// Gives an optional attribute of a class the raw value of a case, or none.
    ///
    /// - Complexity: O(1).
    @_disfavoredOverload
    public mutating func set<Object: ManagedObject, Value: RawRepresentable>(
        _ path: KeyPath<Object, Value?>, to value: Value?
    ) where Value.RawValue: AttributeConvertible {
        choose(value?.rawValue.attributeValue ?? .null, for: path)
    }

    /// Leads a to-one relationship of a class to an object, or to none.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Destination: ManagedObject>(
        _ path: KeyPath<Object, Destination?>, to destination: Ref<Destination>?
    ) {
        choose(destination.map { .objectID($0.id) } ?? .null, for: path)
    }

    private mutating func choose<Object: ManagedObject>(_ value: AttributeValue, for path: PartialKeyPath<Object>) {
        choose(value, forKey: PropertyPaths.chosenName(of: path, Object.self))
    }
}
