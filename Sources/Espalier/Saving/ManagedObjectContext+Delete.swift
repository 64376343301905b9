// Deleting: marking objects, and running delete rules on what they lead to (MC-10 to MC-16).
//
// Invariants
//   1. `delete` marks; rules run in `processPendingChanges`, which every fetch and save begins with (MC-12).
//   2. Rules look at relationships as they are when they run. They end: each object's rules run once.
//   3. The relationships of a deleted object itself keep their values: `deny` is judged by them when saving (MC-15).
//   4. The rules run here for objects in memory only, as a prediction. When saving, the store runs the same rules over
//      all rows, and tells the context which other rows they have deleted or changed (DeleteRules).

import EspalierModel

extension ManagedObjectContext {
    /// Marks an object to be deleted by the next save (MC-10).
    ///
    /// One that was never saved just leaves the context. Objects in memory that delete rules reach change with it in
    /// the next `processPendingChanges`, and their hooks are called; rows that are not in memory the store deletes or
    /// changes when saving, however many they are, and calls no hook for.
    ///
    /// - Complexity: O(1); the rules are O(1) for each ID in the relationships that they follow, and make no objects.
    /// - Throws: `ContextError.objectOfOtherContext` or `.objectWithoutContext`; `.store` if the row, which the delete
    ///   rules need, cannot be read (MC-11). Deleting twice, or what is gone from the store, changes nothing.
    public func delete(_ object: ManagedObject) throws(ContextError) {
        guard let context = object.managedObjectContext else { throw .objectWithoutContext(object.storedID) }
        guard context === self else { throw .objectOfOtherContext(object.storedID) }
        guard !object.isDeleted else { return }
        if object.isFault && !object.hasRow { try loadRow(of: object) }
        markDeleted(object)
    }

    /// Merges waiting saves of other contexts and runs the delete rules of what was deleted (MC-36).
    ///
    /// This is the end of an event: observers are told which objects have changed in it.
    public func processPendingChanges() {
        beginEvent()
        defer { endEvent() }
        forgetDestinations()
        mergeWaitingSaves()
        runDeleteRules()
    }

    private func markDeleted(_ object: ManagedObject) {
        object.fireFault()
        guard !object.isDeleted else { return }
        object.prepareForDeletion()
        // The hooks may have deleted the object, or made the context forget it.
        guard object.managedObjectContext === self, !object.isDeleted else { return }
        changeCount += 1
        noteDeleted(object)
        if object.isInserted { memory.inserted.remove(object) }
        if object.state.contains(.updated) { memory.updated.remove(object) }
        object.state.insert(.deleted)
        memory.deleted.insert(object)
        unpropagated.append(object)
    }

    /// Runs the rules of every deleted object whose rules have not run, and of those that this deletes.
    func runDeleteRules() {
        guard !unpropagated.isEmpty else { return }
        var next = 0
        while next < unpropagated.count {
            let object = unpropagated[next]
            next += 1
            guard object.state.isDisjoint(with: .propagated) else { continue }
            object.state.insert(.propagated)
            let shape = object.shape
            for relationship in shape.entity.relationships {
                runRule(of: relationship, inverse: shape.inverses[relationship.slot], for: object)
            }
        }
        unpropagated.removeAll()
        runsRulesAgain = false
        // Rows that another context has deleted need no deletion.
        let gone = memory.deleted.filter { $0.state.contains(.gone) }
        for object in gone { leave(object) }
        forgetPairs(with: Set(gone.map(\.storedID)))
        let unsaved = memory.deleted.filter(\.isInserted)
        guard !unsaved.isEmpty else { return }
        applyUnreadInverses()
        let ended = Set(unsaved.map(\.storedID))
        replace(\.deleted, by: memory.deleted.keeping { !$0.isInserted })
        for object in unsaved {
            memory.registry.remove(object)
            object.leaveContext()
        }
        // Relationships without inverse may still name them, and no store will ever know them.
        for object in changedObjects {
            object.replaceNewDestinations { ended.contains($0) ? nil : $0 }
            if object.changes != nil { object.changeable().forget(ended) }
        }
    }

    private func runRule(of relationship: Relationship, inverse: Relationship?, for object: ManagedObject) {
        // An object that was never saved leaves no row that could be referred to: its relationships are always undone.
        switch relationship.deleteRule {
        case .noAction where !object.isInserted, .deny where !object.isInserted:
            break
        case .cascade:
            let hasOthers = forEachDestination(of: relationship, of: object) { destination in
                if runsRulesAgain { takeNewestRow(ifUnchanged: destination) }
                markDeleted(destination)
            }
            if hasOthers { leavesCascadesToStore = true }
        case .nullify, .noAction, .deny:
            guard let inverse else { return }
            forEachDestination(of: relationship, of: object) { destination in
                if destination.isDeleted { return }
                if runsRulesAgain { takeNewestRow(ifUnchanged: destination) }
                destination.removeRaw(object.storedID, from: inverse)
            }
        }
    }

    /// Calls `body` with the destinations that are in memory; returns whether there are others.
    @discardableResult
    private func forEachDestination(
        of relationship: Relationship, of object: ManagedObject, _ body: (ManagedObject) -> Void
    ) -> Bool {
        guard relationship.isToMany else {
            guard let id = object.destinationID(at: relationship.slot) else { return false }
            guard let destination = memory.registry[id] else { return true }
            body(destination)
            return false
        }
        var hasOthers = false
        for id in object.destinationIDs(at: relationship.slot) {
            if let destination = memory.registry[id] { body(destination) } else { hasOthers = true }
        }
        return hasOthers
    }
}
