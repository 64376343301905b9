// The seam between graph and storage: values cross it, never live objects and never pages.
//
// Invariants every store keeps (the contract suite checks them on each)
//   1. What was saved before `snapshot` is called is in the snapshot (`StoreSnapshot`), each save as a whole.
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

/// Where objects are kept (Behaviour PS-11 to PS-17).
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

    /// What the store holds now, to be read as long as it is kept.
    func snapshot() throws(StoreError) -> any StoreSnapshot
    /// Permanent IDs for objects that will be inserted (MC-37).
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID]
    /// Checks versions and constraints, then writes everything in one transaction.
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult
    /// Values the application keeps with the store.
    func metadata() throws(StoreError) -> [String: AttributeValue]
    /// Replaces the application's values.
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError)
    /// Ends the store and its snapshots; later calls throw `StoreError.closed`.
    ///
    /// Waits for what reads a snapshot at the moment.
    func close() throws(StoreError)
}
