// The merge of an object's to-many relationships: orders that both sides have changed, sets to which both have added.
//
// Invariants
//   1. A merged order has each destination at most once, and is based on the list that the store has now.
//   2. A list adopts no destination that is deleted or related to another object here.
//   3. Where the other end is unordered, its change agrees with the merged list: it contains this object if the list
//      contains the other one.
//   4. A destination whose own to-one relationship defines the list, and which is unchanged here, follows the store.
// Not here: the merge of three orders (ListMerge).

import EspalierModel
import EspalierStore

extension ManagedObject {
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

    /// Makes both ends of an unordered many-to-many relationship, which agree about each other, describe that by the same
    /// change: the next merge changes both in the same way then.
    ///
    /// Delete rules change one end alone, and so does the undo of that; the store may have the same change meanwhile.
    func settleMergedSets(with other: ManagedObject, across relationship: Relationship, _ inverse: Relationship) {
        guard relationship.isToMany, !relationship.isOrdered, inverse.isToMany, !inverse.isOrdered,
            let context = managedObjectContext, context.hasMergedSets,
            let isStored = try? context.stores(other.storedID, in: relationship, of: self)
        else { return }
        let isMember = leads(to: other, across: relationship)
        for (end, slot, id) in [(self, relationship.slot, other.storedID), (other, inverse.slot, storedID)]
        where end.changes?.values.toMany.contains(slot) == true {
            end.changeable().settle(id, toMany: slot, isMember: isMember, isStored: isStored)
        }
    }

    /// Makes the changes at the other ends agree with a merged list, where those ends are unordered.
    private func tellOwners(
        of merged: [ObjectID], storedAs stored: [ObjectID], formerly base: [ObjectID], at slot: Int
    ) {
        // The other ends have lost a deleted object; an undo of the deletion makes them agree.
        guard !isDeleted, let context = managedObjectContext, let inverse = withShape({ $0.inverses[slot] }),
            inverse.isToMany
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
}
