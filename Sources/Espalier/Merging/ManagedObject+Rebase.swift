// The adoption of a newer row by one object: which of its changes stay, and how the other ends of relationships follow.

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
    fileprivate func takesOrderOfStore(_ list: ListMerge) -> Bool {
        switch self {
        case .merging, .deciding(.objectTrump), .deciding(.error): !list.isMovedHere
        case .deciding(.overwrite): false
        case .deciding(.storeTrump), .deciding(.rollback): list.isMovedThere || !list.isMovedHere
        }
    }
}

extension ManagedObject {
    /// The committed value from which an attribute was changed; for an unchanged attribute, the committed value.
    func base(ofAttribute slot: Int) -> AttributeValue? {
        changes?.values.bases?.attributes[slot] ?? row?.value(at: slot)
    }

    /// The committed destination from which a to-one relationship was changed.
    func base(ofDestination slot: Int) -> ObjectID? {
        changes?.values.bases?.destinations[slot] ?? row?.destination(at: slot)
    }

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
    private func yields(_ slot: Int) -> Bool { changes?.values.yielded.contains(slot) == true }

    /// Forgets the bases of properties without a change; a later change has the committed value as its base.
    private func forgetUnusedBases() {
        guard let values = changes?.values, var bases = values.bases else { return }
        var (attributes, destinations) = (bases.attributes, bases.destinations)
        for (slot, _) in attributes.pairs where !values.attributes.contains(slot) { attributes[slot] = nil }
        for (slot, _) in destinations.pairs where !values.destinations.contains(slot) {
            destinations.remove(slot)
        }
        bases = ChangeBases(
            version: bases.version, attributes: attributes, destinations: destinations, lists: bases.lists)
        changeable().values.bases = bases
    }

    /// Adopts a newer row's to-one destinations of a deleted object where this context has only emptied them, usually
    /// because it deletes the destinations too.
    func followEmptied(_ stored: ObjectSnapshot) {
        for (slot, destination) in changes?.values.destinations.pairs ?? [] where destination == nil {
            if stored.destination(at: slot) != row?.destination(at: slot) {
                changeable().values.destinations.remove(slot)
            }
        }
    }

    /// Forgets the base of an attribute that has its committed value again.
    func forgetBase(ofAttribute slot: Int) {
        guard let bases = changes?.values.bases, bases.attributes.contains(slot) else { return }
        var attributes = bases.attributes
        attributes[slot] = nil
        changeable().values.bases = ChangeBases(
            version: bases.version, attributes: attributes, destinations: bases.destinations, lists: bases.lists)
    }

    /// Forgets the base of a to-one relationship that has its committed destination again.
    func forgetBase(ofDestination slot: Int) {
        guard let bases = changes?.values.bases, bases.destinations.contains(slot) else { return }
        var destinations = bases.destinations
        destinations.remove(slot)
        changeable().values.bases = ChangeBases(
            version: bases.version, attributes: bases.attributes, destinations: destinations, lists: bases.lists)
    }

    /// Forgets the bases of all changes: the row is their base from now on.
    func forgetBases() {
        if changes?.values.bases != nil { changeable().values.bases = nil }
    }

    /// Whether the store has changed a property that has a change here, and the two values differ.
    var hasMergeConflict: Bool {
        guard let values = changes?.values, let bases = values.bases, let row else { return false }
        for (slot, base) in bases.attributes.pairs {
            guard let mine = values.attributes[slot] else { continue }
            let stored = row.value(at: slot)
            if stored != base && stored != mine { return true }
        }
        for (slot, base) in bases.destinations.pairs {
            guard let mine = values.destinations[slot] else { continue }
            let stored = row.destination(at: slot)
            if stored != base && stored != mine { return true }
        }
        return !listConflicts.isEmpty
    }

    // MARK: Lists

    /// The ordered relationships in which both sides have moved destinations, in different ways.
    var listConflicts: [(slot: Int, list: ListMerge)] {
        guard let values = changes?.values, let bases = values.bases else { return [] }
        return bases.lists.pairs.compactMap { slot, base in
            guard let change = values.toMany[slot], let mine = change.list else { return nil }
            let list = ListMerge(base: base, mine: mine, stored: change.base)
            return list.isConflict ? (slot, list) : nil
        }
    }

    /// Merges changed orders with those that the store has now.
    func mergeLists(_ rebase: RebaseReason) {
        guard let values = changes?.values else { return }
        if case .deciding(.rollback) = rebase { return }
        for (slot, change) in values.toMany.pairs {
            guard let list = change.list else {
                noteMerge(of: change, at: slot)
                continue
            }
            let stored = storedDestinationIDs(at: slot)
            let first = values.bases?.lists[slot] ?? change.base
            let inOrderOfStore = rebase.takesOrderOfStore(ListMerge(base: first, mine: list, stored: stored))
            if stored == change.base && !inOrderOfStore { continue }
            let merge = ListMerge(base: change.base, mine: list, stored: stored)
            let merged = merge.merged(inOrderOfStore: inOrderOfStore).filter { isFree($0, at: slot, unless: list) }
            changeable().values.toMany[slot] = ToManyChange(list: merged, base: stored)
            tellOwners(of: merged, storedAs: stored, formerly: change.base, at: slot)
            refreshMembers(of: stored, orOf: change.base, at: slot)
            if case .merging(let settled) = rebase, !settled.contains(storedID), stored != first {
                keepBase(first, ofList: slot)
            }
        }
    }

    /// Records that the store may now have other lists than those on which changes of unordered relationships are
    /// based.
    func noteOtherLists() {
        for (slot, change) in changes?.values.toMany.pairs ?? [] where !change.isWhole {
            noteMerge(of: change, at: slot)
        }
    }

    /// Forgets the removal of destinations whose own to-one relationships define the list and are not changed here: the
    /// store decides about them.
    ///
    /// They left the list while the row was deleted, or while their rows in memory were older than the list.
    func followUnchangedMembers() {
        guard let context = managedObjectContext else { return }
        for (slot, change) in changes?.values.toMany.pairs ?? [] {
            guard let inverse = withShape({ $0.inverses[slot] }), !inverse.isToMany else { continue }
            let members = change.list.map(Set.init)
            let left = members.map { members in change.base.filter { !members.contains($0) } } ?? change.removed.ids
            let followed = left.filter { id in
                guard let other = context.memory.registry[id] else { return true }
                return !other.isDeleted && other.unsavedDestinationID(at: inverse.slot) == nil
            }
            if followed.isEmpty { continue }
            if let list = change.list {
                let (base, followed) = (change.base, Set(followed))
                changeable().values.toMany[slot] = ToManyChange(
                    list: list, base: base.filter { !followed.contains($0) })
            } else {
                for id in followed { changeable().values.toMany.modify(slot) { $0.follow(id) } }
            }
        }
    }

    /// Records that the store may have changed an unordered relationship; if the other end is ordered, its list
    /// describes the changes of this context instead.
    ///
    /// The other end records it with the next change of this pair (`alignMerges`).
    private func noteMerge(of change: ToManyChange, at slot: Int) {
        let relationship = entity.relationships[slot]
        guard let context = managedObjectContext, !isListed(across: relationship) else { return }
        context.hasMergedSets = true
        changeable().values.toMany.modify(slot) { $0.noteMerge() }
    }

    /// Makes the changes at the other ends agree with a merged list, where those ends are unordered.
    private func tellOwners(
        of merged: [ObjectID], storedAs stored: [ObjectID], formerly base: [ObjectID], at slot: Int
    ) {
        guard let context = managedObjectContext, let inverse = withShape({ $0.inverses[slot] }), inverse.isToMany
        else { return }
        let (members, now) = (Set(merged), Set(stored))
        for id in members.union(now).union(base) {
            guard let other = context.memory.registry[id], other.changes?.values.toMany.contains(inverse.slot) == true
            else { continue }
            other.changeable().values.toMany.modify(inverse.slot) {
                $0.settle(storedID, isMember: members.contains(id), isStored: now.contains(id))
            }
        }
    }

    private func keepBase(_ list: [ObjectID], ofList slot: Int) {
        let bases = changes?.values.bases
        var lists = bases?.lists ?? SlotValues()
        if lists.contains(slot) { return }
        lists.set(list, at: slot)
        changeable().values.bases = ChangeBases(
            version: bases?.version ?? row?.version ?? 0, attributes: bases?.attributes ?? SlotValues(),
            destinations: bases?.destinations ?? SlotValues(), lists: lists)
        managedObjectContext?.hasBases = true
    }

    /// Whether this list can adopt a destination that the store has added: it is not deleted or related elsewhere here.
    private func isFree(_ id: ObjectID, at slot: Int, unless list: [ObjectID]) -> Bool {
        guard let other = managedObjectContext?.memory.registry[id], !list.contains(id) else { return true }
        let inverse = withShape { $0.inverses[slot] }
        if other.isDeleted { return !isCleared(byDeletionOf: other, inverse) }
        guard let inverse, !inverse.isToMany,
            let destination = other.unsavedDestinationID(at: inverse.slot)
        else { return true }
        return destination == storedID || destination == other.row?.destination(at: inverse.slot)
    }

    /// Makes unchanged destinations that joined or left a list faults, if their rows in memory contradict the new list.
    private func refreshMembers(of stored: [ObjectID], orOf base: [ObjectID], at slot: Int) {
        guard let context = managedObjectContext, let inverse = withShape({ $0.inverses[slot] }), !inverse.isToMany
        else { return }
        for id in Set(stored).symmetricDifference(base) {
            guard let other = context.memory.registry[id], !other.hasChanges, other.hasRow,
                (other.storedDestinationID(at: inverse.slot) == storedID) != stored.contains(id),
                // One whose row is deleted keeps its last values.
                !other.state.contains(.inaccessible) || stored.contains(id)
            else { continue }
            context.adoptNewestRow(ofUnchanged: other)
        }
    }

    /// Restores the to-many destinations of an object that is inserted again: all known ones, or, if the inverse is
    /// to-one, those whose unsaved destination is this object.
    func relateManyAgain(across relationship: Relationship, _ known: [ObjectID]) {
        let slot = relationship.slot
        let inverse = withShape { $0.inverses[slot] }
        let list = known.filter { id in
            guard let inverse, !inverse.isToMany else { return true }
            return managedObjectContext?.memory.registry[id]?.unsavedDestinationID(at: inverse.slot) == .some(storedID)
        }
        if relationship.isOrdered {
            if list.isEmpty && changes?.values.toMany.contains(slot) != true { return }
            changeable().values.toMany[slot] = ToManyChange(list: list, base: [])
        } else {
            var change = ToManyChange()
            for id in list { change.add(id) }
            changeable().values.toMany[slot] = change
        }
        guard let inverse, inverse.isToMany, let context = managedObjectContext else { return }
        for id in list {
            let other = context.object(for: id, from: self, across: relationship)
            context.adoptNewestRow(ifUnchanged: other)
            if other.changes?.values.toMany[inverse.slot]?.list?.contains(storedID) != true {
                other.addRaw(storedID, to: inverse)
            }
        }
    }

    // MARK: The other ends

    /// Whether the object to which a newer row refers is deleted here, or was related to another one here.
    private func isTaken(_ id: ObjectID, across relationship: Relationship, _ keepsOtherEnds: Bool) -> Bool {
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
    private func isCleared(byDeletionOf other: ManagedObject, _ inverse: Relationship?) -> Bool {
        if other.state.contains(.inaccessible) { return managedObjectContext?.readsAgain(other) != true }
        return inverse.map { $0.deleteRule == .nullify } != false
    }

    private func carryOut(_ decision: ToOneDecision) {
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
