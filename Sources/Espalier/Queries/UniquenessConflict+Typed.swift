// The values of objects that must not share them, and the answers of a merge policy to such a conflict, by key path.
//
// Invariants
//   1. A key path stands for the name of its property; access by name has the same values and answers.
//   2. A value that is none of the property's type is never read as the absence of a value (SideReader).
//   3. A class without a table of key paths is an error, and never a property whose values are not known.

public import EspalierModel

/// The values of one property of all objects in a conflict about unique values, with the type of the property.
///
/// `nil` = no value, or one that is not known.
public struct UniqueSides<Value> {
    /// The value that all objects share; `nil` if the property is no part of the constraint.
    public let shared: Value?
    /// The values of the conflict's `objects`, in their order; empty if they are not known.
    public let objects: [Value?]
    /// The value of the row that has the shared values already.
    public let stored: Value?
}

extension UniqueSides: Sendable where Value: Sendable {}
extension UniqueSides: Equatable where Value: Equatable {}

extension UniquenessConflict {
    /// The values of an attribute.
    ///
    ///     MergePolicy({ _, _ in MergeResolution(.error) }) { conflict, _ in
    ///         guard let stored = try conflict[\Person.visits]?.stored else { return .refuse }
    ///         return .merging { $0.set(\Person.visits, to: stored + 1) }
    ///     }
    ///
    /// Throws `ContextError.classWithoutKeyPaths` for a class that belongs to an actor or is not marked with `@Entity`;
    /// thrown out of a policy, the error is part of the save's report. Read the values of such a class by name.
    ///
    /// - Returns: `nil` for a key path that leads to no property of the model or to one whose values are not known, and
    ///   if a value is none of the property's type. Values of registered transformers are read by name.
    /// - Complexity: O(`objects`).
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value>) -> UniqueSides<Value>? {
        get throws(ContextError) { try sides(path, Object.self, SideReader<Value>.ofAttribute) }
    }

    /// The values of an optional attribute: as for others.
    @_disfavoredOverload
    public subscript<Object: ManagedObject, Value>(path: KeyPath<Object, Value?>) -> UniqueSides<Value>? {
        get throws(ContextError) { try sides(path, Object.self, SideReader<Value>.ofAttribute) }
    }

    /// The destinations of a to-one relationship.
    ///
    /// Throws as for attributes.
    ///
    /// - Complexity: O(`objects`).
    public subscript<Object: ManagedObject, Destination: ManagedObject>(
        path: KeyPath<Object, Destination?>
    ) -> UniqueSides<Ref<Destination>>? {
        get throws(ContextError) {
            try sides(path, Object.self, SideReader<Ref<Destination>>.destination(of: Destination.self))
        }
    }

    /// Whether the constraint has exactly these properties of a class, in any order.
    ///
    /// False if one of the key paths leads to no property of the model.
    ///
    /// - Throws: `ContextError.classWithoutKeyPaths` for a class that belongs to an actor or is not marked with
    ///   `@Entity`.
    /// - Complexity: O(`properties`).
    public func isAbout<Object: ManagedObject>(_ paths: PartialKeyPath<Object>...) throws(ContextError) -> Bool {
        var names = Set<String>()
        for path in paths {
            guard let name = try PropertyPaths.modelledName(of: path, Object.self) else { return false }
            names.insert(name)
        }
        return names == Set(properties)
    }

    private func sides<Value>(
        _ path: AnyKeyPath, _ objectClass: ManagedObject.Type, _ reader: SideReader<Value>
    ) throws(ContextError) -> UniqueSides<Value>? {
        guard let name = try PropertyPaths.modelledName(of: path, objectClass) else { return nil }
        let shared = zip(properties, values).first { $0.0 == name }?.1
        guard shared != nil || storedValues[name] != nil || objectValues.contains(where: { $0[name] != nil })
        else { return nil }
        var reader = reader
        let sides = UniqueSides(
            shared: reader.value(shared), objects: objectValues.map { reader.value($0[name]) },
            stored: reader.value(storedValues[name]))
        return reader.hasOtherType ? nil : sides
    }
}

/// The values that an answer to a conflict about unique values gives to properties (F-6).
public struct ConstraintValues: PropertyChoosing, Sendable {
    /// The values by name; destinations of to-one relationships are object IDs.
    public private(set) var values: [String: AttributeValue] = [:]

    init() {}

    /// Gives an attribute a value, or a to-one relationship a destination, by name.
    ///
    /// - Complexity: O(1).
    public mutating func choose(_ value: AttributeValue, forKey key: String) { values[key] = value }
}

extension ConstraintResolution {
    /// A new object is merged into the other one, which then gets the values that `choose` sets by key path.
    public static func merging(_ choose: (inout ConstraintValues) -> Void) -> ConstraintResolution {
        .merge(values: values(choose))
    }

    /// The object stays, with the values that `choose` sets by key path.
    ///
    ///     return .changing { $0.set(\Person.name, to: "Ada 2") }
    public static func changing(_ choose: (inout ConstraintValues) -> Void) -> ConstraintResolution {
        .change(values: values(choose))
    }

    private static func values(_ choose: (inout ConstraintValues) -> Void) -> [String: AttributeValue] {
        var values = ConstraintValues()
        choose(&values)
        return values.values
    }
}
