// Access by name to what properties had, may have and break, by key path: typed code names no property by a text.
//
// Invariants
//   1. A key path that leads to no property of the model stands for a name that no property has: calls that take names
//      refuse it, and their error has the text of the key path.
//   2. A class without a table of key paths, such as one that belongs to an actor, is an error of each call that
//      throws.
//   3. A value that is none of the property's type is an error, and never read as the absence of a value.

import EspalierModel

extension EntityClass {
    // MARK: Names

    /// The name of a property of the class, for calls that take names.
    ///
    /// A class that belongs to an actor, or is not marked with `@Entity`, has no table of key paths: write the names
    /// of its properties instead. For such a class, as for a key path of no property, the result is the text of the key
    /// path, which is the name of no property: a save reports it as an unknown name among `validatedKeys`.
    ///
    ///     override class var validatedKeys: [String] { Person.propertyNames(of: \.name, \.age) }
    ///
    /// - Complexity: O(1).
    public static func propertyName(of path: PartialKeyPath<Self>) -> String {
        PropertyPaths.chosenName(of: path, Self.self)
    }

    /// The names of some properties of the class, in this order.
    ///
    /// - Complexity: O(`paths`).
    public static func propertyNames(of paths: PartialKeyPath<Self>...) -> [String] {
        paths.map { propertyName(of: $0) }
    }

    /// The name of a property, for calls that may fail.
    private static func knownName(of path: PartialKeyPath<Self>) throws(ContextError) -> String {
        if PropertyPaths.of(Self.self).propertyNames.isEmpty { throw .classWithoutKeyPaths("\(Self.self)") }
        return propertyName(of: path)
    }

    // MARK: Committed values

    /// The value of an attribute that was last read or saved (MO-34); `nil` for a new object.
    ///
    /// Values of registered transformers are read by name.
    ///
    /// - Throws: as `committedValues(forKeys:)`; `ContextError.violations` also for a stored value that is none of the
    ///   property's type; `.classWithoutKeyPaths` for a class that belongs to an actor or is not marked with `@Entity`.
    /// - Complexity: O(1).
    @_disfavoredOverload
    public func committedValue<Value>(of path: KeyPath<Self, Value>) throws(ContextError) -> Value? {
        try committedAttribute(path)
    }

    /// The value of an optional attribute that was last read or saved (MO-34); `nil` for none, and for a new object.
    ///
    /// - Throws: as for others.
    /// - Complexity: O(1).
    @_disfavoredOverload
    public func committedValue<Value>(of path: KeyPath<Self, Value?>) throws(ContextError) -> Value? {
        try committedAttribute(path)
    }

    /// The destination of a to-one relationship that was last read or saved (MO-34); `nil` for none, and for a new
    /// object.
    ///
    /// - Throws: as `committedValues(forKeys:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(1).
    public func committedValue<Destination: ManagedObject>(
        of path: KeyPath<Self, Destination?>
    ) throws(ContextError) -> Ref<Destination>? {
        guard case .toOne(let id?)? = try committedProperty(path) else { return nil }
        return Ref(id)
    }

    /// The destinations of a to-many relationship that were last read or saved (MO-34), in their order if it is
    /// ordered; `nil` for a new object.
    ///
    /// - Throws: as `committedValues(forKeys:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(destinations); the list is loaded if it is not in memory.
    public func committedValue<Destination: ManagedObject, List: Sequence>(
        of path: KeyPath<Self, List>
    ) throws(ContextError) -> [Ref<Destination>]? where List.Element == Destination {
        guard case .toMany(let ids)? = try committedProperty(path) else { return nil }
        return ids.map { Ref($0) }
    }

    private func committedProperty(_ path: PartialKeyPath<Self>) throws(ContextError) -> PropertySnapshot? {
        let name = try Self.knownName(of: path)
        return try committedValues(forKeys: [name])[name]
    }

    private func committedAttribute<Value>(_ path: PartialKeyPath<Self>) throws(ContextError) -> Value? {
        guard case .attribute(let value)? = try committedProperty(path) else { return nil }
        return try converted(value, Self.propertyName(of: path))
    }

    private func converted<Value>(_ value: AttributeValue, _ name: String) throws(ContextError) -> Value? {
        if value.isNull { return nil }
        guard let converted = SwiftValue<Value>(value)?.value else {
            throw .violations([Violation(self, name, .unknownValue(value, type: "\(Value.self)"))])
        }
        return converted
    }

    /// Whether a property differs from its committed value (MO-35); a change that was reverted is none.
    ///
    /// - Throws: as `changedValues(forKeys:)`; `.classWithoutKeyPaths`.
    /// - Complexity: as `changedValues(forKeys:)`.
    public func isChanged(_ path: PartialKeyPath<Self>) throws(ContextError) -> Bool {
        try !changedValues(forKeys: [Self.knownName(of: path)]).isEmpty
    }

    /// Whether a property has changed in the current event (MO-36); its new value is the property's.
    ///
    /// - Throws: as `changedValuesForCurrentEvent()`; `.classWithoutKeyPaths`; `.violations` for a key path of no
    ///   property.
    /// - Complexity: as `changedValuesForCurrentEvent()`.
    public func isChangedInEvent(_ path: PartialKeyPath<Self>) throws(ContextError) -> Bool {
        let name = try Self.knownName(of: path)
        guard entity.property(named: name) != nil else {
            throw .violations([Violation(self, name, .unknownKey(known: entity.propertyNames))])
        }
        return try changedValuesForCurrentEvent()[name] != nil
    }

    // MARK: Validation

    /// Checks whether an attribute may have `value`, which the class may replace (MO-37).
    ///
    /// - Throws: as `validateValue(_:forKey:)`, and `.classWithoutKeyPaths`; then `value` is as before.
    /// - Complexity: O(1), and what the hook takes.
    public func validateValue<Value: AttributeConvertible>(
        _ value: inout Value, for path: KeyPath<Self, Value>
    ) throws(ContextError) {
        if let checked: Value = try checkedValue(value.attributeValue, path) { value = checked }
    }

    /// Checks whether an optional attribute may have `value`, which the class may replace (MO-37).
    ///
    /// - Throws: as `validateValue(_:forKey:)`, and `.classWithoutKeyPaths`; then `value` is as before.
    /// - Complexity: O(1), and what the hook takes.
    public func validateValue<Value: AttributeConvertible>(
        _ value: inout Value?, for path: KeyPath<Self, Value?>
    ) throws(ContextError) {
        value = try checkedValue(value?.attributeValue ?? .null, path)
    }

    private func checkedValue<Value>(
        _ value: AttributeValue, _ path: PartialKeyPath<Self>
    ) throws(ContextError) -> Value? {
        let name = try Self.knownName(of: path)
        var property = PropertyValue.attribute(value)
        try validateValue(&property, forKey: name)
        guard case .attribute(let checked) = property else { return nil }
        return try converted(checked, name)
    }

    /// The violations of an error that concern a property of this object or an element of its value, for a form that
    /// shows them beside it.
    ///
    /// None for a class without a table of key paths (`propertyName(of:)`): compare the names of properties instead.
    ///
    /// - Complexity: O(violations).
    public func violations(of path: PartialKeyPath<Self>, in error: ContextError) -> [Violation] {
        switch error {
        case .violations(let found), .refusedResolutions(let found):
            let name = Self.propertyName(of: path)
            return found.filter { violation in
                guard violation.object == storedID, let property = violation.property else { return false }
                return property == name || property.hasPrefix(name + ".")
            }
        case .several(let errors): return errors.flatMap { violations(of: path, in: $0) }
        case .partlySaved(let underlying): return violations(of: path, in: underlying)
        default: return []
        }
    }
}
