// The write transaction: it sees its own changes, and makes them durable together or not at all.
//
// Invariants
//   1. An error about arguments changes nothing, and the transaction stays usable. After any other error of a change
//      the transaction can only be rolled back (`transaction(.failed)`), as a whole or to a savepoint.
//   2. Going out of scope without `commit` is a rollback.

/// The one write transaction of a store.
///
/// It rolls back when it goes out of scope without `commit`. Use it from one thread at a time; it may end on another
/// thread than it began on.
public struct WriteTransaction: ~Copyable {
    let pages: WritePages

    init(_ pages: WritePages) {
        assert(!pages.isEnded && !pages.writes.hasFailed, "a transaction has ended or failed before it begins")
        self.pages = pages
    }

    deinit { pages.engine.rollback(pages) }

    /// The number this transaction will have once it is committed.
    public var transactionID: UInt64 { pages.versions.state.transactionID + 1 }

    /// The size of the cache of pages: what a caller may take for work of its own beside it.
    package var cacheByteCount: Int { pages.engine.pool.frameCount * pages.engine.pool.pageSize }

    /// The stamp of `ReadTransaction` in this transaction; greater also after trees whose transaction was rolled back.
    package var treeStamp: UInt32 { pages.writes.state.nextTreeID }

    // MARK: Reading

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
    ///
    /// Writes changed records to the catalog, from which the list is read.
    ///
    /// - Throws: `transaction(.failed)` after an error that may have left a change half done.
    public func trees() throws(StorageError) -> [TreeSummary] {
        try change { pages throws(StorageError) in try pages.trees.writeChangedRecords(to: pages) }
        return try pages.listTrees()
    }

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

    /// A cursor before the first entry of `tree`.
    ///
    /// It stays valid after changes of this transaction, and after a rollback to a savepoint.
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
        return AnyCursor(over: .writing(pages), tree, unsafe try pages.trees.record(of: tree, in: pages).pointee)
    }

    /// Makes a lookup of several keys of `tree`.
    public func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key> {
        try pages.checkUsable()
        return Lookup(AnyLookup(over: .writing(pages), tree.handle))
    }

    // MARK: Trees

    /// Makes a new, empty tree.
    ///
    /// - Throws: `treeExists` if the name is taken; `emptyName`; `keyTooLong` if it is longer than a key may be;
    ///   `diskFull` if all 2^32 tree numbers were used.
    public mutating func createTree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key> {
        try Tree(try create(name, Key.keyKind))
    }

    /// Makes a new, empty tree.
    ///
    /// - Throws: `treeExists` if the name is taken; `emptyName`; `keyTooLong` if it is longer than a key may be;
    ///   `diskFull` if all 2^32 tree numbers were used.
    public mutating func createTree(named name: String, kind: KeyKind) throws(StorageError) -> AnyTree {
        AnyTree(try create(name, kind))
    }

    private mutating func create(_ name: String, _ kind: KeyKind) throws(StorageError) -> TreeHandle {
        try checkName(name)
        return try change { pages throws(StorageError) in
            let id = pages.writes.state.nextTreeID
            guard id < .max else { throw StorageError.diskFull }
            let record = try BTree(pages).createTree(
                id, kind: kind, rootTag: Catalog<WritePages>.rootTag(of: name),
                transaction: pages.versions.state.transactionID + 1)
            assert(
                record.treeID == id && record.entryCount == 0 && record.height == 1, "tree \(id) is new and not empty")
            pages.writes.state.nextTreeID += 1
            try Catalog(pages).store(record, as: name)
            let tree = TreeHandle(name: name, id: id, kind: kind, store: pages.trees.storeMark)
            pages.trees.add(tree, record)
            return tree
        }
    }

    /// Throws `treeExists`, `emptyName` or `keyTooLong` if a tree cannot be called `name`.
    private func checkName(_ name: String) throws(StorageError) {
        if let existing = try tree(named: name) { throw .argument(.treeExists(existing.id)) }
        let maximum = StoreGeometry(pageSize: pages.pageSize).keyByteCountMax
        assert(maximum > 0, "a key has at most \(maximum) bytes")
        guard !name.isEmpty else { throw .argument(.emptyName) }
        guard name.utf8.count <= maximum else {
            throw .argument(.keyTooLong(byteCount: UInt32(clamping: name.utf8.count), maximum: UInt32(maximum)))
        }
    }

    /// The tree called `name`; creates it if it does not exist.
    ///
    /// - Throws: `wrongKeyKind` if it exists with other keys than `keys`.
    public mutating func tree<Key>(named name: String, orCreate keys: Key.Type) throws(StorageError) -> Tree<Key> {
        if let existing = try tree(named: name, keys: keys) { return existing }
        return try createTree(named: name, keys: keys)
    }

    /// Removes `tree` with all its entries.
    public mutating func dropTree<Key>(_ tree: Tree<Key>) throws(StorageError) { try drop(tree.handle) }

    /// Removes `tree` with all its entries.
    public mutating func dropTree(_ tree: AnyTree) throws(StorageError) { try drop(tree.handle) }

    private mutating func drop(_ tree: TreeHandle) throws(StorageError) {
        try change { pages throws(StorageError) in
            // SAFETY: read at once.
            let record = unsafe try pages.trees.record(of: tree, in: pages).pointee
            assert(record.treeID == tree.id && record.kind == tree.kind, "the record of tree \(tree.id)")
            try BTree(pages).dropTree(record)
            _ = try Catalog(pages).remove(tree.name)
            pages.trees.remove(tree)
            pages.treeChangeCount &+= 1
        }
    }

    /// Gives `tree` another name, and returns its new handle; the entries do not move.
    ///
    /// Handles with the old name cannot be used any more, neither in this transaction nor in later ones.
    ///
    /// - Throws: `treeExists` if the name is taken; `emptyName`; `keyTooLong` if it is longer than a key may be.
    /// - Complexity: O(log trees).
    public mutating func renameTree(_ tree: AnyTree, to name: String) throws(StorageError) -> AnyTree {
        try checkName(name)
        let handle = tree.handle
        return try change { pages throws(StorageError) in
            // SAFETY: read at once.
            let record = unsafe try pages.trees.record(of: handle, in: pages).pointee
            assert(record.treeID == handle.id && name != handle.name, "tree \(handle.id) gets the name that it has")
            try BTree(pages).renameTree(record, rootTag: Catalog<WritePages>.rootTag(of: name))
            _ = try Catalog(pages).remove(handle.name)
            try Catalog(pages).store(record, as: name)
            pages.trees.remove(handle)
            let renamed = TreeHandle(name: name, id: handle.id, kind: handle.kind, store: pages.trees.storeMark)
            pages.trees.add(renamed, record)
            pages.treeChangeCount &+= 1
            return AnyTree(renamed)
        }
    }

    // MARK: Entries

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: RawSpan, for key: UInt64, in tree: Tree<UInt64>) throws(StorageError) -> Bool {
        try insert(value, TreeKey(key), tree)
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    ///
    /// - Throws: `keyTooLong`, `valueTooLarge`; the transaction stays usable.
    @discardableResult
    public mutating func put(_ value: RawSpan, for key: RawSpan, in tree: Tree<[UInt8]>) throws(StorageError) -> Bool {
        // SAFETY: the key is used only within the closure.
        unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try insert(value, TreeKey(unsafe ByteString(bytes)), tree)
        }
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: [UInt8], for key: UInt64, in tree: Tree<UInt64>) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try put(value.span.bytes, for: key, in: tree)
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    public mutating func put(_ value: [UInt8], for key: [UInt8], in tree: Tree<[UInt8]>) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try put(value.span.bytes, for: key.span.bytes, in: tree)
    }

    /// Calls `body` with the bytes of the value of `key`, which it may change in place; their number does not change.
    ///
    /// - Returns: whether the key exists; without it `body` is not called.
    /// - Complexity: O(log n); O(1) in a run of neighboring keys. A value that does not fit into a leaf is copied and
    ///   stored again.
    @discardableResult
    public mutating func withMutableValue(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        try change(tree) { operations, record throws(StorageError) in
            try operations.changeValue(of: TreeKey(key), in: &record, body)
        }
    }

    /// Calls `body` with the bytes of the value of `key`, which it may change in place; their number does not change.
    ///
    /// - Returns: whether the key exists; without it `body` is not called.
    /// - Complexity: O(log n); O(1) in a run of neighboring keys. A value that does not fit into a leaf is copied and
    ///   stored again.
    @discardableResult
    public mutating func withMutableValue(
        of key: RawSpan, in tree: Tree<[UInt8]>, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        // SAFETY: the key is used only within the closure.
        unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            let key = TreeKey(unsafe ByteString(bytes))
            return try change(tree) { operations, record throws(StorageError) in
                try operations.changeValue(of: key, in: &record, body)
            }
        }
    }

    /// Calls `body` with the bytes of the value of `key`, which it may change in place; their number does not change.
    ///
    /// - Returns: whether the key exists; without it `body` is not called.
    @discardableResult
    public mutating func withMutableValue(
        of key: [UInt8], in tree: Tree<[UInt8]>, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try withMutableValue(of: key.span.bytes, in: tree, body)
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> Bool {
        try delete(TreeKey(key), tree)
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: RawSpan, from tree: Tree<[UInt8]>) throws(StorageError) -> Bool {
        // SAFETY: the key is used only within the closure.
        unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try delete(TreeKey(unsafe ByteString(bytes)), tree)
        }
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    public mutating func remove(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try remove(key.span.bytes, from: tree)
    }

    // MARK: Ending

    /// Makes all changes visible and, with `.durable`, safe from power loss before it returns.
    ///
    /// - Parameter durability: the condition to wait for; `nil` uses the database's default.
    /// - Throws: `transaction(.failed)`, `diskFull`, `logFull`, `removed` (without `.durable`, if it happened more than
    ///   a millisecond ago), `forked`, `poisoned`: nothing was committed. `io`: nothing was committed for this process
    ///   and its later transactions. But the system may have written the bytes that it reported as failed; if the
    ///   process then ends before the next commit, the next open finds the commit, whole. `commitOutcomeUnknown` if a
    ///   sync on which the commit depends failed: after the next open the commit is there completely or not at all.
    @discardableResult
    public consuming func commit(_ durability: Durability? = nil) throws(StorageError) -> CommitReceipt {
        try pages.checkUsable()
        try change { pages throws(StorageError) in try pages.prepareCommit() }
        return try pages.engine.commit(pages, durability: durability ?? pages.engine.options.durability)
    }

    /// Discards all changes.
    public consuming func rollback() { pages.engine.rollback(pages) }

    // MARK: Private

    @inline(__always)
    private func insert<Key>(
        _ value: RawSpan, _ key: TreeKey, _ tree: Tree<Key>
    ) throws(StorageError) -> Bool {
        // SAFETY: the value is used only within the closure.
        unsafe try value.withUnsafeBytes { bytes throws(StorageError) in
            let value = unsafe ByteString(bytes)
            return try change(tree) { operations, record throws(StorageError) in
                try operations.insert(key, value, into: &record)
            }
        }
    }

    private func delete<Key>(_ key: TreeKey, _ tree: Tree<Key>) throws(StorageError) -> Bool {
        try change(tree) { operations, record throws(StorageError) in
            try operations.remove(key, from: &record)
        }
    }

    /// Runs a change of one tree.
    @inline(__always)
    func change<Key, R>(
        _ tree: Tree<Key>,
        _ body: (BTree<WritePages>, inout TreeRecord) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try change { pages throws(StorageError) in
            // SAFETY: no operation on the entries of a tree removes the tree, so its record stays where it is.
            let record = unsafe try pages.trees.record(of: tree.handle, in: pages)
            assert(unsafe record.pointee.kind == Key.keyKind, "tree \(tree.id) has other keys")
            return unsafe try body(BTree(pages), &record.pointee)
        }
    }

    /// Runs a change; after an error that may have left it half done the transaction cannot be committed (invariant 1).
    @inline(__always)
    func change<R>(
        _ body: (WritePages) throws(StorageError) -> R
    ) throws(StorageError) -> R {
        try pages.checkUsable()
        if pages.writes.hasFailed { throw .transaction(.failed) }
        do throws(StorageError) {
            return try body(pages)
        } catch {
            if !error.isAboutArguments { pages.writes.hasFailed = true }
            throw error
        }
    }
}
