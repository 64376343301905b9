// The engine's transactions and cursors with errors as a store throws them.
//
// Invariants
//   1. Every engine error that leaves this file carries the path of the file.

internal import EspalierEngine

/// What a closure has thrown that the engine calls, which takes none that throw.
///
/// By reference: to find out that a `StoreError?` is nothing to be destroyed took 60 steps for each row.
private final class Failure {
    let error: StoreError

    init(_ error: StoreError) { self.error = error }
}

/// What read and write transactions have in common.
protocol TreeReading: ~Copyable {
    func tree(named name: String) throws(StorageError) -> AnyTree?
    func tree<Key>(named name: String, keys: Key.Type) throws(StorageError) -> Tree<Key>?
    func trees() throws(StorageError) -> [TreeSummary]
    func count<Key>(of tree: Tree<Key>) throws(StorageError) -> UInt64
    func count(of tree: AnyTree) throws(StorageError) -> UInt64
    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StorageError) -> [UInt8]?
    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StorageError) -> [UInt8]?
    func withValue<R>(of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) -> R) throws(StorageError) -> R?
    func lookup<Key>(in tree: Tree<Key>) throws(StorageError) -> Lookup<Key>
    func cursor<Key>(over tree: Tree<Key>) throws(StorageError) -> Cursor<Key>
}

extension ReadTransaction: TreeReading {}
extension WriteTransaction: TreeReading {}

/// A transaction of the engine.
struct StoreTransaction<Base: TreeReading & ~Copyable>: ~Copyable {
    private var base: Base
    private let path: String?

    init(_ base: consuming Base, path: String?) {
        self.base = base
        self.path = path
    }

    func tree(named name: String) throws(StoreError) -> AnyTree? {
        do { return try base.tree(named: name) } catch { throw .storage(error, path: path) }
    }

    func tree<Key>(named name: String, keys: Key.Type) throws(StoreError) -> Tree<Key>? {
        do { return try base.tree(named: name, keys: keys) } catch { throw .storage(error, path: path) }
    }

    func trees() throws(StoreError) -> [AnyTree] {
        do { return try base.trees().map(\.tree) } catch { throw .storage(error, path: path) }
    }

    func count<Key>(of tree: Tree<Key>) throws(StoreError) -> UInt64 {
        do { return try base.count(of: tree) } catch { throw .storage(error, path: path) }
    }

    func get(_ key: UInt64, from tree: Tree<UInt64>) throws(StoreError) -> [UInt8]? {
        do { return try base.get(key, from: tree) } catch { throw .storage(error, path: path) }
    }

    func get(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StoreError) -> [UInt8]? {
        do { return try base.get(key, from: tree) } catch { throw .storage(error, path: path) }
    }

    /// Calls `body` with the value of `key` where it lies, if there is one.
    func withValue<R>(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (RawSpan) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        var result: R?
        var failure: Failure?
        do throws(StorageError) {
            _ = try base.withValue(of: key, in: tree) { value in
                do throws(StoreError) { result = try body(value) } catch { failure = Failure(error) }
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
        return result
    }

    func count(of tree: AnyTree) throws(StoreError) -> UInt64 {
        do { return try base.count(of: tree) } catch { throw .storage(error, path: path) }
    }

    func lookup<Key>(in tree: Tree<Key>) throws(StoreError) -> StoreLookup<Key> {
        do { return StoreLookup(try base.lookup(in: tree), path: path) } catch { throw .storage(error, path: path) }
    }

    func cursor<Key>(over tree: Tree<Key>) throws(StoreError) -> StoreCursor<Key> {
        do { return StoreCursor(try base.cursor(over: tree), path: path) } catch { throw .storage(error, path: path) }
    }

    /// The entries of `tree` from `lower` on and below `upper`, in order and where they lie, until `body` returns
    /// `false`.
    func forEach(
        in tree: Tree<[UInt8]>, from lower: [UInt8], below upper: [UInt8]?,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var entries = try lookup(in: tree)
        try entries.forEach(from: lower) { key, value throws(StoreError) in
            if let upper, !upper.withRawSpan({ key.precedes($0) }) { return false }
            return try body(key, value)
        }
    }

    /// The entries of `tree` whose keys begin with `prefix`, in order and where they lie, until `body` returns `false`.
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

extension StoreTransaction where Base == ReadTransaction {
    /// The newest commit this transaction sees.
    var number: UInt64 { base.transactionID }
}

extension StoreTransaction where Base == WriteTransaction {
    @discardableResult
    mutating func createTree<Key>(named name: String, keys: Key.Type) throws(StoreError) -> Tree<Key> {
        do { return try base.createTree(named: name, keys: keys) } catch { throw .storage(error, path: path) }
    }

    mutating func createTree(named name: String, kind: KeyKind) throws(StoreError) -> AnyTree {
        do { return try base.createTree(named: name, kind: kind) } catch { throw .storage(error, path: path) }
    }

    mutating func dropTree(_ tree: AnyTree) throws(StoreError) {
        do { try base.dropTree(tree) } catch { throw .storage(error, path: path) }
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: [UInt8], for key: UInt64, in tree: Tree<UInt64>) throws(StoreError) -> Bool {
        do { return try base.put(value, for: key, in: tree) } catch { throw .storage(error, path: path) }
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: [UInt8], for key: [UInt8], in tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
        do { return try base.put(value, for: key, in: tree) } catch { throw .storage(error, path: path) }
    }

    /// Stores `value` under `key`; returns whether it replaced an older value.
    @discardableResult
    mutating func put(_ value: RawSpan, for key: UInt64, in tree: Tree<UInt64>) throws(StoreError) -> Bool {
        do { return try base.put(value, for: key, in: tree) } catch { throw .storage(error, path: path) }
    }

    /// Stores `value` under `key`.
    mutating func put(_ value: RawSpan, for key: RawSpan, in tree: Tree<[UInt8]>) throws(StoreError) {
        do { _ = try base.put(value, for: key, in: tree) } catch { throw .storage(error, path: path) }
    }

    /// Calls `body` with the value of `key`, to be changed where it lies; returns whether there is one.
    mutating func withMutableValue(
        of key: UInt64, in tree: Tree<UInt64>, _ body: (inout MutableRawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var isFound = false
        var failure: Failure?
        do throws(StorageError) {
            isFound = try base.withMutableValue(of: key, in: tree) { value in
                do throws(StoreError) { try body(&value) } catch { failure = Failure(error) }
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
        return isFound
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    mutating func remove(_ key: UInt64, from tree: Tree<UInt64>) throws(StoreError) -> Bool {
        do { return try base.remove(key, from: tree) } catch { throw .storage(error, path: path) }
    }

    /// Removes `key`; returns whether it existed.
    @discardableResult
    mutating func remove(_ key: [UInt8], from tree: Tree<[UInt8]>) throws(StoreError) -> Bool {
        do { return try base.remove(key, from: tree) } catch { throw .storage(error, path: path) }
    }

    /// Removes the entries whose keys are in `keys`.
    mutating func removeAll(_ keys: ClosedRange<UInt64>, from tree: Tree<UInt64>) throws(StoreError) {
        do { try base.removeAll(keys, from: tree) } catch { throw .storage(error, path: path) }
    }

    /// Makes everything durable and visible; returns the number of the commit.
    @discardableResult
    consuming func commit(_ durability: Durability? = nil) throws(StoreError) -> UInt64 {
        let path = path
        do { return try base.commit(durability).transactionID } catch { throw .storage(error, path: path) }
    }
}

/// A lookup of the engine.
struct StoreLookup<Key: StoredKey>: ~Copyable {
    private var base: Lookup<Key>
    private let path: String?

    init(_ base: consuming Lookup<Key>, path: String?) {
        self.base = base
        self.path = path
    }
}

extension StoreLookup where Key == UInt64 {
    /// Calls `body` with the value of `key` where it lies; returns whether there is one.
    @inline(__always)
    mutating func withValue(
        of key: UInt64, _ body: (RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var isFound = false
        var failure: Failure?
        do throws(StorageError) {
            isFound = try base.withValue(of: key) { value in
                do throws(StoreError) { try body(value) } catch { failure = Failure(error) }
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
        return isFound
    }
}

extension StoreLookup where Key == [UInt8] {
    /// How many entries are from `lower` on and below `upper`, or `limit` if there are more.
    mutating func countEntries(from lower: [UInt8], below upper: [UInt8]?, limit: Int) throws(StoreError) -> Int {
        do { return try base.countEntries(from: lower, below: upper, limit: limit) } catch {
            throw .storage(error, path: path)
        }
    }

    /// Calls `body` with keys and values where they lie, from `key` on, until it returns `false`.
    @inline(__always)
    mutating func forEach(
        from key: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // SAFETY: the array outlives the call.
        unsafe try forEach(from: key.span.bytes, body)
    }

    /// Calls `body` with keys and values where they lie, from the big-endian bytes of `number` on, until it returns
    /// `false`.
    @inline(__always)
    mutating func forEach(
        fromBigEndian number: UInt64, _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var bytes = number.bigEndian
        // SAFETY: the number outlives the call.
        try unsafe withUnsafeBytes(of: &bytes) { bytes throws(StoreError) in
            unsafe try forEach(from: bytes.bytes, body)
        }
    }

    @inline(__always)
    private mutating func forEach(
        from key: RawSpan, _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var failure: Failure?
        do throws(StorageError) {
            try base.forEachEntry(from: key) { key, value in
                do throws(StoreError) { return try body(key, value) } catch { failure = Failure(error) }
                return false
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
    }
}

/// A cursor of the engine.
struct StoreCursor<Key: StoredKey>: ~Copyable {
    private var base: Cursor<Key>
    private let path: String?

    init(_ base: consuming Cursor<Key>, path: String?) {
        self.base = base
        self.path = path
    }

    mutating func first() throws(StoreError) -> Bool {
        do { return try base.first() } catch { throw .storage(error, path: path) }
    }

    mutating func last() throws(StoreError) -> Bool {
        do { return try base.last() } catch { throw .storage(error, path: path) }
    }

    mutating func next() throws(StoreError) -> Bool {
        do { return try base.next() } catch { throw .storage(error, path: path) }
    }

    mutating func previous() throws(StoreError) -> Bool {
        do { return try base.previous() } catch { throw .storage(error, path: path) }
    }

    var isExact: Bool { base.isExact }

    func value() throws(StoreError) -> [UInt8] {
        do { return try base.value() } catch { throw .storage(error, path: path) }
    }

    /// Calls `body` with key and value where they lie.
    func withEntry(_ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Void) throws(StoreError) {
        var failure: Failure?
        do throws(StorageError) {
            try base.withEntry { key, value in
                do throws(StoreError) { try body(key, value) } catch { failure = Failure(error) }
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
    }

    /// Calls `body` with the value where it lies.
    func withValue(_ body: (RawSpan) throws(StoreError) -> Void) throws(StoreError) {
        var failure: Failure?
        do throws(StorageError) {
            try base.withValue { value in
                do throws(StoreError) { try body(value) } catch { failure = Failure(error) }
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
    }
}

extension StoreCursor where Key == UInt64 {
    mutating func seek(_ key: UInt64) throws(StoreError) -> Bool {
        do { return try base.seek(key) } catch { throw .storage(error, path: path) }
    }

    var key: UInt64 {
        get throws(StoreError) {
            do { return try base.key } catch { throw .storage(error, path: path) }
        }
    }

    /// Calls `body` with keys and values, where they lie, from the entry of the cursor on until it returns `false`.
    @inline(__always)
    mutating func forEachValue(
        _ body: (_ key: UInt64, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var failure: Failure?
        do throws(StorageError) {
            try base.forEachValue { key, value in
                do throws(StoreError) { return try body(key, value) } catch { failure = Failure(error) }
                return false
            }
        } catch {
            throw .storage(error, path: path)
        }
        if let failure { throw failure.error }
    }
}

extension StoreCursor where Key == [UInt8] {
    mutating func seek(_ key: [UInt8]) throws(StoreError) -> Bool {
        do { return try base.seek(key) } catch { throw .storage(error, path: path) }
    }

    var key: [UInt8] {
        get throws(StoreError) {
            do { return try base.key } catch { throw .storage(error, path: path) }
        }
    }
}
