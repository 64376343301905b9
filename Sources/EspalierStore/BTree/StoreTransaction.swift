// The engine's transactions, lookups and cursors, with the errors of a store.
//
// Invariants
//   1. Errors that are thrown here have no file path: the store adds it where it throws them to its caller
//      (`StoreError.withPath(_:_:)`).
// Not here: errors of closures that the engine calls and passes on itself (its `CallerErrors`).

public import EspalierEngine

extension StoreError: StorageFailure {
    /// Makes a store's error from an error of the engine.
    ///
    /// A call that runs beside `close` may be past the store's own test when the database closes.
    @usableFromInline
    package init(_ error: StorageError) {
        if case .database(.closed) = error { self = .closed } else { self = .storage(error, path: nil) }
    }
}

/// Runs a call of the engine and converts its error.
@inline(__always)
func withStoreErrors<Result: ~Copyable>(
    _ call: @autoclosure () throws(StorageError) -> Result
) throws(StoreError) -> Result {
    do { return try call() } catch { throw StoreError(error) }
}

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

    func lookup<Key>(in tree: Tree<Key>) throws(StoreError) -> StoreLookup<Key> {
        StoreLookup(try withStoreErrors(try base.lookup(in: tree)))
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

extension StoreTransaction where Base == SessionSource {
    /// Begins a read transaction.
    init(reading database: Database) throws(StoreError) {
        self.init(.committed(try withStoreErrors(try database.beginRead())))
    }

    /// The newest commit that this transaction reads.
    var number: UInt64 { base.number }
}

extension StoreTransaction where Base == WriteTransaction {
    /// A reader of this transaction, which does not own it.
    var reader: WriteReader { base.reader }

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
        try withStoreErrors(try base.createTree(named: name, kind: kind))
    }

    /// Gives a tree another name; handles with the old name become invalid.
    mutating func renameTree(_ tree: AnyTree, to name: String) throws(StoreError) -> AnyTree {
        try withStoreErrors(try base.renameTree(tree, to: name))
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

    /// Commits the transaction, and returns the number of the commit; `nil` uses the durability of the database.
    @discardableResult
    consuming func commit(_ durability: Durability? = nil) throws(StoreError) -> UInt64 {
        do { return try base.commit(durability).transactionID } catch { throw StoreError(error) }
    }
}

/// A lookup of the engine.
struct StoreLookup<Key: StoredKey>: ~Copyable {
    private var base: Lookup<Key>

    init(_ base: consuming Lookup<Key>) { self.base = base }
}

extension StoreLookup where Key == UInt64 {
    /// Calls `body` with the value of `key`, in place if it is in a leaf; returns whether the key exists.
    @inline(__always)
    mutating func withValue(
        of key: UInt64, _ body: (RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try base.withValue(of: key, body)
    }
}

extension StoreLookup where Key == [UInt8] {
    /// The number of entries from `lower` on and below `upper`, or `limit` if there are more.
    mutating func countEntries(from lower: [UInt8], below upper: [UInt8]?, limit: Int) throws(StoreError) -> Int {
        assert(upper.map { !$0.precedes(lower) } ?? true, "a range ends before it begins")
        return try withStoreErrors(try base.countEntries(from: lower, below: upper, limit: limit))
    }

    /// Calls `body` with the entries from `key` on, in place if they are in a leaf, until it returns `false`.
    @inline(__always)
    mutating func forEach(
        from key: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // SAFETY: the array outlives the call.
        unsafe try base.forEachEntry(from: key.span.bytes, body)
    }

    /// Skips whole leaves from `key` on as long as `skipping` returns `true`, then calls `body` with the other entries,
    /// in place if they are in a leaf, until it returns `false`.
    ///
    /// - Parameter skipping: whether to skip the next `count` entries, of which it gets only the last one.
    @inline(__always)
    mutating func forEach(
        from key: [UInt8], skipping: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // SAFETY: the array outlives the call.
        unsafe try base.forEachEntry(from: key.span.bytes, skipping: skipping, body)
    }

    /// Calls `body` with the entries from the big-endian bytes of `number` on, in place if they are in a leaf, until it
    /// returns `false`.
    @inline(__always)
    mutating func forEach(
        fromBigEndian number: UInt64, _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var bytes = number.bigEndian
        // SAFETY: the number outlives the call.
        try unsafe withUnsafeBytes(of: &bytes) { bytes throws(StoreError) in
            unsafe try base.forEachEntry(from: bytes.bytes, body)
        }
    }
}

/// A cursor of the engine.
struct StoreCursor<Key: StoredKey>: ~Copyable {
    private var base: Cursor<Key>

    init(_ base: consuming Cursor<Key>) { self.base = base }

    mutating func first() throws(StoreError) -> Bool { try withStoreErrors(try base.first()) }

    mutating func last() throws(StoreError) -> Bool { try withStoreErrors(try base.last()) }

    mutating func next() throws(StoreError) -> Bool { try withStoreErrors(try base.next()) }

    mutating func previous() throws(StoreError) -> Bool { try withStoreErrors(try base.previous()) }

    func value() throws(StoreError) -> [UInt8] { try withStoreErrors(try base.value()) }

    /// Calls `body` with key and value, in place if they are in a leaf.
    func withEntry(_ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Void) throws(StoreError) {
        try base.withEntry(body)
    }

    /// Calls `body` with the value, in place if it is in a leaf.
    func withValue(_ body: (RawSpan) throws(StoreError) -> Void) throws(StoreError) { try base.withValue(body) }
}

extension StoreCursor where Key == UInt64 {
    mutating func seek(_ key: UInt64) throws(StoreError) -> Bool { try withStoreErrors(try base.seek(key)) }

    var key: UInt64 {
        get throws(StoreError) { try withStoreErrors(try base.key) }
    }

    /// Calls `body` with the entries from the cursor's on, in place if they are in a leaf, until it returns `false`.
    @inline(__always)
    mutating func forEachValue(
        _ body: (_ key: UInt64, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try base.forEachValue(body)
    }
}

extension StoreCursor where Key == [UInt8] {
    mutating func seek(_ key: [UInt8]) throws(StoreError) -> Bool { try withStoreErrors(try base.seek(key)) }

    var key: [UInt8] {
        get throws(StoreError) { try withStoreErrors(try base.key) }
    }
}
