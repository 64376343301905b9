// The cells of a page that a bulk load is still filling, with whole keys: the prefix is known only at the page's end.
// Leaves of integer keys have no prefix, and their own form (`PendingIntegerLeaf`).
//
// Invariants
//   1. Keys ascend. Key bytes and inline values are in memory of its own, which is reallocated when it grows: a key or
//      value of this page is valid until the next `append` or `removeFirst`.
//   2. `optimisticByteCount` never exceeds the size of the written page, whatever key comes next.

/// Cells that are to be written into one page.
struct PendingPage: ~Copyable {
    private struct Cell {
        let integer: UInt64
        let keyOffset: Int
        let keyByteCount: Int
        /// The byte count of the inline value, which is stored after the key; 0 if the value is in overflow pages.
        let valueByteCount: Int
        let overflow: (first: PageNumber, byteCount: UInt64)?
        let child: PageNumber
    }

    private let isInteger: Bool
    private let isLeaf: Bool
    private var memory: ScratchPage
    private var usedByteCount = 0
    private var cells: [Cell] = []
    /// The size of all cells and slots, with whole keys.
    private var cellByteCount = 0
    /// The page's low fence: none in the first page of a level.
    private(set) var low: KeyBuffer?

    init(_ kind: KeyKind, isLeaf: Bool, pageSize: Int) {
        assert(StoreGeometry.testPageSizes.contains(pageSize), "pages of \(pageSize) bytes")
        isInteger = kind == .integer
        self.isLeaf = isLeaf
        memory = ScratchPage(byteCount: 4 * pageSize)
    }

    /// The number of pending cells.
    var count: Int { cells.count }

    /// Key `index`.
    func key(_ index: Int) -> TreeKey {
        let cell = cells[index]
        return isInteger ? TreeKey(cell.integer) : TreeKey(memory.view.bytes(cell.keyOffset, cell.keyByteCount))
    }

    /// Value `index` of a leaf.
    func value(_ index: Int) -> StoredValue {
        let cell = cells[index]
        if let overflow = cell.overflow { return .overflow(first: overflow.first, byteCount: overflow.byteCount) }
        return .inline(memory.view.bytes(cell.keyOffset + cell.keyByteCount, cell.valueByteCount))
    }

    /// The child to the left of key `index` of an interior page.
    func child(_ index: Int) -> PageNumber { cells[index].child }

    /// Appends an entry of a leaf.
    mutating func append(_ key: TreeKey, _ value: StoredValue) {
        assert(!isInteger, "an entry of an integer leaf")
        var overflow: (first: PageNumber, byteCount: UInt64)?
        var inline = TreeKey(0).bytes
        switch value {
        case .inline(let bytes): inline = bytes
        case .overflow(let first, let byteCount): overflow = (first, byteCount)
        }
        append(key, inline, overflow, child: 0)
    }

    /// Appends a separator of an interior page with the child to its left.
    mutating func append(_ key: TreeKey, leftChild: PageNumber) {
        append(key, TreeKey(0).bytes, nil, child: leftChild)
    }

    private mutating func append(
        _ key: TreeKey, _ value: ByteString, _ overflow: (first: PageNumber, byteCount: UInt64)?, child: PageNumber
    ) {
        let keyByteCount = isInteger ? 0 : key.bytes.count
        assert(
            cells.isEmpty || isBelow(self.key(cells.count - 1), key), "invariant 1: key \(cells.count) does not ascend")
        assert(isLeaf == (child == 0), "a leaf has a child, or another page has none")
        reserve(keyByteCount + value.count)
        if keyByteCount > 0 { memory.view.copy(key.bytes, to: usedByteCount) }
        memory.view.copy(value, to: usedByteCount + keyByteCount)
        cells.append(
            Cell(
                integer: key.integer, keyOffset: usedByteCount, keyByteCount: keyByteCount,
                valueByteCount: value.count, overflow: overflow, child: child))
        usedByteCount += keyByteCount + value.count
        cellByteCount += byteCount(cells.count - 1)
        assert(usedByteCount <= memory.view.byteCount, "invariant 1: \(usedByteCount) bytes have no room")
    }

    private func isBelow(_ first: TreeKey, _ second: TreeKey) -> Bool {
        isInteger ? first.integer < second.integer : first.bytes.compare(second.bytes) < 0
    }

    private mutating func reserve(_ byteCount: Int) {
        guard usedByteCount + byteCount > memory.view.byteCount else { return }
        let larger = ScratchPage(byteCount: 2 * (usedByteCount + byteCount))
        larger.view.copy(from: memory.view, at: 0, to: 0, count: usedByteCount)
        memory = larger
        assert(usedByteCount + byteCount <= memory.view.byteCount, "\(byteCount) bytes more have no room")
    }

    /// Removes the first `removed` cells; the others begin a page whose low fence is `newLow`.
    mutating func removeFirst(_ removed: Int, newLow: consuming KeyBuffer) {
        assert(removed >= 0 && removed <= cells.count, "\(removed) of \(cells.count) cells")
        let start = removed < cells.count ? cells[removed].keyOffset : usedByteCount
        for index in 0..<removed { cellByteCount -= byteCount(index) }
        memory.view.move(from: start, to: 0, count: usedByteCount - start)
        usedByteCount -= start
        cells = cells[removed...].map {
            Cell(
                integer: $0.integer, keyOffset: $0.keyOffset - start, keyByteCount: $0.keyByteCount,
                valueByteCount: $0.valueByteCount, overflow: $0.overflow, child: $0.child)
        }
        low = consume newLow
        assert(checkInvariants())
    }

    /// Asserts that the sizes are those of the cells; to be called in `assert`.
    ///
    /// O(cells).
    private func checkInvariants() -> Bool {
        assert(cellByteCount == cells.indices.reduce(0) { $0 + byteCount($1) }, "\(cellByteCount) bytes of cells")
        let end = cells.last.map { $0.keyOffset + $0.keyByteCount + $0.valueByteCount } ?? 0
        assert(usedByteCount == end, "invariant 1: \(usedByteCount) bytes are used, \(end) belong to cells")
        return true
    }

    // MARK: - Sizes

    /// The bytes of cell `index` with its slot and its whole key.
    private func byteCount(_ index: Int) -> Int {
        let cell = cells[index]
        if isInteger { return TreeLayout.integerInteriorSlotByteCount }
        let slot = TreeLayout.bytesSlotByteCount
        guard isLeaf else { return slot + TreeLayout.childByteCount + cell.keyByteCount }
        let value = cell.overflow == nil ? cell.valueByteCount : TreeLayout.overflowReferenceByteCount
        return slot + TreeLayout.valueWordByteCount + cell.keyByteCount + value
    }

    private var lowFence: ByteString {
        guard let key = lowKey else { return TreeKey(0).bytes }
        return key.bytes
    }

    /// The low fence as a key; valid as long as this page does not change.
    var lowKey: TreeKey? {
        switch low {
        case .some(let buffer): buffer.key
        case .none: nil
        }
    }

    /// The least size that a page of all cells can have, if another page follows.
    var optimisticByteCount: Int {
        guard let last = cells.indices.last else { return 0 }
        if isInteger { return TreeLayout.slots + TreeLayout.integerFenceByteCount + cellByteCount }
        let low = lowFence
        let prefix = low.commonPrefix(with: key(last).bytes)
        return TreeLayout.slots + low.count + cellByteCount - cells.count * prefix
    }

    /// The size of a page of the first `length` cells whose high fence is `high`.
    func byteCount(of length: Int, high: TreeKey?) -> Int {
        assert(length >= 0 && length <= cells.count, "\(length) of \(cells.count) cells")
        var total = cellByteCount
        for index in length..<cells.count { total -= byteCount(index) }
        if isInteger { return TreeLayout.slots + TreeLayout.integerFenceByteCount + total }
        let low = lowFence
        guard let high else { return TreeLayout.slots + low.count + total }
        return TreeLayout.slots + low.count + high.bytes.count + total
            - length * low.commonPrefix(with: high.bytes)
    }

    /// The key that separates cell `index` from the one before it: as short as possible between leaves.
    func separator(before index: Int) -> TreeKey {
        assert(index > 0 && index < cells.count, "cell \(index) of \(cells.count)")
        let next = key(index)
        guard isLeaf else { return next }
        let length = key(index - 1).bytes.commonPrefix(with: next.bytes) + 1
        return TreeKey(next.bytes.prefix(min(length, next.bytes.count)))
    }
}
