// Options about the lifetime of objects and the age of their rows (MC-33, MC-34, MC-50).

import EspalierModel

extension ManagedObjectContext {
    /// Retains all objects in memory from now on, or only the changed ones.
    func retainRegisteredObjects(_ retains: Bool) {
        guard retains != memory.registry.retainsObjects else { return }
        if retains {
            memory.registry.retainObjects()
        } else {
            // Objects are freed, and leave the registry, only after the access.
            let former = memory.registry.releaseObjects()
            withExtendedLifetime(former) {}
        }
    }

    /// Replaces the registry by an empty one with the same choice; returns the former one, whose objects are detached.
    func replaceRegistry() -> ObjectRegistry {
        var other = ObjectRegistry()
        if memory.registry.retainsObjects { other.retainObjects() }
        swap(&memory.registry, &other)
        return other
    }

    /// Moves to the newest generation if the one that is read is older than the application allows (MC-34).
    ///
    /// Called by the first use of a fault, which then finds no row of the older generation any more.
    func endStaleGeneration() {
        guard stage == nil, !generation.isPinned, generation.isOlder(than: stalenessInterval) else { return }
        if mailbox != nil { mergeWaitingSaves() } else { moveToNewestGeneration() }
        generation.noteTime()
    }
}

extension ManagedObject {
    /// Records that a row is deleted, for the next save to report, if the application says that this is an error
    /// (MC-50).
    final func noteInaccessible() {
        guard withContext(\.shouldDeleteInaccessibleFaults) == false else { return }
        recordOnce(.unreadable, of: nil, .unreadable("its row is deleted"))
    }

    /// Throws if the object's row is deleted, and the application says that this is an error (MC-50).
    final func requireRow() throws(ContextError) {
        guard withContext(\.shouldDeleteInaccessibleFaults) == false else { return }
        fireFault()
        if state.contains(.inaccessible), !hasRow { throw .objectNotFound(storedID) }
    }
}
