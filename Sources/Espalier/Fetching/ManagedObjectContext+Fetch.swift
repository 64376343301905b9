// Fetching: sends a request to each store that may answer it, and makes an object of each row.
//
// The steps: `processAndResolve` merges waiting saves, runs delete rules and looks up names; `pendingChanges` finds the
// unsaved changes that affect the result. If there are none and one store answers, `read` asks that store and
// `materialized` makes the objects. Otherwise `joined` asks all stores, and puts their rows and the unsaved objects in
// one order.
//
// Invariants
//   1. The rows that one store returns for a fetch are one cohort, if they are several: their faults fire together
//      (F-2). An object that has a larger cohort keeps it.
//   2. A fetch changes the values of an object in use only if the request says `shouldRefreshRefetchedObjects` (FR-14);
//      otherwise a registered object keeps its values (MC-20), and only a fault adopts the newer row.
// Not here: how unsaved changes are joined to the result (PendingFetch), how a store is asked (+Reading), fetches in
// batches (+Enumerate), and requests for values (+Values).

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The matching objects, as if all unsaved changes were saved (MC-18).
    ///
    /// - Throws: `ContextError.unknownEntity`, `.invalidPredicate`, `.unknownRelationship` (for prefetching),
    ///   `.wrongResultType` for a request that does not fit the model; `.noStore` if no open store can hold such
    ///   objects; `.store` if a store fails.
    /// - Complexity: that of the stores' search: O(log n) and O(objects found) if an index answers predicate and order,
    ///   within the limit; otherwise O(n) for n objects of the entity, and O(m log m) to sort m that match. Also
    ///   O(objects found) to make the objects, and O(unsaved objects that may match): those with the value, if the
    ///   predicate asks for values or ranges of attributes or for to-one destinations, otherwise all of the entity.
    @inlinable
    public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws(ContextError) -> [Object] {
        let terms = request.terms
        let found = try fetchObjects(terms)
        // One cast for each run of objects of the same class: most fetches have one class.
        var known: ManagedObject.Type?
        for object in found where type(of: object) != known {
            guard object is Object else {
                throw .wrongResultType(
                    entity: object.entity.name, found: "\(type(of: object))", expected: "\(Object.self)")
            }
            known = type(of: object)
        }
        try loadRequestedContents(found, terms)
        // SAFETY: the loop has checked the class of every element, and arrays of references have the same layout for
        // every class. A new array would retain each object once more, and release it when the old array is freed.
        return unsafe unsafeBitCast(found, to: [Object].self)
    }

    /// The objects that `fetch(_:)` returns, before their class is checked.
    @usableFromInline
    func fetchObjects(_ terms: FetchTerms) throws(ContextError) -> [ManagedObject] {
        beginRefreshing(for: terms)
        let fetch = try processAndResolve(terms)
        let found = try answer(fetch, terms.includesPendingChanges) { pending throws(ContextError) in
            try terms.includesPropertyValues ? readObjects(fetch, pending) : faults(fetch, pending)
        }
        refresh(found, for: terms)
        return found
    }

    /// Moves to the newest generation, if the request asks for the newest values of objects in use (FR-14).
    ///
    /// Call it before the request is resolved, and `refresh(_:for:)` with what it finds.
    func beginRefreshing(for terms: FetchTerms) {
        if terms.shouldRefreshRefetchedObjects { advanceGeneration() }
    }

    /// Makes the results of a request adopt the newest values, and their locks hold for these (MC-35), if the request
    /// asks for it.
    func refresh(_ found: [ManagedObject], for terms: FetchTerms) {
        guard terms.shouldRefreshRefetchedObjects else { return }
        for object in found where !object.isFault { reread(object, mergesChanges: true) }
        if !locked.isEmpty { renewLocks(of: found.filter { locked[$0] != nil }) }
    }

    /// The matching objects, in order, without their rows; unsaved changes that affect the fetch need rows (FR-06).
    private func faults(_ fetch: StoreFetch, _ pending: PendingChanges?) throws(ContextError) -> [ManagedObject] {
        guard pending == nil, let position = generation.onlyPosition(for: fetch) else {
            return try readObjects(fetch, pending)
        }
        let ids = try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.fetchIDs(fetch) }
        guard let first = ids.first else { return [] }
        var maker = RowObjectMaker(self, cohort: ids.count > 1 ? Cohort(ids, cache: cache) : nil, first: first)
        return ids.map { memory.registry[$0] ?? maker.makeFault($0) }
    }

    /// Loads the values and prefetched destinations that the request asks for.
    @usableFromInline
    func loadRequestedContents(_ found: [ManagedObject], _ terms: FetchTerms) throws(ContextError) {
        if !terms.returnsObjectsAsFaults { for object in found { object.fireFault() } }
        for path in terms.relationshipKeyPathsForPrefetching { try prefetch(path, of: found) }
    }

    /// The IDs of the matching objects, in the request's order; unsaved objects have temporary ones (FR-02).
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: as `fetch(_:)`; makes no objects, unless unsaved changes of the entity or several stores join, and
    ///   reads no rows if an index answers.
    public func fetchIDs<Result>(_ request: FetchRequest<Result>) throws(ContextError) -> [ObjectID] {
        let fetch = try processAndResolve(request.terms)
        return try answer(fetch, request.includesPendingChanges) { pending throws(ContextError) in
            if pending == nil, let position = generation.onlyPosition(for: fetch) {
                return try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.fetchIDs(fetch) }
            }
            return try readObjects(fetch, pending).map(\.storedID)
        }
    }

    /// The number of objects that `fetch(_:)` would return (MC-21).
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: O(1) without predicate, O(index entries that match) if an index answers, otherwise O(n) for n
    ///   objects of the entity; and O(unsaved objects that may match), as for `fetch(_:)`. Beside c changed or deleted
    ///   objects of the entity, also O(c log c), unless c is above 1,000, fewer rows match and the predicate asks for
    ///   values of an index.
    public func count<Result>(for request: FetchRequest<Result>) throws(ContextError) -> Int {
        var fetch = try processAndResolve(request.terms)
        fetch.sort = []
        return try answer(fetch, request.includesPendingChanges) { pending throws(ContextError) in
            if let pending {
                if let count = try joinedCount(fetch, pending) { return count }
            } else if let position = generation.onlyPosition(for: fetch) {
                return try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.count(fetch) }
            }
            return try readObjects(fetch, pending).count
        }
    }

    /// The steps in which the stores answer a request, one line for each.
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: that of planning the fetch, which reads samples of indexes and no rows.
    public func explain<Result>(_ request: FetchRequest<Result>) throws(ContextError) -> [String] {
        try storedExplanation(processAndResolve(request.terms), as: .rows)
    }

    /// The steps in which the stores answer a request by objects (`rows`), by IDs as for `fetchIDs(_:)`, or by their
    /// number as for `count(for:)`, one line for each.
    ///
    /// - Throws: as `fetch(_:)`.
    public func explain<Result>(
        _ request: FetchRequest<Result>, as form: FetchForm
    ) throws(ContextError) -> [String] {
        try storedExplanation(processAndResolve(request.terms), as: form)
    }

    /// The steps in which the stores answer a request, each after it was executed, with the numbers of rows that were
    /// expected and found, and its time.
    ///
    /// Print the result: its description is a tree in a table. Unsaved changes of this context are joined to the rows
    /// afterwards, and are no part of it.
    ///
    /// - Throws: as `fetch(_:)`.
    /// - Complexity: that of the fetch without its limit, times the number of steps.
    public func analyze<Result>(_ request: FetchRequest<Result>) throws(ContextError) -> PlanStep {
        try storedAnalysis(processAndResolve(request.terms))
    }

    /// Processes the pending changes, which a fetch reads, and looks up the names of the request in the model.
    func processAndResolve(_ request: FetchTerms) throws(ContextError) -> StoreFetch {
        mergeAndRunDeleteRules()
        if memory.logsRequests, requestLog?.level == .values { lastCondition = request.predicate.map { "\($0)" } }
        let fetch = try persistentStoreCoordinator.knownRequests.storeFetch(request)
        // A parent, which is one part for all stores, has no such error.
        if parent != nil, !persistentStoreCoordinator.hasStore(for: fetch) {
            throw .noStore(entity: fetch.entity.name)
        }
        return fetch
    }

    /// The matching objects, in order, within offset and limit; reads the rows of all that are stored.
    ///
    /// - Parameter pending: the unsaved changes that affect the fetch.
    func readObjects(_ fetch: StoreFetch, _ pending: PendingChanges?) throws(ContextError) -> [ManagedObject] {
        if pending == nil, let position = generation.onlyPosition(for: fetch) {
            let rows = try read(position, fetch) { snapshot, fetch throws(StoreError) in try snapshot.fetch(fetch) }
            return materialized(rows)
        }
        return try joined(fetch, pending)
    }

    /// The objects of rows, as one cohort.
    ///
    /// - Parameter leavesOutReached: whether rows that cascades reach get no objects, which would be deleted ones.
    func materialized(_ rows: SnapshotList, leavesOutReached: Bool = false) -> [ManagedObject] {
        let ids = rows.ids
        guard let first = ids.first else { return [] }
        memory.rowsFetched += ids.count
        // One object alone needs no cohort: it gets one when a fault needs more than its row.
        let cohort = ids.count > 1 ? Cohort(ids, cache: cache) : nil
        if ids.count > 1 { memory.registry.reserveCapacity(ids.count) }
        var objects: [ManagedObject] = []
        objects.reserveCapacity(ids.count)
        var maker = RowObjectMaker(self, cohort: cohort, first: first)
        let leavesOutReached = leavesOutReached && memory.reached.hasRows
        rows.forEachRow { position, content, place in
            if leavesOutReached, memory.reached.contains(ids[position]) { return }
            objects.append(maker.object(ids[position], content, place))
        }
        return objects
    }

    /// Loads the destinations along a dotted path of relationships (FR-10), with one trip to the store for each step,
    /// kind of content, and `Cohort.tripSizeMax` objects.
    private func prefetch(_ path: String, of objects: [ManagedObject]) throws(ContextError) {
        var level = objects
        for name in path.split(separator: ".").map(String.init) {
            var next: [ManagedObject] = []
            var seen = Set<ObjectID>()
            for object in level {
                guard let relationship = object.entity.relationship(named: name) else {
                    throw .unknownRelationship(name, entity: object.entity.name)
                }
                let found =
                    relationship.isToMany
                    ? object.destinations(at: relationship.slot)
                    : object.destination(at: relationship.slot).map { [$0] } ?? []
                next += found.filter { seen.insert($0.storedID).inserted }
            }
            for object in next where object.isFault && !object.hasRow { try loadRow(of: object) }
            level = next
        }
    }
}

extension FetchRequest where Result: ManagedObject {
    /// A request for the objects of a class.
    @inlinable
    public init(_ predicate: FetchPredicate? = nil, sortedBy sortKeys: [SortKey] = []) {
        self.init(entityName: Result.entityName, predicate: predicate, sortKeys: sortKeys)
    }
}
