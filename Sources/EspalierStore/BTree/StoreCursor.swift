// The engine's cursor, with the errors of a store.
//
// Why the methods are repeated: see Decisions, "Transactions with the errors of a store".

internal import EspalierEngine

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

    /// Calls `body` with the parts of the values that are in one page, and with the byte counts of the values, from the
    /// cursor's entry on, until it returns `false`.
    @inline(__always)
    mutating func forEachBeginning(
        _ body: (_ key: UInt64, _ beginning: RawSpan, _ byteCount: Int) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try base.forEachBeginning(body)
    }
}

extension StoreCursor where Key == [UInt8] {
    mutating func seek(_ key: [UInt8]) throws(StoreError) -> Bool { try withStoreErrors(try base.seek(key)) }

    var key: [UInt8] {
        get throws(StoreError) { try withStoreErrors(try base.key) }
    }
}
