// The seam between graph and storage: values cross it, never live objects and never pages.
//
// Invariants every store keeps (the contract suite checks them on each)
//   1. A snapshot has every save that ended before `snapshot` was called, each as a whole (`StoreSnapshot`).
//   2. `save` does everything or nothing; when it has returned, the new state is as durable as the store can make it.
//   3. A thrown error leaves the store unchanged.
//   4. A primary key that a caller has received is never allocated again, even if its row is never saved or is deleted.

public import EspalierModel
public import FoundationEssentials

/// The kind of a store that fulfils the contract.
public struct StoreType: RawRepresentable, Hashable, Sendable {
    /// The name of the kind, which metadata has too.
    public let rawValue: String
    /// A kind of store by name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The B-tree file.
    public static let btree = StoreType(rawValue: "BTree")
    /// Everything in memory; closing the store discards it.
    public static let inMemory = StoreType(rawValue: "InMemory")
    /// A binary file that is read and written as a whole.
    public static let binary = StoreType(rawValue: "Binary")
}

/// A store of objects (Behaviour PS-11 to PS-17).
///
/// Safe to use from several threads.
public protocol PersistentStore: AnyObject, Sendable {
    /// The store's UUID: part of every permanent object ID.
    var identifier: UUID { get }
    /// The kind of this store.
    var type: StoreType { get }
    /// The file; `nil` if there is none.
    var path: String? { get }
    /// Whether the store refuses to save.
    var isReadOnly: Bool { get }
    /// The model the store was opened with.
    var model: ManagedObjectModel { get }

    /// A snapshot of the store's present contents.
    func snapshot() throws(StoreError) -> any StoreSnapshot
    /// Permanent IDs for objects that will be inserted (MC-37).
    func reserveIDs(for entity: Entity, count: Int) throws(StoreError) -> [ObjectID]
    /// Checks versions and constraints, then writes everything in one transaction.
    func save(_ request: SaveRequest) throws(StoreError) -> SaveResult
    /// Carries a set-based change out in one transaction (PS-07).
    ///
    /// The default implementation fetches the rows and saves the change as one `SaveRequest`, again if another writer
    /// comes between: it holds all changed rows in memory.
    func execute(_ command: StoreCommand) throws(StoreError) -> CommandResult
    /// The values that the application keeps with the store.
    func metadata() throws(StoreError) -> [String: AttributeValue]
    /// Replaces the application's values.
    ///
    /// - Throws: `.invalidRequest` if composites nest more than 15 deep, which cannot be read back.
    func setMetadata(_ metadata: [String: AttributeValue]) throws(StoreError)
    /// Ends the store and its snapshots; later calls throw `StoreError.closed`.
    ///
    /// Waits until the current readers of snapshots have finished.
    func close() throws(StoreError)

    /// Called after the store was added to a coordinator (PS-11).
    ///
    /// - Parameter configurationName: the configuration of its description; `nil` if it has none.
    func didAdd(configurationName: String?)
    /// Called before the store is removed from its coordinator and closed (PS-11).
    func willRemove()
}

extension PersistentStore {
    /// Does nothing.
    public func didAdd(configurationName: String?) {}
    /// Does nothing.
    public func willRemove() {}
}
