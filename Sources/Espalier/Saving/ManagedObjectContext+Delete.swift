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
        processChanges()
        endUndoEvent()
    }

    /// Merges waiting saves of other contexts and runs the delete rules of what was deleted, in the middle of an event
    /// of the application.
    func processChanges() {
        beginEvent()
        defer { endEvent() }
        forgetDestinations()
        mergeWaitingSaves()
        runDeleteRules()
        registerUndo()
    }

    func markDeleted(_ object: ManagedObject, callsHook: Bool = true) {
        object.fireFault()
        guard !object.isDeleted else { return }
        if callsHook { object.prepareForDeletion() }
        // The hooks may have deleted the object, or made the context forget it.
        guard object.managedObjectContext === self, !object.isDeleted else { return }
        object.willChange { .deleted($0.relations) }
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
            guard object.state.contains(.deleted), object.state.isDisjoint(with: .propagated) else { continue }
            object.state.insert(.propagated)
            let shape = object.shape
            for relationship in shape.entity.relationships {
                runRule(of: relationship, inverse: shape.inverses[relationship.slot], for: object)
            }
        }
        let processed = unpropagated.filter { $0.state.contains(.deleted) }
        unpropagated.removeAll()
        runsRulesAgain = false
        // Rows that another context has deleted need no deletion.
        let gone = processed.filter { $0.state.contains(.gone) }
        for object in gone where object.state.contains(.deleted) { leave(object) }
        forgetPairs(with: Set(gone.map(\.storedID)))
        endUnsaved(processed.filter { $0.isInserted && $0.state.contains(.deleted) })
    }

    /// Lets go of deleted objects that were never saved.
    private func endUnsaved(_ unsaved: [ManagedObject]) {
        guard !unsaved.isEmpty else { return }
        applyUnreadInverses()
        let ended = Set(unsaved.map(\.storedID))
        let naming = objectsNaming(unsaved)
        for object in naming { object.willForget(ended) }
        for object in unsaved where object.state.contains(.registered) {
            memory.deleted.remove(object)
            memory.registry.remove(object)
            object.leaveContext()
        }
        // No store will ever know them.
        for object in naming where object.state.contains(.registered) {
            object.replaceNewDestinations { ended.contains($0) ? nil : $0 }
            if object.changes != nil { object.changeable().forget(ended) }
        }
    }

    /// The changed objects, others among them, whose relationships may name one of `objects`.
    ///
    /// - Complexity: O(`objects` and what they are related to); O(all changed objects) if a relationship without
    ///   inverse leads to their entities.
    func objectsNaming(_ objects: [ManagedObject]) -> [ManagedObject] {
        let isNamedFromAfar = objects.contains { object in
            model.oneWayDestinations.contains(where: { object.entity.isKind(of: $0) })
        }
        if isNamedFromAfar { return changedObjects }
        var naming = Set<ManagedObject>()
        for object in objects {
            for relationship in object.entity.relationships {
                let ids =
                    relationship.isToMany
                    ? object.destinationIDs(at: relationship.slot)
                    : object.destinationID(at: relationship.slot).map { [$0] } ?? []
                assert(StepCount.note(ids.count))
                for id in ids { if let other = memory.registry[id], other.hasChanges { naming.insert(other) } }
            }
        }
        return Array(naming)
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
                // What is undone has led away already what led here then.
                if isUndoing, !destination.leads(to: object, across: inverse) { return }
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
            guard let destination = known(id, from: object, across: relationship) else { return true }
            body(destination)
            return false
        }
        var hasOthers = false
        for id in object.destinationIDs(at: relationship.slot) {
            if let destination = known(id, from: object, across: relationship) {
                body(destination)
            } else {
                hasOthers = true
            }
        }
        return hasOthers
    }

    /// The object with this ID if it is in memory, or has to be so that the deletion of `object` can be undone: one
    /// that is deleted too, or that has an order in which `object` stands.
    private func known(
        _ id: ObjectID, from object: ManagedObject, across relationship: Relationship
    ) -> ManagedObject? {
        if let known = memory.registry[id] { return known }
        guard let journal, journal.isRecording else { return nil }
        let isListed = object.isListed(across: relationship) && relationship.deleteRule == .nullify
        guard isListed || relationship.deleteRule == .cascade else { return nil }
        return self.object(for: id, from: object, across: relationship)
    }
}
