// Access by name, for tools and for code without model classes; a refused access throws (MO-20).

public import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The value of the property called `key`; fires the fault.
    ///
    /// That of a fetched property is `.toMany`, in the order of its request (``fetchedObjects(forKey:)``).
    ///
    /// - Throws: `ContextError.violations` if the entity has no such property; `.contextEnded` if only the object's
    ///   context could load the value, and the context has ended; `.objectNotFound` if the row is deleted and the
    ///   context's `shouldDeleteInaccessibleFaults` is `false`.
    public final func value(forKey key: String) throws(ContextError) -> PropertyValue {
        try requireRow()
        switch entity.property(named: key) {
        case .attribute(let slot)?:
            try requireContextOrValues()
            noteRead(.attribute(slot))
            return .attribute(presentValue(at: slot))
        case .relationship(let slot)?:
            if isContextEnded { throw .contextEnded(storedID) }
            noteRead(.relationship(slot))
            return entity.relationships[slot].isToMany
                ? .toMany(destinations(at: slot)) : .toOne(destination(at: slot))
        case nil: return .toMany(try fetchedObjects(forKey: key))
        }
    }

    /// Sets the property called `key`; for a relationship, sets both sides (MO-20).
    ///
    /// - Throws: `ContextError.violations` if the entity has no such property, the value is of another type, or the
    ///   change is not allowed; `.contextEnded` if the object's context has ended. Then the object is unchanged and
    ///   nothing is recorded for `save()`.
    public final func setValue(_ value: PropertyValue, forKey key: String) throws(ContextError) {
        if isContextEnded { throw .contextEnded(storedID) }
        let reason: Violation.Reason?
        switch (entity.property(named: key), value) {
        case (.attribute(let slot)?, .attribute(let value)): reason = setAttributeValue(value, at: slot)
        case (.relationship(let slot)?, .toOne(let object)): reason = setDestination(object, at: slot)
        case (.relationship(let slot)?, .toMany(let objects)): reason = setDestinations(objects, at: slot)
        case (.attribute(let slot)?, _):
            reason = .wrongType(found: "an object", expected: entity.attributes[slot].type.name)
        case (.relationship, .attribute(let value)):
            reason = .wrongType(found: value.typeName, expected: "an object or objects")
        case (nil, _):
            reason =
                entity.fetchedProperty(named: key) == nil ? .unknownKey(known: entity.propertyNames) : .fetchedProperty
        }
        if let reason { throw .violations([Violation(self, key, reason)]) }
    }

    /// Sets the attribute called `key`.
    ///
    /// - Throws: the errors of `setValue(_:forKey:)` with a `PropertyValue`.
    public final func setValue(_ value: AttributeValue, forKey key: String) throws(ContextError) {
        try setValue(.attribute(value), forKey: key)
    }

    /// The attribute called `key`; `.null` if the entity has no such attribute.
    public final subscript(attribute key: String) -> AttributeValue {
        guard case .attribute(let slot)? = entity.property(named: key) else { return .null }
        noteRead(.attribute(slot))
        return presentValue(at: slot)
    }

    /// The IDs of the destinations of a relationship, without making the objects (MO-14).
    ///
    /// - Throws: `ContextError.violations` if the entity has no such relationship; `.contextEnded` if the context has
    ///   ended.
    /// - Complexity: O(destinations): a to-many relationship makes a list; O(1) for a to-one relationship. The list, or
    ///   the row of a fault, is read from the store if it is not in memory.
    public final func objectIDs(forRelationshipNamed name: String) throws(ContextError) -> [ObjectID] {
        if isContextEnded { throw .contextEnded(storedID) }
        guard let relationship = entity.relationship(named: name) else {
            throw .violations([Violation(self, name, .unknownKey(known: entity.relationships.map(\.name)))])
        }
        noteRead(.relationship(relationship.slot))
        if relationship.isToMany { return shownDestinationIDs(at: relationship.slot) }
        return shownDestinationID(at: relationship.slot).map { [$0] } ?? []
    }

    /// Adds destinations to a to-many relationship without loading the others (MO-25).
    ///
    /// - Throws: `ContextError.violations`; then none is added.
    /// - Complexity: O(added * log n) if the relationship has n destinations and is unordered; otherwise O(n) for the
    ///   first change after a save.
    public final func add(_ objects: [ManagedObject], toRelationshipNamed name: String) throws(ContextError) {
        if let reason = addDestinations(objects, at: try toManySlot(name)) {
            throw .violations([Violation(self, name, reason)])
        }
    }

    /// Removes destinations from a to-many relationship; objects that are not destinations are ignored (MO-25).
    ///
    /// - Throws: `ContextError.violations` if there is no such relationship or the object cannot be changed.
    /// - Complexity: O(removed * log n) if the relationship has n destinations and is unordered; if it is ordered, also
    ///   O(n) for the first change after a save.
    public final func remove(_ objects: [ManagedObject], fromRelationshipNamed name: String) throws(ContextError) {
        if let reason = removeDestinations(objects, at: try toManySlot(name)) {
            throw .violations([Violation(self, name, reason)])
        }
    }

    private func toManySlot(_ name: String) throws(ContextError) -> Int {
        if isContextEnded { throw .contextEnded(storedID) }
        if let relationship = entity.relationship(named: name), !relationship.isToMany {
            throw .violations([
                Violation(
                    self, name,
                    .wrongType(found: "several objects", expected: "one object: set the to-one relationship instead"))
            ])
        }
        guard let relationship = entity.relationship(named: name) else {
            let known = entity.relationships.filter(\.isToMany).map(\.name)
            throw .violations([Violation(self, name, .unknownKey(known: known))])
        }
        return relationship.slot
    }

    // MARK: Faults

    /// Whether the destinations of a relationship would have to be loaded (MO-13).
    public final func hasFault(forRelationshipNamed name: String) -> Bool {
        guard let relationship = entity.relationship(named: name), !isInserted else { return false }
        if !relationship.isToMany { return !hasRow }
        if changes?.values.toMany[relationship.slot]?.isWhole == true { return false }
        return managedObjectContext?.cache.list(of: storedID, at: relationship.slot) == nil
    }
}
