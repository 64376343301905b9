// The B-tree: an ordered map from keys to values over the pages of a `PageSource`.
//
// Invariants
//   1. Only leaves have values; no operation here moves the root to another page; pages have no links to siblings.
//   2. Levels fall by one with each step down, so no descent is longer than the root's level, even in a damaged file.
//   3. An operation that throws may have changed a part of the pages: the transaction must then be rolled back. Errors
//      about the arguments (`keyTooLong`, `valueTooLarge`) are thrown before anything changes.
//   4. No operation keeps a pin after it returns, unless it returns the pin, alone or in a `LeafPosition`.

/// The operations on trees over one source of pages.
///
/// A trivial wrapper: create one where it is needed. The record passed to an operation says which tree it is about.
package struct BTree<Source: PageSource> {
    /// The source of the pages.
    package let source: Source

    /// Works on the trees of `source`.
    @inline(__always)
    package init(_ source: Source) { self.source = source }

    // MARK: - Reading

    /// Finds the leaf and the position in it where `key` is or would be.
    ///
    /// - Throws: `corruption`, or what the source throws.
    /// - Complexity: O(log n): one page per level.
    @inline(__always)
    package func locate(_ key: TreeKey, in record: TreeRecord) throws(StorageError) -> LeafPosition {
        let end = try descend(from: record.root, in: record) { _, view in
            position(of: key, in: view, record).childIndex
        }
        let pin = try pinLeaf(end, in: record)
        let view = pin.view
        return LeafPosition(pin: pin, position: position(of: key, in: view, record))
    }

    /// The position of `key` in a page of `record`'s tree; reads the kind of keys from `record`, not from the page.
    @inline(__always)
    func position(of key: TreeKey, in view: PageView, _ record: TreeRecord) -> SlotPosition {
        assert(
            view.hasIntegerKeys == (record.kind == .integer), "page \(view.storedNumber) has other keys than its tree")
        return record.kind == .integer ? view.position(ofInteger: key.integer) : view.position(ofBytes: key.bytes)
    }

    /// A copy of the value of `key`; `nil` if there is no such key.
    ///
    /// - Complexity: O(log n) pages and the pages of the value.
    package func value(of key: TreeKey, in record: TreeRecord) throws(StorageError) -> [UInt8]? {
        let found = try locate(key, in: record)
        guard found.isExact else { return nil }
        switch found.pin.view.value(found.index) {
        case .inline(let bytes): return bytes.array
        case .overflow(let first, let byteCount):
            return try overflowValue(first, byteCount: byteCount, treeID: record.treeID)
        }
    }

    /// Calls `body` with the bytes of the value of `key`, in place if they are in a leaf; `nil` if the key is absent.
    package func withValue<R>(
        of key: TreeKey, in record: TreeRecord, _ body: (RawSpan) -> R
    ) throws(StorageError) -> R? {
        let found = try locate(key, in: record)
        guard found.isExact else { return nil }
        return try withBytes(of: found.pin.view.value(found.index), treeID: record.treeID, body)
    }

    /// Calls `body` with each part of the value of `key`, in place; `false` if the key is absent.
    package func forEachPart(
        ofValueOf key: TreeKey, in record: TreeRecord, _ body: (RawSpan) -> Void
    ) throws(StorageError) -> Bool {
        let found = try locate(key, in: record)
        guard found.isExact else { return false }
        switch found.pin.view.value(found.index) {
        case .inline(let bytes): bytes.withSpan(body)
        case .overflow(let first, let byteCount):
            try checkLength(byteCount, of: first, treeID: record.treeID)
            try forEachOverflowPage(first, byteCount: byteCount, treeID: record.treeID) { view in
                view.overflowPayload.withSpan(body)
            }
        }
        return true
    }

    /// Calls `body` with the bytes of a stored value.
    package func withBytes<R>(
        of value: StoredValue, treeID: UInt32, _ body: (RawSpan) -> R
    ) throws(StorageError) -> R {
        switch value {
        case .inline(let bytes): return bytes.withSpan(body)
        case .overflow(let first, let byteCount):
            let bytes = try overflowValue(first, byteCount: byteCount, treeID: treeID)
            // SAFETY: the array outlives this call.
            return unsafe bytes.withUnsafeBytes { buffer in unsafe body(buffer.bytes) }
        }
    }

    // MARK: - Descent

    /// Checks that a page has the tree, the kind of keys and the level that its parent (or the catalog) expects.
    ///
    /// - Parameter expectedLevel: PageView.anyLevel for the root, which may have any.
    @inline(__always)
    func check(
        _ view: PageView, _ page: PageNumber, _ record: TreeRecord, _ expectedLevel: Int
    ) throws(StorageError) {
        assert(expectedLevel >= PageView.anyLevel && record.treeID != 0, "level \(expectedLevel) of a tree")
        let level = view.level
        let type: PageType =
            if level == 0 {
                record.kind == .integer ? .leafInteger : .leafBytes
            } else {
                record.kind == .integer ? .interiorInteger : .interiorBytes
            }
        guard view.treeID == record.treeID, view.typeByte == type.rawValue,
            expectedLevel == PageView.anyLevel || level == expectedLevel
        else { throw mismatch(view, page, record) }
    }

    @inline(never)
    private func mismatch(_ view: PageView, _ page: PageNumber, _ record: TreeRecord) -> StorageError {
        assert(view.byteCount == source.pageSize, "a page of \(view.byteCount) bytes")
        let rule: CorruptionRule =
            if !view.isTreePage {
                .pageType
            } else if view.treeID != record.treeID {
                .treeOfPage
            } else if view.hasIntegerKeys != (record.kind == .integer) {
                .keyKindOfPage
            } else {
                .levelOfChild
            }
        return .corrupt(rule, page: page, tree: record.treeID)
    }

    /// Descends from `start` to a leaf; lookups, cursors and changes of entries call this method.
    ///
    /// Does not pin the leaf, except to find out that `start` is one; `pinLeaf` pins it.
    ///
    /// - Parameters:
    ///   - expectedLevel: the level that `start` must have; `PageView.anyLevel` for the root.
    ///   - choose: returns the index of the child to follow in each interior page.
    @inline(__always)
    func descend(
        from start: PageNumber, expectedLevel: Int = PageView.anyLevel, in record: TreeRecord,
        _ choose: (PageNumber, PageView) -> Int
    ) throws(StorageError) -> DescentEnd {
        var end = DescentEnd(page: start, expectedLevel: expectedLevel)
        while end.expectedLevel != 0 {
            let pin = try source.pin(end.page)
            let view = pin.view
            try check(view, end.page, record, end.expectedLevel)
            guard !view.isLeaf else { break }
            let index = choose(end.page, view)
            end = DescentEnd(page: view.child(index), expectedLevel: view.level &- 1)
        }
        return end
    }

    /// Pins the leaf at which a descent ended.
    @inline(__always)
    func pinLeaf(_ end: DescentEnd, in record: TreeRecord) throws(StorageError) -> PagePin {
        let pin = try source.pin(end.page)
        pin.view.prefetchForSearch()
        try check(pin.view, end.page, record, end.expectedLevel)
        assert(pin.view.isLeaf, "the descent to page \(end.page) does not end at a leaf")
        return pin
    }

    /// Pins the leaf at which a step of a walk ended, and announces the leaves that the walk will pin next.
    @inline(__always)
    func pinLeaf(
        _ end: DescentEnd, in record: TreeRecord, ahead: (_ countMax: Int) -> [PageNumber]
    ) throws(StorageError) -> PagePin {
        let pin = try source.pin(end.page, ahead: ahead)
        pin.view.prefetchForSearch()
        try check(pin.view, end.page, record, end.expectedLevel)
        assert(pin.view.isLeaf, "the step to page \(end.page) does not end at a leaf")
        return pin
    }

    /// Descends to the leaf of `key`, and appends the pages on the way to the empty `path`.
    func descend(to key: TreeKey, in record: TreeRecord, _ path: inout TreePath) throws(StorageError) {
        assert(path.count == 0, "a descent does not begin at the root")
        let end = try descend(from: record.root, in: record) { page, view in
            let index = view.position(of: key).childIndex
            path.push(page, index)
            return index
        }
        path.push(end.page, 0)
        assert(path.page(0) == record.root && end.expectedLevel <= 0, "the path does not lead from the root to a leaf")
    }
}

/// The end of a descent: a leaf that is not pinned yet.
struct DescentEnd {
    let page: PageNumber
    /// 0, or `PageView.anyLevel` for a root.
    let expectedLevel: Int
}

/// A pinned leaf and a position in it.
package struct LeafPosition: ~Copyable {
    /// The leaf.
    package let pin: PagePin
    /// The position in the leaf.
    package let position: SlotPosition

    @inline(__always)
    package init(pin: consuming PagePin, position: SlotPosition) {
        assert(pin.view.isLeaf && position.index <= pin.view.cellCount, "place \(position.index) of a leaf")
        self.pin = pin
        self.position = position
    }

    /// The number of entries of the leaf before the key that was searched.
    @inline(__always)
    package var index: Int { position.index }
    /// Whether the key at `index` is the one that was searched.
    @inline(__always)
    package var isExact: Bool { position.isExact }
}

extension ByteString {
    /// Calls `body` with the bytes.
    @inline(__always)
    package func withSpan<R>(_ body: (RawSpan) -> R) -> R {
        // SAFETY: the bytes outlive this call by the promise of their owner.
        unsafe body(UnsafeRawBufferPointer(start: base, count: count).bytes)
    }
}
