// Fetching in batches: the memory of a batch does not depend on the number of rows that follow it.
//
// Invariants
//   1. A scan continues after the last key that it has returned, up to the greatest key of its beginning: keys are
//      allocated in ascending order, so that each later insertion has a greater key.
//   2. Every other fetch finds all rows with its first batch, and keeps their IDs, 16 bytes for each: the rows of later
//      batches are read by ID. They are the same ones in a newer generation, without those that were deleted since.

internal import EspalierEngine
internal import EspalierModel

extension BTreeSnapshot {
    /// The first `count` of the matching rows, and the fetch for the others.
    ///
    /// - Complexity: that of `fetch`, with a limit of `count`, for a scan of all rows by primary key. If an index leads
    ///   to the rows, or they have to be sorted: that of `fetchIDs` for the first batch, O(count x log n) for others,
    ///   and memory of 16 bytes for each matching row. Rows that have to be sorted are read once if all rows of the
    ///   hierarchy fit into one batch.
    public func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        try check(fetch)
        guard count > 0 else { throw .invalidRequest(reason: "a batch has \(count) rows; it must have at least one") }
        return try withSession(for: fetch, isCancelled: fetch.isCancelled) { session, fetch throws(StoreError) in
            if let remaining = fetch.remaining { return try batch(of: fetch, count, remaining, session) }
            return try firstBatch(of: fetch, count, session)
        }
    }

    private func firstBatch(
        of fetch: StoreFetch, _ count: Int, _ session: ReadSession
    ) throws(StoreError) -> FetchBatch {
        assert(count > 0, "a batch of \(count) rows")
        let planner = try session.planner(store)
        var plan = planner.plan(fetch, wantsRows: true)
        // Rows that must be sorted are all read for the first batch. If it has them all, they are not read again by ID.
        var isWhole = count >= fetch.limit ?? .max
        var hasManyToSort = false
        if case .sorted = plan.order {
            isWhole = isWhole || planner.hierarchyCount(of: fetch.entity) <= UInt64(count)
            // An index that leads to few rows most probably leads to no more than one batch.
            hasManyToSort = plan.estimate.count >= Double(count)
        }
        guard !isWhole else {
            return FetchBatch(try FetchExecution(plan, .rows, session).run().snapshots())
        }
        if hasManyToSort {
            // The order of the rows after the first batch is known then, too.
            return try batch(of: fetch, count, ids(of: fetch, session)[...], session)
        }
        plan.limit = count
        let isScan = plan.isScan
        let rows = try FetchExecution(plan, .rows, session).run().snapshots()
        guard rows.count == count, let last = rows.ids.last?.key else { return FetchBatch(rows) }
        var rest = fetch
        rest.limit = fetch.limit.map { $0 - count }
        if isScan {
            guard let keys = try keys(after: last, of: fetch, session.transaction) else { return FetchBatch(rows) }
            (rest.keys, rest.offset) = (keys, 0)
        } else {
            let (offset, overflows) = fetch.offset.addingReportingOverflow(count)
            guard !overflows else { return FetchBatch(rows) }
            rest.offset = offset
            let others = try ids(of: rest, session)
            guard !others.isEmpty else { return FetchBatch(rows) }
            (rest.found, rest.offset, rest.limit) = (others[...], 0, nil)
        }
        assert(rest.limit ?? 1 > 0 && rest.keys.lowerBound <= rest.keys.upperBound, "the rest has no rows")
        return FetchBatch(rows, rest: rest)
    }

    /// The keys that a scan has not read yet; `nil` if there are none.
    private func keys(
        after last: UInt64, of fetch: StoreFetch, _ transaction: borrowing StoreTransaction<ReadSource>
    ) throws(StoreError) -> ClosedRange<UInt64>? {
        var greatest = fetch.keys.upperBound
        if fetch.keys == StoreFetch.allKeys {
            var cursor = try transaction.cursor(over: catalog.rowTree(of: fetch.entity))
            greatest = try cursor.last() ? try cursor.key : last
        }
        return last < greatest ? last + 1...greatest : nil
    }

    private func ids(of fetch: StoreFetch, _ session: ReadSession) throws(StoreError) -> [ObjectID] {
        try FetchExecution(session.planner(store).plan(fetch, wantsRows: false), .ids, session).run().ids
    }

    /// The next rows among those that were found.
    private func batch(
        of fetch: StoreFetch, _ count: Int, _ found: ArraySlice<ObjectID>, _ session: ReadSession
    ) throws(StoreError) -> FetchBatch {
        let rows = try rows(withIDs: found.prefix(count), of: fetch.entity, session.transaction)
        let others = found.dropFirst(count)
        guard !others.isEmpty else { return FetchBatch(rows) }
        var rest = fetch
        (rest.found, rest.offset, rest.limit) = (others, 0, nil)
        return FetchBatch(rows, rest: rest)
    }

    /// The rows of an entity with these IDs that exist, in this order.
    func rows(
        withIDs ids: ArraySlice<ObjectID>, of entity: Entity,
        _ transaction: borrowing StoreTransaction<ReadSource>
    ) throws(StoreError) -> SnapshotList {
        var builder = SnapshotBuilder(numbering: catalog.numbering)
        builder.reserveCapacity(ids.count)
        var rows = try transaction.lookup(in: catalog.rowTree(of: entity))
        for id in ids {
            assert(StepCount.note(rows: 1))
            _ = try rows.withValue(of: id.key) { row throws(StoreError) in
                let number = try catalog.check(row, in: entity, key: id.key)
                if catalog.numbering.id(entityNumber: number, key: id.key) == id { builder.append(row, id: id) }
            }
        }
        assert(builder.count <= ids.count, "\(builder.count) rows have \(ids.count) IDs")
        return builder.finish()
    }

    /// The step of a fetch whose rows were found by an earlier one.
    static func foundText(_ count: Int) -> String { "read \(count) rows that an earlier batch has found, by their IDs" }
}
