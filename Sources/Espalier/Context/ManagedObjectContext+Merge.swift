// Taking in what other contexts have saved (MC-47, MC-48).
//
// Invariants
//   1. What has arrived is taken in at once, all saves together: a row that one of them changed leads to rows as the
//      last one left them.
//   2. The context reads the newest generation before it merges: one that has all the saves that have arrived.

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

    /// Takes in the saves that have arrived since the last time, and reads the newest generation from now on, if the
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
        beginEvent()
        defer { endEvent() }
        if saves.contains(where: \.isEverything) { refreshAll(isAsked: false) }
        var changed: [ManagedObject] = []
        var seen = Set<ObjectID>()
        // The last word on an object is that of the last save.
        for saved in saves.reversed() {
            for id in saved.deleted where seen.insert(id).inserted { takeDeletion(of: id) }
            for id in saved.inserted where seen.insert(id).inserted {
                cache.invalidate(id)
                guard let object = registry[id] else { continue }
                if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
            }
            for id in saved.updated where seen.insert(id).inserted {
                cache.invalidate(id)
                guard let object = registry[id] else { continue }
                if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
            }
        }
        takeNewerRows(of: changed)
        for saved in saves { tellDidMerge(saved) }
    }

    private func takeDeletion(of id: ObjectID) {
        guard let object = registry[id] else { return cache.invalidate(id) }
        if object.state.contains(.deleted) {
            deleted.remove(object)
            unpropagated.removeAll { $0 === object }
            registry.remove(object)
            object.leaveContext()
        } else if !object.hasChanges {
            object.state.insert(.inaccessible)
            noteDeleted(object)
        } else {
            // It keeps what it has: the next save reports the conflict.
            object.state.insert(.gone)
            return
        }
        cache.invalidate(id)
    }
}
