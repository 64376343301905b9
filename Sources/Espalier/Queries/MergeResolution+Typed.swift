// The answers of a merge policy of the application's own by key path.
//
// Invariants
//   1. A key path that leads to no property of the model is a choice for a name that no property has, so that the save
//      refuses the answer and names it.

import EspalierModel

extension MergeResolution {
    /// The choice for a property of a class.
    ///
    ///     resolution[\Page.title] = .stored
    ///
    /// - Complexity: O(1).
    public subscript<Object: ManagedObject>(path: PartialKeyPath<Object>) -> Choice? {
        get { choices[Self.name(of: path)] }
        set { choices[Self.name(of: path)] = newValue }
    }

    /// Gives an attribute of a class a value.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Value: AttributeConvertible>(
        _ path: KeyPath<Object, Value>, to value: Value
    ) {
        self[path] = .value(value.attributeValue)
    }

    /// Gives an optional attribute of a class a value, or none.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Value: AttributeConvertible>(
        _ path: KeyPath<Object, Value?>, to value: Value?
    ) {
        self[path] = .value(value?.attributeValue ?? .null)
    }

    /// Gives an attribute of a class the raw value of a case.
    ///
    /// - Complexity: O(1).
    @_disfavoredOverload
    public mutating func set<Object: ManagedObject, Value: RawRepresentable>(
        _ path: KeyPath<Object, Value>, to value: Value
    ) where Value.RawValue: AttributeConvertible {
        self[path] = .value(value.rawValue.attributeValue)
    }

    /// Gives an optional attribute of a class the raw value of a case, or none.
    ///
    /// - Complexity: O(1).
    @_disfavoredOverload
    public mutating func set<Object: ManagedObject, Value: RawRepresentable>(
        _ path: KeyPath<Object, Value?>, to value: Value?
    ) where Value.RawValue: AttributeConvertible {
        self[path] = .value(value?.rawValue.attributeValue ?? .null)
    }

    /// Leads a to-one relationship of a class to an object, or to none.
    ///
    /// - Complexity: O(1).
    public mutating func set<Object: ManagedObject, Destination: ManagedObject>(
        _ path: KeyPath<Object, Destination?>, to destination: Ref<Destination>?
    ) {
        self[path] = .value(destination.map { .objectID($0.id) } ?? .null)
    }

    /// Gives a to-many relationship of a class these destinations, in their order if it is ordered.
    ///
    /// - Complexity: O(destinations).
    public mutating func set<Object: ManagedObject, List: Sequence, Destination: ManagedObject>(
        _ path: KeyPath<Object, List>, to destinations: [Ref<Destination>]
    ) where List.Element == Destination {
        self[path] = .destinations(destinations.map(\.id))
    }

    private static func name<Object: ManagedObject>(of path: PartialKeyPath<Object>) -> String {
        PropertyPaths.of(Object.self).name(of: path) ?? "\(path)"
    }
}
