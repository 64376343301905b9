// Discarding changes: back to the committed values, or to an empty context.

import EspalierModel

extension ManagedObjectContext {
    /// Discards all unsaved changes (MC-29): new objects leave, others have their last committed values again.
    ///
    /// The call asks no store, and forgets recorded refusals. In a hook of a save that has not written yet, the call is
    /// refused, and the save reports that.
    ///
    /// - Complexity: O(changed objects and their changes); with an undo manager also O(actions registered with it).
    public func rollback() {
        if refusesWhileSaving("rollback()") { return }
        forgetUndo()
        beginEvent()
        defer { endEvent() }
        // The lists retain their objects until the last hook has run, and are shared with the context until it forgets
        // them: many objects outgrow the caches of the processor, so each further pass over them costs time.
        let former = [memory.inserted, memory.updated, memory.deleted]
        for list in former { for object in list { discardChanges(of: object) } }
        forgetChanges()
        for list in former { for object in list { object.awaken(from: .rollback) } }
    }

    /// Restores the committed values of a changed object; a new one leaves the context.
    private func discardChanges(of object: ManagedObject) {
        if object.isInserted {
            noteInvalidated(object)
            memory.registry.remove(object)
            object.leaveContext()
        } else {
            noteRefreshed(object)
            object.discardPersistentChanges()
            object.state.subtract([.updated, .deleted, .propagated])
            object.becomeInaccessibleIfGone()
        }
    }

    /// Forgets every object (MC-30), and moves to the newest generation, unless the context is pinned.
    ///
    /// Objects that the application still retains belong to no context afterwards. They refuse changes, and the next
    /// `save()` reports that. In a hook of a save that has not written yet, the call is refused, and the save reports
    /// that.
    ///
    /// - Complexity: O(objects in memory and cached rows); with an undo manager also O(actions registered with it).
    public func reset() {
        if refusesWhileSaving("reset()") { return }
        let (followed, observers) = (memory.hasObserved ? memory.registry.objects.filter(\.isObserved) : [], observed)
        defer { observers?.tell(followed) }
        forgetUndo()
        beginEvent()
        defer { endEvent() }
        if memory.collectsChanges { noteReset(of: memory.registry.objects.map(\.storedID)) }
        detachObjects(isReset: true)
        // Detached objects do not remove themselves from the registry when they are freed.
        let former = replaceRegistry()
        defer { withExtendedLifetime(former) {} }
        forgetDestinations()
        cache.removeAll()
        leftGenerations = LeftGenerations()
        if !generation.isPinned { generation.end() }
        forgetChanges()
        // The objects that are made from now on have observers of their own.
        if let observed { self.observed = ObservedObjects(model, observed.state) }
        childSource?.tellEverything()
    }

    private func forgetChanges() {
        changeCount &+= 1
        // Freeing an object may run application code that calls the context again: retain the objects until no list is
        // being changed.
        let former = (memory.inserted, memory.updated, unpropagated)
        defer { withExtendedLifetime(former) {} }
        assert(former.0.allSatisfy { !$0.isInserted }, "a new object stays in the context after its changes")
        replace(\.inserted, by: ChangedObjects())
        replace(\.updated, by: ChangedObjects())
        replace(\.deleted, by: ChangedObjects())
        unpropagated = []
        outdated = []
        noteHiddenDestinations()
        replaceReached(by: ReachedRows())
        memory.unreadInverses.removeAll()
        recorded.removeAll()
        locked.removeAll()
        (hasBases, hasMergedSets) = (false, false)
        reportedConflicts.removeAll()
        givenIDs = nil
    }
}
