// The entries of an integer leaf that a bulk load is still filling, at the places that they will have in the page.
//
// Invariants
//   1. Keys ascend, also from one page to the next.
//   2. Cells end where the fences of a page begin, and their offsets are those of the page that is written later: all
//      entries are written with three copies, and not one by one.

/// An integer leaf that is to be written.
struct PendingIntegerLeaf: ~Copyable {
    /// Keys and cells at their places in the page; nothing else of it is written or read.
    private let page: ScratchPage
    /// The offsets of the cells, whose place in the page depends on the number of entries.
    private let offsets: ScratchPage
    private let byteCountMax: Int
    /// The number of entries.
    private(set) var count = 0
    private var contentStart: Int
    /// The greatest key of all pages so far.
    private(set) var last: UInt64?
    /// The page's low fence; none in the first page.
    private var low: UInt64?

    /// An empty leaf.
    ///
    /// - Parameter byteCountMax: the greatest number of bytes that several entries may use in a page.
    init(pageSize: Int, byteCountMax: Int) {
        assert(StoreGeometry.testPageSizes.contains(pageSize), "pages of \(pageSize) bytes")
        assert(byteCountMax <= pageSize, "\(byteCountMax) bytes in a page of \(pageSize)")
        page = ScratchPage(byteCount: pageSize)
        // An entry uses at least 12 bytes of a page.
        offsets = ScratchPage(byteCount: pageSize / 4)
        self.byteCountMax = byteCountMax
        contentStart = pageSize - TreeLayout.integerFenceByteCount
    }

    /// Appends an entry.
    ///
    /// - Returns: `false`, with nothing changed, if there is no room for it beside other entries.
    mutating func append(_ key: UInt64, _ value: StoredValue) -> Bool {
        assert(last.map { $0 < key } ?? true, "invariant 1: key \(key) does not ascend")
        let start = contentStart &- TreeLayout.valueWordByteCount &- value.cellByteCount
        let slotsEnd = TreeLayout.slots &+ (count &+ 1) &* TreeLayout.integerLeafSlotByteCount
        guard count == 0 || slotsEnd &+ page.view.byteCount &- start <= byteCountMax else { return false }
        assert(slotsEnd <= start, "a cell at \(start) overlaps slots up to \(slotsEnd)")
        page.view.set(key, at: TreeLayout.slots &+ 8 &* count)
        offsets.view.set(UInt16(truncatingIfNeeded: start), at: 2 &* count)
        page.view.storeLeafCell(at: start, suffix: TreeKey(0).bytes, value: value)
        contentStart = start
        count &+= 1
        last = key
        return true
    }

    /// Begins the next page, whose low fence is `key`.
    mutating func begin(from key: UInt64) {
        assert(last.map { $0 < key } ?? true, "invariant 1: a page begins at \(key)")
        low = key
        count = 0
        contentStart = page.view.byteCount - TreeLayout.integerFenceByteCount
    }

    /// Writes the page into `view`.
    func write(to view: PageView, _ identity: TreePageIdentity, high: TreeKey?) {
        assert(identity.level == 0 && identity.isInteger, "page \(identity.number) is no integer leaf")
        let end = page.view.byteCount - TreeLayout.integerFenceByteCount
        var builder = TreePageBuilder(view, identity, count: count, low: low.map { TreeKey($0) }, high: high)
        builder.append(
            keys: page.view.bytes(TreeLayout.slots, 8 * count), offsets: offsets.view.bytes(0, 2 * count),
            cells: page.view.bytes(contentStart, end - contentStart))
        builder.finish()
    }
}
