// The write transaction: sees its own changes, and makes them durable together or not at all.

/// The one write transaction of a store.
///
/// Rolls back when it goes out of scope without `commit`.
public struct WriteTransaction: ~Copyable {
    /// The number this transaction will have once it is committed.
    public var transactionID: UInt64 { 0 }

    /// The tree called `name`, or `nil`.
    public func tree(named name: String) throws(StorageError) -> Tree? { throw .closed }
    /// All trees, in the order of their names' UTF-8 bytes.
    public func trees() throws(StorageError) -> [TreeSummary] { throw .closed }
    /// How many entries `tree` has.
    ///
    /// O(1).
    public func count(of tree: Tree) throws(StorageError) -> UInt64 { throw .closed }
    /// The value of `key`, or `nil`.
    public func get(_ key: UInt64, from tree: Tree) throws(StorageError) -> [UInt8]? { throw .closed }
    /// The value of `key`, or `nil`.
    public func get(_ key: RawSpan, from tree: Tree) throws(StorageError) -> [UInt8]? { throw .closed }
    /// The value of `key`, or `nil`.
    public func get(_ key: [UInt8], from tree: Tree) throws(StorageError) -> [UInt8]? { throw .closed }
    /// Calls `body` with the bytes of the value of `key` where they lie, if the key exists.
    public func withValue<R>(of key: UInt64, in tree: Tree, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        throw .closed
    }
    /// Calls `body` with the bytes of the value of `key` where they lie, if the key exists.
    public func withValue<R>(of key: RawSpan, in tree: Tree, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        throw .closed
    }
    /// A cursor before the first entry of `tree`.
    ///
    /// It goes on working after changes of this transaction.
    public func cursor(over tree: Tree) throws(StorageError) -> Cursor { throw .closed }

    /// Makes a new, empty tree.
    ///
    /// Throws `treeExists` if the name is taken.
    public mutating func createTree(named name: String, kind: KeyKind) throws(StorageError) -> Tree { throw .closed }
    /// The tree called `name`, made if it does not exist.
    ///
    /// Throws `wrongKeyKind` if it exists with the other kind.
    public mutating func tree(named name: String, orCreate kind: KeyKind) throws(StorageError) -> Tree { throw .closed }
    /// Removes `tree` with all its entries.
    public mutating func dropTree(_ tree: Tree) throws(StorageError) { throw .closed }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: RawSpan, for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        throw .closed
    }
    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: RawSpan, for key: RawSpan, in tree: Tree) throws(StorageError) -> Bool {
        throw .closed
    }
    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: [UInt8], for key: UInt64, in tree: Tree) throws(StorageError) -> Bool {
        throw .closed
    }
    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: [UInt8], for key: [UInt8], in tree: Tree) throws(StorageError) -> Bool {
        throw .closed
    }
    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: UInt64, from tree: Tree) throws(StorageError) -> Bool { throw .closed }
    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: RawSpan, from tree: Tree) throws(StorageError) -> Bool { throw .closed }
    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: [UInt8], from tree: Tree) throws(StorageError) -> Bool { throw .closed }

    /// Makes all changes visible and, with `.durable`, safe from power loss before it returns.
    ///
    /// - Parameter durability: what to wait for; `nil` takes the database's default.
    @discardableResult
    public consuming func commit(_ durability: Durability? = nil) throws(StorageError) -> CommitReceipt {
        throw .closed
    }

    /// Gives all changes up.
    public consuming func rollback() {}
}
