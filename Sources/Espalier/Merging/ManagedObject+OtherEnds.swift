// The other ends of relationships that a newer row, a decision or a rollback has changed at this end.
//
// Invariants
//   1. `relateOtherEnd` brings the other end to the state of this one, whichever of them is to-many or ordered.
//   2. It does not change an object that is deleted or whose row is: that keeps its values, with which it may be
//      inserted again.
//   3. An unchanged object that loses its partner to this change adopts its newest row first, so that a save does not
//      write its older row.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// Whether the object to which a newer row refers is deleted here, or was related to another one here.
    func isTaken(_ id: ObjectID, across relationship: Relationship, _ keepsOtherEnds: Bool) -> Bool {
        guard let other = managedObjectContext?.memory.registry[id] else { return false }
        let inverse = withShape { $0.inverses[relationship.slot] }
        if other.isDeleted { return isCleared(byDeletionOf: other, inverse) }
        // A relationship that a merge has emptied at the other end follows the store, as this one does.
        guard keepsOtherEnds, let inverse, !inverse.isToMany, !other.yields(inverse.slot),
            let destination = other.unsavedDestinationID(at: inverse.slot)
        else { return false }
        return destination != storedID && destination != other.row?.destination(at: inverse.slot)
    }

    /// Whether the deletion of an object clears references to it: only `nullify` does, and the save applies the other
    /// rules to the referring objects.
    func isCleared(byDeletionOf other: ManagedObject, _ inverse: Relationship?) -> Bool {
        if other.state.contains(.inaccessible) { return managedObjectContext?.readsAgain(other) != true }
        return inverse.map { $0.deleteRule == .nullify } != false
    }

    func carryOut(_ decision: ToOneDecision) {
        let slot = decision.relationship.slot
        if decision.chosen != decision.stored {
            changeable().setDestination(decision.chosen, at: slot)
            if decision.chosen == nil, !decision.isKept { changeable().values.yielded.append(slot) }
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

    /// Adds this object to the other end of a to-one relationship, or removes it there.
    ///
    /// - Parameter isStored: whether the store already has this state.
    func relateOtherEnd(_ id: ObjectID, across relationship: Relationship, isRelated: Bool, isStored: Bool) {
        guard let inverse = withShape({ $0.inverses[relationship.slot] }), let context = managedObjectContext else {
            return
        }
        let other = context.object(for: id, from: self, across: relationship)
        // An object whose row is deleted keeps its values, with which it may be inserted again.
        if !other.state.isDisjoint(with: [.deleted, .inaccessible, .gone]) { return }
        if other === self && inverse === relationship { return }
        if inverse.isToMany {
            // A list that was not changed here is read from the store.
            if isStored, other.changes?.values.toMany.contains(inverse.slot) != true { return }
            if isStored, !inverse.isOrdered {
                return other.changeable().values.toMany.modify(inverse.slot) { $0.follow(storedID) }
            }
            if inverse.isOrdered, other.destinationIDs(at: inverse.slot).contains(storedID) == isRelated { return }
        }
        guard isRelated else {
            let isChanged = other.unsavedDestinationID(at: inverse.slot) != nil
            other.removeRaw(storedID, from: inverse)
            if !inverse.isToMany, !isChanged, other.changes?.values.destinations.contains(inverse.slot) == true {
                other.changeable().values.yielded.append(inverse.slot)
            }
            return
        }
        if !inverse.isToMany {
            let former = other.destinationID(at: inverse.slot)
            if former == storedID { return }
            if let former {
                let former = context.object(for: former, from: other, across: inverse)
                context.adoptNewestRow(ifUnchanged: former)
                former.removeRaw(id, from: relationship)
            }
        }
        if isStored, inverse.isOrdered {
            other.beginChange(of: inverse).values.toMany.modify(inverse.slot) { $0.restore(storedID) }
            return other.noteChange()
        }
        other.addRaw(storedID, to: inverse)
    }

    /// Discards unsaved destinations of to-one relationships, on both sides; from now on the row has the destinations.
    func forgetDestinations() {
        for (slot, destination) in changes?.values.destinations.pairs ?? [] {
            if let destination {
                relateOtherEnd(destination, across: entity.relationships[slot], isRelated: false, isStored: false)
            }
            changeable().values.destinations[slot] = nil
        }
    }

    /// Reverts additions to and removals from to-many relationships, on both sides.
    ///
    /// An added object whose to-one relationship refers to this one returns to its committed destination.
    ///
    /// - Parameter isGone: whether the row is deleted: then no removed destination is added again.
    func undoToManyChanges(isGone: Bool = false) {
        guard let context = managedObjectContext, let values = changes?.values else { return }
        for (slot, change) in values.toMany.pairs {
            let relationship = entity.relationships[slot]
            let inverse = withShape { $0.inverses[slot] }
            let (added, removed) = change.differences
            let stored = isGone ? [] : storedDestinationIDs(at: slot)
            changeable().values.toMany[slot] = nil
            let now = Set(stored)
            for id in added where !now.contains(id) {
                let other = context.object(for: id, from: self, across: relationship)
                if let inverse, !inverse.isToMany {
                    guard other.destinationID(at: inverse.slot) == storedID else { continue }
                    other.setRawDestination(nil, at: inverse.slot)
                    other.relate(to: other.committedDestination(at: inverse.slot, besides: self), at: inverse.slot)
                } else if let inverse,
                    !inverse.isOrdered || !other.storedDestinationIDs(at: inverse.slot).contains(storedID)
                {
                    other.removeRaw(storedID, from: inverse)
                }
            }
            for id in removed where now.contains(id) {
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

    /// The committed destination, if it is possible: it is not deleted, and it is not `other`.
    private func committedDestination(at slot: Int, besides other: ManagedObject) -> ObjectID? {
        guard let id = row?.destination(at: slot), id != other.storedID,
            managedObjectContext?.memory.registry[id]?.isDeleted != true
        else { return nil }
        return id
    }
}
