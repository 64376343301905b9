// Joins unsaved changes to a fetch, so that its result is the result after a save (F-3, MC-18, MC-19).
//
// Invariants
//   1. Offset and limit are applied once, after stored rows and unsaved objects are in one order.
//   2. The store does the search. The fetch asks it for one more row per changed object and per leading row, removes
//      the changed objects from its answer and tests them in memory.
//   3. The result for an unchanged stored row differs from the store's only if the predicate or a sort key leads from
//      it, across stored relationships, to a changed or deleted object: such rows are tested in memory too. New objects
//      can be reached only from changed ones.
//   4. Among objects that are equal in all sort keys, stored ones are first, by key, then new ones, by insertion: the
//      order after saving.
//   5. Results of several stores are joined in the same way, also without unsaved changes.
// Not here: which unsaved objects are tested (PendingValues).

import EspalierModel
import EspalierStore

/// The unsaved changes that affect a fetch.
struct PendingChanges {
    /// The new and changed objects of the fetched entity that may match.
    var tested: [ManagedObject] = []
    /// The number of changed and deleted objects of the fetched entity, which the store may find.
    var changedCount = 0
    /// The rows of unchanged objects from which the predicate or order leads to changed or deleted ones.
    var leadingRows: [ObjectID] = []
}

extension ManagedObjectContext {
    /// The unsaved changes that affect a fetch; `nil` if there are none and the store's answer is the result.
    ///
    /// - Parameter expressions: what is read of the objects besides the terms of the fetch.
    /// - Complexity: O(unsaved objects that may match, and rows that lead to changed ones).
    func pendingChanges(
        for fetch: StoreFetch, reading expressions: [ResolvedExpression] = [], _ includesPendingChanges: Bool
    ) throws(ContextError) -> PendingChanges? {
        guard includesPendingChanges, holdsChanges else { return nil }
        let family = fetch.family
        var changes = PendingChanges()
        let count = memory.inserted.count(of: family) + memory.updated.count(of: family)
        if count > 0 { changes.tested = try pendingCandidates(for: fetch, Set(family)) }
        if fetch.storeTags != nil { changes.tested.removeAll { !isAsked(fetch, $0) } }
        changes.changedCount = memory.updated.count(of: family) + memory.deleted.count(of: family)
        changes.leadingRows = try leadingRows(of: fetch, reading: expressions)
        let concerns = count > 0 || changes.changedCount > 0 || !changes.leadingRows.isEmpty
        return concerns ? changes : nil
    }

    /// The rows of unchanged objects from which the predicate or order of a fetch leads to changed or deleted objects.
    private func leadingRows(
        of fetch: StoreFetch, reading expressions: [ResolvedExpression]
    ) throws(ContextError) -> [ObjectID] {
        guard !(memory.updated.isEmpty && memory.deleted.isEmpty) else { return [] }
        var reach = PredicateReach(from: fetch.entity, in: model)
        reach.add(expressions)
        if let predicate = fetch.predicate { reach.add(predicate) }
        for key in fetch.sort { reach.add(key) }
        var ways: [(steps: [ResolvedKeyPath.Step], ids: [ObjectID])] = []
        var changedByRoot: [Int: [ObjectID]] = [:]
        for steps in reach.ways {
            guard let last = steps.last else { continue }
            let root = model.entities[last.destination].root
            if changedByRoot[root] == nil { changedByRoot[root] = changedRows(in: model.entities[root].family) }
            ways.append((steps, changedByRoot[root] ?? []))
        }
        guard let predicate = ResolvedPredicate(ways, from: fetch.entity) else { return [] }
        let leading = StoreFetch(
            entity: fetch.entity, includesSubentities: fetch.includesSubentities, predicate: predicate)
        var ids: [ObjectID] = []
        for position in generation.positions(for: fetch) {
            ids += try read(position, leading) { snapshot, leading throws(StoreError) in
                try snapshot.fetchIDs(leading)
            }
        }
        return ids.filter { memory.registry.withObject($0, \.hasChanges) != true }
    }

    /// Whether a fetch asks the store of an object, or the store to which a new one will go.
    private func isAsked(_ fetch: StoreFetch, _ object: ManagedObject) -> Bool {
        if !object.storedID.isTemporary { return fetch.asks(storeTag: object.storedID.storeTag) }
        return fetch.asks(storeTag: (try? source.partForNewObjects(of: object.entity))?.storeTag)
    }

    /// The stored rows of these entities whose objects have unsaved changes or are deleted.
    func changedRows(in family: [Int]) -> [ObjectID] {
        var ids: [ObjectID] = []
        for changed in [memory.updated, memory.deleted] where changed.count(of: family) > 0 {
            for object in changed where !object.isInserted && family.contains(object.entity.index) {
                ids.append(object.storedID)
            }
        }
        return ids
    }

    /// The number of matching stored and unsaved objects; `nil` if not exactly one store may hold them.
    ///
    /// - Complexity: that of the store's counts, and O(unsaved objects that may match).
    func joinedCount(_ fetch: StoreFetch, _ pending: PendingChanges) throws(ContextError) -> Int? {
        guard let position = generation.onlyPosition(for: fetch) else { return nil }
        var all = fetch
        (all.offset, all.limit) = (0, nil)
        var count = try read(position, all) { snapshot, all throws(StoreError) in try snapshot.count(all) }
        if let hidden = hiddenRows(of: all, pending) {
            count -= try read(position, hidden) { snapshot, hidden throws(StoreError) in try snapshot.count(hidden) }
        }
        count += try matching(fetch, pending).count
        return min(max(0, count - fetch.offset), fetch.limit ?? .max)
    }

    /// The question for those rows of a fetch that a store finds although they are tested in memory; `nil` if none is.
    func hiddenRows(of fetch: StoreFetch, _ pending: PendingChanges) -> StoreFetch? {
        let rows = (pending.changedCount > 0 ? changedRows(in: fetch.family) : []) + pending.leadingRows
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
    /// - Parameter rows: the rows of `fetch.widened(by: pending)`; `nil` = they are read.
    func joined(
        _ fetch: StoreFetch, _ pending: PendingChanges, rows: [SnapshotList]? = nil
    ) throws(ContextError) -> [ManagedObject] {
        var candidates: [ManagedObject] = []
        let lists: [SnapshotList]
        if let rows { lists = rows } else { lists = try storedRows(fetch.widened(by: pending)) }
        for rows in lists { candidates += materialized(rows) }
        let leading = Set(pending.leadingRows)
        candidates.removeAll { $0.hasChanges || (!leading.isEmpty && leading.contains($0.storedID)) }
        assert(StepCount.note(candidates.count))
        let matching = candidates + (try matching(fetch, pending))
        return Array(try inOrder(matching, fetch.sort).dropFirst(fetch.offset).prefix(fetch.limit ?? .max))
    }

    private func inOrder(
        _ objects: [ManagedObject], _ keys: [ResolvedSortKey]
    ) throws(ContextError) -> [ManagedObject] {
        try SortedObject.inOrder(objects, keys).map(\.object)
    }
}

extension StoreFetch {
    /// The entities whose rows are wanted.
    var family: [ManagedObjectModel.EntityIndex] {
        includesSubentities ? entity.family : [entity.index]
    }

    /// The fetch that has enough rows to be joined with unsaved changes.
    func widened(by pending: PendingChanges) -> StoreFetch {
        var wider = self
        wider.offset = 0
        wider.limit = limit(widenedBy: pending.changedCount + pending.leadingRows.count)
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

    func destinationID(at slot: Int) throws(ContextError) -> ObjectID? {
        if let destination = object.unsavedDestinationID(at: slot) { return destination }
        guard let id = try loadedRow()?.destination(at: slot) else { return nil }
        // A save removes the reference to a deleted object.
        let memory = object.managedObjectContext?.memory
        return memory?.registry.withObject(id, \.isDeleted) == true ? nil : id
    }

    func destination(at slot: Int) throws(ContextError) -> GraphSubject? {
        guard let id = try destinationID(at: slot), let context = object.managedObjectContext else { return nil }
        let destination = context.object(for: id, from: object, across: entity.relationships[slot])
        // A reference to a deleted object counts as no reference.
        if destination.isFault && !destination.hasRow { try context.loadRow(of: destination) }
        let isGone = destination.isDeleted || (!destination.hasRow && !destination.isInserted)
        return isGone ? nil : GraphSubject(object: destination)
    }

    func destinationIDs(at slot: Int) throws(ContextError) -> [ObjectID] { object.destinationIDs(at: slot) }

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

    /// The value of an attribute for predicates: the unsaved one if there is one; this does not fire the fault.
    func valueWithoutFiring(at slot: Int) throws(ContextError) -> AttributeValue {
        try GraphSubject(object: self).value(at: slot)
    }
}
