// Newer rows below unsaved changes: what an object keeps of its own, and how both sides of a relationship stay equal.
//
// Invariants
//   1. After `rebase` the object has the newer row, and of a to-one relationship with an inverse exactly the object
//      that it leads to has it at the other end.
//   2. Where that end is a to-one relationship too, it is part of a row: before anything is resolved, that row is as
//      new as the one in conflict, or is resolved with it.
//   3. Lists at the other end follow from to-one values. They are read again, and change here only where the object
//      decides differently from the store.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The conflicts, and those of changed objects that rows in conflict are, were or shall be related to one to one.
    ///
    /// What the cache holds of the other ends is forgotten; unchanged ones take the newer row.
    func withOtherEnds(
        _ conflicts: [VersionConflict], _ checkpoint: inout ContextCheckpoint
    ) throws(ContextError) -> [VersionConflict] {
        var (all, seen, next) = (conflicts, Set(conflicts.map(\.id)), 0)
        while next < all.count {
            let conflict = all[next]
            next += 1
            guard let object = registry[conflict.id], !object.state.contains(.deleted) else { continue }
            for relationship in object.entity.relationships where !relationship.isToMany {
                guard let inverse = object.withShape({ $0.inverses[relationship.slot] }) else { continue }
                let slot = relationship.slot
                let ends = [
                    object.row?.destination(at: slot), conflict.stored?.destination(at: slot),
                    object.destinationID(at: slot),
                ]
                for case let id? in ends where !id.isTemporary {
                    cache.invalidate(id)
                    guard !inverse.isToMany, seen.insert(id).inserted, let other = registry[id] else { continue }
                    if let found = try findConflict(ofOld: other, &checkpoint) { all.append(found) }
                }
            }
        }
        return all
    }

    /// The conflict of a changed object whose row is old; an unchanged one takes the newer row.
    private func findConflict(
        ofOld object: ManagedObject, _ checkpoint: inout ContextCheckpoint
    ) throws(ContextError) -> VersionConflict? {
        guard let row = object.row, !object.isDeleted, !object.isInserted,
            let stored = try persistentStoreCoordinator.snapshots(of: [object.storedID]).first ?? nil,
            stored.version != row.version
        else { return nil }
        if object.hasChanges {
            return VersionConflict(id: object.storedID, expectedVersion: row.version, stored: stored)
        }
        checkpoint.note(object)
        object.turnIntoFault()
        object.row = stored
        return nil
    }
}

extension ManagedObject {
    /// Takes a newer row; what this object keeps of its own becomes its changes.
    ///
    /// - Parameters:
    ///   - attributes: whether the value here wins in a slot, given whether it was changed here.
    ///   - destinations: the same of to-one relationships.
    ///   - keepsOtherEnds: whether an object stays related to what it was given to here, although the newer row of
    ///     another one leads to it.
    func rebase(
        onto stored: ObjectSnapshot, attributes: (Int, Bool) -> Bool, destinations: (Int, Bool) -> Bool,
        keepsOtherEnds: Bool
    ) {
        for attribute in entity.attributes where !attribute.isTransient {
            let slot = attribute.slot
            let isChanged = changes?.values.attributes.contains(slot) == true
            let isKept = attributes(slot, isChanged)
            if isKept, !isChanged {
                let value = attributeValue(at: slot)
                if value != stored.value(at: slot) { changeable().values.attributes.set(value, at: slot) }
            } else if isChanged, !isKept {
                changeable().values.attributes[slot] = nil
            }
        }
        var decisions: [Decision] = []
        for relationship in entity.relationships where !relationship.isToMany {
            let slot = relationship.slot
            let isChanged = changes?.values.destinations.contains(slot) == true
            let (mine, theirs) = (destinationID(at: slot), stored.destination(at: slot))
            var chosen = destinations(slot, isChanged) ? mine : theirs
            if let id = chosen, id != mine, isTaken(id, across: relationship, keepsOtherEnds) { chosen = nil }
            decisions.append(Decision(relationship: relationship, mine: mine, stored: theirs, chosen: chosen))
        }
        row = stored
        for decision in decisions { carryOut(decision) }
    }

    /// What becomes of a to-one relationship of which the store has a newer destination.
    private struct Decision {
        let relationship: Relationship
        let mine: ObjectID?
        let stored: ObjectID?
        let chosen: ObjectID?
    }

    /// Whether the object that a newer row leads to is deleted here, or was related to another one here.
    private func isTaken(_ id: ObjectID, across relationship: Relationship, _ keepsOtherEnds: Bool) -> Bool {
        guard let other = managedObjectContext?.registry[id] else { return false }
        if other.isDeleted { return true }
        guard keepsOtherEnds, let inverse = withShape({ $0.inverses[relationship.slot] }), !inverse.isToMany,
            let destination = other.unsavedDestinationID(at: inverse.slot)
        else { return false }
        return destination != storedID
    }

    private func carryOut(_ decision: Decision) {
        let slot = decision.relationship.slot
        if decision.chosen != decision.stored {
            changeable().values.destinations.set(decision.chosen, at: slot)
            noteChange()
        } else if changes?.values.destinations.contains(slot) == true {
            changeable().values.destinations[slot] = nil
        }
        for id in Set([decision.mine, decision.stored, decision.chosen].compactMap(\.self)) {
            relateOtherEnd(
                id, across: decision.relationship, isRelated: id == decision.chosen,
                isStored: (id == decision.stored) == (id == decision.chosen))
        }
    }

    /// Makes the other end of a to-one relationship have this object, or not have it.
    ///
    /// - Parameter isStored: whether the store holds it so already.
    func relateOtherEnd(_ id: ObjectID, across relationship: Relationship, isRelated: Bool, isStored: Bool) {
        guard let inverse = withShape({ $0.inverses[relationship.slot] }), let context = managedObjectContext else {
            return
        }
        let other = context.object(for: id, from: self, across: relationship)
        if other.isDeleted || (other === self && inverse === relationship) { return }
        if inverse.isToMany {
            // A list that was not changed here is read from the store.
            if isStored, other.changes?.values.toMany.contains(inverse.slot) != true { return }
            if inverse.isOrdered, other.destinationIDs(at: inverse.slot).contains(storedID) == isRelated { return }
        }
        guard isRelated else { return other.removeRaw(storedID, from: inverse) }
        if !inverse.isToMany {
            let former = other.destinationID(at: inverse.slot)
            if former == storedID { return }
            if let former {
                context.object(for: former, from: other, across: inverse).removeRaw(id, from: relationship)
            }
        }
        other.addRaw(storedID, to: inverse)
    }

    /// Takes back what was added to and removed from to-many relationships, on both sides.
    ///
    /// An object that a to-one relationship led here from goes back to what is committed.
    ///
    /// - Parameter isGone: whether the row is deleted: then nothing comes back.
    func undoToManyChanges(isGone: Bool) {
        guard let context = managedObjectContext, let values = changes?.values else { return }
        for (slot, change) in values.toMany.pairs {
            let relationship = entity.relationships[slot]
            let inverse = withShape { $0.inverses[slot] }
            let current = change.applied(to: isGone ? [] : storedDestinationIDs(at: slot))
            changeable().values.toMany[slot] = nil
            let stored = isGone ? [] : storedDestinationIDs(at: slot)
            let (before, now) = (Set(stored), Set(current))
            for id in current where !before.contains(id) {
                let other = context.object(for: id, from: self, across: relationship)
                if let inverse, !inverse.isToMany {
                    guard other.destinationID(at: inverse.slot) == storedID else { continue }
                    other.setRawDestination(nil, at: inverse.slot)
                    other.relate(to: other.committedDestination(at: inverse.slot, besides: self), at: inverse.slot)
                } else if let inverse {
                    other.removeRaw(storedID, from: inverse)
                }
            }
            for id in stored where !now.contains(id) {
                let other = context.object(for: id, from: self, across: relationship)
                if other.isDeleted { continue }
                if let inverse, !inverse.isToMany {
                    other.relate(to: storedID, at: inverse.slot)
                } else if let inverse, other.changes?.values.toMany.contains(inverse.slot) == true {
                    other.addRaw(storedID, to: inverse)
                }
            }
            if changes?.values.toMany.contains(slot) == true { changeable().values.toMany[slot] = nil }
        }
    }

    /// The destination that is committed, if it can be one: it is not deleted, and it is not `other`.
    private func committedDestination(at slot: Int, besides other: ManagedObject) -> ObjectID? {
        guard let id = row?.destination(at: slot), id != other.storedID,
            managedObjectContext?.registry[id]?.isDeleted != true
        else { return nil }
        return id
    }

    /// Leaves what unsaved changes of to-one relationships led to: the row of this object is gone.
    func leaveDestinations() {
        for (slot, destination) in changes?.values.destinations.pairs ?? [] {
            guard let destination else { continue }
            relateOtherEnd(destination, across: entity.relationships[slot], isRelated: false, isStored: false)
        }
    }
}
