// Fetching from a snapshot of a B-tree store: make a plan, or take the one of the same fetch before, then execute it.

public import EspalierModel
internal import EspalierEngine
internal import Synchronization

extension BTreeSnapshot {
    /// The rows that match, in order, within offset and limit.
    public func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        try check(fetch)
        return try withSession(for: fetch, isCancelled: fetch.isCancelled) { session, fetch throws(StoreError) in
            if let remaining = fetch.remaining {
                return try rows(withIDs: remaining, of: fetch.entity, session.transaction)
            }
            let plan = try session.plan(fetch, wantsRows: true, store)
            if let rows = try rowsOfOneValue(plan, session.transaction, fetch.steps) { return rows }
            return try FetchExecution(plan, .rows, session).run().snapshots()
        }
    }

    /// The rows of a plan that reads the entries of one value and needs no further test, offset or limit.
    ///
    /// - Returns: `nil` for every other plan, and if the rows are too many to be read one by one: `FetchExecution`
    ///   executes these plans.
    func rowsOfOneValue(
        _ plan: FetchPlan, _ transaction: borrowing StoreTransaction<ReadSource>,
        _ steps: FetchSteps = FetchSteps(nil)
    ) throws(StoreError) -> SnapshotList? {
        guard case .oneValue(let group, let prefix) = plan.access, plan.isExact, plan.offset == 0, plan.limit == nil,
            plan.keys == StoreFetch.allKeys
        else { return nil }
        assert(plan.residual.isEmpty, "an exact plan leaves conditions to test")
        let found = try CandidateCollector.candidates(
            group, beginningWith: prefix, atMost: plan.candidateCountMax, transaction, catalog)
        guard let candidates = found else { return nil }
        assert(
            zip(candidates, candidates.dropFirst()).allSatisfy { $0.key < $1.key },
            "candidates do not come by ascending key")
        var builder = SnapshotBuilder(numbering: catalog.numbering)
        builder.reserveCapacity(candidates.count)
        let (entity, isWanted) = (plan.entity, plan.isWanted)
        var rows = try transaction.lookup(in: catalog.rowTree(of: entity))
        var steps = steps
        for candidate in candidates where isWanted[Int(candidate.entityNumber)] {
            try steps.count()
            let isThere = try rows.withValue(of: candidate.key) { row throws(StoreError) in
                let number = try catalog.check(row, in: entity, key: candidate.key)
                guard isWanted[Int(number)], let id = catalog.numbering.id(entityNumber: number, key: candidate.key)
                else { return }
                builder.append(row, id: id)
            }
            guard isThere else { throw catalog.missingRow(of: candidate) }
        }
        assert(builder.count <= candidates.count, "\(builder.count) rows of \(candidates.count) candidates")
        return builder.finish()
    }

    /// The IDs of the rows that match, in order, within offset and limit.
    public func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        try check(fetch)
        return try withSession(for: fetch, isCancelled: fetch.isCancelled) { session, fetch throws(StoreError) in
            if let remaining = fetch.remaining {
                return try rows(withIDs: remaining, of: fetch.entity, session.transaction).ids
            }
            let plan = try session.plan(fetch, wantsRows: false, store)
            return try FetchExecution(plan, .ids, session).run().ids
        }
    }

    /// The number of rows that `fetch` matches, within its offset and limit.
    ///
    /// - Complexity: O(entities) without a condition; O(matching index entries) if an index answers the condition.
    public func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        var unsorted = fetch
        unsorted.sort = []
        try check(fetch)
        return try withSession(for: unsorted, isCancelled: fetch.isCancelled) { session, unsorted throws(StoreError) in
            if let remaining = unsorted.remaining {
                return try rows(withIDs: remaining, of: unsorted.entity, session.transaction).count
            }
            let plan = try session.plan(unsorted, wantsRows: false, store)
            if plan.isCountedWithoutRows {
                let wanted = fetch.includesSubentities ? fetch.entity.family : [fetch.entity.index]
                var total = 0
                for entity in wanted { total.add(clamping: try store.rowCount(of: entity, session.transaction)) }
                return min(max(0, total - fetch.offset), fetch.limit ?? Int.max)
            }
            return try FetchExecution(plan, .count, session).run().count
        }
    }

    /// The rows with these IDs, in this order; `nil` where there is none.
    public func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        for id in ids where !catalog.numbering.isOwn(id) {
            _ = try SaveChecks.entity(of: id, schema: catalog.schema, storeTag: catalog.numbering.storeTag)
        }
        return try withSession(for: ids) { session, ids throws(StoreError) in
            try session.transaction.snapshots(of: ids, catalog)
        }
    }

    /// The destinations of a to-many relationship for each owner; in the kept order if it is ordered, else by key.
    public func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        try checkLists(of: relationship, for: owners)
        return try withSession(for: owners) { session, owners throws(StoreError) in
            try session.transaction.links(of: owners, relationship, catalog)
        }
    }

    /// One line for each step the store takes to answer `fetch`.
    ///
    /// The plan depends on the numbers of rows and entries, which are exact, and on samples of the keys of indexes.
    /// These may be some commits old; so two stores with the same rows can have different plans. The plan of a fetch
    /// that is repeated stays as long as its samples, and while the numbers change by at most a tenth.
    public func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try explain(fetch, as: .rows) }

    /// One line for each step the store takes to answer `fetch` by rows, by their IDs or by their number.
    public func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String] {
        try check(fetch)
        if let remaining = fetch.remaining { return [Self.foundText(remaining.count)] }
        var asked = fetch
        if form == .count { asked.sort = [] }
        return try withSession(for: asked) { session, asked throws(StoreError) in
            let plan = try session.plan(asked, wantsRows: form == .rows, store)
            if form == .count, plan.isCountedWithoutRows { return ["count rows"] }
            return plan.explanation(catalog.schema, as: form)
        }
    }

    func check(_ fetch: StoreFetch) throws(StoreError) {
        guard store.model.entities.indices.contains(fetch.entity.index),
            store.model.entities[fetch.entity.index] === fetch.entity
        else {
            throw .invalidRequest(reason: "entity \(fetch.entity.name) is not in the store's model")
        }
        guard fetch.offset >= 0, fetch.limit ?? 0 >= 0 else {
            throw .invalidRequest(reason: "offset \(fetch.offset) and limit \(fetch.limit ?? 0) must not be negative")
        }
    }
}

// MARK: Statistics

extension BTreeStore {
    func rowCount(
        of entity: Int, _ transaction: borrowing StoreTransaction<ReadSource>
    ) throws(StoreError) -> UInt64 {
        try transaction.counter(Counter.rows(entityNumber: catalog.numbering.entityNumbers[entity]), catalog)
    }

    /// The planner for the commit that a session reads; the session must outlive it.
    func planner(_ session: ReadSession) throws(StoreError) -> FetchPlanner {
        let commit = session.transaction.number
        let known = plannerStatistics.withLock { $0.flatMap { $0.commit == commit ? $0.statistics : nil } }
        let statistics: PlannerStatistics
        if let known {
            statistics = known
        } else {
            statistics = try readStatistics(session.transaction)
            plannerStatistics.withLock { $0 = (commit, statistics) }
        }
        assert(
            statistics.rowCounts.count == model.entities.count, "\(statistics.rowCounts.count) entities were counted")
        return FetchPlanner(
            schema: catalog.schema, numbering: catalog.numbering, statistics: statistics,
            samples: session.samples(self))
    }

    private func readStatistics(
        _ transaction: borrowing StoreTransaction<ReadSource>
    ) throws(StoreError) -> PlannerStatistics {
        var statistics = PlannerStatistics(rowCounts: [])
        for entity in model.entities { statistics.rowCounts.append(try rowCount(of: entity.index, transaction)) }
        for (position, group) in catalog.schema.groups.enumerated() where group.condition != nil {
            statistics.entryCounts[position] = try transaction.count(of: catalog.groupTrees[position])
        }
        return statistics
    }
}
