// FileFormat.md, section 4: slots and cells of a tree page. Rules 25 to 28, 30 and 33.

/// The cells of a tree page.
struct TreeCells {
    private(set) var entries: [TreePage.Entry] = []
    private var extents: [Range<Int>] = []
    private let page: [UInt8]
    private let frame: TreeFrame

    init(_ page: [UInt8], _ frame: TreeFrame, _ header: PageHeader) throws(Breach) {
        (self.page, self.frame) = (page, frame)
        entries.reserveCapacity(frame.cellCount)
        for index in 0..<frame.cellCount {
            if frame.hasIntegerKeys {
                try addIntegerEntry(index)
            } else {
                try addBytesEntry(index)
            }
        }
        try checkExtents()
    }

    private mutating func addIntegerEntry(_ index: Int) throws(Breach) {
        let key = Key.integer(page.u64(frame.slotOffset(index)))
        let second = frame.secondOffset(index)
        guard frame.isLeaf else {
            entries.append(TreePage.Entry(key: key, content: .child(page.u32(second)), offset: second))
            return
        }
        let offset = page.u16(second)
        let content = try leafContent(at: offset, restByteCount: 0, slot: second)
        entries.append(TreePage.Entry(key: key, content: content, offset: offset))
    }

    private mutating func addBytesEntry(_ index: Int) throws(Breach) {
        let slot = frame.slotOffset(index)
        let (offset, restByteCount) = (page.u16(slot), page.u16(slot + 2))
        if frame.prefix.count + restByteCount > TreeFrame.keyByteCountMax(page.count) {
            throw Breach(26, slot + 2, "the key of slot \(index) is longer than the longest possible key")
        }
        let content: CellContent
        if frame.isLeaf {
            content = try leafContent(at: offset, restByteCount: restByteCount, slot: slot)
        } else {
            try addExtent(from: offset, byteCount: 4 + restByteCount, slot: slot)
            content = .child(page.u32(offset))
        }
        let start = offset + (frame.isLeaf ? 2 : 4)
        let rest = page.bytes(start..<start + restByteCount)
        if page.u32(slot + 4) != Self.head(of: rest) {
            throw Breach(30, slot + 4, "the head of slot \(index) is not the beginning of its key's rest")
        }
        entries.append(TreePage.Entry(key: .bytes(frame.prefix + rest), content: content, offset: offset))
    }

    /// The first four bytes as a big-endian number; missing bytes are zero.
    private static func head(of rest: [UInt8]) -> UInt32 {
        (0..<4).reduce(0) { $0 << 8 | UInt32(rest.u8($1)) }
    }

    private mutating func leafContent(at offset: Int, restByteCount: Int, slot: Int) throws(Breach) -> CellContent {
        guard offset >= frame.contentStart, offset + 2 <= frame.contentEnd else {
            throw Breach(25, slot, "a cell begins at \(offset), outside of the cell area")
        }
        let word = page.u16(offset)
        let byteCount = word & 0x7FFF
        try addExtent(from: offset, byteCount: 2 + restByteCount + byteCount, slot: slot)
        let start = offset + 2 + restByteCount
        guard word & 0x8000 != 0 else { return .value(page.bytes(start..<start + byteCount)) }
        guard byteCount == 12 else { throw Breach(33, offset, "an overflow reference of \(byteCount) bytes") }
        let reference = OverflowReference(byteCount: page.u64(start), first: page.u32(start + 8))
        guard reference.byteCount >= 1, reference.byteCount < 1 << 32, reference.first > 1 else {
            throw Breach(
                33, start,
                "an overflow reference to \(reference.byteCount) bytes from page \(reference.first) on is impossible")
        }
        return .overflow(reference)
    }

    private mutating func addExtent(from offset: Int, byteCount: Int, slot: Int) throws(Breach) {
        guard offset >= frame.contentStart, offset < frame.contentEnd else {
            throw Breach(25, slot, "a cell begins at \(offset), outside of the cell area")
        }
        guard offset + byteCount <= frame.contentEnd else {
            throw Breach(26, slot, "a cell ends at \(offset + byteCount), outside of the cell area")
        }
        guard byteCount + frame.slotByteCount <= TreeFrame.cellByteCountMax(page.count) else {
            throw Breach(26, slot, "a cell of \(byteCount) bytes is longer than allowed")
        }
        extents.append(offset..<offset + byteCount)
    }

    /// Checks rules 27 and 28.
    ///
    /// If both hold, every byte of the cell area belongs to one cell or is counted as a fragment.
    private func checkExtents() throws(Breach) {
        let sorted = extents.sorted { $0.lowerBound < $1.lowerBound }
        let byteCount = sorted.reduce(frame.fragmentByteCount) { $0 + $1.count }
        let room = frame.contentEnd - frame.contentStart
        if byteCount != room {
            throw Breach(27, 32, "cells and fragments take \(byteCount) bytes, but the cell area has \(room)")
        }
        for (before, after) in zip(sorted, sorted.dropFirst()) where after.lowerBound < before.upperBound {
            throw Breach(28, after.lowerBound, "two cells overlap")
        }
    }
}
