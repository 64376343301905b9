// Single questions to a store, each answered from a new snapshot: for tools and tests, which read a store without a
// context. Two answers may be of different generations; to have all answers from one, call `snapshot()`.

public import EspalierModel

extension PersistentStore {
    /// The rows that match, in order, within offset and limit.
    public func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList { try snapshot().fetch(fetch) }

    /// About the first `count` of these rows (`StoreSnapshot.fetchBatch`).
    public func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        try snapshot().fetchBatch(fetch, of: count)
    }

    /// The IDs of the rows that match, in order, within offset and limit.
    public func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try snapshot().fetchIDs(fetch) }

    /// The number of rows that `fetch` matches, within its offset and limit.
    public func count(_ fetch: StoreFetch) throws(StoreError) -> Int { try snapshot().count(fetch) }

    /// The values that a request reads of the rows that match.
    public func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        try snapshot().values(fetch)
    }

    /// The rows with these IDs, in this order; `nil` where there is none.
    public func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        try snapshot().snapshots(of: ids)
    }

    /// The destinations of a to-many relationship for each owner.
    public func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        try snapshot().destinations(of: relationship, for: owners)
    }

    /// How many destinations a to-many relationship of `owner` has, or `limit` if there are more.
    public func destinationCount(
        of relationship: Relationship, for owner: ObjectID, limit: Int
    ) throws(StoreError) -> Int {
        try snapshot().destinationCount(of: relationship, for: owner, limit: limit)
    }

    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        try snapshot().hasDestination(destination, of: relationship, for: owner)
    }

    /// One line for each step the store takes to answer `fetch`.
    public func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try snapshot().explain(fetch) }

    /// One line for each step the store takes to answer `fetch` by rows, by their IDs or by their number.
    public func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String] {
        try snapshot().explain(fetch, as: form)
    }

    /// One line for each step the store takes to answer a question for values.
    public func explain(_ fetch: StoreValueFetch) throws(StoreError) -> [String] { try snapshot().explain(fetch) }
}
