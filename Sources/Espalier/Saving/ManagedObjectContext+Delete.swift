// Deleting: marking objects, and running delete rules on the objects to which they lead (MC-10 to MC-16).
//
// Invariants
//   1. `delete` marks; rules run in `mergeAndRunDeleteRules`, with which every fetch begins, if
//      `propagatesDeletesAtEndOfEvent` is true, and in each save (MC-12).
//   2. Rules read relationships at the time they run. They terminate: each object's rules run once, and once again
//      after the object has adopted a newer row or its context has got its first child. Their effects on a newer row
//      are undone together with the deletion, and register no action.
//   3. The relationships of a deleted object itself keep their values: a save checks `deny` with them (MC-15).
//   4. The rules run here for objects in memory only, as a prediction. In a save the store runs the same rules over all
//      rows, and reports to the context which other rows they have deleted or changed (DeleteRules).
//   5. What the rules leave to the store is noted (ReachedRows): a fetch or a reader that asks for it finds the rows
//      that the store will delete (Fetching: +Cascades), and no relationship leads there (Object: +ShownDestinations).

import EspalierModel

extension ManagedObjectContext {
    /// Marks an object for deletion by the next save (MC-10).
    ///
    /// An object that was never saved only leaves the context. The next `processPendingChanges` runs the delete rules:
    /// it deletes or changes the objects in memory that they reach, and calls their hooks. In the save the store
    /// deletes or changes the rows that are not in memory, however many they are, and calls no hooks for them. Fetches
    /// and relationships show the effects before the save (MC-18): the first of them that may read such rows finds all
    /// rows that cascades reach, by their IDs.
    ///
    /// - Complexity: O(1); the rules are O(1) for each ID in the relationships that they follow, and make no objects.
    ///   The first fetch or read of a relationship that may lead to rows that cascades reach is O(these rows), too, and
    ///   takes a bit for each.
    /// - Throws: `ContextError.objectOfOtherContext` or `.objectWithoutContext`; `.store` if the row, which the delete
    ///   rules need, cannot be read (MC-11). To delete an object twice, or one whose row is deleted, changes nothing.
    public func delete(_ object: ManagedObject) throws(ContextError) {
        guard let context = object.managedObjectContext else { throw .objectWithoutContext(object.storedID) }
        guard context === self else { throw .objectOfOtherContext(object.storedID) }
        guard !object.isDeleted else { return }
        if object.isFault && !object.hasRow { try loadRow(of: object) }
        markDeleted(object)
        if memory.hasObserved { tellObserved() }
    }

    /// Merges waiting saves of other contexts and runs the delete rules of deleted objects (MC-36).
    ///
    /// This call ends an event: it notifies observers of the objects that have changed in it, and then saves if
    /// `autosaveEnabled` is set.
    ///
    /// - Complexity: O(changes of the event, IDs in the saves that waited, and IDs in the relationships that delete
    ///   rules follow), and O(rows that cascades reach) if objects in memory may be among what they reach; then that of
    ///   the save, if `autosaveEnabled` is set.
    public func processPendingChanges() {
        mergeAndRunDeleteRules()
        endUndoEvent()
        if autosaveEnabled { autosave() }
    }

    /// Merges waiting saves and runs delete rules, as one event; ends no undo group and does not autosave.
    func mergeAndRunDeleteRules() {
        beginEvent()
        defer { endEvent() }
        forgetDestinations()
        mergeWaitingSaves()
        if propagatesDeletesAtEndOfEvent { runDeleteRules() }
        followCascadesInMemory()
        registerUndo()
    }

    func markDeleted(_ object: ManagedObject, callsHook: Bool = true) {
        object.fireFault()
        guard !object.isDeleted else { return }
        if callsHook { object.prepareForDeletion() }
        // The hooks may have deleted the object, or made the context forget it.
        guard object.managedObjectContext === self, !object.isDeleted else { return }
        // Listing the relationships loads them: only an undo or the record of the event needs them.
        if journal != nil || eventRecord != nil { object.willChange { .deleted($0.relations) } }
        countChange(of: object)
        noteDeleted(object)
        if object.isInserted { memory.inserted.remove(object) }
        if object.state.contains(.updated) { memory.updated.remove(object) }
        object.state.insert(.deleted)
        if journal?.isRecording != true {
            object.state.insert(.unrecordedDeletion)
        } else {
            object.state.remove(.unrecordedDeletion)
        }
        memory.deleted.insert(object)
        if unpropagated.isEmpty, propagatesDeletesAtEndOfEvent { noteBeginOfEvent() }
        unpropagated.append(object)
        if unpropagated.count > 2 * memory.deleted.count + 32 { dropTakenBackDeletions() }
    }

    /// Drops the objects whose deletion was taken back from those whose rules have not run, and repeated ones.
    ///
    /// An object that is deleted again is in the list twice, and its rules run once.
    ///
    /// - Complexity: O(1) for each deletion that was taken back, because at least half of the list goes.
    private func dropTakenBackDeletions() {
        var seen = Set<ManagedObject>()
        let former = unpropagated
        unpropagated = former.filter { $0.state.contains(.deleted) && seen.insert($0).inserted }
        withExtendedLifetime(former) {}
    }

    /// Makes a new object of a row that cascades have reached a deleted one, if they have; calls no hook.
    ///
    /// Its rules have run already, by ID.
    func beginDeleted(_ object: ManagedObject) {
        guard memory.reached.remove(object.storedID) else { return }
        countChange(of: object)
        object.state.formUnion([.deleted, .propagated, .unrecordedDeletion])
        memory.deleted.insert(object)
    }

    /// Runs the rules of every deleted object whose rules have not run, and of the objects that these rules delete.
    func runDeleteRules() {
        runRulesAgain()
        if !unpropagated.isEmpty { runWaitingRules() }
    }

    /// Runs the rules of deleted objects again that have adopted newer rows.
    ///
    /// Their effects are undone together with the deletion. In a save or a transaction, they are part of that, which
    /// may take all of them back.
    func runRulesAgain() {
        guard !outdated.isEmpty else { return }
        let (objects, waiting, isAgain) = (outdated, unpropagated, runsRulesAgain)
        outdated = []
        // Each merge since the last run may have noted an object.
        var seen = Set<ManagedObject>()
        for object in objects where object.state.contains(.deleted) && seen.insert(object).inserted {
            object.state.remove(.propagated)
            (unpropagated, runsRulesAgain) = ([object], true)
            if stage == nil, let journal {
                journal.reopenDeletion(of: object) { runWaitingRules() }
            } else {
                runWaitingRules()
            }
        }
        (unpropagated, runsRulesAgain) = (waiting, isAgain)
    }

    private func runWaitingRules() {
        var next = 0
        while next < unpropagated.count {
            assert(StepCount.note())
            let object = unpropagated[next]
            next += 1
            guard object.state.contains(.deleted), object.state.isDisjoint(with: .propagated) else { continue }
            object.state.insert(.propagated)
            memory.reached.noteRules()
            if object.state.contains(.unrecordedDeletion) {
                // An undo cannot restore the object, and so must not restore what leads to it.
                withoutSteps { runRules(of: object) }
            } else {
                runRules(of: object)
            }
            // A hook may have run the rules of all, and then have deleted others; the rules of an object run once.
            if next > unpropagated.count || unpropagated[next - 1] !== object { next = 0 }
        }
        // An object whose deletion was taken back may have no other owner: it is freed after the access to the list.
        let former = unpropagated
        unpropagated = []
        var (gone, unsaved): ([ManagedObject], [ManagedObject]) = ([], [])
        for object in former where object.state.contains(.deleted) {
            if object.state.contains(.gone) {
                gone.append(object)
            } else if object.isInserted {
                unsaved.append(object)
            }
        }
        runsRulesAgain = false
        // Another context has deleted these rows already, so this one need not.
        leaveGone(gone.filter { $0.state.contains(.deleted) })
        let unrecorded = unsaved.filter { $0.state.contains(.unrecordedDeletion) }
        if !unrecorded.isEmpty {
            withoutSteps { endUnsaved(unrecorded) }
            unsaved.removeAll { !$0.state.contains(.registered) }
        }
        endUnsaved(unsaved)
        withExtendedLifetime(former) {}
    }

    private func runRules(of object: ManagedObject) {
        let shape = object.shape
        for relationship in shape.entity.relationships {
            runRule(of: relationship, inverse: shape.inverses[relationship.slot], for: object)
        }
    }

    /// Removes deleted objects whose rows another context has deleted, without steps at the other ends.
    private func leaveGone(_ gone: [ManagedObject]) {
        guard !gone.isEmpty else { return }
        withoutSteps { for object in gone { leave(object) } }
        forgetPairs(with: Set(gone.map(\.storedID)))
    }

    /// Removes deleted objects that were never saved from the context.
    private func endUnsaved(_ unsaved: [ManagedObject]) {
        guard !unsaved.isEmpty else { return }
        applyUnreadInverses()
        let ended = Set(unsaved.map(\.storedID))
        let naming = objectsNaming(unsaved)
        for object in naming { object.willForget(ended) }
        for object in unsaved where object.state.contains(.registered) {
            childSave?.noteLoss(of: object)
            memory.deleted.remove(object)
            memory.registry.remove(object)
            object.leaveContext()
        }
        // No store has these objects, and none will, so changes must not refer to them.
        for object in naming where object.state.contains(.registered) {
            memory.unseen.add(object.storedID)
            object.replaceNewDestinations { ended.contains($0) ? nil : $0 }
            if object.changes != nil { object.changeable().forget(ended) }
        }
    }

    /// The changed objects whose relationships may refer to one of `objects`, and possibly some that do not.
    ///
    /// - Complexity: O(`objects` and their destinations); O(all changed objects) if a relationship without inverse
    ///   leads to their entities.
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
        // An object that was never saved has no row to refer to: every reference to it is removed.
        switch relationship.deleteRule {
        case .noAction where !object.isInserted, .deny where !object.isInserted:
            break
        case .cascade:
            memory.reached.noteSource(object.entity, in: model)
            let hasOthers = forEachDestination(of: relationship, of: object) { destination in
                if runsRulesAgain { adoptNewestRow(ifUnchanged: destination) }
                markDeleted(destination)
            }
            if hasOthers { memory.reached.noteStart(object, inverse: inverse) }
        case .nullify, .noAction, .deny:
            guard let inverse else { return }
            let hasOthers = forEachDestination(of: relationship, of: object) { destination in
                if destination.isDeleted { return }
                // A step of the undo has removed the reference already.
                if isUndoing, !destination.leads(to: object, across: inverse) { return }
                if runsRulesAgain {
                    adoptNewestRow(ifUnchanged: destination)
                    // Mostly the first run of the rule has removed the object.
                    if !destination.leads(to: object, across: inverse) { return }
                }
                object.settleMergedSets(with: destination, across: relationship, inverse)
                destination.removeRaw(object.storedID, from: inverse)
            }
            if hasOthers { memory.reached.noteEnd(inverse) }
        }
    }

    /// Calls `body` with the destinations in memory; returns whether there are others.
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
        var ids: [ObjectID] = []
        do throws(ContextError) {
            ids = try object.readDestinationIDs(of: relationship)
        } catch {
            // Nobody knows where the relationship leads: a fetch that has to know it reads again, and may fail.
            object.recordUnreadable(relationship.name, error)
            ids = object.changes?.values.toMany[relationship.slot]?.applied(to: []) ?? []
            hasOthers = true
        }
        for id in ids {
            if let destination = known(id, from: object, across: relationship) {
                body(destination)
            } else {
                hasOthers = true
            }
        }
        return hasOthers
    }

    /// The object with this ID if it is in memory, or if it is needed there: by a child or a parent, which are told of
    /// every change, by the rules of a new object, or by the undo of the deletion of `object`, because the rule deletes
    /// it too or removes `object` from its ordered relationship.
    private func known(
        _ id: ObjectID, from object: ManagedObject, across relationship: Relationship
    ) -> ManagedObject? {
        if let known = memory.registry[id] { return known }
        if parent != nil || childSource != nil { return self.object(for: id, from: object, across: relationship) }
        // No store has the object, and so none runs its rules.
        if object.isInserted, !id.isTemporary { return self.object(for: id, from: object, across: relationship) }
        guard let journal, journal.isRecording else { return nil }
        let isListed = object.isListed(across: relationship) && relationship.deleteRule == .nullify
        guard isListed || relationship.deleteRule == .cascade else { return nil }
        return self.object(for: id, from: object, across: relationship)
    }
}
