// Typed access by name: `@Entity` expands the stored properties of a class to calls of these methods.
//
// Invariants
//   1. Reading never traps: a missing value, an unknown name or a value of another type reads as `nil`, empty or
//      `unsetValue`. A stored value that the type cannot represent, such as a raw value without a case, is recorded as
//      a violation.
//   2. Writing never traps: a refused write is recorded and reported by the context's next save.
//   3. Generic functions are thin and inlinable, so that the compiler of an application knows the type (see Decisions,
//      "Typed access").

public import EspalierModel

extension ManagedObject {
    // MARK: Reading

    /// An attribute that must have a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value {
        let value = attributeValue(name, at: index)
        if let converted = Value(attributeValue: value) { return converted }
        noteUnconverted(name, value, Value.self)
        return Value.unsetValue
    }

    /// An attribute that must have a value, and reads as `unset` while it has none.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Value: AttributeConvertible>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> Value
    ) -> Value {
        let value = attributeValue(name, at: index)
        if let converted = Value(attributeValue: value) { return converted }
        noteUnconverted(name, value, Value.self)
        return unset()
    }

    /// An attribute that may be without a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value? {
        let value = attributeValue(name, at: index)
        if let converted = Value(attributeValue: value) { return converted }
        noteUnconverted(name, value, Value.self)
        return nil
    }

    // The most common types are read directly from the row, without an `AttributeValue` (see Decisions, "Typed
    // access").

    /// A text that must have a value.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> String { text(name, at: index) ?? String.unsetValue }

    /// A text.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> String? { text(name, at: index) }

    /// An integer that must have a value.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> Int { integer(name, at: index) ?? Int.unsetValue }

    /// An integer.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> Int? { integer(name, at: index) }

    /// A number that must have a value.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> Double {
        double(name, at: index) ?? Double.unsetValue
    }

    /// A number.
    ///
    /// For @Entity only.
    public final func _get(_ name: StaticString, at index: Int) -> Double? { double(name, at: index) }

    /// A to-one relationship.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Destination? {
        destination(name, at: index) as? Destination
    }

    /// A to-many relationship.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Set<Destination> {
        let objects = destinations(name, at: index)
        // Most relationships have one object: a set literal needs no call of the runtime.
        if objects.count == 1, let object = objects[0] as? Destination { return [object] }
        var result = Set<Destination>(minimumCapacity: objects.count)
        for object in objects { if let object = object as? Destination { result.insert(object) } }
        return result
    }

    /// A to-many relationship that is declared with a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> Set<Destination>
    ) -> Set<Destination> { _get(name, at: index) }

    /// An ordered to-many relationship.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> [Destination] {
        destinations(name, at: index).compactMap { $0 as? Destination }
    }

    /// An ordered to-many relationship that is declared with a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _get<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> [Destination]
    ) -> [Destination] { _get(name, at: index) }

    /// A live to-many relationship.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> ToMany<Destination> {
        relationshipSlot(name, at: index).map { ToMany(of: self, slot: $0) } ?? []
    }

    /// A live to-many relationship that is declared with a value.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> ToMany<Destination>
    ) -> ToMany<Destination> { _get(name, at: index) }

    /// A live ordered to-many relationship that is declared with a value.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, unset: @autoclosure () -> OrderedToMany<Destination>
    ) -> OrderedToMany<Destination> { _get(name, at: index) }

    /// A live ordered to-many relationship.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(
        _ name: StaticString, at index: Int
    ) -> OrderedToMany<Destination> {
        relationshipSlot(name, at: index).map { OrderedToMany(of: self, slot: $0) } ?? []
    }

    // MARK: Writing

    /// An attribute that must have a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _set<Value: AttributeConvertible>(_ name: StaticString, at index: Int, _ newValue: Value) {
        setAttributeValue(name, at: index, newValue.attributeValue)
    }

    /// An attribute that may be without a value.
    ///
    /// For @Entity only.
    @inlinable
    public final func _set<Value: AttributeConvertible>(_ name: StaticString, at index: Int, _ newValue: Value?) {
        setAttributeValue(name, at: index, newValue?.attributeValue ?? .null)
    }

    /// A to-one relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: Destination?
    ) {
        guard let slot = relationshipSlot(name, at: index) else { return }
        if let reason = setDestination(newValue, at: slot) {
            requireContext()
            // An object outside every context cannot record; the destination's context reports instead.
            (reportingContext ?? newValue?.managedObjectContext)?
                .record(Violation(self, name.description, reason))
        }
    }

    /// A to-many relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: Set<Destination>
    ) {
        setAll(name, at: index, newValue.sorted { ObjectID.inOrderOfCreation($0.storedID, $1.storedID) })
    }

    /// An ordered to-many relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: [Destination]
    ) {
        setAll(name, at: index, newValue)
    }

    /// A live to-many relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: ToMany<Destination>
    ) {
        setAll(name, at: index, newValue.members)
    }

    /// A live ordered to-many relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: OrderedToMany<Destination>
    ) {
        setAll(name, at: index, newValue.members)
    }

    /// Makes `members` the destinations; a collection of this very relationship has made its changes already.
    private func setAll(_ name: StaticString, at index: Int, _ members: Members) {
        guard let slot = relationshipSlot(name, at: index) else { return }
        if case .relationship(let owner, let own) = members.source, owner === self, own == slot { return }
        var (walk, objects): (MemberWalk, [ManagedObject]) = (MemberWalk(over: members), [])
        while let object = walk.next() { objects.append(object) }
        Members(of: self, slot: slot).replaceAll(with: objects)
    }

    private func setAll(_ name: StaticString, at index: Int, _ objects: [ManagedObject]) {
        guard let slot = relationshipSlot(name, at: index) else { return }
        if let reason = setDestinations(objects, at: slot) {
            requireContext()
            (reportingContext ?? objects.lazy.compactMap(\.managedObjectContext).first)?
                .record(Violation(self, name.description, reason))
        }
    }

    // MARK: Common code of all types

    /// The current value of the attribute called `name`; null if the entity has no such attribute.
    @usableFromInline
    final func attributeValue(_ name: StaticString, at index: Int) -> AttributeValue {
        guard let slot = attributeSlot(name, at: index) else { return .null }
        noteRead(.attribute(slot))
        return attributeValue(at: slot)
    }

    @inline(__always)
    private func text(_ name: StaticString, at index: Int) -> String? {
        guard let slot = attributeSlot(name, at: index) else { return nil }
        noteRead(.attribute(slot))
        return committedValue { $0.text(at: slot, of: $1) } ?? String(attributeValue: attributeValue(at: slot))
    }

    @inline(__always)
    private func integer(_ name: StaticString, at index: Int) -> Int? {
        guard let slot = attributeSlot(name, at: index) else { return nil }
        noteRead(.attribute(slot))
        if let number = committedValue({ $0.integer(at: slot, of: $1) }) { return Int(exactly: number) }
        return Int(attributeValue: attributeValue(at: slot))
    }

    @inline(__always)
    private func double(_ name: StaticString, at index: Int) -> Double? {
        guard let slot = attributeSlot(name, at: index) else { return nil }
        noteRead(.attribute(slot))
        return committedValue { $0.double(at: slot, of: $1) } ?? Double(attributeValue: attributeValue(at: slot))
    }

    /// The object at the other end of the to-one relationship called `name`.
    @usableFromInline
    final func destination(_ name: StaticString, at index: Int) -> ManagedObject? {
        guard let slot = relationshipSlot(name, at: index) else { return nil }
        noteRead(.relationship(slot))
        return destination(at: slot)
    }

    /// The objects at the other end of the to-many relationship called `name`.
    @usableFromInline
    final func destinations(_ name: StaticString, at index: Int) -> [ManagedObject] {
        guard let slot = relationshipSlot(name, at: index) else { return [] }
        noteRead(.relationship(slot))
        return destinations(at: slot)
    }

    /// Writes the attribute called `name`, or records the reason for a refusal.
    @usableFromInline
    final func setAttributeValue(_ name: StaticString, at index: Int, _ value: consuming AttributeValue) {
        guard let slot = attributeSlot(name, at: index) else { return }
        if let reason = setAttributeValue(value, at: slot) { refuse(name.description, reason) }
    }

    /// Records that a value does not suit the type of the property; a null value is not recorded.
    @usableFromInline
    @inline(never)
    final func noteUnconverted(_ name: StaticString, _ value: AttributeValue, _ type: Any.Type) {
        guard !value.isNull else { return }
        recordOnce(.unknownValue, of: name.description, .unknownValue(value, type: "\(type)"))
    }

    // MARK: Names

    @inline(__always)
    func attributeSlot(_ name: StaticString, at index: Int) -> Int? {
        if case .attribute(let slot)? = withShape({ $0.property(name, at: index) }) { return slot }
        refuse(name)
        return nil
    }

    @inline(__always)
    private func relationshipSlot(_ name: StaticString, at index: Int) -> Int? {
        if case .relationship(let slot)? = withShape({ $0.property(name, at: index) }) { return slot }
        refuse(name)
        return nil
    }

    @inline(never)
    private func refuse(_ name: StaticString) {
        refuse(name.description, .unknownKey(known: entity.propertyNames))
    }
}
