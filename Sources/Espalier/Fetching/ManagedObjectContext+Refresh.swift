// Refreshing: objects adopt the store's newest values (MC-26 to MC-28).

import EspalierModel

extension ManagedObjectContext {
    /// Makes an object adopt the store's values at its next use.
    ///
    /// The context moves to the newest generation, unless it is pinned to another one.
    ///
    /// If a kept change is of a property that the store has changed too, the next save reports a conflict, or lets the
    /// merge policy decide it, unless both have the same value. If a save has reported the conflict in full already,
    /// the refresh settles it: the change is based on the newer row, and the next save writes it. A lock of the object
    /// (`detectConflicts`) holds for the newer row from now on.
    ///
    /// - Parameter mergesChanges: `true` keeps unsaved changes on top of the newer row (MC-26). `false` discards them
    ///   (MC-27): a relationship may then differ between its two sides until the other side is refreshed too. A refresh
    ///   does not change new objects. With `true` it does not change objects either that have changes and whose row is
    ///   deleted: the next save reports those. The results of fetched properties are forgotten in each case (FR-24).
    /// - Complexity: O(1) for an object without changes. If its changes are kept, a read of its row and O(changes); its
    ///   ordered lists are read and merged, O(members). Moving to a newer generation takes O(changed objects and cached
    ///   rows), and O(objects in memory) if the context does not merge automatically.
    public func refresh(_ object: ManagedObject, mergesChanges: Bool) {
        guard object.managedObjectContext === self else { return }
        fetchedResults?.forget(object)
        guard !object.isInserted else {
            // The next read makes the requests of fetched properties anew.
            noteObserved(object)
            return object.tellObserved()
        }
        advanceGeneration()
        reread(object, mergesChanges: mergesChanges)
        if locked[object] != nil { renewLocks(of: [object]) }
    }

    /// Makes an object adopt the values of the generation that the context reads.
    func reread(_ object: ManagedObject, mergesChanges: Bool) {
        guard object.managedObjectContext === self, !object.isInserted else { return }
        // Observers are told at the end of the event: what they change can be undone.
        beginEvent()
        defer { endEvent() }
        withoutSteps { adoptStoredValues(object, mergesChanges: mergesChanges) }
    }

    private func adoptStoredValues(_ object: ManagedObject, mergesChanges: Bool) {
        fetchedResults?.forget(object)
        if mergesChanges && object.hasChanges { return adoptNewerRows(of: [object], isAsked: true) }
        // An observer may have read a list of an object that is a fault.
        if !object.isFault || object.hasChanges { noteRefreshed(object) } else { noteObserved(object) }
        cache.invalidate(object.storedID)
        // A hook of a running save may call this method: the save then collects its changes again.
        if object.hasChanges { countChange(of: object) }
        memory.updated.remove(object)
        if object.state.contains(.deleted) {
            noteHiddenDestinations()
            memory.reached.forgetRows()
        }
        memory.deleted.remove(object)
        object.state.subtract([.deleted, .propagated])
        object.turnIntoFault()
    }

    /// Refreshes every object and keeps unsaved changes (MC-28).
    ///
    /// The context moves to the newest generation, unless it is pinned to another one. Locks (`detectConflicts`) hold
    /// for the newer rows from now on.
    ///
    /// - Complexity: O(objects in memory), and for those with changes as `refresh(_:mergesChanges:)`, with one read of
    ///   rows for each store.
    public func refreshAllObjects() {
        advanceGeneration()
        let results = fetchedResults
        fetchedResults = nil
        withExtendedLifetime(results) {}
        for object in memory.inserted where object.isObserved { noteObserved(object) }
        refreshAll(isAsked: true)
        renewLocks(of: Array(locked.keys))
    }

    /// Refreshes every object and keeps unsaved changes.
    ///
    /// The cached rows of objects that are not in memory stay, because they are from the generation that the context
    /// reads.
    /// - Parameter isAsked: whether the application has called it, which settles conflicts that a save has reported.
    func refreshAll(isAsked: Bool) {
        beginEvent()
        defer { endEvent() }
        withoutSteps {
            var changed: [ManagedObject] = []
            for object in memory.registry.objects where !object.isInserted {
                if object.hasChanges { changed.append(object) } else { reread(object, mergesChanges: true) }
            }
            adoptNewerRows(of: changed, isAsked: isAsked)
        }
    }
}
