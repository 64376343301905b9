// Access by name to what properties had and lead to, by key path: typed code names no property by a text.
//
// Invariants
//   1. A key path that leads to no property of the model stands for a name that no property has: calls that take names
//      refuse it, and their error has the text of the key path.
//   2. A class without a table of key paths, such as one that belongs to an actor, is an error of each call that
//      throws.
//   3. A value that is none of the property's type is an error, and never read as the absence of a value.
// Elsewhere: primitive values (+TypedPrimitive), validation (+TypedValidation).

import EspalierModel

extension EntityClass {
    // MARK: Names

    /// The name of a property of the class, for calls that take names.
    ///
    /// A class that belongs to an actor, or is not marked with `@Entity`, has no table of key paths: write the names
    /// of its properties instead. For such a class, as for a key path of no property, the result is a text that is the
    /// name of no property and says why: a save reports it as an unknown name among `validatedKeys`.
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

    /// The name of a property, for calls that can throw; for a key path of no property its text.
    ///
    /// - Throws: `ContextError.classWithoutKeyPaths`.
    static func knownName(of path: PartialKeyPath<Self>) throws(ContextError) -> String {
        try PropertyPaths.modelledName(of: path, Self.self) ?? "\(path)"
    }

    // MARK: Committed values

    /// The value of an attribute that was last read or saved (MO-34); `nil` for a new object, and for a transient
    /// attribute, of which no store has a value.
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

    /// The Swift value of an attribute's value; `nil` for null.
    ///
    /// - Throws: `ContextError.violations` for a value that is none of the property's type.
    func converted<Value>(_ value: AttributeValue, _ name: String) throws(ContextError) -> Value? {
        if value.isNull { return nil }
        guard let converted = SwiftValue<Value>(value)?.value else {
            throw .violations([Violation(self, name, .unknownValue(value, type: "\(Value.self)"))])
        }
        return converted
    }

    /// Whether a property differs from its committed value (MO-35); a change that was reverted is none.
    ///
    /// A transient attribute has no committed value, and so it never differs: see `isChangedInEvent(_:)`.
    ///
    /// - Throws: as `changedValues(forKeys:)`; `.classWithoutKeyPaths`.
    /// - Complexity: as `changedValues(forKeys:)`.
    public func isChanged(_ path: PartialKeyPath<Self>) throws(ContextError) -> Bool {
        try !changedValues(forKeys: [Self.knownName(of: path)]).isEmpty
    }

    /// Whether a property, also a transient one, has changed in the current event (MO-36); its new value is the
    /// property's.
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

    // MARK: Destinations

    /// Whether the destination of a to-one relationship would have to be loaded (MO-13); loads nothing.
    ///
    /// - Throws: `ContextError.violations` for a key path of no relationship of the model; `.classWithoutKeyPaths`.
    /// - Complexity: O(1).
    public func hasFault<Destination: ManagedObject>(
        for path: KeyPath<Self, Destination?>
    ) throws(ContextError) -> Bool {
        hasFault(forRelationshipNamed: try relationshipName(of: path))
    }

    /// Whether the destinations of a to-many relationship would have to be loaded (MO-13); loads nothing.
    ///
    /// - Throws: as for to-one relationships.
    /// - Complexity: O(1).
    public func hasFault<List: Sequence>(
        for path: KeyPath<Self, List>
    ) throws(ContextError) -> Bool where List.Element: ManagedObject {
        hasFault(forRelationshipNamed: try relationshipName(of: path))
    }

    /// A reference to the destination of a to-one relationship, without making the object (MO-14); `nil` for none.
    ///
    /// - Throws: as `objectIDs(forRelationshipNamed:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(1); the row is loaded if it is not in memory.
    public func destinationRef<Destination: ManagedObject>(
        of path: KeyPath<Self, Destination?>
    ) throws(ContextError) -> Ref<Destination>? {
        try objectIDs(forRelationshipNamed: Self.knownName(of: path)).first.map { Ref($0) }
    }

    /// References to the destinations of a to-many relationship, in their order if it is ordered, without making the
    /// objects (MO-14).
    ///
    /// - Throws: as `objectIDs(forRelationshipNamed:)`; `.classWithoutKeyPaths`.
    /// - Complexity: O(destinations); the list is loaded if it is not in memory.
    public func destinationRefs<List: Sequence>(
        of path: KeyPath<Self, List>
    ) throws(ContextError) -> [Ref<List.Element>] where List.Element: ManagedObject {
        try objectIDs(forRelationshipNamed: Self.knownName(of: path)).map { Ref($0) }
    }

    /// The name of a relationship.
    ///
    /// By name, a relationship that does not exist has no fault; by key path it is an error, as in other calls.
    private func relationshipName(of path: PartialKeyPath<Self>) throws(ContextError) -> String {
        let name = try Self.knownName(of: path)
        guard entity.relationship(named: name) != nil else {
            throw .violations([Violation(self, name, .unknownKey(known: entity.relationships.map(\.name)))])
        }
        return name
    }
}
