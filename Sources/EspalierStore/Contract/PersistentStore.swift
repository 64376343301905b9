// The seam between graph and storage: values cross it, never live objects and never pages.
//
// Invariants every store keeps (the contract suite checks them on each)
//   1. Each call sees one consistent state of the store.
//   2. `save` does everything or nothing; when it has returned, the new state is as durable as the store can make it.
//   3. A thrown error leaves the store as it was.
//   4. A primary key that was told to anybody is given out once, even if the row is never saved or is deleted.

public import EspalierModel
public import FoundationEssentials

/// What kind of store stands behind the contract.
public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The name, as it stands in metadata.
    public let rawValue: String
    /// A kind of store by name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The B-tree file.
    public static let btree = StoreType(rawValue: "BTree")
    /// Everything in memory, gone when the store is closed.
    public static let inMemory = StoreType(rawValue: "InMemory")
}

/// Where objects are kept (semantics PS-11 to PS-17).
///
/// Safe to use from several threads.
public protocol PersistentStore: AnyObject, Sendable {
    /// The store's UUID: part of every permanent object ID.
    var identifier: UUID { get }
    /// What kind of store this is.
    var type: StoreType { get }
    /// The file; `nil` if there is none.
    var path: String? { get }
    /// Whether `save` is refused.
    var isReadOnly: Bool { get }
    /// The model the store was opened with.
    var model: ManagedObjectModel { get }

    /// The rows that match, in order, within offset and limit.
    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList
    /// About the first `count` of these rows, or all if the store has to look at all before it knows the first.
    ///
    /// Batches are read one by one, each from the store as it is then: no row comes twice, one that is there all the
    /// time comes once, and one that was inserted after the first batch does not come. Unless there is another way,
    /// `fetch` answers.
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
    /// Permanent IDs for objects that will be inserted (MC-37).
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID]
    /// Checks versions and constraints, then writes everything in one transaction.
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult
    /// One line for each step the store takes to answer `fetch`: tree, key range, what is left to test, order.
    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String]
    /// Values the application keeps with the store.
    func metadata() throws(StoreError) -> [String: AttributeValue]
    /// Replaces the application's values.
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError)
    /// Ends the store; later calls throw `StoreError.closed`.
    func close() throws(StoreError)
}

extension PersistentStore {
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
