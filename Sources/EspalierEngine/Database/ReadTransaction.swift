// A read transaction: one snapshot of the whole store.
//
// Invariants
//   1. All reads of a transaction see the same commit, whatever is written meanwhile.
//   2. A read changes nothing and waits for no other transaction.

/// A snapshot of the store: it sees exactly the commits before it began.
///
/// It ends when it goes out of scope. Keep it short: while it lives, the log keeps the pages that it sees, and when the
/// log reaches its cap the oldest snapshots expire (`snapshotExpired`). Use it from one thread at a time.
public struct ReadTransaction: ~Copyable {
    let pages: ReadPages

    init(_ pages: ReadPages) {
        assert(!pages.isEnded && pages.cursorCount == 0, "\(pages.cursorCount) cursors at the beginning")
        self.pages = pages
    }

    deinit { pages.endAndRest() }

    /// The number of the newest commit this snapshot sees.
    public var transactionID: UInt64 { pages.versions.state.transactionID }

    /// A number that is greater after a tree was created, and that no commit makes less: while it stays, every name
    /// stands for the same tree, or for none any more.
    package var treeStamp: UInt32 { pages.versions.state.nextTreeID }

    /// The tree called `name`, or `nil`.
    public func tree(named name: String) throws(StorageError) -> AnyTree? {
        try pages.tree(named: name).map(AnyTree.init)
    }

    /// The tree called `name`, or `nil`.
    ///
    /// - Throws: `wrongKeyKind` if its keys are of another kind than `keys`.
    public func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>? {
        guard let handle = try pages.tree(named: name) else { return nil }
        return try Tree(handle)
    }

    /// All trees, in the order of their names' UTF-8 bytes.
    public func trees() throws(StorageError) -> [TreeSummary] { try pages.listTrees() }

    /// How many entries `tree` has.
    ///
    /// - Complexity: O(1).
    public func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64 { try pages.count(of: tree.handle) }

    /// How many entries `tree` has.
    ///
    /// - Complexity: O(1).
    public func count(of tree: AnyTree) throws(StorageError) -> UInt64 { try pages.count(of: tree.handle) }

    /// The value of `key`, or `nil`.
    public func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]? {
        try pages.value(of: key, in: tree)
    }

    /// The value of `key`, or `nil`.
    public func get(_ key: RawSpan, from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        try pages.value(of: key, in: tree)
    }

    /// The value of `key`, or `nil`.
    public func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]? {
        // SAFETY: the array outlives the call.
        unsafe try pages.value(of: key.span.bytes, in: tree)
    }

    /// Calls `body` with the bytes of the value of `key`, if the key exists; a value in a leaf is not copied.
    @inlinable
    public func withValue<R>(of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> R) throws(StorageError) -> R? {
        var result: R?
        try visitValue(of: key, in: tree) { result = body($0) }
        return result
    }

    /// `withValue` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    package func visitValue(of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> Void) throws(StorageError) {
        _ = try pages.withValue(of: key, in: tree, body)
    }

    /// Calls `body` with the bytes of the value of `key`, if the key exists; a value in a leaf is not copied.
    @inlinable
    public func withValue<R>(of key: RawSpan, in tree: Tree<[UInt8]>, _ body: (RawSpan) -> R) throws(StorageError) -> R?
    {
        var result: R?
        try visitValue(of: key, in: tree) { result = body($0) }
        return result
    }

    /// `withValue` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    func visitValue(of key: RawSpan, in tree: Tree<[UInt8]>, _ body: (RawSpan) -> Void) throws(StorageError) {
        _ = try pages.withValue(of: key, in: tree, body)
    }

    /// Calls `body` with the parts of the value of `key`, in order and without copying them.
    ///
    /// A value outside of a leaf is passed page by page, and is never assembled in memory. Each part is verified before
    /// `body` gets it; the error of a damaged part is thrown after the calls for the parts before it.
    ///
    /// - Returns: whether the key exists.
    public func forEachPart(
        ofValueOf key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        try pages.forEachPart(ofValueOf: key, in: tree, body)
    }

    /// Calls `body` with the parts of the value of `key`, in order and without copying them.
    ///
    /// A value outside of a leaf is passed page by page, and is never assembled in memory. Each part is verified before
    /// `body` gets it; the error of a damaged part is thrown after the calls for the parts before it.
    ///
    /// - Returns: whether the key exists.
    public func forEachPart(
        ofValueOf key: RawSpan, in tree: Tree<[UInt8]>, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        try pages.forEachPart(ofValueOf: key, in: tree, body)
    }

    /// Makes a lookup of several keys of `tree`.
    public func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key> {
        try pages.checkUsable()
        return Lookup(AnyLookup(over: .reading(pages), tree.handle))
    }

    /// A cursor before the first entry of `tree`.
    @inlinable
    public func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key> {
        Cursor(try cursor(of: tree.handle))
    }

    /// A cursor before the first entry of `tree`; it returns keys as bytes.
    public func cursor(over tree: AnyTree) throws(StorageError) -> Cursor<AnyKey> {
        Cursor(try cursor(of: tree.handle))
    }

    /// `cursor` for one type: callers in other modules specialize only the wrapper.
    @usableFromInline
    func cursor(of tree: TreeHandle) throws(StorageError) -> AnyCursor {
        try pages.checkUsable()
        // SAFETY: read at once.
        return AnyCursor(over: .reading(pages), tree, unsafe try pages.trees.record(of: tree, in: pages).pointee)
    }
}
