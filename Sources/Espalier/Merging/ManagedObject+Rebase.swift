// The adoption of a newer row by one object: which of its changes stay, and how the other ends of relationships follow.
//
// Invariants
//   1. After a rebase the object's row is the newer one, and each change left is a value that this context keeps on it.
//   2. A change that stays although the store has changed the same property to another value has a base, unless the
//      conflict is settled or decided: the next save finds the conflict by it (+Bases).
//   3. A to-one relationship that a merge has emptied, because its destination is taken here, is marked (`yielded`)
//      and follows the store in the next merge, as if it had no change.
//   4. Both ends of a relationship agree after all decisions of a merge are carried out (+OtherEnds).
// Not here: orders and sets of destinations (+MergedLists), the pairs that exclude each other (ToOneDecision), and the
// objects that are rebased together (ManagedObjectContext+NewerRows).

import EspalierModel
import EspalierStore

/// The reason why an object adopts a newer row, which determines the changes that stay.
enum RebaseReason {
    /// All changes stay. If the store has changed the same property, the change keeps its base, unless the conflict is
    /// settled.
    case merging(settled: Set<ObjectID>)
    /// There is a conflict, and this rule decides it.
    case deciding(MergePolicy.Rule)

    /// Whether a property has this context's value afterwards.
    ///
    /// - Parameters:
    ///   - isChangedHere: whether the property has a change that differs from the committed value.
    ///   - isChangedThere: whether the store's value differs from the base of the change.
    fileprivate func keeps(isChangedHere: Bool, isChangedThere: Bool) -> Bool {
        switch self {
        case .merging, .deciding(.objectTrump), .deciding(.error): isChangedHere
        case .deciding(.overwrite): true
        case .deciding(.storeTrump): isChangedHere && !isChangedThere
        case .deciding(.rollback): false
        }
    }

    /// Whether an object keeps the relationship that it got here, although the newer row of another object refers to
    /// it.
    var keepsOtherEnds: Bool {
        switch self {
        case .merging, .deciding(.objectTrump), .deciding(.overwrite): true
        case .deciding: false
        }
    }

    /// Whether an ordered list adopts the store's order.
    func takesOrderOfStore(_ list: ListMerge) -> Bool {
        switch self {
        case .merging, .deciding(.objectTrump), .deciding(.error): !list.isMovedHere
        case .deciding(.overwrite): false
        case .deciding(.storeTrump), .deciding(.rollback): list.isMovedThere || !list.isMovedHere
        }
    }
}

extension ManagedObject {
    /// Adopts a newer row; values of this object that stay become its changes.
    ///
    /// - Parameter decisions: the destinations of its to-one relationships.
    func rebase(onto stored: ObjectSnapshot, _ decisions: [ToOneDecision], _ rebase: RebaseReason) {
        let bases = basesAfter(rebase, stored)
        var changesAttributes = false
        for attribute in entity.attributes where !attribute.isTransient {
            let slot = attribute.slot
            let (change, theirs) = (changes?.values.attributes[slot], stored.value(at: slot))
            let isKept = rebase.keeps(
                isChangedHere: change.map { $0 != row?.value(at: slot) } == true,
                isChangedThere: base(ofAttribute: slot) != theirs)
            if isKept, change == nil {
                let value = attributeValue(at: slot)
                guard value != theirs else { continue }
                changeable().setAttribute(value, at: slot)
                changesAttributes = true
            } else if !isKept, change != nil {
                changeable().values.attributes[slot] = nil
            }
        }
        row = stored
        if bases != nil || changes?.values.bases != nil {
            changeable().values.bases = bases
            if bases != nil { managedObjectContext?.hasBases = true }
        }
        if changesAttributes { noteChange() }
        if changes?.values.yielded.isEmpty == false { changeable().values.yielded = [] }
        for decision in decisions { carryOut(decision) }
        if bases != nil { forgetUnusedBases() }
        if case .deciding(.rollback) = rebase { undoToManyChanges() }
    }

    /// The destinations that the to-one relationships get if this object adopts a newer row.
    func toOneDecisions(_ stored: ObjectSnapshot, _ rebase: RebaseReason) -> [ToOneDecision] {
        entity.relationships.lazy.filter { !$0.isToMany }.map { relationship in
            let slot = relationship.slot
            let change = changes?.values.destinations[slot]
            let (mine, theirs) = (destinationID(at: slot), stored.destination(at: slot))
            let isKept = rebase.keeps(
                isChangedHere: change.map { $0 != row?.destination(at: slot) } == true && !yields(slot),
                isChangedThere: base(ofDestination: slot) != theirs)
            var chosen = isKept ? mine : theirs
            if let id = chosen, id != mine, isTaken(id, across: relationship, rebase.keepsOtherEnds) { chosen = nil }
            return ToOneDecision(
                relationship: relationship, inverse: withShape { $0.inverses[slot] }, mine: mine, stored: theirs,
                isKept: isKept, chosen: chosen)
        }
    }

    /// The bases to keep, for changes that stay although the store has changed the same properties.
    private func basesAfter(_ rebase: RebaseReason, _ stored: ObjectSnapshot) -> ChangeBases? {
        guard case .merging(let settled) = rebase, !settled.contains(storedID), let values = changes?.values, let row
        else { return nil }
        var attributes = values.bases?.attributes ?? SlotValues()
        for (slot, value) in values.attributes.pairs where !entity.attributes[slot].isTransient {
            let (committed, theirs) = (row.value(at: slot), stored.value(at: slot))
            if value == theirs {
                // Both sides have set the same value, so the change ends.
                attributes[slot] = nil
            } else if value != committed, attributes[slot] == nil, theirs != committed {
                attributes.set(committed, at: slot)
            }
        }
        var destinations = values.bases?.destinations ?? SlotValues()
        for (slot, destination) in values.destinations.pairs {
            let (committed, theirs) = (row.destination(at: slot), stored.destination(at: slot))
            if destination == theirs {
                destinations.remove(slot)
            } else if destination != committed, !destinations.contains(slot), theirs != committed, !yields(slot) {
                destinations.set(committed, at: slot)
            }
        }
        let lists = values.bases?.lists ?? SlotValues()
        if attributes.isEmpty && destinations.isEmpty && lists.isEmpty { return nil }
        return ChangeBases(
            version: values.bases?.version ?? row.version, attributes: attributes, destinations: destinations,
            lists: lists)
    }

    /// Whether a to-one relationship is empty although this context has not changed it: the destination in the row is
    /// related to another object here.
    func yields(_ slot: Int) -> Bool { changes?.values.yielded.contains(slot) == true }

    /// Adopts a newer row below the deletion of this object, which an undo may take back: its changes stay as in
    /// `rebase`, but the other ends to which the row leads stay as the delete rules have left them.
    ///
    /// To-one relationships that this context has only emptied follow the row: usually it deletes the destinations too.
    func rebase(belowDeletionOnto stored: ObjectSnapshot, _ rebase: RebaseReason) {
        let toOne = entity.relationships.filter { !$0.isToMany }
        let former = toOne.map { destinationID(at: $0.slot) }
        for (slot, destination) in changes?.values.destinations.pairs ?? [] {
            let committed = row?.destination(at: slot)
            guard destination == nil || destination == committed, stored.destination(at: slot) != committed else {
                continue
            }
            changeable().values.destinations.remove(slot)
        }
        let yielded = changes?.values.yielded ?? []
        self.rebase(onto: stored, [], rebase)
        let left = yielded.filter { changes?.values.destinations.contains($0) == true }
        if !left.isEmpty { changeable().values.yielded = left }
        for (relationship, former) in zip(toOne, former) where former != destinationID(at: relationship.slot) {
            guard let former else { continue }
            relateOtherEnd(former, across: relationship, isRelated: false, isStored: true)
        }
    }
}
