// Lookups of several keys in one tree, one after the other.
//
// Invariants
//   1. The leaf of the last key stays pinned. The next search begins there, because keys that are wanted together are
//      often neighbors; it does not use the leaf if the transaction has changed a page since.
//   2. A walk from one leaf to the next requires equal fences; so even in a damaged tree keys ascend, and walks end.

/// Looks up keys of a tree that are wanted together.
///
/// Unlike a cursor, a lookup costs nothing to make, and walks in one direction only, from a key that each call names. A
/// lookup of a write transaction stays usable after changes of the transaction.
public struct Lookup<Key: StoredKey>: ~Copyable {
    private var base: AnyLookup

    init(_ base: consuming AnyLookup) { self.base = base }
}

extension Lookup where Key == UInt64 {
    /// Calls `body` with the value of `key`, in place if it is in a leaf; returns whether the key exists.
    ///
    /// - Throws: the errors of reads.
    public mutating func withValue(of key: UInt64, _ body: (RawSpan) -> Void) throws(StorageError) -> Bool {
        try base.withValue(of: key, body)
    }

    /// Calls `body` with the beginning of the value of `key`, of which it reads at most one page if it has pages of its
    /// own, and with the byte count of the value; returns whether the key exists.
    ///
    /// - Throws: the errors of reads.
    @usableFromInline
    package mutating func withBeginning(
        of key: UInt64, _ body: (_ beginning: RawSpan, _ byteCount: Int) -> Void
    ) throws(StorageError) -> Bool {
        try base.withBeginning(of: key, body)
    }
}

extension Lookup where Key == [UInt8] {
    /// Calls `body` with the entries from `key` on, in place if they are in a leaf, until it returns `false`.
    ///
    /// - Throws: the errors of reads.
    public mutating func forEachEntry(
        from key: RawSpan, _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool
    ) throws(StorageError) {
        try base.forEachEntry(from: key, body)
    }

    /// Skips whole leaves from `key` on as long as `skipping` returns `true`, then calls `body` with the other entries,
    /// in place if they are in a leaf, until it returns `false`.
    ///
    /// A lookup of a write transaction skips no leaf.
    /// - Parameter skipping: whether to skip the next `count` entries, of which it gets only the last one.
    /// - Throws: the errors of reads.
    @usableFromInline
    package mutating func forEachEntry(
        from key: RawSpan, skipping: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool
    ) throws(StorageError) {
        try base.forEachEntry(from: key, skipping: skipping, body)
    }

    /// The number of entries from `lower` on and below `upper`, or `limit` if there are more.
    ///
    /// - Parameter upper: `nil` for all entries from `lower` on.
    /// - Throws: the errors of reads.
    /// - Complexity: O(log n + leaves of the range). Pages above the leaves have no counts.
    public mutating func countEntries(
        from lower: [UInt8], below upper: [UInt8]?, limit: Int = .max
    ) throws(StorageError) -> Int {
        try base.countEntries(from: lower, below: upper, limit: limit)
    }

    /// Ascending keys that divide the entries into parts of about equal numbers: a statistic without a scan.
    ///
    /// Key i of n has about (i + 1) / (n + 1) of all entries below it. It may be shorter than every entry.
    ///
    /// - Parameter countMax: the greatest number of keys, at least 1.
    /// - Returns: none if the tree has at most one entry.
    /// - Throws: the errors of reads.
    /// - Complexity: O(height of the tree) pages.
    package func sampledKeys(atMost countMax: Int) throws(StorageError) -> [[UInt8]] {
        try base.sampledKeys(atMost: countMax)
    }
}

/// A lookup in a tree of either kind of keys, which other modules can call without specialization.
@usableFromInline
struct AnyLookup: ~Copyable {
    /// The first property, and so the first that is destroyed: the lookup may have the last reference to the pages, and
    /// a pin must be released before their memory is freed.
    private var leaf: PagePin?
    /// The operations on the pages, made once, because making them retains the pages.
    private let operations: BTree<CursorPages>
    private let tree: TreeHandle
    /// The view of `leaf`, which is available without unwrapping the pin.
    private var view: PageView?
    /// The index in the leaf at which the last key was found, or the walk ended.
    private var index = 0
    /// The change count of the pages when the leaf was pinned.
    private var changeCount: UInt64 = 0

    init(over pages: CursorPages, _ tree: TreeHandle) {
        (operations, self.tree) = (BTree(pages), tree)
        assert(tree.id != 0, "tree \"\(tree.name)\" has no number")
        pages.countCursor(by: 1)
    }

    deinit { operations.source.countCursor(by: -1) }

    private var pages: CursorPages {
        @inline(__always)
        _read { yield operations.source }
    }

    mutating func withValue(of key: UInt64, _ body: (RawSpan) -> Void) throws(StorageError) -> Bool {
        guard let value = try value(of: key) else { return false }
        try visit(value, body)
        return true
    }

    mutating func withBeginning(
        of key: UInt64, _ body: (_ beginning: RawSpan, _ byteCount: Int) -> Void
    ) throws(StorageError) -> Bool {
        guard let value = try value(of: key) else { return false }
        try operations.withBeginning(of: value, treeID: tree.id, body)
        return true
    }

    /// The value of `key` in the leaf that stays pinned until the next search; `nil` if the key is absent.
    @inline(__always)
    private mutating func value(of key: UInt64) throws(StorageError) -> StoredValue? {
        try check(.integer)
        assert(view == nil || isLeafPinned, "invariant 1: the leaf of the last key is not pinned")
        let isExact: Bool
        if let view, changeCount == pages.changeCount, view.fencesContain(TreeKey(key)) {
            let position = view.position(ofInteger: key)
            (index, isExact) = (position.index, position.isExact)
        } else {
            isExact = try descend(to: TreeKey(key))
        }
        guard isExact, let view else { return nil }
        return view.value(index)
    }

    mutating func forEachEntry(
        from key: RawSpan, _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool
    ) throws(StorageError) {
        try check(.bytes)
        // SAFETY: the key is used only within the closure.
        unsafe try key.withUnsafeBytes { bytes throws(StorageError) in try seek(TreeKey(unsafe ByteString(bytes))) }
        try visitEntries(body)
    }

    mutating func forEachEntry(
        from key: RawSpan, skipping: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) -> Bool
    ) throws(StorageError) {
        try check(.bytes)
        // SAFETY: the key is used only within the closure.
        unsafe try key.withUnsafeBytes { bytes throws(StorageError) in try seek(TreeKey(unsafe ByteString(bytes))) }
        // Skipped entries are not visited later: the first leaf with wanted entries ends the skipping.
        while let view, !pages.canChange {
            let last = view.cellCount - 1
            var isSkipped = index > last
            if !isSkipped {
                try visit(view.value(last)) { value in
                    view.withKey(last) { isSkipped = skipping(last + 1 - index, $0, value) }
                }
            }
            guard isSkipped else { break }
            guard try crossToNextLeaf(after: view) else { return }
        }
        try visitEntries(body)
    }

    /// Visits the entries from the place of the lookup on.
    private mutating func visitEntries(_ body: (_ key: RawSpan, _ value: RawSpan) -> Bool) throws(StorageError) {
        walk: while let view {
            while index < view.cellCount {
                let passed = pages.canChange ? view.keyArray(index) : []
                var wantsMore = false
                try visit(view.value(index)) { value in view.withKey(index) { wantsMore = body($0, value) } }
                guard wantsMore else { return }
                index &+= 1
                if changeCount != pages.changeCount {
                    // The least key after another one is that key with a zero byte appended.
                    let next = OwnedKey(passed + [0])
                    try seek(next.key)
                    continue walk
                }
            }
            guard try crossToNextLeaf(after: view) else { return }
        }
    }

    mutating func countEntries(
        from lower: [UInt8], below upper: [UInt8]?, limit: Int
    ) throws(StorageError) -> Int {
        try check(.bytes)
        if let upper, !lower.lexicographicallyPrecedes(upper) { return 0 }
        let start = OwnedKey(lower)
        // Not used if there is no upper end.
        let end = OwnedKey(upper ?? [])
        var count = 0
        try seek(start.key)
        while let view {
            if upper != nil, view.fencesContain(end.key) {
                count += view.position(of: end.key).index - index
                break
            }
            count += view.cellCount - index
            guard count < limit, try crossToNextLeaf(after: view) else { break }
        }
        assert(count >= 0, "\(count) entries")
        return max(0, min(count, limit))
    }

    func sampledKeys(atMost countMax: Int) throws(StorageError) -> [[UInt8]] {
        try check(.bytes)
        return try operations.sampledKeys(of: pages.record(of: tree), atMost: countMax)
    }

    // MARK: Places

    /// Moves to the first entry of the leaf after the one of `view`; returns whether there is one.
    private mutating func crossToNextLeaf(after view: PageView) throws(StorageError) -> Bool {
        assert(isLeafPinned && view.isLeaf, "the leaf that is left is not pinned")
        guard view.highFenceByteCount > 0 else { return false }
        // The old leaf stays pinned until its fence is compared.
        let old = leaf.take()
        _ = try descend(to: TreeKey(view.highFence))
        assert(isLeafPinned, "invariant 1: the next leaf is not pinned")
        guard let next = self.view, next.follows(view) else {
            throw .corrupt(.fencesOfChild, page: view.storedNumber, tree: view.treeID)
        }
        _ = consume old
        index = 0
        return true
    }

    private var isLeafPinned: Bool { leaf != nil }

    private func check(_ kind: KeyKind) throws(StorageError) {
        assert(tree.kind == kind, "tree \(tree.id) has other keys")
        try pages.checkUsable()
    }

    /// Moves to the first entry of a tree of bytes keys that is not below `key`, or to the end of the leaf of `key`.
    private mutating func seek(_ key: TreeKey) throws(StorageError) {
        if let view, changeCount == pages.changeCount, view.fencesContain(key) {
            index = view.position(of: key, expectedAt: index).index
        } else {
            _ = try descend(to: key)
        }
    }

    /// Pins the leaf of `key` and moves to the key's place; returns whether the key exists.
    private mutating func descend(to key: TreeKey) throws(StorageError) -> Bool {
        view = nil
        let found = try operations.locate(key, in: pages.record(of: tree))
        (index, view, changeCount) = (found.index, found.pin.view, pages.changeCount)
        let isExact = found.isExact
        assert(index >= 0 && index <= found.pin.view.cellCount, "entry \(index) of \(found.pin.view.cellCount)")
        let pin = found.pin
        leaf = consume pin
        return isExact
    }

    @inline(__always)
    private func visit(_ value: StoredValue, _ body: (RawSpan) -> Void) throws(StorageError) {
        guard case .inline(let bytes) = value else {
            return try operations.withBytes(of: value, treeID: tree.id, body)
        }
        bytes.withSpan(body)
    }
}

extension CursorPages {
    /// The record of `tree` as it is now.
    fileprivate func record(of tree: TreeHandle) throws(StorageError) -> TreeRecord {
        // SAFETY: the record is read at once, before the table can change.
        switch self {
        case .reading(let pages): unsafe try pages.trees.record(of: tree, in: pages).pointee
        case .writing(let pages): unsafe try pages.trees.record(of: tree, in: pages).pointee
        }
    }
}

extension PageView {
    /// Calls `body` with key `index` of a bytes page.
    ///
    /// Allocates nothing, unless the key has more than 1,024 bytes.
    @inline(__always)
    func withKey<R>(_ index: Int, _ body: (RawSpan) -> R) -> R {
        let (prefix, suffix) = (prefix, suffix(index))
        guard prefix.count > 0 else { return suffix.withSpan(body) }
        // The page has the key in two parts, which are joined on the stack.
        // SAFETY: both parts are written before the memory is read, and no pointer to it leaves the closure.
        return unsafe withUnsafeTemporaryAllocation(byteCount: prefix.count + suffix.count, alignment: 1) { memory in
            let whole = unsafe PageView(base: memory.baseAddress.unsafelyUnwrapped, byteCount: memory.count)
            whole.copy(prefix, to: 0)
            whole.copy(suffix, to: prefix.count)
            assert(whole.byteCount == prefix.count + suffix.count, "a key of \(whole.byteCount) bytes")
            return whole.bytes(0, memory.count).withSpan(body)
        }
    }
}
