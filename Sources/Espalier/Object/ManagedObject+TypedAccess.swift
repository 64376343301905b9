// What the stored properties of an `@Entity` class become: typed reading and writing by name.
//
// Invariants
//   1. Reading never traps: no value, an unknown name or a value of another type reads as `nil`, empty or `unsetValue`.
//   2. Writing never traps: what is refused is recorded and reported by the context's next save.

import EspalierModel
import FoundationEssentials

extension ManagedObject {
    // MARK: Reading

    /// An attribute that must have a value.
    ///
    /// For @Entity only.
    @_specialize(where Value == String)
    @_specialize(where Value == Int)
    @_specialize(where Value == Int64)
    @_specialize(where Value == Int32)
    @_specialize(where Value == Int16)
    @_specialize(where Value == Double)
    @_specialize(where Value == Bool)
    @_specialize(where Value == Date)
    public final func _get<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value {
        guard let slot = attributeSlot(name, at: index) else { return Value.unsetValue }
        return Value(attributeValue: attributeValue(at: slot)) ?? Value.unsetValue
    }

    /// An attribute that may be without a value.
    ///
    /// For @Entity only.
    @_specialize(where Value == String)
    @_specialize(where Value == Int)
    @_specialize(where Value == Int64)
    @_specialize(where Value == Int32)
    @_specialize(where Value == Int16)
    @_specialize(where Value == Double)
    @_specialize(where Value == Bool)
    @_specialize(where Value == Date)
    public final func _get<Value: AttributeConvertible>(_ name: StaticString, at index: Int) -> Value? {
        guard let slot = attributeSlot(name, at: index) else { return nil }
        return Value(attributeValue: attributeValue(at: slot))
    }

    /// A to-one relationship.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Destination? {
        guard let slot = relationshipSlot(name, at: index) else { return nil }
        return destination(at: slot) as? Destination
    }

    /// A to-many relationship.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> Set<Destination> {
        guard let slot = relationshipSlot(name, at: index) else { return [] }
        let objects = destinations(at: slot)
        var result = Set<Destination>(minimumCapacity: objects.count)
        for object in objects { if let object = object as? Destination { result.insert(object) } }
        return result
    }

    /// An ordered to-many relationship.
    ///
    /// For @Entity only.
    public final func _get<Destination: ManagedObject>(_ name: StaticString, at index: Int) -> [Destination] {
        guard let slot = relationshipSlot(name, at: index) else { return [] }
        return destinations(at: slot).compactMap { $0 as? Destination }
    }

    // MARK: Writing

    /// An attribute that must have a value.
    ///
    /// For @Entity only.
    @_specialize(where Value == String)
    @_specialize(where Value == Int)
    @_specialize(where Value == Int64)
    @_specialize(where Value == Int32)
    @_specialize(where Value == Int16)
    @_specialize(where Value == Double)
    @_specialize(where Value == Bool)
    @_specialize(where Value == Date)
    public final func _set<Value: AttributeConvertible>(_ name: StaticString, at index: Int, _ newValue: Value) {
        guard let slot = attributeSlot(name, at: index) else { return }
        if let reason = setAttributeValue(newValue.attributeValue, at: slot) { refuse(name.description, reason) }
    }

    /// An attribute that may be without a value.
    ///
    /// For @Entity only.
    @_specialize(where Value == String)
    @_specialize(where Value == Int)
    @_specialize(where Value == Int64)
    @_specialize(where Value == Int32)
    @_specialize(where Value == Int16)
    @_specialize(where Value == Double)
    @_specialize(where Value == Bool)
    @_specialize(where Value == Date)
    public final func _set<Value: AttributeConvertible>(_ name: StaticString, at index: Int, _ newValue: Value?) {
        guard let slot = attributeSlot(name, at: index) else { return }
        if let reason = setAttributeValue(newValue?.attributeValue ?? .null, at: slot) {
            refuse(name.description, reason)
        }
    }

    /// A to-one relationship.
    ///
    /// For @Entity only.
    public final func _set<Destination: ManagedObject>(
        _ name: StaticString, at index: Int, _ newValue: Destination?
    ) {
        guard let slot = relationshipSlot(name, at: index) else { return }
        if let reason = setDestination(newValue, at: slot) {
            // An object outside of every context cannot record; the other one's context reports.
            (managedObjectContext ?? newValue?.managedObjectContext)?
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

    private func setAll(_ name: StaticString, at index: Int, _ objects: [ManagedObject]) {
        guard let slot = relationshipSlot(name, at: index) else { return }
        if let reason = setDestinations(objects, at: slot) {
            (managedObjectContext ?? objects.lazy.compactMap(\.managedObjectContext).first)?
                .record(Violation(self, name.description, reason))
        }
    }

    // MARK: Names

    private func attributeSlot(_ name: StaticString, at index: Int) -> Int? {
        if case .attribute(let slot)? = shape.property(name, at: index) { return slot }
        refuse(name.description, .unknownKey(known: entity.propertyNames))
        return nil
    }

    private func relationshipSlot(_ name: StaticString, at index: Int) -> Int? {
        if case .relationship(let slot)? = shape.property(name, at: index) { return slot }
        refuse(name.description, .unknownKey(known: entity.propertyNames))
        return nil
    }
}
