// The protocol with which an application makes a store that is loaded and saved as a whole.

public import EspalierModel

/// Data that are read and written as a whole (PS-12).
///
/// `WholeGraphStore` makes a store of it: it checks everything that is loaded, keeps the rows in memory, and saves all
/// of them when one changes.
public protocol GraphSource: AnyObject, Sendable {
    /// The place of the data, for messages; by default `nil`.
    var path: String? { get }
    /// Whether nothing can be saved; by default `false`.
    var isReadOnly: Bool { get }
    /// Whether no two rows may have the same key, also if their entities have nothing in common; by default `false`.
    var hasSharedKeys: Bool { get }

    /// Everything that is there; `nil` if there is nothing yet. Called once.
    func load(_ model: ManagedObjectModel) throws -> StoredGraph?
    /// Replaces everything, or changes nothing if it throws.
    func save(_ graph: StoredGraph, _ model: ManagedObjectModel) throws
    /// Called once, when the store is closed.
    func close() throws
}

extension GraphSource {
    /// `nil`.
    public var path: String? { nil }
    /// `false`.
    public var isReadOnly: Bool { false }
    /// `false`.
    public var hasSharedKeys: Bool { false }
    /// Does nothing.
    public func close() throws {}
}

/// The bytes of a file that holds a whole store.
public protocol GraphFormat: Sendable {
    /// Whether no two rows may have the same key, also if their entities have nothing in common.
    var hasSharedKeys: Bool { get }
    /// The store that the bytes hold.
    ///
    /// The bytes may be anybody's: an error says where they are wrong, and nothing else may happen. Whether rows and
    /// lists fit the model and each other is checked afterwards.
    func graph(in bytes: [UInt8], _ model: ManagedObjectModel) throws -> StoredGraph
    /// The bytes that hold a store.
    func bytes(of graph: StoredGraph, _ model: ManagedObjectModel) throws -> [UInt8]
}

extension GraphFormat {
    /// `false`.
    public var hasSharedKeys: Bool { false }
}
