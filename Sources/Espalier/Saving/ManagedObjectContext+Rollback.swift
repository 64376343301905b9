// Going back: to the committed values, to an empty context.

import EspalierModel

extension ManagedObjectContext {
    /// Gives up all unsaved changes (MC-29): new objects leave, others have their last committed values again.
    ///
    /// Asks no store. Refused changes that wait to be reported are forgotten. In a hook of a save that has not written
    /// yet the call is refused, and the save reports that.
    public func rollback() {
        if refusesWhileSaving("rollback()") { return }
        forgetUndo()
        beginEvent()
        defer { endEvent() }
        for object in changedObjects where object.isInserted {
            noteInvalidated(object)
            memory.registry.remove(object)
            object.leaveContext()
        }
        for object in changedObjects where !object.isInserted {
            noteRefreshed(object)
            object.discardPersistentChanges()
            object.state.subtract([.updated, .deleted, .propagated])
            object.becomeInaccessibleIfGone()
        }
        forgetChanges()
    }

    /// Forgets every object (MC-30), and reads the newest generation from then on, unless the context is pinned.
    ///
    /// Objects that the application still holds belong to no context afterwards. Writing to them is refused, and the
    /// next `save()` says so. In a hook of a save that has not written yet the call is refused, and the save reports
    /// that.
    public func reset() {
        if refusesWhileSaving("reset()") { return }
        forgetUndo()
        beginEvent()
        defer { endEvent() }
        if memory.collectsChanges { noteReset(of: memory.registry.objects.map(\.storedID)) }
        detachObjects(isReset: true)
        // Objects that end from here on do not leave it.
        memory.registry = ObjectRegistry()
        forgetDestinations()
        cache.removeAll()
        if !generation.isPinned { generation.end() }
        forgetChanges()
    }

    private func forgetChanges() {
        // The end of an object may run code of the application that comes back here: not while a list changes.
        let former = (memory.inserted, memory.updated)
        defer { withExtendedLifetime(former) {} }
        replace(\.inserted, by: ChangedObjects())
        replace(\.updated, by: ChangedObjects())
        replace(\.deleted, by: ChangedObjects())
        unpropagated.removeAll()
        leavesCascadesToStore = false
        memory.unreadInverses.removeAll()
        recorded.removeAll()
        locked.removeAll()
        (hasBases, hasMergedSets) = (false, false)
        reportedConflicts.removeAll()
    }
}
