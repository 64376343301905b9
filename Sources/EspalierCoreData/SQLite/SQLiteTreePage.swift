// A page of a tree of a SQLite file: its kind, and where its cells are (fileformat2.html, section 1.6).
//
// Invariants
//   1. The array of cell pointers is within the page, and each cell begins behind it.

/// The two kinds of trees.
enum SQLiteTreeKind: Sendable {
    /// Rows by row ID.
    case table
    /// Records in their order.
    case index
}

/// A page of a tree.
struct SQLiteTreePage {
    let page: SQLitePage
    let isLeaf: Bool
    let cellCount: Int
    private let pointers: Int
    private let headerOffset: Int
    private let usableSize: Int

    init(_ number: UInt32, _ kind: SQLiteTreeKind, in pages: SQLitePages) throws(SQLiteFileError) {
        page = try pages.page(number)
        usableSize = pages.usableSize
        headerOffset = number == 1 ? SQLiteHeader.byteCount : 0
        switch (page.bytes[headerOffset], kind) {
        case (5, .table), (2, .index): isLeaf = false
        case (13, .table), (10, .index): isLeaf = true
        case (let code, _):
            let wanted = kind == .table ? "a table, 5 or 13" : "an index, 2 or 10"
            throw pages.error(number, .pageKind, "the page has kind \(code), not the kind of \(wanted)")
        }
        cellCount = page.bytes.sqliteUInt16(at: headerOffset + 3)
        pointers = headerOffset + (isLeaf ? 8 : 12)
        guard pointers + 2 * cellCount <= usableSize else {
            throw pages.error(number, .cell, "the pointers to \(cellCount) cells do not fit into the page")
        }
    }

    /// The end of what cells may have.
    var end: Int { usableSize }

    /// The offset of a cell in the page.
    func offset(ofCell cell: Int, in pages: SQLitePages) throws(SQLiteFileError) -> Int {
        let offset = page.bytes.sqliteUInt16(at: pointers + 2 * cell)
        // An interior cell begins with the four bytes of a page number.
        guard offset >= pointers + 2 * cellCount, offset + 4 <= usableSize else {
            throw pages.error(page.number, .cell, "cell \(cell) begins at \(offset), outside of the cells")
        }
        return offset
    }

    /// The page below: that of a cell, or the one behind the last cell.
    func child(_ cell: Int, in pages: SQLitePages) throws(SQLiteFileError) -> UInt32 {
        guard cell < cellCount else { return page.bytes.sqliteUInt32(at: headerOffset + 8) }
        return page.bytes.sqliteUInt32(at: try offset(ofCell: cell, in: pages))
    }
}
