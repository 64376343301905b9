// FileFormat.md, section 4: a tree page, decoded under rules 20 to 33.
//
// Invariants
//   1. The page of a value of this type breaks none of these rules.

/// The location of a value on overflow pages.
struct OverflowReference {
    let byteCount: UInt64
    let first: UInt32
}

/// The content of a cell beside its key.
enum CellContent {
    case value([UInt8])
    case overflow(OverflowReference)
    case child(UInt32)
}

/// A tree page with its keys.
struct TreePage {
    /// One key with its content and, for messages, the offset of its slot or cell.
    struct Entry {
        let key: Key
        let content: CellContent
        let offset: Int
    }

    private(set) var entries: [Entry] = []
    let fences: KeyInterval
    let rightChild: UInt32
    let rootTag: UInt32
    let isLeaf: Bool
    let hasIntegerKeys: Bool

    /// Decodes `page`, whose header has been verified.
    init(_ page: [UInt8], _ header: PageHeader) throws(Breach) {
        isLeaf = header.kind == .leafBytes || header.kind == .leafInteger
        hasIntegerKeys = header.kind == .leafInteger || header.kind == .interiorInteger
        if (header.level == 0) != isLeaf { throw Breach(20, 14, "level \(header.level) does not fit the type") }
        let frame = try TreeFrame(page, header, hasIntegerKeys: hasIntegerKeys, isLeaf: isLeaf)
        (fences, rightChild, rootTag) = (frame.fences, page.u32(36), page.u32(44))
        if header.flags > 1 { throw Breach(5, 13, "an unknown flag is set") }
        if isLeaf, rightChild != 0 { throw Breach(5, 36, "a leaf has a right child") }
        if !header.isRoot, rootTag != 0 { throw Breach(5, 44, "a page that is not a root has a root tag") }
        let cells = try TreeCells(page, frame, header)
        entries = cells.entries
        try checkOrder(page, frame)
        if !isLeaf { try checkChildren(header.number) }
        try PageHeader.checkGap(page, frame.slotsEnd..<frame.contentStart)
    }

    /// The children in key order, each with the range of its keys.
    var children: [(page: UInt32, range: KeyInterval, offset: Int)] {
        var low = fences.low
        var result: [(page: UInt32, range: KeyInterval, offset: Int)] = []
        for entry in entries {
            guard case .child(let page) = entry.content else { continue }
            result.append((page, KeyInterval(low: low, high: entry.key), entry.offset))
            low = entry.key
        }
        result.append((rightChild, KeyInterval(low: low, high: fences.high), 36))
        return result
    }

    /// Checks rules 29 and 31.
    private func checkOrder(_ page: [UInt8], _ frame: TreeFrame) throws(Breach) {
        for index in entries.indices.dropFirst() where !(entries[index - 1].key < entries[index].key) {
            throw Breach(29, frame.slotOffset(index), "the key of slot \(index) is not above the one before")
        }
        for (index, entry) in entries.enumerated() {
            let offset = frame.slotOffset(index)
            if let low = fences.low, entry.key < low || (!isLeaf && entry.key == low) {
                throw Breach(31, offset, "the key of slot \(index) is \(isLeaf ? "below" : "not above") the low fence")
            }
            if !isLeaf, fences.low == nil, entry.key == .bytes([]) {
                throw Breach(31, offset, "an empty separator cannot have keys below it")
            }
            if let high = fences.high, !(entry.key < high) {
                throw Breach(31, offset, "the key of slot \(index) is not below the high fence")
            }
        }
    }

    /// Checks rule 32.
    private func checkChildren(_ number: UInt32) throws(Breach) {
        for child in children where child.page <= 1 || child.page == number {
            throw Breach(32, child.offset, "page \(child.page) cannot be a child")
        }
    }
}
