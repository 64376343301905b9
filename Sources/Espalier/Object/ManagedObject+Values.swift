// The values of an object when it was last read or saved, and its changes since (MO-34 to MO-36).
//
// Invariants
//   1. Values are immutable and name other objects by ID: they may leave the context.
//   2. A change that was reverted is no change.

public import EspalierModel
import EspalierStore

/// The value that a property has, had, or got, with IDs instead of objects.
public enum PropertySnapshot: Sendable, Equatable {
    /// The value of an attribute.
    case attribute(AttributeValue)
    /// The destination of a to-one relationship.
    case toOne(ObjectID?)
    /// The destinations of a to-many relationship, in their order if it is ordered.
    case toMany([ObjectID])
}

extension ManagedObject {
    // MARK: Committed values

    /// The attributes and to-one destinations that were last read or saved (MO-34); empty for a new object.
    ///
    /// To-many destinations are returned for named keys only, because they may have to be loaded.
    ///
    /// - Complexity: O(properties), with one look-up in the store if the object is a fault.
    public final func committedValues() -> [String: PropertySnapshot] {
        if !isFulfilled { fireFault() }
        guard hasRow else { return [:] }
        var result: [String: PropertySnapshot] = [:]
        for attribute in entity.attributes where !attribute.isTransient {
            result[attribute.name] = committedSnapshot(of: .attribute(attribute.slot))
        }
        for relationship in entity.relationships where !relationship.isToMany {
            result[relationship.name] = committedSnapshot(of: .relationship(relationship.slot))
        }
        return result
    }

    /// The values of some properties that were last read or saved (MO-34); empty for a new object.
    ///
    /// Transient attributes have no committed values and are left out.
    ///
    /// - Throws: `ContextError.violations` if the entity has no such property; `.contextEnded` if the context has
    ///   ended.
    /// - Complexity: O(destinations) for each to-many relationship, whose list is loaded if it is not in memory.
    public final func committedValues(forKeys keys: [String]) throws(ContextError) -> [String: PropertySnapshot] {
        let properties = try properties(named: keys)
        if !isFulfilled { fireFault() }
        guard hasRow else { return [:] }
        var result: [String: PropertySnapshot] = [:]
        for (key, property) in zip(keys, properties) { result[key] = committedSnapshot(of: property) }
        return result
    }

    private func committedSnapshot(of property: Entity.Property) -> PropertySnapshot? {
        switch property {
        case .attribute(let slot):
            entity.attributes[slot].isTransient ? nil : row.map { .attribute($0.value(at: slot)) }
        case .relationship(let slot):
            entity.relationships[slot].isToMany
                ? .toMany(storedDestinationIDs(at: slot)) : .toOne(row?.destination(at: slot))
        }
    }

    // MARK: Changed values

    /// The values of the properties that differ from the committed ones (MO-35); transient attributes are left out.
    ///
    /// A new object is compared with its initial values.
    ///
    /// - Complexity: O(changes), and O(destinations) for each to-many relationship that has changed, whose list is
    ///   loaded if it is not in memory. Relationships that have not changed are not loaded.
    public final func changedValues() -> [String: PropertySnapshot] {
        applyUnreadInverses()
        var result: [String: PropertySnapshot] = [:]
        for (name, value) in changedSingleValues { result[name] = value }
        for slot in changedToManySlots {
            result[entity.relationships[slot].name] = .toMany(shownDestinationIDs(at: slot))
        }
        return result
    }

    /// The values of those of some properties that differ from the committed ones (MO-35).
    ///
    /// - Throws: as `committedValues(forKeys:)`.
    /// - Complexity: as `changedValues()`; relationships that are not named are not loaded.
    public final func changedValues(forKeys keys: [String]) throws(ContextError) -> [String: PropertySnapshot] {
        let properties = try properties(named: keys)
        applyUnreadInverses()
        let (single, toMany) = (changedSingleValues, Set(changedToManySlots))
        var result: [String: PropertySnapshot] = [:]
        for (key, property) in zip(keys, properties) {
            if case .relationship(let slot) = property, toMany.contains(slot) {
                result[key] = .toMany(shownDestinationIDs(at: slot))
            } else {
                result[key] = single[key]
            }
        }
        return result
    }

    /// Whether a stored property or relationship really differs from its committed value (MO-07).
    ///
    /// A reverted change does not count: an attribute that has its committed value again, a destination that was added
    /// and removed, an order that was restored. Loads no list of an unordered relationship.
    /// - Complexity: O(changes), and O(destinations) for each ordered relationship with changes.
    public final var hasPersistentChangedValues: Bool {
        applyUnreadInverses()
        return !changedSingleValues.isEmpty || !changedToManySlots.isEmpty
    }

    /// Attributes and to-one destinations that differ from the committed ones.
    private var changedSingleValues: [String: PropertySnapshot] {
        // Values that `awakeFromFetch` or primitive access has set are no changes.
        guard hasChanges || !state.contains(.registered) else { return [:] }
        var result: [String: PropertySnapshot] = [:]
        for attribute in entity.attributes where !attribute.isTransient {
            guard let value = unsavedAttribute(at: attribute.slot) else { continue }
            let base = row?.value(at: attribute.slot) ?? (isInserted ? shape.defaultValues[attribute.slot] : .null)
            if base != value { result[attribute.name] = .attribute(value) }
        }
        for relationship in entity.relationships where !relationship.isToMany {
            guard let id = unsavedDestinationID(at: relationship.slot) else { continue }
            if row?.destination(at: relationship.slot) != id { result[relationship.name] = .toOne(id) }
        }
        return result
    }

    /// The to-many relationships whose destinations or order differ from the stored ones.
    private var changedToManySlots: [Int] {
        guard let toMany = changes?.values.toMany else { return [] }
        return toMany.pairs.filter { slot, change in
            if let list = change.list { return list != storedDestinationIDs(at: slot) }
            return !change.added.isEmpty || !change.removed.isEmpty
        }.map(\.slot)
    }

    // MARK: Changes of the event

    /// The values of the properties that have changed since the last `ObjectsDidChangeMessage`, or since the last event
    /// ended (MO-36).
    ///
    /// An observer of that message gets the properties of which it is notified. An attribute that was set back to the
    /// value it had before the event is left out.
    ///
    /// - Throws: `ContextError.eventIsNotRecorded` unless the context's `recordsChangesOfEvent` is set.
    /// - Complexity: O(changed properties), and O(destinations) for each to-many relationship that has changed.
    public final func changedValuesForCurrentEvent() throws(ContextError) -> [String: PropertySnapshot] {
        if isContextEnded { throw .contextEnded(storedID) }
        guard let context = managedObjectContext else { return [:] }
        guard let record = context.eventRecord else { throw .eventIsNotRecorded }
        applyUnreadInverses()
        guard let changed = record.changes(of: self) else { return [:] }
        var result: [String: PropertySnapshot] = [:]
        for (slot, former) in changed.attributes.pairs {
            let value = attributeValue(at: slot)
            if value != former { result[entity.attributes[slot].name] = .attribute(value) }
        }
        for slot in changed.relationships {
            let relationship = entity.relationships[slot]
            result[relationship.name] =
                relationship.isToMany ? .toMany(shownDestinationIDs(at: slot)) : .toOne(shownDestinationID(at: slot))
        }
        return result
    }

    /// The properties with these names.
    ///
    /// - Throws: `ContextError.violations` with all names that the entity does not have; `.contextEnded`.
    private func properties(named keys: [String]) throws(ContextError) -> [Entity.Property] {
        if isContextEnded { throw .contextEnded(storedID) }
        let found = keys.map { entity.property(named: $0) }
        let unknown = zip(keys, found).filter { $1 == nil }.map { key, _ in
            Violation(self, key, .unknownKey(known: entity.propertyNames))
        }
        guard unknown.isEmpty else { throw .violations(unknown) }
        return found.compactMap { $0 }
    }
}
