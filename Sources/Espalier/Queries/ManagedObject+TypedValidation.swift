// The validation of values by key path: on demand, in the hook of a class, and in the report of a save (MO-37).
//
// Invariants
//   1. A check by key path has the outcome of the one by name.
//   2. A hook by key path whose key path leads to no property of the model is an error: it would never run.

import EspalierModel

extension EntityClass {
    // MARK: On demand

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

    // MARK: In the hook

    /// Checks the value of an attribute in `validate(_:forKey:)`, with the type of its property; does nothing if `key`
    /// names another property (MO-37).
    ///
    ///     override class var validatedKeys: [String] { Person.propertyNames(of: \.age, \.note) }
    ///     override func validate(_ value: inout PropertyValue, forKey key: String) throws {
    ///         try checkValue(&value, forKey: key, of: \.age) { age in
    ///             if age < 0 { throw AgeError.negative(age) }
    ///             age = min(age, 150)
    ///         }
    ///         try checkValue(&value, forKey: key, of: \.note) { note in note = note ?? "none" }
    ///     }
    ///
    /// Values of `Codable` types and of registered transformers are checked by name.
    ///
    /// - Parameter check: may replace the value. It is not called for an attribute without a value, which the model
    ///   reports unless the attribute is optional.
    /// - Throws: what `check` throws; `ContextError.violations` for a key path of no property of the model, and for a
    ///   value that is none of the property's type; `.classWithoutKeyPaths`. Then `value` is as before.
    /// - Complexity: O(1), and what `check` takes.
    public func checkValue<Value: AttributeConvertible>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, Value>,
        by check: (inout Value) throws -> Void
    ) throws {
        guard let found = try attribute(value, key, path), var checked: Value = try converted(found, key)
        else { return }
        try check(&checked)
        value = .attribute(checked.attributeValue)
    }

    /// Checks the value of an optional attribute in `validate(_:forKey:)`: as for others, but `check` is also called
    /// for `nil`, and may set it.
    public func checkValue<Value: AttributeConvertible>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, Value?>,
        by check: (inout Value?) throws -> Void
    ) throws {
        guard let found = try attribute(value, key, path) else { return }
        var checked: Value? = try converted(found, key)
        try check(&checked)
        value = .attribute(checked?.attributeValue ?? .null)
    }

    /// Checks the case of an attribute that is stored as its raw value: as for others.
    @_disfavoredOverload
    public func checkValue<Value: RawRepresentable>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, Value>,
        by check: (inout Value) throws -> Void
    ) throws where Value.RawValue: AttributeConvertible {
        guard let found = try attribute(value, key, path), var checked: Value = try converted(found, key)
        else { return }
        try check(&checked)
        value = .attribute(checked.rawValue.attributeValue)
    }

    /// Checks the case of an optional attribute that is stored as its raw value: as for other optional ones.
    @_disfavoredOverload
    public func checkValue<Value: RawRepresentable>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, Value?>,
        by check: (inout Value?) throws -> Void
    ) throws where Value.RawValue: AttributeConvertible {
        guard let found = try attribute(value, key, path) else { return }
        var checked: Value? = try converted(found, key)
        try check(&checked)
        value = .attribute(checked?.rawValue.attributeValue ?? .null)
    }

    /// Checks the destination of a to-one relationship in `validate(_:forKey:)`: as for optional attributes.
    public func checkValue<Destination: ManagedObject>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, Destination?>,
        by check: (inout Destination?) throws -> Void
    ) throws {
        guard try isKey(key, of: path), case .toOne(let object) = value else { return }
        var checked: Destination? = try object.map { try destination($0, key) }
        try check(&checked)
        value = .toOne(checked)
    }

    /// Checks the destinations of a to-many relationship in `validate(_:forKey:)`, in their order if it is ordered.
    ///
    /// - Complexity: O(destinations), and what `check` takes.
    public func checkValue<List: Sequence>(
        _ value: inout PropertyValue, forKey key: String, of path: KeyPath<Self, List>,
        by check: (inout [List.Element]) throws -> Void
    ) throws where List.Element: ManagedObject {
        guard try isKey(key, of: path), case .toMany(let objects) = value else { return }
        var checked: [List.Element] = try objects.map { try destination($0, key) }
        try check(&checked)
        value = .toMany(checked)
    }

    /// A destination, with the class that the property has.
    private func destination<Destination: ManagedObject>(
        _ object: ManagedObject, _ key: String
    ) throws(ContextError) -> Destination {
        if let destination = object as? Destination { return destination }
        let reason = Violation.Reason.wrongType(found: "\(type(of: object))", expected: "\(Destination.self)")
        throw .violations([Violation(self, key, reason)])
    }

    /// The value of an attribute, if `key` is its name.
    private func attribute(
        _ value: PropertyValue, _ key: String, _ path: PartialKeyPath<Self>
    ) throws(ContextError) -> AttributeValue? {
        guard try isKey(key, of: path), case .attribute(let found) = value else { return nil }
        return found
    }

    /// Whether `key` is the name of the property.
    private func isKey(_ key: String, of path: PartialKeyPath<Self>) throws(ContextError) -> Bool {
        let name = try Self.knownName(of: path)
        // A hook that never runs would be a rule that never holds.
        guard entity.property(named: name) != nil else {
            throw .violations([Violation(self, name, .unknownKey(known: entity.propertyNames))])
        }
        return name == key
    }

    /// A broken rule of the class's own about one property, for a hook to throw (MO-37, MO-38).
    ///
    ///     override func validateForInsert() throws {
    ///         guard end < start else { return }
    ///         throw violation(at: \.end, value: end, message: "the end is before the start", remedy: "move the end")
    ///     }
    ///
    /// A hook that finds several throws `ContextError.violations` with all of them.
    ///
    /// - Parameters:
    ///   - path: the property; see `propertyName(of:)` for classes without a table of key paths.
    ///   - value: the value that is wrong.
    ///   - message: the problem, as a sentence without its end; a `MessageTable` translates it (`rules`).
    ///   - remedy: the way to correct it, as a sentence without its end.
    ///   - underlying: the error that has led to this violation.
    /// - Complexity: O(1).
    public func violation(
        at path: PartialKeyPath<Self>, value: (any AttributeConvertible)? = nil, message: String,
        remedy: String? = nil, underlying: (any Error)? = nil
    ) -> Violation {
        Violation(
            self, property: Self.propertyName(of: path), value: value?.attributeValue, message: message,
            remedy: remedy, underlying: underlying)
    }

    // MARK: In the report

    /// The violations of an error that concern a property of this object, for a form that shows them beside it.
    ///
    /// Those of the elements of a composite belong to its property.
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
