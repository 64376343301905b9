// Walks a tree of a SQLite file from its first entry to its last, or looks one row up.
//
// Invariants
//   1. A walk ends: it visits at most as many pages of the tree, and of overflow chains, as the file has, and a tree
//      has at most `depthMax` levels. The cells of a page have at most as many bytes as the page.
//   2. Memory: the pages from the root to the present one, and one record. A record is at most as long as the file and
//      as SQLite allows, and its pages are read before their bytes are kept.

/// A walk through a tree.
package struct SQLiteCursor {
    /// The most levels of a tree, which is what SQLite allows.
    static let depthMax = 20
    /// The most bytes of a record, which is the most that SQLite can be built for.
    static let recordByteCountMax: UInt64 = 0x7FFF_FFFF

    private struct Level {
        let page: SQLiteTreePage
        /// The bytes of the page that the cells so far leave for others.
        var byteCountLeft: Int
        /// The next step.
        ///
        /// For a leaf it is the number of a cell. For an interior page of a table the number of a child, for
        /// one of an index children at even steps, and the cells between them at odd ones.
        var step = 0
    }

    private let pages: SQLitePages
    private let root: UInt32
    private let kind: SQLiteTreeKind
    private var levels: [Level] = []
    private var hasBegun = false
    private var treePagesLeft: UInt32
    private var overflowPagesLeft: UInt32
    /// The row ID of the present row; 0 for an index.
    package private(set) var rowID: Int64 = 0
    /// The present record.
    package private(set) var record: SQLiteRecord

    init(_ pages: SQLitePages, root: UInt32, _ kind: SQLiteTreeKind) {
        (self.pages, self.root, self.kind) = (pages, root, kind)
        (treePagesLeft, overflowPagesLeft) = (pages.pageCount, pages.pageCount)
        record = SQLiteRecord(encoding: pages.header.encoding)
    }

    /// Goes to the next row or entry; returns `false` if there is none.
    package mutating func next() throws(SQLiteFileError) -> Bool {
        if !hasBegun {
            hasBegun = true
            try descend(to: root)
        }
        while let level = levels.last {
            let (page, step) = (level.page, level.step)
            levels[levels.count - 1].step += 1
            if page.isLeaf {
                guard step < page.cellCount else {
                    levels.removeLast()
                    continue
                }
                let former = rowID
                try readNextCell(step, of: page)
                if kind == .table, hasRow, rowID <= former {
                    throw pages.error(page.page.number, .keyOrder, "row ID \(rowID) follows \(former)")
                }
                hasRow = true
                return true
            }
            let isEntry = kind == .index && !step.isMultiple(of: 2)
            let place = kind == .index ? step / 2 : step
            guard place < page.cellCount + (isEntry ? 0 : 1) else {
                levels.removeLast()
                continue
            }
            guard isEntry else {
                try descend(to: page.child(place, in: pages))
                continue
            }
            try readNextCell(place, of: page)
            return true
        }
        return false
    }

    private var hasRow = false

    /// Goes to the row with this ID; returns `false` if there is none.
    ///
    /// A walk does not go on from there.
    package mutating func seek(_ wanted: Int64) throws(SQLiteFileError) -> Bool {
        var number = root
        for _ in 0..<Self.depthMax {
            let page = try SQLiteTreePage(number, .table, in: pages)
            var (low, high) = (0, page.cellCount)
            while low < high {
                let middle = (low + high) / 2
                if try key(ofCell: middle, of: page) < wanted { low = middle + 1 } else { high = middle }
            }
            guard page.isLeaf else {
                number = try page.child(low, in: pages)
                continue
            }
            guard low < page.cellCount, try key(ofCell: low, of: page) == wanted else { return false }
            overflowPagesLeft = pages.pageCount
            _ = try readCell(low, of: page)
            return true
        }
        throw pages.error(root, .treeShape, "the tree has more than \(Self.depthMax) levels")
    }

    private mutating func descend(to number: UInt32) throws(SQLiteFileError) {
        guard levels.count < Self.depthMax else {
            throw pages.error(root, .treeShape, "the tree has more than \(Self.depthMax) levels")
        }
        guard treePagesLeft > 0 else {
            throw pages.error(
                number, .treeShape, "the tree has more pages than the file, so one of them is in it twice")
        }
        treePagesLeft -= 1
        levels.append(Level(page: try SQLiteTreePage(number, kind, in: pages), byteCountLeft: pages.usableSize))
    }

    // MARK: Cells

    /// The row ID of a cell of a table.
    private func key(ofCell cell: Int, of page: SQLiteTreePage) throws(SQLiteFileError) -> Int64 {
        var offset = try page.offset(ofCell: cell, in: pages)
        let bytes = page.page.bytes
        if page.isLeaf {
            _ = bytes.sqliteVariableInteger(at: &offset, below: page.end)
        } else {
            offset += 4
        }
        guard let key = bytes.sqliteVariableInteger(at: &offset, below: page.end) else {
            throw pages.error(page.page.number, .cell, "cell \(cell) ends after the end of the page")
        }
        return Int64(bitPattern: key)
    }

    /// Reads a cell of the page at which the walk is.
    private mutating func readNextCell(_ cell: Int, of page: SQLiteTreePage) throws(SQLiteFileError) {
        let byteCount = try readCell(cell, of: page)
        levels[levels.count - 1].byteCountLeft -= byteCount
        guard levels[levels.count - 1].byteCountLeft >= 0 else {
            throw pages.error(page.page.number, .cell, "the cells have more bytes than the page: some overlap")
        }
    }

    /// Reads a cell; returns its number of bytes in the page.
    private mutating func readCell(_ cell: Int, of page: SQLiteTreePage) throws(SQLiteFileError) -> Int {
        func isOutside() -> SQLiteFileError {
            pages.error(page.page.number, .cell, "cell \(cell) ends after the end of the page")
        }
        let start = try page.offset(ofCell: cell, in: pages)
        var offset = start + (page.isLeaf ? 0 : 4)
        let bytes = page.page.bytes
        guard let size = bytes.sqliteVariableInteger(at: &offset, below: page.end) else { throw isOutside() }
        if kind == .table {
            guard let key = bytes.sqliteVariableInteger(at: &offset, below: page.end) else { throw isOutside() }
            rowID = Int64(bitPattern: key)
        }
        let most = min(UInt64(pages.pageCount) * UInt64(pages.usableSize), Self.recordByteCountMax)
        guard size <= most else {
            throw pages.error(page.page.number, .cell, "cell \(cell) has \(size) bytes, more than \(most)")
        }
        let local = localByteCount(Int(size))
        guard local <= page.end - offset else { throw isOutside() }
        let problem: String?
        if local == Int(size) {
            problem = record.take(bytes, offset..<offset + local)
        } else {
            guard page.end - offset - local >= 4 else { throw isOutside() }
            let first = bytes.sqliteUInt32(at: offset + local)
            let whole = try overflow(
                Array(bytes[offset..<offset + local]), byteCount: Int(size), from: first, of: page.page.number)
            problem = record.take(whole, 0..<whole.count)
        }
        if let problem { throw pages.error(page.page.number, .record, "cell \(cell): \(problem)") }
        return offset + local - start
    }

    /// The number of bytes of a record that are in its cell; the others are in overflow pages.
    private func localByteCount(_ size: Int) -> Int {
        let usable = pages.usableSize
        let most = kind == .table ? usable - 35 : (usable - 12) * 64 / 255 - 23
        guard size > most else { return size }
        let least = (usable - 12) * 32 / 255 - 23
        let fitting = least + (size - least) % (usable - 4)
        return fitting <= most ? fitting : least
    }

    /// The record that begins with `local` and goes on in a chain of pages.
    private mutating func overflow(
        _ local: [UInt8], byteCount: Int, from first: UInt32, of cellPage: UInt32
    ) throws(SQLiteFileError) -> [UInt8] {
        var (bytes, next) = (local, first)
        while bytes.count < byteCount {
            guard next != 0, overflowPagesLeft > 0 else {
                let text = next == 0 ? "a chain of overflow pages ends too early" : "overflow pages are in two chains"
                throw pages.error(cellPage, .overflowChain, text)
            }
            overflowPagesLeft -= 1
            let page = try pages.page(next)
            let count = min(byteCount - bytes.count, pages.usableSize - 4)
            bytes.append(contentsOf: page.bytes[4..<4 + count])
            next = page.bytes.sqliteUInt32(at: 0)
        }
        guard next == 0 else { throw pages.error(cellPage, .overflowChain, "a chain of overflow pages is too long") }
        return bytes
    }
}
