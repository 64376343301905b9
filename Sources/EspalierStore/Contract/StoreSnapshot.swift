// One generation of a store: the reading half of the contract.
//
// Invariants every store keeps (the contract suite checks them on each)
//   1. All answers of a snapshot are of one moment: that of its creation, whatever is saved in the meantime.
//   2. A snapshot waits for no save, and no save waits for a snapshot.
//   3. Closing the store ends its snapshots: they throw `StoreError.closed` from then on.

public import EspalierModel

/// The contents of a store at one moment (MC-51, F-4).
///
/// Safe to use from several threads; one of them reads at a time. A store may expire a snapshot that keeps too much old
/// data from being freed; reading the snapshot then throws an error whose `isSnapshotExpired` is true.
public protocol StoreSnapshot: AnyObject, Sendable {
    /// The number of the moment: each transaction that writes increases it by one.
    var generation: UInt64 { get }
    /// Whether the store holds nothing newer.
    ///
    /// If the store cannot find that out, it is `false`: a newer snapshot throws the reason.
    var isNewest: Bool { get }

    /// The rows that match, in order, within offset and limit.
    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList
    /// About the first `count` of these rows, and a fetch for the others.
    ///
    /// The rest may be fetched from a newer snapshot: no row is returned twice, a row that exists all the time is
    /// returned once, and a row that was inserted after the first batch is not returned. The default implementation
    /// calls `fetch`, and returns all rows.
    func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch
    /// The IDs of the rows that match, in order, within offset and limit.
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID]
    /// The number of rows that `fetch` matches, within its offset and limit.
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int
    /// The values that a request reads of the rows that match, or of groups of these rows (FR-02).
    ///
    /// Objects come in the order of `fetch.rows`, at most as many as its limit, without those that are excluded. The
    /// default implementation calls `fetch`.
    func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector
    /// The rows with these IDs, in this order; `nil` where there is none.
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?]
    /// The destinations of a to-many relationship for each owner; in the kept order if the relationship is ordered,
    /// else by ascending key.
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]]
    /// How many destinations a to-many relationship of `owner` has, or `limit` if there are more.
    ///
    /// The default implementation calls `destinations`.
    func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int
    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    ///
    /// The default implementation calls `destinations`.
    func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool
    /// One line for each step the store takes to answer `fetch`: tree, key range, remaining conditions, order.
    ///
    /// A store may choose the steps by statistics of its rows: they can differ from snapshot to snapshot, the rows that
    /// they find cannot.
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String]
    /// One line for each step the store takes to answer `fetch` by rows, by their IDs or by their number.
    ///
    /// The default implementation explains the fetch of the rows.
    func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String]
    /// The steps of the plan of `fetch` after it was executed, with the numbers of rows that were expected and found.
    ///
    /// The default implementation executes the fetch and measures it as one step.
    func analyze(_ fetch: StoreFetch) throws(StoreError) -> PlanStep
    /// One line for each step the store takes to answer a question for values.
    ///
    /// The default implementation explains the fetch of the rows.
    func explain(_ fetch: StoreValueFetch) throws(StoreError) -> [String]
    /// The steps of the plan of a question for values after it was executed, with the numbers of rows or entries that
    /// were expected and found.
    ///
    /// The default implementation executes the question and measures it as one step.
    func analyze(_ fetch: StoreValueFetch) throws(StoreError) -> PlanStep
}

extension StoreSnapshot {
    /// The steps of the fetch of the rows.
    public func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String] {
        try explain(fetch)
    }

    /// One step for each line of `explain`; the first one has the result's number of rows and time.
    public func analyze(_ fetch: StoreFetch) throws(StoreError) -> PlanStep {
        let steps = try explain(fetch)
        let begun = ContinuousClock.now
        let count = try self.fetch(fetch).ids.count
        return PlanStep(
            "fetch \(fetch.entity.name)", foundCount: count, duration: begun.duration(to: .now),
            sources: steps.map { PlanStep($0) })
    }

    /// All rows that match.
    public func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        FetchBatch(try self.fetch(fetch))
    }

    /// The length of the list.
    public func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int {
        min(try destinations(of: relationship, for: [owner]).first?.count ?? 0, limit)
    }

    /// Whether the list has the destination.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        try destinations(of: relationship, for: [owner]).first?.contains(destination) == true
    }
}
