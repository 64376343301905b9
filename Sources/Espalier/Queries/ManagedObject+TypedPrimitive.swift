// Primitive values, and the announcements of accessors of one's own, by key path (MO-21 to MO-23).
//
// Invariants
//   1. Access by key path does to the object what access by name does.
//   2. A value that is none of the property's type is an error, and never read as the absence of a value.

import EspalierModel

extension EntityClass {
    // MARK: Reading

    /// The value of an attribute that is in memory (MO-21); `nil` if it would have to be loaded, and if it has none.
    ///
    /// Fires no fault: call `willAccessValue(forKey:)` with `nil` before, which does. Values of registered transformers
    /// are read by name.
    ///
    /// - Throws: as `primitiveValue(forKey:)`; `ContextError.violations` also for a value that is none of the
    ///   property's type; `.classWithoutKeyPaths` for a class that belongs to an actor or is not marked with `@Entity`.
    /// - Complexity: O(1).
    @_disfavoredOverload
    public func primitiveValue<Value>(of path: KeyPath<Self, Value>) throws(ContextError) -> Value? {
        try primitiveAttribute(path)
    }

    /// The value of an optional attribute that is in memory (MO-21): as for others.
    @_disfavoredOverload
    public func primitiveValue<Value>(of path: KeyPath<Self, Value?>) throws(ContextError) -> Value? {
        try primitiveAttribute(path)
    }

    /// The destination of a to-one relationship that is in memory (MO-21); `nil` if the row would have to be loaded,
    /// and if there is none.
    ///
    /// - Throws: as `primitiveValue(forKey:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(1).
    public func primitiveValue<Destination: ManagedObject>(
        of path: KeyPath<Self, Destination?>
    ) throws(ContextError) -> Destination? {
        guard case .toOne(let object)? = try primitiveValue(forKey: Self.knownName(of: path)) else { return nil }
        return object as? Destination
    }

    /// The destinations of a to-many relationship that are in memory (MO-21), in their order if it is ordered; `nil` if
    /// the list would have to be loaded.
    ///
    /// - Throws: as `primitiveValue(forKey:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(destinations).
    public func primitiveValue<Destination: ManagedObject, List: Sequence>(
        of path: KeyPath<Self, List>
    ) throws(ContextError) -> [Destination]? where List.Element == Destination {
        guard case .toMany(let objects)? = try primitiveValue(forKey: Self.knownName(of: path)) else { return nil }
        return objects.compactMap { $0 as? Destination }
    }

    private func primitiveAttribute<Value>(_ path: PartialKeyPath<Self>) throws(ContextError) -> Value? {
        let name = try Self.knownName(of: path)
        guard case .attribute(let value)? = try primitiveValue(forKey: name) else { return nil }
        return try converted(value, name)
    }

    // MARK: Writing

    /// Sets an attribute without marking the object as changed, without a step for the undo manager, and without
    /// notifying anybody (MO-21); `setPrimitiveValue(_:forKey:)` says when the value is saved.
    ///
    /// A relationship has no primitive form: set the property. Values of `Codable` types and of registered transformers
    /// are set by name.
    ///
    /// - Throws: as `setPrimitiveValue(_:forKey:)`, and `.classWithoutKeyPaths`; then nothing has changed.
    /// - Complexity: O(1).
    public func setPrimitiveValue<Value: AttributeConvertible>(
        _ value: Value, for path: KeyPath<Self, Value>
    ) throws(ContextError) {
        try setPrimitive(value.attributeValue, path)
    }

    /// Sets an optional attribute, to a value or to none: as for others (MO-21).
    public func setPrimitiveValue<Value: AttributeConvertible>(
        _ value: Value?, for path: KeyPath<Self, Value?>
    ) throws(ContextError) {
        try setPrimitive(value?.attributeValue ?? .null, path)
    }

    /// Sets an attribute to the raw value of a case: as for others (MO-21).
    @_disfavoredOverload
    public func setPrimitiveValue<Value: RawRepresentable>(
        _ value: Value, for path: KeyPath<Self, Value>
    ) throws(ContextError) where Value.RawValue: AttributeConvertible {
        try setPrimitive(value.rawValue.attributeValue, path)
    }

    /// Sets an optional attribute to the raw value of a case, or to none: as for others (MO-21).
    @_disfavoredOverload
    public func setPrimitiveValue<Value: RawRepresentable>(
        _ value: Value?, for path: KeyPath<Self, Value?>
    ) throws(ContextError) where Value.RawValue: AttributeConvertible {
        try setPrimitive(value?.rawValue.attributeValue ?? .null, path)
    }

    private func setPrimitive(_ value: AttributeValue, _ path: PartialKeyPath<Self>) throws(ContextError) {
        try setPrimitiveValue(.attribute(value), forKey: Self.knownName(of: path))
    }

    // MARK: Announcements

    /// Announces that an accessor is about to set a primitive value, as `willChangeValue(forKey:)` (MO-23).
    ///
    ///     try person.willChangeValue(for: \.age)
    ///     try person.setPrimitiveValue(40, for: \.age)
    ///     try person.didChangeValue(for: \.age)
    ///
    /// - Throws: `ContextError.classWithoutKeyPaths`. A key path of no property is ignored, like a name of none.
    /// - Complexity: O(1).
    public func willChangeValue(for path: PartialKeyPath<Self>) throws(ContextError) {
        willChangeValue(forKey: try Self.knownName(of: path))
    }

    /// Announces that an accessor has set a primitive value, as `didChangeValue(forKey:)` (MO-23).
    ///
    /// - Throws: as `willChangeValue(for:)`.
    /// - Complexity: O(1).
    public func didChangeValue(for path: PartialKeyPath<Self>) throws(ContextError) {
        didChangeValue(forKey: try Self.knownName(of: path))
    }
}
