// Enumeration of the objects of a fetch, without holding all of them in memory: rows are read in batches.
//
// Invariants
//   1. The walk holds one batch of rows of each store, and only the objects that the application retains: its memory
//      does not depend on the number of objects, except for 16 bytes for each if an index leads to them or they are
//      sorted. If unsaved changes or several stores join, or relationships are prefetched, it also holds the objects of
//      these batches. A store of another kind may answer with one batch.
//   2. The objects of one batch are one cohort (F-2), although they are not all in memory at the same time.
//   3. An object never gets a row older than the one that this context last read or wrote (`RowCache.changeCount`).

public import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Calls `body` with each object that matches, in the request's order (SD-15 `enumerate`, FR-04).
    ///
    /// It visits the objects that `fetch(_:)` returns, each once. An object that `body` neither retains nor changes is
    /// freed when `body` returns; if unsaved changes join the fetch, several stores answer it, or relationships are
    /// prefetched, it is freed after its batch. The rows are read from the store in batches, each from the generation
    /// that the context reads at that moment. With unsaved changes or several stores, an offset or a limit makes all
    /// objects one batch.
    ///
    /// With `shouldRefreshRefetchedObjects`, objects in use adopt the newest values before `body` gets the first one of
    /// their batch (FR-14).
    ///
    /// `body` may change, insert, delete and save. Objects that are deleted before their turn are skipped; objects
    /// inserted meanwhile are not visited.
    ///
    /// ```swift
    /// try context.enumerate(FetchRequest<Person>()) { person in
    ///     if person.age >= 18 { adultCount += 1 }
    /// }
    /// ```
    /// - Parameter batchSize: how many rows are read at once, 0 for all; the faults of a batch fire together.
    /// - Throws: what `fetch(_:)` throws, and what `body` throws; an error ends the enumeration.
    /// - Complexity: the time of `fetch(_:)`; memory for one batch of objects, and 16 bytes for each object that is
    ///   sorted or to which an index leads. Beside c unsaved objects of the entity, also O(c) in time and memory.
    @inlinable
    public func enumerate<Object: ManagedObject>(
        _ request: FetchRequest<Object>, batchSize: Int = 1000, _ body: (Object) throws -> Void
    ) throws {
        var known: ManagedObject.Type?
        try forEachObject(request.terms, batchSize: batchSize) { object in
            if type(of: object) != known {
                guard object is Object else {
                    throw ContextError.wrongResultType(
                        entity: object.entity.name, found: "\(type(of: object))", expected: "\(Object.self)")
                }
                known = type(of: object)
            }
            // SAFETY: the type of this object, or of another one of the same class, was checked above.
            try body(unsafe unsafeDowncast(object, to: Object.self))
        }
    }

    @usableFromInline
    func forEachObject(_ terms: FetchTerms, batchSize: Int, _ body: (ManagedObject) throws -> Void) throws {
        beginRefreshing(for: terms)
        let fetch = try processAndResolve(terms)
        let pending = try pendingChanges(for: fetch, terms.includesPendingChanges)
        let size = batchSize > 0 ? batchSize : Int.max
        guard pending == nil, let position = generation.onlyPosition(for: fetch) else {
            return try forEachJoinedObject(fetch, pending, terms, size, body)
        }
        let tag = generation.parts[position].part.storeTag
        var rest: StoreFetch? = fetch
        while let next = rest {
            let batch = try read(self.position(ofStore: tag, for: next), next) { snapshot, next throws(StoreError) in
                try snapshot.fetchBatch(next, of: size)
            }
            rest = batch.rest
            try followCascades(forBatchOf: fetch, terms)
            guard terms.relationshipKeyPathsForPrefetching.isEmpty else {
                let objects = materialized(batch.rows)
                try prepare(objects, for: terms)
                for object in objects where !object.isDeleted { try body(object) }
                continue
            }
            memory.rowsFetched += batch.rows.count
            if terms.shouldRefreshRefetchedObjects {
                refresh(batch.rows.ids.compactMap { memory.registry[$0] }, for: terms)
            }
            try forEachObject(of: batch.rows, firesFaults: !terms.returnsObjectsAsFaults, body)
        }
    }

    /// Calls `body` with the objects of a fetch that unsaved changes join, or that several stores answer.
    private func forEachJoinedObject(
        _ fetch: StoreFetch, _ pending: PendingChanges?, _ terms: FetchTerms, _ batchSize: Int,
        _ body: (ManagedObject) throws -> Void
    ) throws {
        guard fetch.offset == 0, fetch.limit == nil else {
            // Offset and limit count all objects in one order, so they come after it.
            let objects = try readObjects(fetch, pending)
            try prepare(objects, for: terms)
            for object in objects where !object.isDeleted { try body(object) }
            return
        }
        var objects = try JoinedObjects(fetch, pending, terms, batchSize: batchSize, in: self)
        while let object = try objects.next() {
            if !object.isDeleted { try body(object) }
        }
    }

    /// Calls `body` with the object of each row; after a change of the cache, it looks up the remaining rows again.
    private func forEachObject(
        of rows: SnapshotList, firesFaults: Bool, _ body: (ManagedObject) throws -> Void
    ) throws {
        let cohort = rows.count > 1 ? Cohort(rows.ids, fetchedRows: rows, cache: cache) : nil
        // The walk counts as an object of the cohort, so that the cohort does not end with the first object that ends.
        cohort?.addObject()
        defer { cohort?.removeObject() }
        let changeCount = cache.changeCount
        let ids = rows.ids
        guard let first = ids.first else { return }
        var (maker, changed) = (RowObjectMaker(self, cohort: cohort, first: first), ids.endIndex)
        try rows.forEachRow { position, content, place in
            guard changed == ids.endIndex else { return }
            guard cache.changeCount == changeCount else {
                changed = position
                return
            }
            let object = maker.object(ids[position], content, place)
            if firesFaults { object.fireFault() }
            if !object.isDeleted { try body(object) }
        }
        try forEachObject(withIDs: ids[changed...], cohort, firesFaults: firesFaults, body)
    }

    /// Calls `body` with the objects of rows that may have changed since they were fetched.
    private func forEachObject(
        withIDs ids: ArraySlice<ObjectID>, _ cohort: Cohort?, firesFaults: Bool, _ body: (ManagedObject) throws -> Void
    ) throws {
        for id in ids {
            let object = memory.registry[id] ?? makeFault(id, cohort: cohort)
            if object.isFault, !object.hasRow { try loadRow(of: object) }
            // An object whose row is deleted is a fault without a row.
            if object.isDeleted || (object.isFault && !object.hasRow) { continue }
            if firesFaults { object.fireFault() }
            try body(object)
        }
    }
}
