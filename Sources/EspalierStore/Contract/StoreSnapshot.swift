// One generation of a store: the reading half of the contract.
//
// Invariants every store keeps (the contract suite checks them on each)
//   1. All answers of a snapshot are of one moment: that in which it was taken, whatever is saved meanwhile.
//   2. A snapshot waits for no save, and no save waits for a snapshot.
//   3. Closing the store ends its snapshots: they throw `StoreError.closed` from then on.

public import EspalierModel

/// What a store held at one moment (MC-51, F-4).
///
/// Safe to use from several threads; one of them reads at a time. A store may give a snapshot up that keeps too much of
/// the past from being thrown away; reading it then throws an error whose `isSnapshotExpired` is true.
public protocol StoreSnapshot: AnyObject, Sendable {
    /// Which moment of the store it is: a number that goes up by one with each transaction that writes.
    var generation: UInt64 { get }
    /// Whether the store holds nothing newer.
    ///
    /// If that cannot be found out it is `false`: a newer snapshot will say why.
    var isNewest: Bool { get }

    /// The rows that match, in order, within offset and limit.
    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList
    /// About the first `count` of these rows, or all if the store has to look at all before it knows the first.
    ///
    /// The rest may be asked of a newer snapshot: no row comes twice, one that is there all the time comes once, and
    /// one that was inserted after the first batch does not come. Unless there is another way, `fetch` answers.
    func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch
    /// The IDs of the rows that match, in order, within offset and limit.
    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID]
    /// How many rows `fetch` would give.
    func count(_ fetch: StoreFetch) throws(StoreError) -> Int
    /// The rows with these IDs, in this order; `nil` where there is none.
    func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?]
    /// The destinations of a to-many relationship for each owner; in the kept order if the relationship is ordered,
    /// else by ascending key.
    func destinations(of relationship: Relationship, for owners: [ObjectID]) throws(StoreError) -> [[ObjectID]]
    /// How many destinations a to-many relationship of `owner` has, or `limit` if there are more.
    ///
    /// Unless there is another way, `destinations` answers.
    func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int
    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    ///
    /// Unless there is another way, `destinations` answers.
    func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool
    /// One line for each step the store takes to answer `fetch`: tree, key range, what is left to test, order.
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String]
}

extension StoreSnapshot {
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

    /// Whether the list has it.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        try destinations(of: relationship, for: [owner]).first?.contains(destination) == true
    }
}
