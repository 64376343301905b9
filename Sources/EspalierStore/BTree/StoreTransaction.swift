// The engine's transactions, with the errors of a store.
//
// Why the methods are repeated: see Decisions, "Transactions with the errors of a store".
// Not here: methods that call a closure only. The engine throws the errors of these in the closure's type (its
// `CallerErrors`), so that the store calls them directly.

internal import EspalierEngine

/// The methods that read and write transactions share.
protocol TreeReading: ~Copyable {
    func tree(named name: String) throws(StorageError) -> AnyTree?
    func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>?
    func trees() throws(StorageError) -> [TreeSummary]
    func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64
    func count(of tree: AnyTree) throws(StorageError) -> UInt64
    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]?
    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]?
    func withValue<R, Failure: StorageFailure>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(Failure) -> R
    ) throws(Failure) -> R?
    func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key>
    func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key>
}

extension ReadTransaction: TreeReading {}
extension WriteTransaction: TreeReading {}

/// A transaction of the engine.
struct StoreTransaction<Base: TreeReading & ~Copyable>: ~Copyable {
    private var base: Base

    init(_ base: consuming Base) { self.base = base }

    func tree(named name: String) throws(StoreError) -> AnyTree? { try withStoreErrors(try base.tree(named: name)) }

    func tree<Key>(named name: String, keys: Key.Type) throws(StoreError) -> Tree<Key>? {
        try withStoreErrors(try base.tree(named: name, keys: keys))
    }

    func trees() throws(StoreError) -> [AnyTree] { try withStoreErrors(try base.trees()).map(\.tree) }

    func count<Key>(of tree: Tree<Key>) throws(StoreError) -> UInt64 { try withStoreErrors(try base.count(of: tree)) }

    func count(of tree: AnyTree) throws(StoreError) -> UInt64 { try withStoreErrors(try base.count(of: tree)) }

    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StoreError) -> [UInt8]? {
        try withStoreErrors(try base.get(key, from: tree))
    }

    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StoreError) -> [UInt8]? {
        try withStoreErrors(try base.get(key, from: tree))
    }

    /// Calls `body` with the value of `key`, in place if it is in a leaf; `nil` if the key is absent.
    func withValue<R>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        try base.withValue(of: key, in: tree, body)
    }

    func lookup<Key>(in tree: Tree<Key>) throws(StoreError) -> Lookup<Key> {
        try withStoreErrors(try base.lookup(in: tree))
    }

    func cursor<Key>(over tree: Tree<Key>) throws(StoreError) -> StoreCursor<Key> {
        StoreCursor(try withStoreErrors(try base.cursor(over: tree)))
    }

    /// Calls `body` with the entries of `tree` from `lower` on and below `upper`, in order and in place, until it
    /// returns `false`.
    func forEach(
        in tree: Tree<[UInt8]>, from lower: [UInt8], below upper: [UInt8]?,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        assert(upper.map { !$0.precedes(lower) } ?? true, "a range ends before it begins")
        var entries = try lookup(in: tree)
        try entries.forEach(from: lower) { key, value throws(StoreError) in
            if let upper, !upper.withRawSpan({ key.precedes($0) }) { return false }
            return try body(key, value)
        }
    }

    /// Calls `body` with the entries of `tree` whose keys begin with `prefix`, in order and in place, until it returns
    /// `false`.
    func forEach(
        in tree: Tree<[UInt8]>, beginningWith prefix: [UInt8],
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var entries = try lookup(in: tree)
        try entries.forEach(from: prefix) { key, value throws(StoreError) in
            guard prefix.withRawSpan({ key.begins(with: $0) }) else { return false }
            return try body(key, value)
        }
    }
}

extension StoreTransaction where Base == ReadSource {
    /// Begins a read transaction.
    init(reading database: Database) throws(StoreError) {
        self.init(.committed(try withStoreErrors(try database.beginRead())))
    }

    /// The newest commit that this transaction reads.
    var number: UInt64 { base.number }

    /// The stamp of the trees, which changes with the model (`StoreCatalog.renewStamp`).
    var treeStamp: UInt32 { base.treeStamp }
}

extension StoreTransaction where Base == WriteTransaction {
    /// A reader of this transaction, which does not own it.
    var reader: WriteReader { base.reader }

    /// The stamp of the trees, which changes with the model (`StoreCatalog.renewStamp`).
    var treeStamp: UInt32 { base.treeStamp }
    /// The number that this transaction gets if it commits changes.
    var transactionID: UInt64 { base.transactionID }

    /// The size of the cache of pages, in bytes.
    var cacheByteCount: Int { base.cacheByteCount }

    /// Begins a write transaction.
    ///
    /// - Throws: `.readOnly` for a database that is open for reading only.
    init(writing database: Database) throws(StoreError) {
        guard !database.isReadOnly else { throw .readOnly(path: nil) }
        self.init(try withStoreErrors(try database.beginWrite()))
    }

    @discardableResult
    mutating func createTree<Key>(named name: String, keys: Key.Type) throws(StoreError) -> Tree<Key> {
        try withStoreErrors(try base.createTree(named: name, keys: keys))
    }

    mutating func createTree(named name: String, kind: KeyKind) throws(StoreError) -> AnyTree {
        let tree = try withStoreErrors(try base.createTree(named: name, kind: kind))
        assert(tree.name == name && tree.kind == kind, "tree \(tree.name) was made for \(name)")
        return tree
    }

    /// Gives a tree another name; handles with the old name become invalid.
    mutating func renameTree(_ tree: AnyTree, to name: String) throws(StoreError) -> AnyTree {
        let renamed = try withStoreErrors(try base.renameTree(tree, to: name))
        assert(renamed.id == tree.id, "tree \(tree.id) has another name, and is tree \(renamed.id) now")
        return renamed
    }

    mutating func dropTree(_ tree: AnyTree) throws(StoreError) { try withStoreErrors(try base.dropTree(tree)) }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: [UInt8], for key: UInt64, in tree: Tree<UInt64>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.put(value, for: key, in: tree))
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: [UInt8], for key: [UInt8], in tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.put(value, for: key, in: tree))
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: RawSpan, for key: UInt64, in tree: Tree<UInt64>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.put(value, for: key, in: tree))
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: RawSpan, for key: RawSpan, in tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.put(value, for: key, in: tree))
    }

    /// Calls `body` with the value of `key`, which it may change in place; returns whether the key exists.
    mutating func withMutableValue(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (inout MutableRawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try base.withMutableValue(of: key, in: tree, body)
    }

    /// Calls `body` with the value of each of `keys` that exists, which it may change in place, and the key's position
    /// among them, until it returns `false`.
    ///
    /// - Parameter keys: each greater than the one before.
    mutating func withMutableValues(
        of keys: [UInt64], in tree: Tree<UInt64>,
        _ body: (_ position: Int, _ value: inout MutableRawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try base.withMutableValues(of: keys, in: tree, body)
    }

    /// Calls `body` with each entry of `tree`, in ascending order, and keeps, removes or replaces the entry as it says;
    /// after an error the transaction can only be rolled back.
    mutating func rewrite(
        _ tree: Tree<UInt64>,
        _ body: (_ key: UInt64, _ value: RawSpan, _ new: inout [UInt8]) throws(StoreError) -> RewrittenEntry
    ) throws(StoreError) {
        try base.rewrite(tree, body)
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    mutating func remove(_ key: UInt64, from tree: Tree<UInt64>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.remove(key, from: tree))
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    mutating func remove(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
        try withStoreErrors(try base.remove(key, from: tree))
    }

    /// Removes the entries whose keys are in `keys`.
    mutating func removeAll(_ keys: ClosedRange<UInt64>, from tree: Tree<UInt64>) throws(StoreError) {
        _ = try withStoreErrors(try base.removeAll(keys, from: tree))
    }

    /// Opens a savepoint, so that the transaction can be rolled back to its present state.
    mutating func savepoint() throws(StoreError) -> Savepoint { try withStoreErrors(try base.savepoint()) }

    /// Undoes all changes since `savepoint`, which ends.
    mutating func undo(to savepoint: Savepoint) throws(StoreError) {
        try withStoreErrors(try base.rollback(to: savepoint))
        try release(savepoint)
    }

    /// Ends `savepoint` and keeps the changes.
    mutating func release(_ savepoint: Savepoint) throws(StoreError) {
        try withStoreErrors(try base.release(savepoint))
    }

    /// Commits the transaction, and returns the number of the commit; `nil` uses the durability of the database.
    @discardableResult
    consuming func commit(_ durability: Durability? = nil) throws(StoreError) -> UInt64 {
        do { return try base.commit(durability).transactionID } catch { throw StoreError(error) }
    }
}
