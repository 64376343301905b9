// The answers of a merge policy of the application's own by key path.
//
// Invariants
//   1. A key path that leads to no property of the model is a choice for a name that no property has, so that the save
//      refuses the answer and names it.

public import EspalierModel

extension MergeResolution: PropertyChoosing {
    /// Gives an attribute a value, or a to-one relationship a destination, by name.
    ///
    /// - Complexity: O(1).
    public mutating func choose(_ value: AttributeValue, forKey key: String) { choices[key] = .value(value) }

    /// The choice for a property of a class.
    ///
    ///     resolution[\Page.title] = .stored
    ///
    /// - Complexity: O(1).
    public subscript<Object: ManagedObject>(path: PartialKeyPath<Object>) -> Choice? {
        get { choices[PropertyPaths.chosenName(of: path, Object.self)] }
        set { choices[PropertyPaths.chosenName(of: path, Object.self)] = newValue }
    }

    /// Gives a to-many relationship of a class these destinations, in their order if it is ordered.
    ///
    /// - Complexity: O(destinations).
    public mutating func set<Object: ManagedObject, List: Sequence, Destination: ManagedObject>(
        _ path: KeyPath<Object, List>, to destinations: [Ref<Destination>]
    ) where List.Element == Destination {
        self[path] = .destinations(destinations.map(\.id))
    }
}
