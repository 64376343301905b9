// Following cascades by ID, to the rows that a save will delete and that are not in memory (MC-14, MC-18).
//
// Delete rules run on objects in memory (Saving: +Delete), and a save leaves all other rows to the store. A fetch
// answers as if the save were done, and a relationship does not lead to what it deletes: when one of them asks, the
// cascades are followed here, as the store will follow them.
//
// Invariants
//   1. Lists are read, and the rows of entities with to-one cascades; no object is made. Those in memory that cascades
//      reach are deleted, with their hooks and rules.
//   2. The rules of objects that were deleted in the unfinished event do not run here.
//   3. No hook runs while IDs are followed: the objects are deleted afterwards, and their cascades are followed next.
// Not here: the rows that were found (ReachedRows), and how readers are spared them (PendingFetch, and Object:
// +ShownDestinations).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The number of rows whose lists are read together.
    private static let batchCount = 256

    /// The state of one walk along cascades.
    private struct CascadeWalk {
        /// Rows that were reached, and whose own cascades were not followed.
        var agenda: [ObjectID] = []
        /// The objects in memory that were reached.
        var objects: [ManagedObject] = []
        /// The entity of the last row that was reached, and whether cascades lead on from its rows.
        var last: (tag: UInt32, leadsOn: Bool)?
    }

    // MARK: Asking

    /// Follows the cascades of deleted objects if they may reach rows that a fetch finds or reads.
    ///
    /// - Parameter reach: the objects that the fetch reads besides those that it finds.
    func followCascades(for fetch: StoreFetch, _ reach: PredicateReach) throws(ContextError) {
        guard propagatesDeletesAtEndOfEvent || stage != nil else { return }
        let isConcerned =
            memory.reached.mayReach(fetch.family)
            || reach.ways.contains { way in
                guard let last = way.last else { return false }
                return memory.reached.mayReach(model.entities[model.entities[last.destination].root].family)
            }
        if isConcerned { try followCascades() }
    }

    /// Follows the cascades of deleted objects before the rows of a batch become objects, if they may reach such rows.
    ///
    /// Since the last batch a store may have discarded the generation in which they were followed.
    func followCascades(forBatchOf fetch: StoreFetch, _ terms: FetchTerms) throws(ContextError) {
        guard terms.includesPendingChanges, holdsChanges, memory.reached.isIncomplete else { return }
        try followCascades(for: fetch, reach(of: fetch, reading: []))
    }

    /// Follows the cascades of deleted objects before the application reads objects of an entity, if they may reach
    /// such objects.
    ///
    /// If a store cannot be read, the next fetch reports it.
    func followCascades(to entity: Entity) {
        guard memory.reached.isIncomplete, followsForReaders, memory.reached.mayReach(entity.family) else { return }
        try? followCascades()
    }

    /// Follows the cascades of deleted objects at the end of an event, if they may reach objects in memory, or if an
    /// observer has read relationships that may lead to what they reach.
    func followCascadesInMemory() {
        // Without deletions, which may have been taken back, no relationship hides anything.
        if memory.reached.isActive, memory.deleted.isEmpty { replaceReached(by: ReachedRows()) }
        guard memory.reached.isIncomplete, propagatesDeletesAtEndOfEvent else { return }
        if memory.hasObserved || hasReachableObjects { try? followCascades() }
    }

    /// Makes an object of each row that cascades reach; it is deleted from its beginning (MC-31).
    func makeReachedObjects() {
        if memory.reached.isIncomplete, followsForReaders { try? followCascades() }
        let ids = Array(memory.reached.rows)
        guard let first = ids.first else { return }
        memory.registry.reserveCapacity(ids.count)
        var maker = RowObjectMaker(self, cohort: ids.count > 1 ? Cohort(ids, cache: cache) : nil, first: first)
        for id in ids where memory.registry[id] == nil { _ = maker.makeFault(id) }
    }

    /// Whether a read of the application may follow cascades: no call is unfinished, or only a save that has not
    /// written, or the closure of a transaction.
    private var followsForReaders: Bool {
        guard let stage else { return eventDepth == 0 && propagatesDeletesAtEndOfEvent }
        return eventDepth == 1 && stage.hook.precedesWriting
    }

    /// Whether objects are in memory that cascades may reach.
    private var hasReachableObjects: Bool {
        madeShapes.contains { shape in
            let entity = [shape.entity.index]
            guard memory.reached.mayReach(entity) else { return false }
            // The context counts as an object of each shape.
            return shape.objectCount - 1 > memory.deleted.count(of: entity) + memory.inserted.count(of: entity)
        }
    }

    // MARK: Following

    /// Finds all rows that cascades of deleted objects reach, and deletes the objects in memory among what they reach.
    ///
    /// - Throws: `ContextError.store` if a store cannot be read; the next call begins anew.
    /// - Complexity: O(rows and objects that are reached now and were not before); after a move to another generation,
    ///   or after a deletion was taken back, O(all that cascades reach).
    private func followCascades() throws(ContextError) {
        guard memory.reached.isIncomplete, !followsCascades else { return }
        followsCascades = true
        let (waiting, runsAgain) = (unpropagated, runsRulesAgain)
        (unpropagated, runsRulesAgain) = ([], false)
        let rowCount = memory.reached.rows.count
        defer {
            followsCascades = false
            // A hook may have made the context forget its objects.
            unpropagated = waiting.filter { $0.managedObjectContext === self } + unpropagated
            if runsAgain { runsRulesAgain = true }
        }
        do throws(ContextError) {
            repeat {
                runDeleteRules()
                try followStarts()
            } while memory.reached.isIncomplete || !unpropagated.isEmpty
        } catch {
            memory.reached.forgetRows()
            throw error
        }
        if memory.reached.rows.count != rowCount { noteHiddenDestinations() }
    }

    /// Follows the cascades that were not followed yet, and deletes the objects in memory that they reach.
    ///
    /// - Throws: `ContextError.store` if a list or row cannot be read: nothing to read is something else.
    private func followStarts() throws(ContextError) {
        let (starts, hasOthers) = memory.reached.takeStarts()
        defer { withExtendedLifetime(starts) {} }
        var walk = CascadeWalk()
        for object in hasOthers ? Array(memory.deleted) : starts
        where object.state.isSuperset(of: [.deleted, .propagated]) && !object.isInserted {
            for relationship in object.entity.relationships where relationship.deleteRule == .cascade {
                for id in try object.readDestinationIDs(of: relationship) { reach(id, &walk) }
            }
        }
        while let last = walk.agenda.last {
            // The rows of one entity and one store are asked for together.
            var ids: [ObjectID] = []
            while ids.count < Self.batchCount, let id = walk.agenda.last, id.entityTag == last.entityTag,
                id.storeTag == last.storeTag
            {
                ids.append(id)
                walk.agenda.removeLast()
            }
            try followRows(ids, &walk)
        }
        // Only rules of deletions without steps have left rows to the store (Saving: +Delete).
        withoutSteps { for object in walk.objects { markDeleted(object) } }
    }

    /// Follows the cascades of rows that are all of one entity and one store.
    private func followRows(_ ids: [ObjectID], _ walk: inout CascadeWalk) throws(ContextError) {
        guard let first = ids.first else { return }
        let cascades = shapeOfRow(first).entity.relationships.filter { $0.deleteRule == .cascade }
        for relationship in cascades where relationship.isToMany {
            let lists = try read(holding: first, ids) { snapshot, ids throws(StoreError) in
                try snapshot.destinations(of: relationship, for: ids)
            }
            for list in lists { for id in list { reach(id, &walk) } }
        }
        let toOne = cascades.filter { !$0.isToMany }
        guard !toOne.isEmpty else { return }
        for case let row? in try storedRows(of: ids) {
            for relationship in toOne {
                if let id = row.destination(at: relationship.slot) { reach(id, &walk) }
            }
        }
    }

    private func reach(_ id: ObjectID, _ walk: inout CascadeWalk) {
        assert(StepCount.note())
        if let object = memory.registry[id] {
            if !object.isDeleted { walk.objects.append(object) }
            return
        }
        guard !id.isTemporary, memory.reached.insert(id) else { return }
        if walk.last?.tag != id.entityTag { walk.last = (id.entityTag, noteEnds(ofEntity: id.entityTag)) }
        if walk.last?.leadsOn == true { walk.agenda.append(id) }
    }

    /// Notes the relationships that lead to rows of an entity; returns whether cascades lead on from such rows.
    private func noteEnds(ofEntity tag: UInt32) -> Bool {
        guard let shape = shape(ofTag: tag).object else { return false }
        var leadsOn = false
        for relationship in shape.entity.relationships {
            guard relationship.deleteRule == .cascade || relationship.deleteRule == .nullify else { continue }
            if relationship.deleteRule == .cascade { leadsOn = true }
            if let inverse = shape.inverses[relationship.slot] { memory.reached.noteEnd(inverse) }
        }
        return leadsOn
    }

    // MARK: What readers are spared

    /// Whether the next save deletes the row with this ID, as far as cascades were followed.
    func willDelete(_ id: ObjectID) -> Bool {
        memory.registry.withObject(id, \.isDeleted) == true || memory.reached.contains(id)
    }

    /// Whether delete rules have taken what has this ID out of the relationships that they empty.
    func isTakenOut(_ id: ObjectID) -> Bool {
        memory.reached.contains(id)
            || memory.registry.withObject(id) { $0.state.isSuperset(of: [.deleted, .propagated]) } == true
    }

    /// Records for observers that relationships may show other destinations, although the objects have not changed.
    ///
    /// - Complexity: O(followed objects).
    func noteHiddenDestinations() {
        guard memory.hasObserved, memory.reached.isActive else { return }
        let reached = memory.reached
        observed?.noteChange(of: reached.hides)
    }
}
