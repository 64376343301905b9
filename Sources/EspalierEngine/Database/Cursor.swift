// A cursor: a place in a tree that moves in both directions.

/// A place in a tree: before the first entry, on an entry, or after the last.
///
/// Every move returns whether the cursor is on an entry afterwards. A cursor over a write transaction stays valid after
/// changes of that transaction: it stays at its key.
public struct Cursor<Key>: ~Copyable {
    @usableFromInline let base: AnyCursor

    @inlinable
    init(_ base: consuming AnyCursor) { self.base = base }

    // MARK: Moving

    /// Moves to the first entry.
    @inlinable
    public mutating func first() throws(StorageError) -> Bool { try base.first() }

    /// Moves to the last entry.
    @inlinable
    public mutating func last() throws(StorageError) -> Bool { try base.last() }

    /// Moves to the next entry; from before the first entry to the first.
    @inlinable
    public mutating func next() throws(StorageError) -> Bool { try base.next() }

    /// Moves to the previous entry; from after the last entry to the last.
    @inlinable
    public mutating func previous() throws(StorageError) -> Bool { try base.previous() }

    // MARK: The entry

    /// Whether the last `seek` found exactly the key it was given.
    @inlinable public var isExact: Bool { base.isExact }

    /// Whether the cursor is on an entry.
    @inlinable public var isOnEntry: Bool { base.isOnEntry }

    /// A copy of the value of the entry.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry; any error of reading.
    @inlinable
    public func value() throws(StorageError) -> [UInt8] { try base.value() }

    /// Calls `body` with the key's bytes (integer keys: 8 bytes, big-endian).
    ///
    /// - Throws: `noEntry` if the cursor is on no entry.
    @inlinable
    public func withKey<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R {
        var result: R?
        try base.visitKey { result = body($0) }
        guard let result else { throw .argument(.noEntry) }
        return result
    }

    /// Calls `body` with the value's bytes; a value in a leaf is not copied.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry, or on one that was removed since; any error of reading.
    @inlinable
    public func withValue<R>(_ body: (RawSpan) -> R) throws(StorageError) -> R {
        var result: R?
        try base.visitValue { result = body($0) }
        guard let result else { throw .argument(.noEntry) }
        return result
    }

    /// Calls `body` with the key's and the value's bytes; a value in a leaf is not copied.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry, or on one that was removed since; any error of reading.
    @inlinable
    public func withEntry(_ body: (_ key: RawSpan, _ value: RawSpan) -> Void) throws(StorageError) {
        try base.withEntry(body)
    }
}

extension Cursor where Key == UInt64 {
    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    @inlinable
    public mutating func seek(_ key: UInt64) throws(StorageError) -> Bool { try base.seek(key) }

    /// The key of the entry.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry.
    public var key: UInt64 {
        @inlinable get throws(StorageError) { try base.integerKey }
    }

    /// Calls `body` with each key and value from the cursor's entry on, until `body` returns `false`.
    ///
    /// Afterwards the cursor is on the entry for which `body` returned `false`, or after the last one. A value in a
    /// leaf is not copied. In a snapshot the check that the transaction is usable runs once per leaf, and not twice per
    /// entry as in a loop of `next` and `withValue`.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry, or on one that was removed since; any error of reading.
    @inlinable
    public mutating func forEachValue(_ body: (_ key: UInt64, _ value: RawSpan) -> Bool) throws(StorageError) {
        repeat {
            guard let cells = try base.cellsFromEntry() else {
                // A write transaction may change the tree at every entry.
                guard try base.visitEntry(body) else { return }
                continue
            }
            var index = cells.range.lowerBound
            while index < cells.range.upperBound {
                let wantsMore: Bool
                // SAFETY: the cursor keeps its leaf pinned, and does not leave it meanwhile.
                if let value = unsafe cells.inlineValue(index) {
                    wantsMore = unsafe body(cells.key(index), value.bytes)
                } else {
                    base.moveInLeaf(to: index)
                    wantsMore = try base.visitEntry(body)
                }
                guard wantsMore else { return base.moveInLeaf(to: index) }
                index &+= 1
            }
            base.moveInLeaf(to: cells.range.upperBound &- 1)
        } while try base.next()
    }

    /// Calls `body` as `forEachValue` does, but reads at most one page of each value that has pages of its own.
    ///
    /// For callers that seldom need more: `body` returns `false` at such an entry, and the cursor then has its value.
    /// - Parameter body: gets the beginning of the value, which is whole if it is in a leaf, and its byte count.
    /// - Throws: `noEntry` if the cursor is on no entry, or on one that was removed since; any error of reading.
    @inlinable
    package mutating func forEachBeginning(
        _ body: (_ key: UInt64, _ beginning: RawSpan, _ byteCount: Int) -> Bool
    ) throws(StorageError) {
        repeat {
            guard let cells = try base.cellsFromEntry() else {
                // A write transaction may change the tree at every entry.
                guard try base.visitBeginning(body) else { return }
                continue
            }
            var index = cells.range.lowerBound
            while index < cells.range.upperBound {
                let wantsMore: Bool
                // SAFETY: the cursor keeps its leaf pinned, and does not leave it meanwhile.
                if let value = unsafe cells.inlineValue(index) {
                    wantsMore = unsafe body(cells.key(index), value.bytes, value.count)
                } else {
                    base.moveInLeaf(to: index)
                    wantsMore = try base.visitBeginning(body)
                }
                guard wantsMore else { return base.moveInLeaf(to: index) }
                index &+= 1
            }
            base.moveInLeaf(to: cells.range.upperBound &- 1)
        } while try base.next()
    }
}

extension Cursor where Key == [UInt8] {
    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    @inlinable
    public mutating func seek(_ key: RawSpan) throws(StorageError) -> Bool { try base.seek(key) }

    /// Moves to the first entry whose key is not less than `key`; `isExact` then tells whether it is equal.
    public mutating func seek(_ key: [UInt8]) throws(StorageError) -> Bool {
        // SAFETY: the array outlives the call.
        unsafe try base.seek(key.span.bytes)
    }

    /// A copy of the key of the entry.
    ///
    /// - Throws: `noEntry` if the cursor is on no entry.
    public var key: [UInt8] {
        @inlinable get throws(StorageError) { try base.bytesKey }
    }
}

/// The keys of a tree whose key kind only the store knows; a cursor returns their bytes.
public enum AnyKey {}

/// A cursor over a tree of either key kind: the common part of all cursors, which other modules need not specialize.
@usableFromInline
struct AnyCursor: ~Copyable {
    private let cursor: TreeCursor<CursorPages>
    private let pages: CursorPages
    private let tree: TreeHandle
    /// The `treeChangeCount` of the transaction when this cursor was made.
    private let treeChangeCount: UInt64

    init(over pages: CursorPages, _ tree: TreeHandle, _ record: TreeRecord) {
        self.pages = pages
        self.tree = tree
        treeChangeCount = pages.treeChangeCount
        assert(tree.id == record.treeID, "the record of tree \(tree.id) belongs to tree \(record.treeID)")
        cursor = TreeCursor(pages, record)
        pages.countCursor(by: 1)
    }

    deinit { pages.countCursor(by: -1) }

    @usableFromInline
    func first() throws(StorageError) -> Bool {
        try checkUsable()
        let isFound = try cursor.first()
        assert(isFound == cursor.isOnEntry, "the result does not say whether there is an entry")
        return isFound
    }

    @usableFromInline
    func last() throws(StorageError) -> Bool {
        try checkUsable()
        let isFound = try cursor.last()
        assert(isFound == cursor.isOnEntry, "the result does not say whether there is an entry")
        return isFound
    }

    @usableFromInline
    func next() throws(StorageError) -> Bool {
        try checkUsable()
        let isFound = try cursor.next()
        assert(isFound == cursor.isOnEntry, "the result does not say whether there is an entry")
        return isFound
    }

    @usableFromInline
    func previous() throws(StorageError) -> Bool {
        try checkUsable()
        let isFound = try cursor.previous()
        assert(isFound == cursor.isOnEntry, "the result does not say whether there is an entry")
        return isFound
    }

    @usableFromInline
    func seek(_ key: UInt64) throws(StorageError) -> Bool {
        try checkUsable()
        assert(cursor.kind == .integer, "tree \(tree.id) has other keys")
        return try cursor.seek(TreeKey(key))
    }

    @usableFromInline
    func seek(_ key: RawSpan) throws(StorageError) -> Bool {
        try checkUsable()
        assert(cursor.kind == .bytes, "tree \(tree.id) has other keys")
        // SAFETY: the key is used only within the closure.
        return unsafe try key.withUnsafeBytes { bytes throws(StorageError) in
            try cursor.seek(TreeKey(unsafe ByteString(bytes)))
        }
    }

    @usableFromInline var isExact: Bool { cursor.isExact }
    @usableFromInline var isOnEntry: Bool { cursor.isOnEntry }

    @usableFromInline var integerKey: UInt64 {
        get throws(StorageError) {
            assert(cursor.kind == .integer, "tree \(tree.id) has other keys")
            guard isOnEntry else { throw .argument(.noEntry) }
            return cursor.integerKey
        }
    }

    @usableFromInline var bytesKey: [UInt8] {
        get throws(StorageError) {
            assert(cursor.kind == .bytes, "tree \(tree.id) has other keys")
            guard isOnEntry else { throw .argument(.noEntry) }
            return cursor.bytesKey
        }
    }

    @usableFromInline
    func value() throws(StorageError) -> [UInt8] {
        try checkUsable()
        guard isOnEntry, let value = try cursor.withValue({ $0.loadBytes(at: 0, count: $0.byteCount) }) else {
            throw .argument(.noEntry)
        }
        return value
    }

    /// Calls `body` with the key's bytes.
    ///
    /// It is not generic, because a generic function fetches the metadata of its result type at each call.
    @usableFromInline
    func visitKey(_ body: (RawSpan) -> Void) throws(StorageError) {
        try checkUsable()
        guard isOnEntry else { throw .argument(.noEntry) }
        cursor.withKey(body)
    }

    /// Calls `body` with the value's bytes; not generic, like `visitKey`.
    @usableFromInline
    func visitValue(_ body: (RawSpan) -> Void) throws(StorageError) {
        try checkUsable()
        guard isOnEntry, try cursor.withValue(body) != nil else { throw .argument(.noEntry) }
    }

    @usableFromInline
    func withEntry(_ body: (_ key: RawSpan, _ value: RawSpan) -> Void) throws(StorageError) {
        try checkUsable()
        guard isOnEntry else { throw .argument(.noEntry) }
        guard try cursor.withValue({ value in cursor.withKey { body($0, value) } }) != nil else {
            throw .argument(.noEntry)
        }
    }

    /// The cells of the leaf from the entry on; `nil` in a write transaction.
    @usableFromInline
    func cellsFromEntry() throws(StorageError) -> LeafCells? {
        try checkUsable()
        guard isOnEntry else { throw .argument(.noEntry) }
        assert(cursor.kind == .integer, "tree \(tree.id) has other keys")
        return cursor.cellsFromEntry
    }

    @usableFromInline
    func moveInLeaf(to index: Int) {
        assert(index >= 0 && cursor.kind == .integer, "entry \(index) of a leaf")
        cursor.moveInLeaf(to: index)
    }

    /// Calls `body` with the entry of the cursor.
    @usableFromInline @inline(never)
    func visitEntry(_ body: (_ key: UInt64, _ value: RawSpan) -> Bool) throws(StorageError) -> Bool {
        let key = try integerKey
        guard let wantsMore = try cursor.withValue({ body(key, $0) }) else { throw .argument(.noEntry) }
        return wantsMore
    }

    /// Calls `body` with the beginning of the cursor's entry, and with the byte count of the value.
    @usableFromInline @inline(never)
    func visitBeginning(
        _ body: (_ key: UInt64, _ beginning: RawSpan, _ byteCount: Int) -> Bool
    ) throws(StorageError) -> Bool {
        let key = try integerKey
        guard let wantsMore = try cursor.withBeginning({ body(key, $0, $1) }) else { throw .argument(.noEntry) }
        return wantsMore
    }

    /// Throws `transaction(.ended)`, `snapshotExpired`, or `noSuchTree` if the tree does not exist any more.
    @inline(__always)
    private func checkUsable() throws(StorageError) {
        try pages.checkUsable()
        if pages.treeChangeCount != treeChangeCount { try pages.updateRecord(of: tree, in: cursor) }
    }
}

/// The pages under a cursor or a lookup: those of a read or of a write transaction.
enum CursorPages: PageSource {
    case reading(ReadPages)
    case writing(WritePages)

    @inline(__always)
    var pageSize: Int {
        switch self {
        case .reading(let pages): pages.pageSize
        case .writing(let pages): pages.pageSize
        }
    }

    @inline(__always)
    var pageCount: UInt32 {
        switch self {
        case .reading(let pages): pages.pageCount
        case .writing(let pages): pages.pageCount
        }
    }

    @inline(__always)
    var changeCount: UInt64 {
        switch self {
        case .reading: 0
        case .writing(let pages): pages.changeCount
        }
    }

    /// How often trees were dropped, renamed or undone, or their roots moved.
    @inline(__always)
    var treeChangeCount: UInt64 {
        switch self {
        case .reading: 0
        case .writing(let pages): pages.treeChangeCount
        }
    }

    @inline(__always)
    var canChange: Bool {
        switch self {
        case .reading: false
        case .writing: true
        }
    }

    @inline(__always)
    func pin(_ page: PageNumber) throws(StorageError) -> PagePin {
        switch self {
        case .reading(let pages): try pages.pin(page)
        case .writing(let pages): try pages.pin(page)
        }
    }

    @inline(__always)
    func pin(_ page: PageNumber, ahead: (_ countMax: Int) -> [PageNumber]) throws(StorageError) -> PagePin {
        switch self {
        case .reading(let pages): try pages.pin(page, ahead: ahead)
        case .writing(let pages): try pages.pin(page, ahead: ahead)
        }
    }

    /// Adjusts the number of open cursors and lookups over a read transaction; its pages rest only without any.
    @inline(__always)
    func countCursor(by change: Int) {
        if case .reading(let pages) = self {
            pages.cursorCount += change
            assert(pages.cursorCount >= 0, "\(pages.cursorCount) cursors")
        }
    }

    /// Throws `transaction(.ended)` or `snapshotExpired`.
    @inline(__always)
    func checkUsable() throws(StorageError) {
        switch self {
        case .reading(let pages): try pages.checkUsable()
        case .writing(let pages): try pages.checkUsable()
        }
    }

    /// Tells `cursor` where the root of `tree` is now.
    ///
    /// - Throws: `noSuchTree` if the tree does not exist any more.
    @inline(never)
    func updateRecord(of tree: TreeHandle, in cursor: TreeCursor<CursorPages>) throws(StorageError) {
        guard case .writing(let pages) = self else { return }
        assert(pages.treeChangeCount > 0, "no tree was moved or dropped, and no savepoint was left")
        // SAFETY: read at once.
        cursor.updateRecord(unsafe try pages.trees.record(of: tree, in: pages).pointee)
    }
}
