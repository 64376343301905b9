// Unites a new object with another one if both are to be one row: after a save has merged an insertion, or before a
// save (MP-10).
//
// Invariants
//   1. An object that is in memory for the row stays the row's object; if there is none, the new object becomes it,
//      unless the row is of a subentity.
//   2. An object that is dissolved into another one leaves the context. It gets the ID of the row, so that the
//      application can find the row's object by it. Writing to it is refused, and the refusal names that ID.
//   3. Afterwards no object in the context refers to the temporary ID, and both ends of every relationship agree.
// Not here: which insertions are merged (MergedInsertions of the store).

package import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    // MARK: After a save

    /// Applies insertions that were merged into other rows; all other rows of the save are applied already.
    func adoptMergedRows(of saved: SaveOutcome.PartSave, into savedChanges: inout SavedChanges) {
        guard !saved.result.merged.isEmpty else { return }
        var known = Set(savedChanges.inserted).union(savedChanges.updated)
        for position in saved.result.merged {
            let (object, row) = (saved.changes.inserted[position], saved.result.inserted[position])
            cache.invalidate(row.id)
            object.becomeCommitted()
            let other = memory.registry[row.id]
            if let other { adopt(row, mergedInto: other) }
            object.row = row
            if other == nil, row.id.entityTag == object.storedID.entityTag {
                enter(object, as: row.id)
            } else {
                dissolve(object, to: row.id)
            }
            journal?.noteMerge(of: object)
            if known.insert(row.id).inserted { savedChanges.updated.append(row.id) }
        }
    }

    /// The objects that a save has inserted in the store, changed and deleted.
    func settled(_ saved: SaveOutcome.PartSave) -> ChangeSet {
        guard !saved.result.merged.isEmpty else { return saved.changes }
        let merged = Set(saved.result.merged)
        var settled = saved.changes
        settled.inserted = settled.inserted.enumerated().filter { !merged.contains($0.offset) }.map(\.element)
        let known = Set(settled.inserted + settled.updated)
        for position in saved.result.merged {
            guard let object = memory.registry[saved.result.inserted[position].id] else { continue }
            if !known.contains(object) { settled.updated.append(object) }
        }
        return settled
    }

    /// Gives an object without changes the row into which an insertion was merged.
    private func adopt(_ row: ObjectSnapshot, mergedInto object: ManagedObject) {
        if object.state.contains(.inaccessible) { return refresh(object, mergesChanges: true) }
        guard let former = object.row, former.version != row.version else { return }
        noteRefreshed(object)
        object.row = row
    }

    /// Removes an object from the context that was merged into the row with this ID.
    private func dissolve(_ object: ManagedObject, to id: ObjectID) {
        noteInvalidated(object)
        memory.registry.remove(object)
        object.leaveContext()
        object.storedID = id
        object.state.insert(.merged)
    }

    // MARK: Before a save

    /// Unites a new object with the object that has this ID; the next save updates or inserts the result.
    ///
    /// The values that the new object has set replace those of the other one, as `action` says. Relationships to the
    /// new object refer to the other one afterwards. A row that is not in memory is read from the generation that the
    /// context reads.
    ///
    /// - Returns: the united object: the one in memory with this ID, else `object`.
    /// - Throws: `ContextError.objectNotFound` if there is no such row or object, if it is deleted here, or if its
    ///   entity does not have the properties of `object`; `.store` if it could not be read. Then nothing changes.
    /// - Complexity: O(destinations of `object`); O(changed objects) if relationships without inverse refer to its
    ///   entity.
    @discardableResult
    package func unite(
        _ object: ManagedObject, with id: ObjectID, _ action: ConstraintAction = .merge
    ) throws(ContextError) -> ManagedObject {
        guard object.managedObjectContext === self else { throw .objectOfOtherContext(object.storedID) }
        guard object.isInserted, !object.isDeleted, object.storedID != id else { throw .objectNotFound(id) }
        let (other, row) = try target(id, of: object)
        applyUnreadInverses()
        let brought = UnitedValues(of: object)
        lead(from: object, to: id)
        changeCount &+= 1
        memory.inserted.remove(object)
        let united: ManagedObject
        if let other {
            dissolve(object, to: id)
            united = other
        } else {
            object.turnStored(row)
            enter(object, as: id)
            cache.invalidate(id)
            united = object
        }
        give(brought, to: united, action)
        return united
    }

    /// The object with this ID, with its values in memory; if there is none, the stored row that `object` can adopt.
    private func target(
        _ id: ObjectID, of object: ManagedObject
    ) throws(ContextError) -> (object: ManagedObject?, row: ObjectSnapshot?) {
        if memory.registry[id] == nil, !id.isTemporary, id.entityTag == object.storedID.entityTag {
            guard let row = try storedRows(of: [id]).first ?? nil else {
                throw .objectNotFound(id)
            }
            return (nil, row)
        }
        let other = try self.object(with: id)
        guard !other.isDeleted, let entity = shape(of: object.entity)?.entity, other.entity.isKind(of: entity) else {
            throw .objectNotFound(id)
        }
        if !other.isInserted {
            if !other.hasRow { try loadRow(of: other) }
            other.fireFault()
            guard !other.isDeleted else { throw .objectNotFound(id) }
        }
        return (other, nil)
    }

    /// Makes relationships to a new object refer to another one.
    private func lead(from object: ManagedObject, to id: ObjectID) {
        let former = object.storedID
        // References change below without a change of their objects.
        memory.pendingValues.removeAll()
        var leading: Set<ManagedObject> = [object]
        for relationship in object.entity.relationships where relationship.inverse != nil {
            for destination in object.destinationIDs(across: relationship) {
                if let other = memory.registry[destination] { leading.insert(other) }
            }
        }
        let isLedToOneWay = model.entities.contains { entity in
            entity.relationships.contains {
                $0.inverse == nil && object.entity.isKind(of: model.entities[$0.destination])
            }
        }
        if isLedToOneWay { leading.formUnion(changedObjects) }
        for other in leading {
            other.replaceNewDestinations { $0 == former ? id : $0 }
            if other.changes != nil { other.changeable().replace(former, by: id) }
        }
    }

    /// Gives an object the values of another one that was united with it.
    private func give(_ brought: UnitedValues, to object: ManagedObject, _ action: ConstraintAction) {
        for (slot, value) in action == .merge ? brought.attributes : [] where object.attributeValue(at: slot) != value {
            if let newValues = object.changeableNewValues() {
                newValues.setAttribute(value, at: slot)
            } else {
                object.changeable().setAttribute(value, at: slot)
            }
            object.noteChange()
        }
        let id = object.storedID
        for (relationship, ids) in brought.destinations {
            let inverse = model.inverse(of: relationship)
            for destination in ids.lazy.map({ $0 == brought.id ? id : $0 }) {
                if relationship.isToMany {
                    if !object.hasDestination(destination, at: relationship.slot) {
                        object.addRaw(destination, to: relationship)
                    }
                    continue
                }
                let former = object.destinationID(at: relationship.slot)
                if former == destination { continue }
                // The other end of a one-to-one relationship already refers to this object.
                let isTaken = action == .merge || inverse?.isToMany == false
                if let inverse, let left = isTaken ? former : destination {
                    let other = self.object(for: left, from: object, across: relationship)
                    if !other.isDeleted { other.removeRaw(id, from: inverse) }
                }
                if isTaken { object.addRaw(destination, to: relationship) }
            }
        }
    }
}

/// The values that a new object passes to the one with which it is united.
private struct UnitedValues {
    /// Its temporary ID.
    let id: ObjectID
    /// The attributes that differ from their defaults.
    let attributes: [(slot: Int, value: AttributeValue)]
    let destinations: [(relationship: Relationship, ids: [ObjectID])]

    init(of object: ManagedObject) {
        id = object.storedID
        attributes = object.entity.attributes.compactMap { attribute in
            let value = object.attributeValue(at: attribute.slot)
            return value == attribute.defaultValue ? nil : (attribute.slot, value)
        }
        destinations = object.entity.relationships.compactMap { relationship in
            let ids = object.destinationIDs(across: relationship)
            return ids.isEmpty ? nil : (relationship, ids)
        }
    }
}

extension ManagedObject {
    /// The destinations of a to-one or to-many relationship.
    fileprivate func destinationIDs(across relationship: Relationship) -> [ObjectID] {
        if relationship.isToMany { return destinationIDs(at: relationship.slot) }
        return destinationID(at: relationship.slot).map { [$0] } ?? []
    }

    /// Makes this a stored object without changes, with this row.
    fileprivate func turnStored(_ row: ObjectSnapshot?) {
        self.row = row
        (newValues, changes) = (nil, nil)
        state.remove(.inserted)
    }
}

extension ObjectChanges {
    /// Replaces references to one object by references to another.
    fileprivate func replace(_ former: ObjectID, by id: ObjectID) {
        for (slot, destination) in values.destinations.pairs where destination == former {
            values.destinations.set(id, at: slot)
        }
        for (slot, _) in values.toMany.pairs { values.toMany.modify(slot) { $0.replace(former, by: id) } }
    }
}
