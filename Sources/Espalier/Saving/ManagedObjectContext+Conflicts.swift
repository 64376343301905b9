// Conflicts: properties that both sides have changed, and their resolution by the merge policy.
//
// Invariants
//   1. Resolving changes only the context; the save then repeats all its checks.
//   2. If both sides have deleted an object there is no conflict, whatever the policy.
//   3. Under `storeTrump` and `rollback`, a deletion of an object with a changed row fails: its delete rules have
//      already run on other objects, and reverting half of their effects would break the graph.
//   4. Conflicts are resolved on the newest generation, to which the rows in conflict belong.
//   5. A newer value below a change is overwritten only if the policy says so, or if the application refreshed the
//      object after a save had told the conflict with its values (`reportedConflicts`).
// Not here: how objects adopt newer rows (+NewerRows).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Makes the next save check that an unchanged object still has its current row (MC-35), whatever is merged
    /// meanwhile.
    ///
    /// Another call after a merge makes the next save check the newer row, and so does a refresh that the application
    /// asks for, also as part of a fetch (`shouldRefreshRefetchedObjects`).
    ///
    /// - Throws: `ContextError.objectOfOtherContext`; `.objectNotFound` if its row is already deleted.
    public func detectConflicts(for object: ManagedObject) throws(ContextError) {
        guard object.managedObjectContext === self else { throw .objectOfOtherContext(object.storedID) }
        if object.isFault && !object.hasRow { try loadRow(of: object) }
        guard object.hasRow || object.isInserted else { throw .objectNotFound(object.storedID) }
        if let row = object.row { locked[object] = row.version }
    }

    /// Makes the locks of some objects hold for the rows that the context reads now, because the application has asked
    /// for these.
    ///
    /// The lock of a deleted row stays, and so does one whose row cannot be read: the next save reports it.
    func renewLocks(of objects: [ManagedObject]) {
        let held = objects.filter { $0.managedObjectContext === self && !$0.isInserted }
        guard let rows = try? storedRows(ofObjects: held) else {
            // One row that cannot be read must not leave the locks of the others old.
            if held.count > 1 { for object in held { renewLocks(of: [object]) } }
            return
        }
        for (object, stored) in rows {
            if let stored { locked[object] = stored.version }
        }
    }

    /// The error that `save` throws for an error of a store: conflicts get the values of both sides.
    func contextError(_ error: StoreError) -> ContextError {
        switch error {
        case .conflict(let conflicts): .conflicts(report(conflicts))
        case .constraint(let conflicts): .constraints(report(grouped(conflicts)))
        case .references, .brokenRules, .unsettledSave, .readOnly, .closed, .storage, .incompatibleModel, .modelChanged,
            .migrationRefused, .migrationCancelled, .commandCancelled, .fetchCancelled, .otherFormat, .damagedContent,
            .malformedFile, .invalidRequest, .invalidPredicate, .outside, .brokenContract, .unknownStoreType,
            .invalidOption:
            ContextError(error)
        }
    }

    /// The changed objects with a property that the store has also changed, in rows that they adopted below their
    /// changes.
    func mergeConflicts(among objects: [ManagedObject]) -> [VersionConflict] {
        guard hasBases else { return [] }
        return objects.compactMap { object in
            guard let bases = object.changes?.values.bases, let row = object.row, object.hasMergeConflict else {
                return nil
            }
            return VersionConflict(id: object.storedID, expectedVersion: bases.version, stored: row)
        }
    }

    /// Changes the objects in conflict as the merge policies say.
    ///
    /// - Throws: `ContextError.conflicts` with all conflicts if the rule is `error` or cannot resolve one;
    ///   `.refusedResolutions` for answers of a policy of the application's own that cannot be followed.
    func resolve(_ found: [VersionConflict]) throws(ContextError) {
        var answers = MergeAnswers()
        try checkResolvable(found, answers)
        let changedLists = listsToAskAbout(found)
        moveToNewestGeneration()
        let found = try onNewestRows(found)
        let insertedAgain = turnInsertionsIntoUpdates(found)
        try ask(found, changedLists, &answers)
        let lists = try knownLists(ofGone: found, answers)
        let conflicts = try withOtherEnds(found.map { NewerRow($0) }).map(\.conflict)
        try ask(Array(conflicts[found.count...]), [:], &answers)
        try checkResolvable(conflicts, answers)
        var left = Set<ObjectID>()
        for conflict in conflicts {
            cache.invalidate(conflict.id)
            guard let object = memory.registry[conflict.id] else { continue }
            if locked[object] != nil { locked[object] = conflict.stored?.version }
            if !object.hasChanges {
                adoptNewestRow(ofUnchanged: object)
                if conflict.stored == nil { object.state.insert(.inaccessible) }
            } else if conflict.stored == nil {
                let isLeaving = resolveGone(
                    object, rule(for: object, answers), lists: lists[object.storedID] ?? [:])
                if isLeaving { left.insert(conflict.id) }
            }
        }
        forgetPairs(with: left)
        let inConflict = Set(found.map(\.id))
        let changed = conflicts.filter { memory.registry[$0.id]?.hasChanges == true }
        rebase(changed.map { NewerRow($0) }) { id in
            guard let object = memory.registry[id] else { return .deciding(.storeTrump) }
            let rule = rule(for: object, answers)
            // A new object has no values that the store has not changed.
            if rule == .storeTrump, insertedAgain.contains(id) { return .deciding(.rollback) }
            return .deciding(inConflict.contains(id) ? rule : rule.byProperty)
        }
        runDeleteRules()
        try carryOut(answers)
        for conflict in conflicts { memory.registry[conflict.id]?.awaken(from: .mergePolicy) }
    }

    /// The conflicts with the newest rows: a row that a merge has read may be old again.
    private func onNewestRows(_ found: [VersionConflict]) throws(ContextError) -> [VersionConflict] {
        var rows: [ObjectID: ObjectSnapshot?] = [:]
        for (object, stored) in try storedRows(ofObjects: found.compactMap { memory.registry[$0.id] }) {
            rows[object.storedID] = .some(stored)
        }
        return found.compactMap { conflict in
            let stored = rows[conflict.id] ?? conflict.stored
            // A row that another context has inserted again may be deleted once more.
            if stored == nil, memory.registry[conflict.id]?.isInserted == true { return nil }
            return VersionConflict(id: conflict.id, expectedVersion: conflict.expectedVersion, stored: stored)
        }
    }

    /// Makes the objects that are inserted again, and whose rows another context has inserted again too, changed ones:
    /// all their values are changes of that row.
    ///
    /// - Returns: their IDs.
    private func turnInsertionsIntoUpdates(_ conflicts: [VersionConflict]) -> Set<ObjectID> {
        var turned = Set<ObjectID>()
        for conflict in conflicts {
            guard let row = conflict.stored, let object = memory.registry[conflict.id], object.isInserted,
                !object.isDeleted
            else { continue }
            applyUnreadInverses()
            cache.invalidate(conflict.id)
            object.becomeUpdate(of: row)
            memory.inserted.remove(object)
            memory.updated.insert(object)
            countChange(of: object)
            saveRun?.insertionsBecameUpdates = true
            turned.insert(conflict.id)
        }
        return turned
    }

    private func checkResolvable(_ conflicts: [VersionConflict], _ answers: MergeAnswers) throws(ContextError) {
        let isUnresolvable = conflicts.contains { conflict in
            guard let object = memory.registry[conflict.id] else { return true }
            let isDeletedHere = object.state.contains(.deleted)
            let rule = rule(for: object, answers)
            if conflict.stored == nil { return !isDeletedHere && rule == .error }
            switch rule {
            case .error: return true
            case .storeTrump, .rollback: return isDeletedHere
            case .objectTrump, .overwrite: return false
            }
        }
        guard !isUnresolvable else { throw .conflicts(report(conflicts)) }
    }

    /// Resolves a conflict in which another context or process has deleted the row.
    ///
    /// - Returns: whether the object leaves, because it is deleted here, too.
    private func resolveGone(
        _ object: ManagedObject, _ rule: MergePolicy.Rule, lists: [Int: [ObjectID]]
    ) -> Bool {
        if object.state.contains(.deleted) {
            leave(object)
            return true
        }
        switch rule {
        case .objectTrump where object.hasRow, .overwrite where object.hasRow:
            reinsert(object, rule, lists: lists)
        case .error, .storeTrump, .rollback, .objectTrump, .overwrite:
            // An object whose row was never read cannot be inserted again either.
            object.undoToManyChanges(isGone: true)
            object.forgetDestinations()
            memory.updated.remove(object)
            object.changes = nil
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
        }
        return false
    }

    /// The to-many destinations, by slot, of objects to be inserted again: those in memory that are still stored or
    /// new.
    ///
    /// A relationship that both ends list is deleted with the row and restored with it.
    private func knownLists(
        ofGone conflicts: [VersionConflict], _ answers: MergeAnswers
    ) throws(ContextError) -> [ObjectID: [Int: [ObjectID]]] {
        var known: [ObjectID: [Int: [ObjectID]]] = [:]
        for conflict in conflicts where conflict.stored == nil {
            guard let object = memory.registry[conflict.id], !object.isDeleted,
                [.objectTrump, .overwrite].contains(rule(for: object, answers))
            else { continue }
            for relationship in object.entity.relationships where relationship.isToMany {
                let (slot, change) = (relationship.slot, object.changes?.values.toMany[relationship.slot])
                guard change != nil || cache.list(of: conflict.id, at: slot) != nil else { continue }
                let list = object.destinationIDs(at: slot)
                let stored = list.filter(isNotNew)
                let rows = try storedRows(of: stored)
                let gone = Set(zip(stored, rows).lazy.filter { $1 == nil }.map(\.0))
                known[conflict.id, default: [:]][slot] = list.filter {
                    !gone.contains($0) && memory.registry[$0]?.isDeleted != true
                }
            }
        }
        return known
    }

    /// Inserts an object again under its own ID, with all its values in this context (MP-11).
    ///
    /// To-one relationships of other objects to this one were cleared with the row: they are values of those objects.
    private func reinsert(_ object: ManagedObject, _ rule: MergePolicy.Rule, lists: [Int: [ObjectID]]) {
        object.newValues = RowValues(
            object.entity.attributes.map { object.attributeValue(at: $0.slot) },
            object.entity.relationships.map { $0.isToMany ? nil : freeDestination(of: object, rule, across: $0) })
        if object.changes != nil { object.changeable().keepOnlyToMany() }
        object.row = nil
        object.state.subtract([.updated, .gone])
        object.state.formUnion([.inserted, .fulfilled])
        memory.updated.remove(object)
        memory.inserted.insert(object)
        for relationship in object.entity.relationships {
            guard !relationship.isToMany else {
                object.relateManyAgain(across: relationship, lists[relationship.slot] ?? [])
                continue
            }
            guard let id = object.destinationID(at: relationship.slot),
                object.withShape({ $0.inverses[relationship.slot]?.isToMany }) == false
            else { continue }
            object.relateOtherEnd(id, across: relationship, isRelated: true, isStored: false)
        }
    }

    /// The to-one destination of an object to be inserted again.
    ///
    /// A destination whose own to-one relationship now refers to another object stays with that object, unless this
    /// context set the relationship or the rule is `overwrite`.
    private func freeDestination(
        of object: ManagedObject, _ rule: MergePolicy.Rule, across relationship: Relationship
    ) -> ObjectID? {
        let slot = relationship.slot
        guard let id = object.destinationID(at: slot) else { return nil }
        guard rule != .overwrite, object.unsavedDestinationID(at: slot) == nil,
            let inverse = object.withShape({ $0.inverses[slot] }), !inverse.isToMany
        else { return id }
        let other = self.object(for: id, from: object, across: relationship)
        adoptNewestRow(ifUnchanged: other)
        let former = other.destinationID(at: inverse.slot)
        return former == nil || former == object.storedID ? id : nil
    }

    /// A conflict with the values of both sides.
    ///
    /// - Parameter destinations: the to-many relationships to describe.
    func described(
        _ conflict: VersionConflict, _ destinations: [(slot: Int, destinations: MergeConflict.Destinations)]
    ) -> MergeConflict {
        guard let object = memory.registry[conflict.id] else {
            return MergeConflict(
                object: conflict.id, isDeletedHere: false, oldVersion: conflict.expectedVersion,
                newVersion: conflict.stored?.version, properties: [])
        }
        // A row that is inserted again has no values from which both sides started.
        let hasBase = object.hasRow && conflict.expectedVersion > 0
        var properties: [MergeConflict.Property] = []
        for attribute in object.entity.attributes where !attribute.isTransient {
            let mine = object.attributeValue(at: attribute.slot)
            let stored = conflict.stored?.value(at: attribute.slot)
            if let stored, stored == mine { continue }
            properties.append(
                .init(
                    name: attribute.name, base: hasBase ? object.base(ofAttribute: attribute.slot) : nil, mine: mine,
                    stored: stored))
        }
        func value(_ id: ObjectID?) -> AttributeValue { id.map { .objectID($0) } ?? .null }
        for relationship in object.entity.relationships where !relationship.isToMany {
            let mine = value(object.destinationID(at: relationship.slot))
            let stored = conflict.stored.map { value($0.destination(at: relationship.slot)) }
            if let stored, stored == mine { continue }
            properties.append(
                .init(
                    name: relationship.name,
                    base: hasBase ? value(object.base(ofDestination: relationship.slot)) : nil, mine: mine,
                    stored: stored))
        }
        for (slot, lists) in destinations {
            properties.append(.init(name: object.entity.relationships[slot].name, lists))
        }
        return MergeConflict(
            object: conflict.id, isDeletedHere: object.state.contains(.deleted),
            oldVersion: conflict.expectedVersion, newVersion: conflict.stored?.version,
            properties: conflict.stored == nil ? [] : properties)
    }
}

extension ManagedObject {
    /// Makes a new object a changed one of a row that exists: every value is a change.
    fileprivate func becomeUpdate(of stored: ObjectSnapshot) {
        let attributes = entity.attributes.map { attributeValue(at: $0.slot) }
        let destinations = entity.relationships.map { $0.isToMany ? nil : destinationID(at: $0.slot) }
        newValues = nil
        state.subtract([.inserted, .gone, .inaccessible])
        state.formUnion([.updated, .fulfilled])
        row = stored
        let changes = changeable()
        for (slot, value) in attributes.enumerated() { changes.values.attributes.set(value, at: slot) }
        for relationship in entity.relationships where !relationship.isToMany {
            changes.values.destinations.set(destinations[relationship.slot], at: relationship.slot)
        }
    }
}
