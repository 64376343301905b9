// Fills an empty tree from sorted entries, bottom-up: each page is written once, full.
//
// Invariants
//   1. Level 0 collects entries, level n + 1 the separators between finished pages of level n. A page is finished when
//      the next cell surely does not fit; cells that do not fit after all are moved to the next page. The entries of an
//      integer tree are collected in `leaf` instead of level 0: integer keys have no prefix, so it is certain at once
//      whether a cell fits.
//   2. The root keeps its number: the topmost level is written into it at the end.
//   3. Until `finish` the tree is empty for readers of its record; nothing else refers to the pages that are written.

/// A load of sorted entries into an empty tree.
package struct BulkLoad<Source: WritablePageSource>: ~Copyable {
    /// The fill of leaves and of interior pages, in percent of a page.
    package struct Fill: Sendable {
        /// 50...100.
        package let leaf: Int
        /// 50...100.
        package let interior: Int

        package init(leaf: Int = 100, interior: Int = 95) {
            precondition((50...100).contains(leaf) && (50...100).contains(interior))
            self.leaf = leaf
            self.interior = interior
        }
    }

    private let tree: BTree<Source>
    private var record: TreeRecord
    private let fill: Fill
    private let rootTag: UInt32
    private var leaf: PendingIntegerLeaf
    private var levels: [Level]
    private var nearPage: PageNumber

    /// One level of the tree that is being built.
    ///
    /// A class, because noncopyable pages cannot be elements of an array.
    private final class Level {
        var page: PendingPage
        init(_ page: consuming PendingPage) { self.page = page }
    }

    /// Begins to load the empty tree of `record`, called `name`.
    package init(
        _ source: Source, _ record: TreeRecord, name: String, fill: Fill = Fill()
    ) {
        precondition(record.entryCount == 0 && record.height == 1, "the tree is not empty")
        tree = BTree(source)
        self.record = record
        self.record.leafPageCount = 0
        self.fill = fill
        rootTag = Catalog<Source>.rootTag(of: name)
        leaf = PendingIntegerLeaf(pageSize: source.pageSize, byteCountMax: source.pageSize * fill.leaf / 100)
        levels = [Level(PendingPage(record.kind, isLeaf: true, pageSize: source.pageSize))]
        nearPage = record.root
    }

    /// Appends an entry.
    ///
    /// - Returns: `false`, with nothing changed, if `key` is not above the last one.
    /// - Throws: `keyTooLong`, `valueTooLarge`, or what the source throws.
    package mutating func append(_ key: TreeKey, _ value: ByteString) throws(StorageError) -> Bool {
        guard isAboveLast(key) else { return false }
        return try append(key, stored: try tree.storedForm(checking: key, value, of: record))
    }

    /// Appends an entry whose value is in the form that a leaf stores: its overflow pages, if it has any, are pages of
    /// the tree already.
    ///
    /// - Returns: `false`, with nothing changed, if `key` is not above the last one.
    /// - Throws: what the source throws.
    mutating func append(_ key: TreeKey, stored value: StoredValue) throws(StorageError) -> Bool {
        guard isAboveLast(key) else { return false }
        record.entryCount += 1
        guard record.kind == .integer else {
            levels[0].page.append(key, value)
            try finishFullPages(0)
            return true
        }
        if leaf.append(key.integer, value) { return true }
        let page = try writePage(0, count: leaf.count, high: key, rightChild: 0)
        leaf.begin(from: key.integer)
        let isAppended = leaf.append(key.integer, value)
        assert(isAppended, "an empty leaf has no room for an entry")
        try append(separator: key, leftChild: page, toLevel: 1)
        return true
    }

    private func isAboveLast(_ key: TreeKey) -> Bool {
        if record.kind == .integer { return leaf.last.map { $0 < key.integer } ?? true }
        let pending = levels[0]
        guard pending.page.count > 0 else { return true }
        return pending.page.key(pending.page.count - 1).bytes.compare(key.bytes) < 0
    }

    /// Writes the remaining pages; returns the record of the filled tree.
    package consuming func finish() throws(StorageError) -> TreeRecord {
        try writeRest()
    }

    // MARK: - Pages

    private func limit(_ level: Int) -> Int {
        assert(level >= 0 && level < StoreGeometry.treeDepthMax, "level \(level)")
        return tree.source.pageSize * (level == 0 ? fill.leaf : fill.interior) / 100
    }

    /// Finishes pages of `level` as long as its cells surely need more than one.
    private mutating func finishFullPages(_ level: Int) throws(StorageError) {
        let pending = levels[level]
        while pending.page.count > 2, pending.page.optimisticByteCount > limit(level) {
            try finishPage(level)
        }
    }

    /// Writes as many of the pending cells of `level` as fit into a page, but keeps at least one pending.
    private mutating func finishPage(_ level: Int) throws(StorageError) {
        let pending = levels[level]
        let isLeaf = level == 0
        // The cell after the page begins the next leaf, or is the separator that moves up.
        var length = pending.page.count - 1
        if !isLeaf { length = max(1, length - 1) }
        while length > 1,
            pending.page.byteCount(of: length, high: pending.page.separator(before: length)) > limit(level)
        { length -= 1 }
        assert(length > 0 && length < pending.page.count, "\(length) of \(pending.page.count) cells")
        var separator = KeyBuffer(byteCount: tree.source.pageSize)
        separator.copy(pending.page.separator(before: length), isInteger: record.kind == .integer)
        var low = KeyBuffer(byteCount: tree.source.pageSize)
        low.copy(separator.key, isInteger: record.kind == .integer)
        let rightChild = isLeaf ? 0 : pending.page.child(length)
        let page = try writePage(level, count: length, high: separator.key, rightChild: rightChild)
        pending.page.removeFirst(isLeaf ? length : length + 1, newLow: low)
        try append(separator: separator.key, leftChild: page, toLevel: level + 1)
    }

    /// Appends the separator after a finished page of the level below.
    private mutating func append(
        separator: TreeKey, leftChild page: PageNumber, toLevel level: Int
    ) throws(StorageError) {
        assert(level > 0 && level <= levels.count, "level \(level) of \(levels.count)")
        if levels.count == level {
            levels.append(Level(PendingPage(record.kind, isLeaf: false, pageSize: tree.source.pageSize)))
        }
        levels[level].page.append(separator, leftChild: page)
        try finishFullPages(level)
    }

    private mutating func writePage(
        _ level: Int, count: Int, high: TreeKey?, rightChild: PageNumber
    ) throws(StorageError) -> PageNumber {
        let page = try tree.source.allocate(near: nearPage, count: 1).first
        guard page != record.root else {
            throw .corrupt(.pageReachedButFree, page: page, tree: record.treeID)
        }
        nearPage = page + 1
        try write(level, to: page, count: count, high: high, rightChild: rightChild, rootTag: nil)
        return page
    }

    private mutating func write(
        _ level: Int, to page: PageNumber, count: Int, high: TreeKey?, rightChild: PageNumber, rootTag: UInt32?
    ) throws(StorageError) {
        let pin = try tree.source.edit(page)
        if level == 0 { record.leafPageCount += 1 }
        let identity = TreePageIdentity(
            number: page, treeID: record.treeID, level: level, isInteger: record.kind == .integer, rootTag: rootTag)
        guard level > 0 || record.kind == .bytes else { return leaf.write(to: pin.view, identity, high: high) }
        let pending = levels[level]
        assert(count <= pending.page.count, "\(count) of \(pending.page.count) cells")
        var builder = TreePageBuilder(
            pin.view, identity, count: count, low: pending.page.lowKey, high: high, rightChild: rightChild)
        for index in 0..<count {
            if level == 0 {
                try builder.append(pending.page.key(index), pending.page.value(index))
            } else {
                try builder.append(pending.page.key(index), leftChild: pending.page.child(index))
            }
        }
        builder.finish()
        assert(pin.view.cellCount == count && pin.view.level == level, "page \(page) of level \(level)")
    }

    /// Finishes the last page of each level, from the leaves up; writes that of the topmost level into the root.
    private consuming func writeRest() throws(StorageError) -> TreeRecord {
        var rightChild: PageNumber = 0
        var level = 0
        while true {
            let pending = levels[level]
            // The last page has no high fence and so no prefix: its cells may need more than one page now.
            while pending.page.count > 1,
                pending.page.byteCount(of: pending.page.count, high: nil) > tree.source.pageSize
            { try finishPage(level) }
            let count = pending.page.count
            if level == levels.count - 1 {
                try write(level, to: record.root, count: count, high: nil, rightChild: rightChild, rootTag: rootTag)
                record.height = level + 1
                // The old hint is about the leaf that the root was before.
                record.hint = WriteHint()
                assert(record.leafPageCount > 0 && record.height == levels.count, "a tree of \(levels.count) levels")
                return record
            }
            rightChild = try writePage(level, count: count, high: nil, rightChild: rightChild)
            level += 1
        }
    }
}
