// Merging what other contexts have saved (MC-47, MC-48).
//
// Invariants
//   1. All saves that have arrived are merged together, because a row that one of them changed leads to rows as the
//      last one left them.
//   2. The context moves to the newest generation before it merges: that one has all the saves that have arrived.

import EspalierModel

extension ManagedObjectContext {
    /// Takes in a save of another context.
    ///
    /// Unchanged objects get the new values, and so do changed ones, with unsaved changes on top: if both sides have
    /// changed a property, the next save reports the conflict, or decides it by the merge policy. Deleted ones read
    /// `isDeleted` and keep their last values, unless they are changed here: then the next save reports the conflict.
    /// Only objects in memory are touched; nothing but what changed objects need is fetched. If `saved` says that
    /// everything may have changed, every object in memory is refreshed.
    public func mergeChanges(from saved: SavedChanges) {
        moveToNewestGeneration()
        merge([saved])
    }

    /// Merges the saves that have arrived since the last time, and reads the newest generation from now on, if the
    /// context merges by itself and is not pinned.
    func mergeWaitingSaves() {
        // What a running save writes is based on the rows it began with.
        guard let mailbox, stage == nil, !generation.isPinned else { return }
        let saves = mailbox.takeAll()
        moveToNewestGeneration()
        merge(saves)
    }

    private func merge(_ saves: [SavedChanges]) {
        guard !saves.isEmpty else { return }
        journal?.pause()
        defer { journal?.resume() }
        beginEvent()
        defer { endEvent() }
        if saves.contains(where: \.isEverything) { refreshAll(isAsked: false) }
        var (changed, left): ([ManagedObject], Set<ObjectID>) = ([], [])
        var seen = Set<ObjectID>()
        // The last word on an object is that of the last save.
        for saved in saves.reversed() {
            for id in saved.deleted where seen.insert(id).inserted {
                if takeDeletion(of: id) { left.insert(id) }
            }
            for id in saved.inserted where seen.insert(id).inserted {
                cache.invalidate(id)
                guard let object = memory.registry[id] else { continue }
                if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
            }
            for id in saved.updated where seen.insert(id).inserted {
                cache.invalidate(id)
                guard let object = memory.registry[id] else { continue }
                if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
            }
        }
        forgetPairs(with: left)
        takeNewerRows(of: changed)
        for saved in saves { tellDidMerge(saved) }
    }

    /// Returns whether the object has left the context.
    private func takeDeletion(of id: ObjectID) -> Bool {
        guard let object = memory.registry[id] else {
            cache.invalidate(id)
            return false
        }
        let hasLeft = noteGone(object)
        if !object.state.contains(.gone) { cache.invalidate(id) }
        return hasLeft
    }

    /// Notes that another context or process has deleted the row of an object; returns whether it leaves the context.
    func noteGone(_ object: ManagedObject) -> Bool {
        if object.state.contains(.deleted) {
            leave(object)
            return true
        }
        if object.hasChanges, object.hasOwnChanges {
            // It keeps what it has: the next save reports the conflict.
            object.state.insert(.gone)
        } else {
            // A value that was set to what it was is no change, nor is the departure of others from its lists.
            memory.updated.remove(object)
            object.leaveRemovalsToStore()
            object.discardPersistentChanges()
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
            noteDeleted(object)
        }
        return false
    }

    /// Removes an object that both this context and another one have deleted: there is nothing left to save.
    func leave(_ object: ManagedObject) {
        memory.deleted.remove(object)
        memory.registry.remove(object)
        object.leaveContext()
    }

    /// Forgets that objects joined or left to-many relationships, if their deletion is saved by another context as
    /// well: a context that inserts them again decides what they are related to.
    ///
    /// - Complexity: O(changed objects and destinations of their changed relationships), if there are any.
    func forgetPairs(with gone: Set<ObjectID>) {
        guard !gone.isEmpty else { return }
        for object in changedObjects {
            for (slot, change) in object.changes?.values.toMany.pairs ?? []
            where change.concerns(gone) {
                object.changeable().values.toMany.modify(slot) { $0.forget(gone) }
            }
        }
    }
}

extension ManagedObject {
    /// Makes the lists at the other ends forget that they lost this object, which was forgotten here: a context that
    /// inserts it again decides what it is related to, at both ends.
    fileprivate func leaveRemovalsToStore() {
        guard let context = managedObjectContext else { return }
        func leave(_ ids: some Sequence<ObjectID>, _ slot: Int) {
            guard let inverse = withShape({ $0.inverses[slot] }), inverse.isToMany else { return }
            for id in ids {
                guard let other = context.memory.registry[id],
                    other.changes?.values.toMany.contains(inverse.slot) == true
                else { continue }
                other.changeable().values.toMany.modify(inverse.slot) { $0.followRemoval(of: storedID) }
            }
        }
        for (slot, _) in changes?.values.destinations.pairs ?? [] {
            leave(row?.destination(at: slot).map { [$0] } ?? [], slot)
        }
        for (slot, change) in changes?.values.toMany.pairs ?? [] { leave(change.differences.removed, slot) }
    }

    /// Whether it is changed in another way than by losing what was related to it: that goes with either end.
    fileprivate var hasOwnChanges: Bool {
        guard let values = changes?.values else { return false }
        for (slot, value) in values.attributes.pairs
        where !entity.attributes[slot].isTransient && row?.value(at: slot) != value { return true }
        for (slot, id) in values.destinations.pairs where row?.destination(at: slot) != id {
            // The other end may be what was changed.
            if id != nil || withShape({ $0.inverses[slot] }) == nil { return true }
        }
        return values.toMany.pairs.contains { slot, change in
            let (added, removed) = change.differences
            if !added.isEmpty { return true }
            guard let inverse = withShape({ $0.inverses[slot] }) else {
                return !removed.isEmpty || change.list.map { $0 != change.base } == true
            }
            // Others' to-one relationships say who is there.
            if !inverse.isToMany { return false }
            return change.list.map { $0 != change.base.filter { !removed.contains($0) } } == true
        }
    }
}
