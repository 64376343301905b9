// A snapshot of a store that implements the contract itself: every answer is checked before a context gets it.
//
// Invariants
//   1. Values are collected from rows that were checked: the store's own collection of them is not asked.

internal import EspalierModel

/// The answers of a snapshot, or `StoreError.brokenContract` in the place of one that breaks a rule.
final class CheckedSnapshot: StoreSnapshot {
    private let base: any StoreSnapshot
    private let checks: ContractChecks
    private let model: ManagedObjectModel

    /// The answers of `base`, for a coordinator of `model`.
    init(_ base: any StoreSnapshot, _ checks: ContractChecks, model: ManagedObjectModel) {
        (self.base, self.checks, self.model) = (base, checks, model)
    }

    var generation: UInt64 { base.generation }
    var isNewest: Bool { base.isNewest }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        let rows = try base.fetch(fetch)
        try check(rows, fetch)
        return rows
    }

    func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        let batch = try base.fetchBatch(fetch, of: count)
        try check(batch.rows, fetch)
        if let rest = batch.rest { try checks.check(rest: rest, of: fetch) }
        return batch
    }

    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        let ids = try base.fetchIDs(fetch)
        try checks.check(ids, foundBy: fetch)
        return ids
    }

    func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        let count = try base.count(fetch)
        try checks.check(count, foundBy: fetch)
        return count
    }

    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        let rows = try base.snapshots(of: ids)
        try checks.check(rows, readBy: ids)
        return rows
    }

    func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        let lists = try base.destinations(of: relationship, for: owners)
        guard lists.count == owners.count else {
            throw checks.broken("it was asked for \(owners.count) lists, and has returned \(lists.count)")
        }
        for (owner, list) in zip(owners, lists) {
            try checks.check(list, of: relationship, for: owner)
            try checks.checkOrder(list, of: relationship, for: owner)
        }
        return lists
    }

    func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int {
        let count = try base.destinationCount(of: relationship, for: owner, limit: limit)
        guard count >= 0, count <= limit else {
            throw checks.broken("it has counted \(count) destinations of \(owner), and the limit is \(limit)")
        }
        return count
    }

    func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        try base.hasDestination(destination, of: relationship, for: owner)
    }

    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try base.explain(fetch) }

    func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String] {
        try base.explain(fetch, as: form)
    }

    func analyze(_ fetch: StoreFetch) throws(StoreError) -> PlanStep { try base.analyze(fetch) }

    /// Requires that rows are those of the fetch, as far as their own values show it.
    private func check(_ rows: SnapshotList, _ fetch: StoreFetch) throws(StoreError) {
        try checks.check(rows.ids, foundBy: fetch)
        try checks.check(rows)
        try checks.check(rows, matching: fetch) { row throws(StoreError) -> SnapshotSubject in
            guard let subject = SnapshotSubject(row, in: self, model) else {
                throw checks.broken("the model has no entity \(row.id.entityName)")
            }
            return subject
        }
    }
}
