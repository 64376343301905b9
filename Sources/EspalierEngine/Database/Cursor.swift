// A cursor: a place in a tree that moves in both directions.

/// A place in a tree: before the first entry, on an entry, or after the last.
///
/// Every move returns whether the cursor stands on an entry afterwards. A cursor over a write transaction goes on working
/// after changes of that transaction: it stays at its key.
public struct Cursor: ~Copyable {
    private var reading: TreeCursor<ReadPages>?
    private var writing: TreeCursor<WritePages>?
    private let readPages: ReadPages?
    private let writePages: WritePages?

    init(reading pages: ReadPages, _ record: TreeRecord) {
        reading = TreeCursor(pages, record)
        writing = nil
        (readPages, writePages) = (pages, nil)
    }

    init(writing pages: WritePages, _ record: TreeRecord) {
        reading = nil
        writing = TreeCursor(pages, record)
        (readPages, writePages) = (nil, pages)
    }

    @inline(__always)
    private func checkUsable() throws(StorageError) {
        if let readPages { try readPages.checkUsable() } else { try writePages?.checkUsable() }
    }

    // MARK: Moving

    /// Moves to the first entry.
    public mutating func first() throws(StorageError) -> Bool {
        try checkUsable()
        if let isOnEntry = try reading?.first() { return isOnEntry }
        return try writing?.first() ?? false
    }

    /// Moves to the last entry.
    public mutating func last() throws(StorageError) -> Bool {
        try checkUsable()
        if let isOnEntry = try reading?.last() { return isOnEntry }
        return try writing?.last() ?? false
    }

    /// Moves to the next entry; from before the first entry to the first.
    public mutating func next() throws(StorageError) -> Bool {
        try checkUsable()
        if let isOnEntry = try reading?.next() { return isOnEntry }
        return try writing?.next() ?? false
    }

    /// Moves to the previous entry; from after the last entry to the last.
    public mutating func previous() throws(StorageError) -> Bool {
        try checkUsable()
        if let isOnEntry = try reading?.previous() { return isOnEntry }
        return try writing?.previous() ?? false
    }

    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    ///
    /// - Throws: `wrongKeyKind` for a tree of bytes keys.
    public mutating func seek(_ key: UInt64) throws(StorageError) -> Bool {
        try checkUsable()
        guard kind == .integer else { throw .wrongKeyKind(tree: 0) }
        return try seek(TreeKey(key))
    }

    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    ///
    /// - Throws: `wrongKeyKind` for a tree of integer keys.
    public mutating func seek(_ key: RawSpan) throws(StorageError) -> Bool {
        try checkUsable()
        guard kind == .bytes else { throw .wrongKeyKind(tree: 0) }
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try seek(TreeKey(unsafe ByteString(bytes)))
        }
    }

    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    public mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try seek(key.span.bytes)
    }

    private mutating func seek(_ key: TreeKey) throws(StorageError) -> Bool {
        if let isOnEntry = try reading?.seek(key) { return isOnEntry }
        return try writing?.seek(key) ?? false
    }

    // MARK: The entry

    private var kind: KeyKind {
        switch reading {
        case .some(let cursor): return cursor.kind
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.kind
        case .none: return .bytes
        }
    }

    /// Whether the last `seek` found the very key it was given.
    public var isExact: Bool {
        switch reading {
        case .some(let cursor): return cursor.isExact
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.isExact
        case .none: return false
        }
    }

    /// Whether the cursor stands on an entry.
    public var isOnEntry: Bool {
        switch reading {
        case .some(let cursor): return cursor.isOnEntry
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.isOnEntry
        case .none: return false
        }
    }

    /// The key of the entry, in a tree of integer keys.
    ///
    /// The cursor must stand on an entry.
    public var integerKey: UInt64 {
        switch reading {
        case .some(let cursor): return cursor.integerKey
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.integerKey
        case .none: return 0
        }
    }

    /// A copy of the key of the entry, in a tree of bytes keys.
    ///
    /// The cursor must stand on an entry.
    public var key: [UInt8] {
        switch reading {
        case .some(let cursor): return cursor.bytesKey
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.bytesKey
        case .none: return []
        }
    }

    /// A copy of the value of the entry.
    ///
    /// - Throws: `noEntry` if the cursor stands on none; what reading throws.
    public func value() throws(StorageError) -> [UInt8] {
        try withValue { bytes in bytes.loadBytes(at: 0, count: bytes.byteCount) }
    }

    /// Calls `body` with the key's bytes (integer keys: 8 bytes, big-endian).
    ///
    /// - Throws: `noEntry` if the cursor stands on none.
    public func withKey<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R {
        try checkUsable()
        guard isOnEntry else { throw .noEntry }
        switch reading {
        case .some(let cursor): return cursor.withKey(body)
        case .none: break
        }
        switch writing {
        case .some(let cursor): return cursor.withKey(body)
        case .none: throw .noEntry
        }
    }

    /// Calls `body` with the value's bytes, where they lie if the value is in a leaf.
    ///
    /// - Throws: `noEntry` if the cursor stands on none, or on one that was removed since; what reading throws.
    public func withValue<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R {
        try checkUsable()
        guard isOnEntry else { throw .noEntry }
        let result: R?
        switch reading {
        case .some(let cursor): result = try cursor.withValue(body)
        case .none:
            switch writing {
            case .some(let cursor): result = try cursor.withValue(body)
            case .none: result = nil
            }
        }
        guard let result else { throw .noEntry }
        return result
    }
}
