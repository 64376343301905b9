// Consequences of the store's rules for relationships: destinations that are gone, and rows that delete rules have
// deleted or changed although the save did not name them.
//
// Invariants
//   1. A destination that is gone is dropped. The merge policy decides what replaces it, and the save then goes through
//      all its checks again.
// Not here: which rows go (DeleteRules of the store).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Changes the relationships that lead to rows which another context or process has deleted, as the merge policy
    /// says.
    ///
    /// `storeTrump` goes back to what the store holds, `rollback` gives up all changes of the object, `objectTrump`
    /// and `overwrite` keep them and leave out what no longer is.
    ///
    /// - Throws: `ContextError.references` or `.violations` with all conflicts if the policy is `error` or cannot
    ///   resolve one: a rule that forbids a deletion.
    func resolve(_ conflicts: [ReferenceConflict]) throws(ContextError) {
        let isUnresolvable = conflicts.contains { conflict in
            conflict.kind != .missing || mergePolicy == .error
                || !(conflict.destinations + [conflict.owner]).contains { memory.registry[$0]?.hasChanges == true }
        }
        guard !isUnresolvable else { throw ContextError(.references(conflicts)) }
        moveToNewestGeneration()
        for conflict in conflicts {
            guard let object = memory.registry[conflict.owner],
                let relationship = object.entity.relationship(named: conflict.relationship)
            else { continue }
            object.drop(conflict.destinations, from: relationship, mergePolicy)
        }
        let destinations = conflicts.flatMap(\.destinations)
        for id in destinations { cache.invalidate(id) }
        for (object, stored) in try storedRows(ofObjects: destinations.compactMap { memory.registry[$0] }) {
            // What is stored still goes with a cascade of this save, which may reach it by what was changed here.
            guard stored == nil, !object.state.contains(.deleted), !object.isInserted else { continue }
            // With changes of its own it would have been in a conflict of its row, and been inserted again or given up.
            memory.updated.remove(object)
            object.discardPersistentChanges()
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
        }
    }

    /// Applies what delete rules have done in the store to rows that the save did not name.
    ///
    /// - Parameter namedCount: how many deletions the save has named.
    func take(_ result: SaveResult, namedCount: Int, into told: inout SavedChanges) {
        let hasOthers = result.deleted.count > namedCount
        // There may be a million: growing step by step would hold up to three times their room.
        if hasOthers { told.deleted.reserveCapacity(told.deleted.count + result.deleted.count) }
        for id in hasOthers ? result.deleted : RowSet() {
            cache.invalidate(id)
            guard let object = memory.registry[id] else {
                told.deleted.append(id)
                continue
            }
            // Those that the save has named come afterwards.
            if object.state.contains(.deleted) { continue }
            told.deleted.append(id)
            noteDeleted(object)
            object.discardPersistentChanges()
            object.state.subtract([.updated])
            memory.registry.remove(object)
            object.leaveContext()
        }
        guard !result.changed.isEmpty else { return }
        let written = Set(told.updated + told.inserted)
        for id in result.changed {
            cache.invalidate(id)
            if !written.contains(id) { told.updated.append(id) }
            if let object = memory.registry[id], !object.isDeleted { reread(object, mergesChanges: true) }
        }
    }
}

extension ManagedObject {
    /// Leaves destinations whose rows are gone.
    fileprivate func drop(_ destinations: [ObjectID], from relationship: Relationship, _ policy: MergePolicy) {
        if policy == .rollback, !isInserted, let row {
            let conflict = VersionConflict(id: storedID, expectedVersion: row.version, stored: row)
            // What others have added since is not given up.
            managedObjectContext?.cache.invalidate(storedID)
            managedObjectContext?.rebase([conflict]) { _ in .deciding(.rollback) }
        }
        guard relationship.isToMany else {
            guard let id = destinationID(at: relationship.slot), destinations.contains(id) else { return }
            let committed = row?.destination(at: relationship.slot)
            let isKept = policy == .storeTrump && committed != id
            return relate(to: isKept ? committed : nil, at: relationship.slot)
        }
        for id in destinations where hasDestination(id, at: relationship.slot) { unlink(id, across: relationship) }
    }
}
