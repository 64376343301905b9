// A read transaction: one snapshot of the whole store.

/// A snapshot of the store: sees exactly the commits before it began.
///
/// Ends when it goes out of scope.
public struct ReadTransaction: ~Copyable {
    /// The number of the newest commit this snapshot sees.
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
    public func cursor(over tree: Tree) throws(StorageError) -> Cursor { throw .closed }
}
