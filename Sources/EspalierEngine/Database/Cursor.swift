// A cursor: a place in a tree that moves in both directions.

/// A place in a tree: before the first entry, on an entry, or after the last.
///
/// Every move returns whether the cursor stands on an entry afterwards.
public struct Cursor: ~Copyable {
    /// Moves to the first entry.
    public mutating func first() throws(StorageError) -> Bool { throw .closed }
    /// Moves to the last entry.
    public mutating func last() throws(StorageError) -> Bool { throw .closed }
    /// Moves to the next entry; from before the first entry to the first.
    public mutating func next() throws(StorageError) -> Bool { throw .closed }
    /// Moves to the previous entry; from after the last entry to the last.
    public mutating func previous() throws(StorageError) -> Bool { throw .closed }
    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    public mutating func seek(_ key: UInt64) throws(StorageError) -> Bool { throw .closed }
    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    public mutating func seek(_ key: RawSpan) throws(StorageError) -> Bool { throw .closed }
    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    public mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool { throw .closed }

    /// Whether the last `seek` found the very key it was given.
    public var isExact: Bool { false }
    /// Whether the cursor stands on an entry.
    public var isOnEntry: Bool { false }

    /// The key of the entry, in a tree of integer keys.
    ///
    /// The cursor must stand on an entry.
    public var integerKey: UInt64 { 0 }
    /// A copy of the key of the entry, in a tree of bytes keys.
    ///
    /// The cursor must stand on an entry.
    public var key: [UInt8] { [] }
    /// A copy of the value of the entry.
    ///
    /// The cursor must stand on an entry.
    public func value() throws(StorageError) -> [UInt8] { throw .closed }
    /// Calls `body` with the key's bytes (integer keys: 8 bytes, big-endian).
    public func withKey<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R { throw .closed }
    /// Calls `body` with the value's bytes, where they lie if the value is in a leaf.
    public func withValue<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R { throw .closed }
}
