// Taking in what other contexts have saved (MC-47, MC-48).

import EspalierModel

extension ManagedObjectContext {
    /// Takes in a save of another context.
    ///
    /// Changed objects get the new values with unsaved changes on top; deleted ones read `isDeleted` and keep their
    /// last values. Only objects in memory are touched; nothing but what changed objects need is fetched.
    public func mergeChanges(from saved: SavedChanges) {
        for id in saved.inserted {
            guard let object = registry[id], object.state.contains(.inaccessible) else { continue }
            refresh(object, mergesChanges: true)
        }
        for id in saved.updated {
            cache.invalidate(id)
            if let object = registry[id], !object.state.contains(.deleted) {
                refresh(object, mergesChanges: true)
            }
        }
        for id in saved.deleted {
            cache.invalidate(id)
            guard let object = registry[id] else { continue }
            if object.state.contains(.deleted) {
                deleted.remove(object)
                unpropagated.removeAll { $0 === object }
                registry.remove(object)
                object.leaveContext()
            } else if !object.hasChanges {
                object.state.insert(.inaccessible)
            }
            // A changed object keeps its changes: the next save reports the conflict.
        }
    }

    /// Takes in the saves that have arrived since the last time.
    func mergeWaitingSaves() {
        guard let mailbox else { return }
        for saved in mailbox.takeAll() { mergeChanges(from: saved) }
    }
}
