// Merging the saves of other contexts (MC-47, MC-48).
//
// Invariants
//   1. All saves that have arrived are merged together, because a row that one of them has changed leads to rows in
//      the state after the last one.
//   2. The context moves to the newest generation before it merges: that contains all saves that have arrived.
//   3. Messages may arrive in another order than that of the commits. Whether a deleted row exists again is therefore
//      read from the newest generation, and not concluded from the order.
//   4. Observers are told when all is merged. Their changes are part of the event, and can be undone (MC-54).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Merges a save of another context.
    ///
    /// Objects get the new values, and keep unsaved changes on top: if both sides have changed a property, the next
    /// save reports the conflict, or lets the merge policy decide it. For deleted objects `isDeleted` is true, and they
    /// keep their last values; if they have changes here, the next save reports the conflict instead. A merge affects
    /// objects in memory only, and fetches only the rows that changed and deleted objects need. If `saved` says that
    /// everything may have changed, every object in memory is refreshed. A merge cannot be undone, and registers
    /// nothing with the undo manager.
    ///
    /// The context moves to the newest generation. A pinned context does so too, and is pinned again there (MC-51).
    ///
    /// In a hook of a save that has not written yet, and in the closure of a transaction, the merge waits for the end
    /// of the save or transaction: its changes are based on the rows with which it began, and it returns to them if it
    /// fails.
    ///
    /// - Complexity: O(IDs of `saved`), or O(objects in memory × log of their number) if the message is that of a batch
    ///   request with more rows than that; for changed objects among them as `refresh(_:mergesChanges:)`, with one read
    ///   of rows for each store; O(objects in memory) if everything may have changed. Moving to a newer generation
    ///   takes as long as for a refresh.
    public func mergeChanges(from saved: SavedChanges) {
        guard !mayTakeBack else { return deferredSaves.append(saved) }
        moveToNewestGeneration()
        merge([saved])
    }

    /// Merges the saves that had to wait for the end of a save or transaction.
    func mergeDeferredSaves() {
        let saves = deferredSaves
        deferredSaves = []
        moveToNewestGeneration()
        merge(saves)
    }

    /// Merges the saves that have arrived since the last merge, and moves to the newest generation, if the context
    /// merges automatically and is not pinned.
    func mergeWaitingSaves() {
        // The changes of a running save are based on the rows at its beginning.
        guard let mailbox, stage == nil, !generation.isPinned else { return }
        // One read for both: what is told, and the generation that has it.
        source.beginRead()
        source.tellWaitingChanges()
        if !leftGenerations.isEmpty { leftGenerations.noteArrived(stillWriting: source.writers) }
        let saves = mailbox.takeAll()
        moveToNewestGeneration()
        source.endRead()
        merge(saves)
        if !leftGenerations.isEmpty { leftGenerations.forgetMerged() }
    }

    private func merge(_ saves: [SavedChanges]) {
        guard !saves.isEmpty else { return }
        beginEvent()
        defer { endEvent() }
        withoutSteps { adopt(saves) }
        for saved in saves { tellDidMerge(saved) }
    }

    /// Gives the objects in memory the values that others have saved, and tells children of it.
    private func adopt(_ saves: [SavedChanges]) {
        if saves.contains(where: \.isEverything) { refreshAll(isAsked: false) }
        var (changed, left): ([ManagedObject], Set<ObjectID>) = ([], [])
        var (seen, inserted, deleted) = (Set<ObjectID>(), Set<ObjectID>(), Set<ObjectID>())
        func read(_ id: ObjectID) {
            guard !deleted.contains(id), seen.insert(id).inserted else { return }
            cache.invalidate(id)
            // An object that is inserted again does not read the row: the save finds out that both contexts did so.
            guard let object = memory.registry[id], !object.isInserted else { return }
            if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
        }
        // The last save determines whether an object exists. Only an insertion restores a deleted one: a save also
        // reports an update if all that it changed was related to an object that is already deleted.
        let restored = restoredIDs(among: saves)
        let current = saves.map { $0.restoring(restored) }
        for saved in current.reversed() {
            for told in [saved.insertedIDs, saved.updatedIDs, saved.deletedIDs] where told.count > 0 {
                // Rows that were read ahead; those of objects in memory follow.
                cache.invalidate(told) { memory.registry[$0] == nil }
            }
            for id in idsInMemory(saved.deletedIDs) where !inserted.contains(id) && deleted.insert(id).inserted {
                if adoptDeletion(of: id) { left.insert(id) }
            }
            for id in idsInMemory(saved.insertedIDs) {
                read(id)
                inserted.insert(id)
            }
            for id in idsInMemory(saved.updatedIDs) { read(id) }
        }
        forgetPairs(with: left)
        adoptNewerRows(of: changed)
        changeCount &+= 1
        if let childSource { for saved in current { childSource.tell(saved, except: nil) } }
    }

    /// The IDs of a message that objects in memory have, in its order.
    ///
    /// - Complexity: O(IDs), or O(objects in memory × log of their number) if they are fewer than the rows of a set.
    private func idsInMemory(_ told: ToldIDs) -> [ObjectID] {
        let objectCount = memory.registry.count
        guard objectCount > 0 else { return [] }
        guard let rows = told.rows, objectCount < rows.count else {
            assert(StepCount.note(told.count))
            return told.filter { memory.registry.withObject($0) { _ in true } != nil }
        }
        assert(StepCount.note(objectCount))
        return memory.registry.objects.map(\.storedID).filter { rows.contains($0) }
            .sorted { ($0.storeTag, $0.entityTag, $0.key) < ($1.storeTag, $1.entityTag, $1.key) }
    }

    /// The deleted objects whose rows exist in the newest generation, because another context has inserted them again:
    /// those in memory, and all if there are child contexts.
    ///
    /// The message of the insertion may have arrived before that of the deletion, because a context that commits first
    /// may send its message last.
    private func restoredIDs(among saves: [SavedChanges]) -> Set<ObjectID> {
        // No other context runs between a save to a parent and its message.
        guard parent == nil else { return [] }
        var byStore: [UInt32: [ObjectID]] = [:]
        for saved in saves {
            let ids = childSource == nil ? idsInMemory(saved.deletedIDs) : saved.deleted
            for id in ids where childSource != nil || memory.registry[id]?.isInserted == false {
                byStore[id.storeTag, default: []].append(id)
            }
        }
        var restored = Set<ObjectID>()
        for (_, ids) in byStore {
            // If the rows cannot be read, the messages decide.
            guard let rows = try? storedRows(of: ids) else { continue }
            for (id, row) in zip(ids, rows) where row != nil { restored.insert(id) }
        }
        return restored
    }

    /// Applies the deletion of a row by another context; returns whether the object has left this context.
    private func adoptDeletion(of id: ObjectID) -> Bool {
        guard let object = memory.registry[id], !object.isInserted else {
            cache.invalidate(id)
            return false
        }
        let hasLeft = noteGone(object)
        if !object.state.contains(.gone) { cache.invalidate(id) }
        return hasLeft
    }

    /// Records that another context or process has deleted an object's row; returns whether the object has left this
    /// context.
    func noteGone(_ object: ManagedObject) -> Bool {
        if object.state.contains(.deleted) {
            leave(object)
            return true
        }
        if object.hasChanges, object.hasOwnChanges {
            // The object keeps its values: the next save reports the conflict.
            object.state.insert(.gone)
            changeCount &+= 1
        } else {
            // A value that was set to the committed one is no own change, nor is the removal of others from its lists.
            memory.updated.remove(object)
            object.leaveRemovalsToStore()
            object.discardPersistentChanges()
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
            noteDeleted(object)
        }
        return false
    }

    /// Removes an object that both this context and another one have deleted: nothing is left to save.
    func leave(_ object: ManagedObject) {
        childSave?.noteLoss(of: object)
        memory.deleted.remove(object)
        memory.reached.forgetRows()
        memory.registry.remove(object)
        object.leaveContext()
    }

    /// Forgets additions to and removals from to-many relationships of objects whose deletion another context has saved
    /// as well: a context that inserts them again decides about their relationships.
    ///
    /// - Complexity: O(changed objects and destinations of their changed relationships), if there are any: call it once
    ///   for all objects.
    func forgetPairs(with gone: Set<ObjectID>) {
        guard !gone.isEmpty else { return }
        for object in changedObjects {
            assert(StepCount.note())
            for (slot, change) in object.changes?.values.toMany.pairs ?? []
            where change.concerns(gone) {
                object.changeable().values.toMany.modify(slot) { $0.forget(gone) }
            }
        }
    }
}

extension SavedChanges {
    /// The changes, with insertions of these objects instead of their deletions.
    fileprivate func restoring(_ ids: Set<ObjectID>) -> SavedChanges {
        guard !ids.isEmpty else { return self }
        var changes = self
        changes.deleted.removeAll(where: ids.contains)
        changes.inserted += deleted.filter(ids.contains)
        return changes
    }
}

extension ManagedObject {
    /// Makes the lists at the other ends of many-to-many relationships forget the removal of this object, whose row is
    /// deleted: a context that inserts it again decides about its relationships, at both ends.
    ///
    /// Lists whose members are defined by to-one relationships follow these (`followUnchangedMembers`).
    fileprivate func leaveRemovalsToStore() {
        guard let context = managedObjectContext else { return }
        for (slot, change) in changes?.values.toMany.pairs ?? [] {
            guard let inverse = withShape({ $0.inverses[slot] }), inverse.isToMany else { continue }
            for id in change.differences.removed {
                guard let other = context.memory.registry[id],
                    other.changes?.values.toMany.contains(inverse.slot) == true
                else { continue }
                other.changeable().values.toMany.modify(inverse.slot) { $0.followRemoval(of: storedID) }
            }
        }
    }

    /// Whether the object has other changes than the removal of related objects, which the deletion of either end
    /// explains.
    fileprivate var hasOwnChanges: Bool {
        guard let values = changes?.values else { return false }
        for (slot, value) in values.attributes.pairs
        where !entity.attributes[slot].isTransient && row?.value(at: slot) != value { return true }
        for (slot, id) in values.destinations.pairs where row?.destination(at: slot) != id {
            // An empty destination may be a change of the other end.
            if id != nil || withShape({ $0.inverses[slot] }) == nil { return true }
        }
        return values.toMany.pairs.contains { slot, change in
            let (added, removed) = change.differences
            if !added.isEmpty { return true }
            guard let inverse = withShape({ $0.inverses[slot] }) else {
                return !removed.isEmpty || change.changesOrder
            }
            // The to-one relationships at the other end define the members.
            if !inverse.isToMany { return false }
            return change.list.map { $0 != change.base.filter { !removed.contains($0) } } == true
        }
    }
}
