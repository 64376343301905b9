// Joins unsaved changes to a fetch, so that its result is the result after a save (F-3, MC-18, MC-19).
//
// Invariants
//   1. Offset and limit are applied once, after stored rows and unsaved objects are in one order.
//   2. The store does the search. The fetch removes the changed objects, the rows that cascades reach and the leading
//      rows from its answer; it tests changed objects and leading rows in memory. A fetch with a limit asks for more
//      rows, in steps, until enough remain: at most for one more row for each that may be removed.
//   3. The result for an unchanged stored row differs from the store's only if the predicate or a sort key leads from
//      it, across stored relationships, to a changed or deleted object, or to a row that a cascade reaches: such rows,
//      the leading ones, are tested in memory too. New objects can be reached only from changed ones.
//   4. Among objects that are equal in all sort keys, stored ones are first, by key, then new ones, by insertion: the
//      order after saving.
//   5. Results of several stores are joined in the same way, also without unsaved changes. If these are to be left out,
//      changed and deleted objects are results as their rows are, in the order of the stored values (StoredSubject).
//   6. The place of an unchanged object is that of its row, although the object may have older values.
//   7. What unsaved changes affect is found in the generation that answers the fetch: if a store discards it meanwhile,
//      both are done again (`hasLostGeneration`). Only a walk in batches, which has given objects away, goes on.
// Not here: which unsaved objects are tested (PendingValues), and which rows lead to changed ones (+LeadingRows).

import EspalierModel
import EspalierStore

/// The unsaved changes that affect a fetch.
struct PendingChanges {
    /// The new and changed objects of the fetched entity that may match.
    var tested: [ManagedObject] = []
    /// The number of changed and deleted objects of the fetched entity, and of its rows that cascades reach: the store
    /// may find them.
    var changedCount = 0
    /// The rows of unchanged objects from which the predicate or order leads to changed or deleted ones.
    var leadingRows: [ObjectID] = []
    /// The most rows that the store may find and that must not count, because their objects are tested in memory.
    var hiddenCountMax: Int { changedCount + leadingRows.count }
}

extension ManagedObjectContext {
    /// Up to this number, listing changed objects costs less than a search, which may read many rows to find few.
    private static let listedCountMax = 1000

    /// The unsaved changes that affect a fetch, found in one generation; `nil` if there are none and the store's answer
    /// is the result.
    ///
    /// - Parameter expressions: what is read of the objects besides the terms of the fetch.
    /// - Complexity: O(unsaved objects that may match); if the predicate or order reads other objects, also that of
    ///   `leadingRows`. The first time after a deletion also O(rows that its cascades reach), if one of these rows may
    ///   be found or read.
    func pendingChanges(
        for fetch: StoreFetch, reading expressions: [ResolvedExpression] = [], _ includesPendingChanges: Bool
    ) throws(ContextError) -> PendingChanges? {
        while includesPendingChanges, holdsChanges {
            let lossCount = generation.lossCount
            let changes = try unsavedChanges(affecting: fetch, reading: expressions)
            // A search for leading rows may lose the generation in which cascades were followed.
            if generation.lossCount == lossCount { return changes }
        }
        return nil
    }

    private func unsavedChanges(
        affecting fetch: StoreFetch, reading expressions: [ResolvedExpression]
    ) throws(ContextError) -> PendingChanges? {
        if memory.reached.isIncomplete { try followCascades(for: fetch, reach(of: fetch, reading: expressions)) }
        let family = fetch.family
        var changes = PendingChanges()
        let count = memory.inserted.count(of: family) + memory.updated.count(of: family)
        if count > 0 { changes.tested = try pendingCandidates(for: fetch) }
        if fetch.storeTags != nil { changes.tested.removeAll { !isAsked(fetch, $0) } }
        changes.changedCount = memory.updated.count(of: family) + memory.deleted.count(of: family)
        changes.changedCount += reachedRows(in: family).count
        changes.leadingRows = try leadingRows(of: fetch, reading: expressions)
        let concerns = count > 0 || changes.changedCount > 0 || !changes.leadingRows.isEmpty
        return concerns ? changes : nil
    }

    /// Calls `body` with the unsaved changes that affect a fetch, and again if a store has discarded the generation in
    /// which they were found: cascades and references lead to other rows in a newer one.
    ///
    /// Each repetition needs another loss: it takes a log that has reached its cap since.
    ///
    /// - Parameter expressions: what is read of the objects besides the terms of the fetch.
    func answer<Answer>(
        _ fetch: StoreFetch, reading expressions: [ResolvedExpression] = [], _ includesPendingChanges: Bool,
        _ body: (PendingChanges?) throws(ContextError) -> Answer
    ) throws(ContextError) -> Answer {
        while true {
            let pending = try pendingChanges(for: fetch, reading: expressions, includesPendingChanges)
            let lossCount = generation.lossCount
            let answer = try body(pending)
            guard hasLostGeneration(since: lossCount, includesPendingChanges) else { return answer }
        }
    }

    /// Whether a store has discarded the generation in which the unsaved changes that affect a fetch were found.
    func hasLostGeneration(since lossCount: Int, _ includesPendingChanges: Bool) -> Bool {
        includesPendingChanges && holdsChanges && generation.lossCount != lossCount
    }

    /// The objects that the predicate and the order of a fetch, and some expressions, read besides those that it finds.
    func reach(of fetch: StoreFetch, reading expressions: [ResolvedExpression]) -> PredicateReach {
        var reach = PredicateReach(from: fetch.entity, in: model)
        reach.add(expressions)
        if let predicate = fetch.predicate { reach.add(predicate) }
        for key in fetch.sort { reach.add(key) }
        return reach
    }

    /// Whether a fetch asks the store of an object, or the store to which a new one will go.
    private func isAsked(_ fetch: StoreFetch, _ object: ManagedObject) -> Bool {
        if !object.storedID.isTemporary { return fetch.asks(storeTag: object.storedID.storeTag) }
        // The root saves it, whichever context has made it: the part that a parent is has no tag.
        let coordinator = persistentStoreCoordinator
        return fetch.asks(storeTag: (try? coordinator.partForNewObjects(of: object.entity))?.storeTag)
    }

    /// The stored rows of these entities whose objects have unsaved changes or are deleted, and those that cascades
    /// reach.
    ///
    /// - Complexity: O(such objects and rows).
    func changedRows(in family: [ManagedObjectModel.EntityIndex]) -> [ObjectID] {
        memory.updated.objects(of: family).filter { !$0.isInserted }.map(\.storedID) + deletedRows(in: family)
    }

    /// The stored rows of these entities whose objects are deleted, and those that cascades reach.
    func deletedRows(in family: [ManagedObjectModel.EntityIndex]) -> [ObjectID] {
        memory.deleted.objects(of: family).filter { !$0.isInserted }.map(\.storedID) + reachedRows(in: family)
    }

    /// The rows of these entities that cascades reach.
    func reachedRows(in family: [ManagedObjectModel.EntityIndex]) -> RowSet {
        guard memory.reached.hasRows else { return RowSet() }
        return memory.reached.rows.rows(ofEntities: Set(family.map { model.entities[$0].tag }))
    }

    /// Whether the object of a row is tested in memory, because it has unsaved changes or is deleted, or whether a
    /// cascade reaches the row.
    func isTestedHere(_ id: ObjectID) -> Bool {
        memory.registry.withObject(id, \.hasChanges) == true || memory.reached.contains(id)
    }

    /// The number of matching stored and unsaved objects; `nil` if not exactly one store may hold them.
    ///
    /// - Complexity: that of the store's count and O(unsaved objects that may match); also O(c log c) for c changed
    ///   objects of the entity, unless c is above 1,000, fewer rows match, an index leads to them, and there is no
    ///   parent.
    func joinedCount(_ fetch: StoreFetch, _ pending: PendingChanges) throws(ContextError) -> Int? {
        guard let position = generation.onlyPosition(for: fetch) else { return nil }
        var all = fetch
        (all.offset, all.limit) = (0, nil)
        var count = try read(position, all) { snapshot, all throws(StoreError) -> Int in
            if let rows = try fewHiddenRows(of: all, pending, in: snapshot) {
                return rows.foundCount - rows.hidden.count
            }
            let foundCount = try snapshot.count(all)
            guard let hidden = hiddenRows(of: all, pending) else { return foundCount }
            return foundCount - (try snapshot.count(hidden))
        }
        count += try matching(fetch, pending).count
        return min(max(0, count - fetch.offset), fetch.limit ?? .max)
    }

    /// The number of rows that a store finds, and those of them that are tested in memory; `nil` if listing the changed
    /// objects costs less, the store reads all rows to find some, or finds more rows than can be tested in memory.
    ///
    /// Listing what is found costs less than listing what has changed if few of many changed objects are asked for. A
    /// child does not search: it would find the objects that its parent has changed, too, and join them for this.
    ///
    /// - Complexity: O(rows that match, but at most changed objects and leading rows).
    private func fewHiddenRows(
        of fetch: StoreFetch, _ pending: PendingChanges, in snapshot: any StoreSnapshot
    ) throws(StoreError) -> (foundCount: Int, hidden: [ObjectID])? {
        let hiddenCountMax = pending.hiddenCountMax
        guard hiddenCountMax > Self.listedCountMax, fetch.limit == nil, parent == nil,
            let predicate = fetch.predicate, predicate.asksIndexedValues(of: fetch.entity)
        else { return nil }
        assert(fetch.offset == 0, "the offset \(fetch.offset) skips rows before the changes are joined")
        var few = fetch
        (few.sort, few.limit) = ([], hiddenCountMax + 1)
        let ids = try snapshot.fetchIDs(few)
        assert(StepCount.note(ids.count))
        guard ids.count <= hiddenCountMax else { return nil }
        let leading = Set(pending.leadingRows)
        return (ids.count, ids.filter { isTestedHere($0) || leading.contains($0) })
    }

    /// The rows that a store may find although their objects are tested in memory.
    ///
    /// - Complexity: O(changed objects and leading rows).
    func rowsTestedHere(_ fetch: StoreFetch, _ pending: PendingChanges) -> [ObjectID] {
        (pending.changedCount > 0 ? changedRows(in: fetch.family) : []) + pending.leadingRows
    }

    /// The rows of a fetch for values that the store must leave out, because they are read from memory.
    ///
    /// - Complexity: O(changed objects and leading rows); if these are more than 1,000, O(rows that match) if an index
    ///   leads to fewer.
    func rowsToLeaveOut(
        of fetch: StoreFetch, _ pending: PendingChanges, in snapshot: any StoreSnapshot
    ) throws(StoreError) -> [ObjectID] {
        try fewHiddenRows(of: fetch, pending, in: snapshot)?.hidden ?? rowsTestedHere(fetch, pending)
    }

    /// The question for those rows of a fetch that a store finds although they are tested in memory; `nil` if none is.
    func hiddenRows(of fetch: StoreFetch, _ pending: PendingChanges) -> StoreFetch? {
        let rows = rowsTestedHere(fetch, pending)
        guard !rows.isEmpty else { return nil }
        var hidden = fetch
        hidden.predicate =
            fetch.predicate?.holding(forOneOf: rows) ?? ResolvedPredicate(oneOf: rows, of: fetch.entity)
        return hidden
    }

    /// The matching ones of the objects that have to be tested in memory.
    func matching(
        _ fetch: StoreFetch, _ pending: PendingChanges
    ) throws(ContextError) -> [ManagedObject] {
        var objects = pending.tested.filter { !$0.isDeleted }
        for id in pending.leadingRows { objects.append(try object(with: id)) }
        return try objects.filtered(by: fetch.predicate)
    }

    /// The matching stored and unsaved objects, in one order.
    ///
    /// - Parameters:
    ///   - pending: the unsaved changes that affect the fetch; `nil` = the rows of the stores are the result.
    ///   - rows: the rows of the fetch, widened by `pending.hiddenCountMax`; `nil` = they are read.
    func joined(
        _ fetch: StoreFetch, _ pending: PendingChanges?, rows: [SnapshotList]? = nil
    ) throws(ContextError) -> [ManagedObject] {
        guard let pending else { return try joinedAnswers(fetch, rows) }
        let leading = Set(pending.leadingRows)
        let lists: [SnapshotList]
        if let rows { lists = rows } else { lists = try storedRows(fetch, pending, leading) }
        let found = lists.map { materialized($0, leavesOutReached: true) }
        var sorted: [SortedObject] = []
        for (rows, objects) in zip(lists, found) {
            let unchanged = objects.filter { object in
                !object.hasChanges && (leading.isEmpty || !leading.contains(object.storedID))
            }
            assert(StepCount.note(unchanged.count))
            sorted += try SortedObject.asStored(unchanged, of: rows, fetch.sort, readsDestinations: false, in: self)
        }
        for object in try matching(fetch, pending) { sorted.append(try SortedObject(object, fetch.sort)) }
        return inOrder(sorted, of: fetch)
    }

    /// The objects of the rows of several stores, in one order.
    private func joinedAnswers(
        _ fetch: StoreFetch, _ rows: [SnapshotList]?
    ) throws(ContextError) -> [ManagedObject] {
        let lists: [SnapshotList]
        if let rows { lists = rows } else { lists = try storedRows(fetch.widened(by: 0)) }
        var sorted: [SortedObject] = []
        for rows in lists {
            sorted += try SortedObject.asStored(
                materialized(rows), of: rows, fetch.sort, readsDestinations: holdsChanges, in: self)
        }
        return inOrder(sorted, of: fetch)
    }

    /// Objects in the order of a fetch, within offset and limit.
    private func inOrder(_ objects: [SortedObject], of fetch: StoreFetch) -> [ManagedObject] {
        let sorted = objects.sorted { $0.precedes($1, fetch.sort) }
        return sorted.dropFirst(fetch.offset).prefix(fetch.limit ?? .max).map(\.object)
    }

    /// The rows of each store that are enough to be joined with unsaved changes.
    ///
    /// The first rows are often those of unchanged objects, so a fetch with a limit asks for few rows first. Without an
    /// order, a later step reads 16 times as many more; with an order, which may cost a sort, the second step is the
    /// last.
    private func storedRows(
        _ fetch: StoreFetch, _ pending: PendingChanges, _ leading: Set<ObjectID>
    ) throws(ContextError) -> [SnapshotList] {
        let hiddenCountMax = pending.hiddenCountMax
        guard let wanted = fetch.limit(widenedBy: 0), wanted < hiddenCountMax else {
            return try storedRows(fetch.widened(by: hiddenCountMax))
        }
        var lists: [SnapshotList] = []
        for position in try positions(for: fetch) {
            var more = min(wanted / 4 + 16, hiddenCountMax)
            while true {
                let question = fetch.widened(by: more)
                let rows = try read(position, question) { snapshot, question throws(StoreError) in
                    try snapshot.fetch(question)
                }
                let isAll = more == hiddenCountMax || rows.count < wanted + more
                if isAll || rows.ids.count(where: { !isTestedHere($0) && !leading.contains($0) }) >= wanted {
                    lists.append(rows)
                    break
                }
                more = fetch.sort.isEmpty && more < hiddenCountMax / 16 ? 16 * more : hiddenCountMax
            }
        }
        return lists
    }
}

extension StoreFetch {
    /// The entities whose rows are wanted.
    var family: [ManagedObjectModel.EntityIndex] {
        includesSubentities ? entity.family : [entity.index]
    }

    /// The fetch for `count` more rows than offset and limit say, of which those before the offset are not skipped.
    func widened(by count: Int) -> StoreFetch {
        var wider = self
        wider.offset = 0
        wider.limit = limit(widenedBy: count)
        return wider
    }

    /// The number of rows that the store must return before offset and limit are applied, plus `count`; `nil` = all.
    fileprivate func limit(widenedBy count: Int) -> Int? {
        guard let limit else { return nil }
        let (sum, overflows) = limit.addingReportingOverflow(offset)
        let (wider, overflowsAgain) = sum.addingReportingOverflow(count)
        return overflows || overflowsAgain ? nil : wider
    }
}

extension [ManagedObject] {
    fileprivate func filtered(by predicate: ResolvedPredicate?) throws(ContextError) -> [ManagedObject] {
        guard let predicate else { return self }
        var result: [ManagedObject] = []
        for object in self where try predicate.evaluate(on: GraphSubject(object: object)) { result.append(object) }
        return result
    }
}

/// An object with its unsaved values, for predicates and sort keys; reading it does not fire its fault, unless it reads
/// a transient attribute.
struct GraphSubject: PredicateSubject {
    let object: ManagedObject

    var objectID: ObjectID { object.storedID }
    var entity: Entity { object.entity }

    func value(at slot: Int) throws(ContextError) -> AttributeValue {
        if let derivation = object.derivationInMemory(at: slot), let value = try derivation.value(on: self) {
            return value
        }
        if let value = object.unsavedAttribute(at: slot) { return value }
        let row = try loadedRow()
        // No row has the value, but a hook that runs when the fault fires may set it.
        if object.isTransient(slot) { return object.attributeValue(at: slot) }
        return row?.value(at: slot) ?? .null
    }

    fileprivate func keptValue(of property: Entity.Property) throws(ContextError) -> AttributeValue {
        switch property {
        case .attribute(let slot): return try value(at: slot)
        case .relationship(let slot):
            if let unsaved = object.unsavedDestinationID(at: slot) {
                return unsaved.map(AttributeValue.objectID) ?? .null
            }
            return try loadedRow()?.destination(at: slot).map(AttributeValue.objectID) ?? .null
        }
    }

    func destinationID(at slot: Int) throws(ContextError) -> ObjectID? {
        let found: ObjectID?
        if let unsaved = object.unsavedDestinationID(at: slot) {
            found = unsaved
        } else {
            found = try loadedRow()?.destination(at: slot)
        }
        // A save removes the reference to a deleted object.
        guard let id = found, deletingContext(at: slot)?.willDelete(id) != true else { return nil }
        return id
    }

    /// The context, if it deletes objects or rows to which a relationship may lead.
    private func deletingContext(at slot: Int) -> ManagedObjectContext? {
        guard let context = object.managedObjectContext, !context.memory.deleted.isEmpty else { return nil }
        let destination = context.model.entities[object.entity.relationships[slot].destination]
        if context.memory.reached.isIncomplete { context.followCascades(to: destination) }
        let family = destination.family
        return context.memory.deleted.count(of: family) > 0 || context.memory.reached.mayReach(family) ? context : nil
    }

    func destination(at slot: Int) throws(ContextError) -> GraphSubject? {
        guard let id = try destinationID(at: slot), let context = object.managedObjectContext else { return nil }
        let destination = context.object(for: id, from: object, across: entity.relationships[slot])
        // A reference to a deleted object counts as no reference.
        if destination.isFault && !destination.hasRow { try context.loadRow(of: destination) }
        let isGone = destination.isDeleted || (!destination.hasRow && !destination.isInserted)
        return isGone ? nil : GraphSubject(object: destination)
    }

    func destinationIDs(at slot: Int) throws(ContextError) -> [ObjectID] {
        let context = deletingContext(at: slot)
        let ids = object.destinationIDs(at: slot)
        // A save removes deleted objects from lists, too.
        return context.map { context in ids.filter { !context.willDelete($0) } } ?? ids
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(ContextError) { throw .invalidPredicate(error) }

    func destinations(at slot: Int) throws(ContextError) -> [GraphSubject] {
        object.destinations(at: slot).filter { !$0.isDeleted }.map(GraphSubject.init)
    }

    private func loadedRow() throws(ContextError) -> ObjectSnapshot? {
        if let row = object.row { return row }
        guard object.isFault, let context = object.managedObjectContext else { return nil }
        try context.loadRow(of: object)
        return object.row
    }
}

extension ManagedObject {
    /// Whether no store has values of an attribute.
    fileprivate func isTransient(_ slot: Int) -> Bool {
        withShape { $0.hasTransientAttributes && $0.entity.attributes[slot].isTransient }
    }

    /// The value of an attribute, or the destination of a to-one relationship even if it is deleted: the unsaved one if
    /// there is one; this does not fire the fault.
    func keptValue(of property: Entity.Property) throws(ContextError) -> AttributeValue {
        try GraphSubject(object: self).keptValue(of: property)
    }
}
