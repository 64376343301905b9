// Going back: to the committed values, to the store's values, to an empty context.

import EspalierModel

extension ManagedObjectContext {
    /// Gives up all unsaved changes (MC-29): new objects leave, others have their last committed values again.
    ///
    /// Asks no store. Refused changes that wait to be reported are forgotten.
    public func rollback() {
        for object in changedObjects where object.isInserted {
            registry.remove(object)
            object.leaveContext()
        }
        for object in changedObjects where !object.isInserted {
            object.discardPersistentChanges()
            object.state.subtract([.updated, .deleted, .propagated])
        }
        forgetChanges()
    }

    /// Forgets every object (MC-30).
    ///
    /// Objects that the application still holds belong to no context afterwards; what is written to them is refused,
    /// and the next `save()` says so.
    public func reset() {
        letGo(isReset: true)
        // Objects that end from here on do not leave it.
        registry = ObjectRegistry()
        forgetDestinations()
        cache.removeAll()
        forgetChanges()
    }

    private func forgetChanges() {
        // An object that ends may run code of the application, which may come back here: not while a list changes.
        let former = (inserted, updated)
        defer { withExtendedLifetime(former) {} }
        inserted.removeAll()
        updated.removeAll()
        deleted.removeAll()
        unpropagated.removeAll()
        leavesCascadesToStore = false
        unreadInverses.removeAll()
        recorded.removeAll()
        locked.removeAll()
    }

    /// Makes an object take the store's values at its next use.
    ///
    /// - Parameter mergesChanges: `true` keeps unsaved changes on top of the newer row, which then is what they are
    ///   based on (MC-26). `false` gives them up (MC-27): a relationship may then differ between its two sides until
    ///   the other side is refreshed too. New objects stay as they are.
    public func refresh(_ object: ManagedObject, mergesChanges: Bool) {
        guard object.managedObjectContext === self, !object.isInserted else { return }
        cache.invalidate(object.storedID)
        if mergesChanges && object.hasChanges {
            object.row = nil
            object.state.subtract([.fulfilled, .inaccessible])
            object.fireFault()
            object.relateAgain()
            return
        }
        updated.remove(object)
        deleted.remove(object)
        unpropagated.removeAll { $0 === object }
        object.state.subtract([.deleted, .propagated])
        object.turnIntoFault()
    }

    /// Refreshes every object and keeps unsaved changes (MC-28).
    public func refreshAllObjects() {
        for object in registry.objects { refresh(object, mergesChanges: true) }
    }
}
