// The cells of a tree page as bytes: keys, values and children, decoded without trusting the page.
//
// Invariants
//   1. For any bytes, decoding ends after at most as many cells as the page has room for slots. A cell that extends
//      beyond the page is cut at the page's end and marked.

import EspalierEngine

/// One cell of a tree page.
struct CellImage {
    /// A key in the format of the page's tree.
    enum Key {
        case integer(UInt64)
        case bytes([UInt8])
    }

    /// The content of the cell apart from the key.
    enum Content {
        /// A value in the leaf.
        case value([UInt8])
        /// A value in overflow pages.
        case overflow(byteCount: UInt64, first: PageNumber)
        /// The child with the keys less than this one.
        case child(PageNumber)
    }

    /// The offset of the cell in the page; `nil` if slots hold all of it.
    let offset: Int?
    /// The whole key, prefix included.
    let key: Key
    /// The value or child.
    let content: Content
    /// Whether the cell is inside the cell area.
    let isInPlace: Bool
}

extension PageImage {
    /// Whether the page has the type of a tree's leaf or interior page.
    var isTreePage: Bool {
        switch type {
        case .interiorBytes, .leafBytes, .leafInteger, .interiorInteger: true
        case .overflow, .bitmap, .free, nil: false
        }
    }

    private var hasIntegerKeys: Bool { type == .leafInteger || type == .interiorInteger }
    private var isLeafType: Bool { type == .leafInteger || type == .leafBytes }

    /// Bytes per slot.
    var slotByteCount: Int {
        guard hasIntegerKeys else { return TreeLayout.bytesSlotByteCount }
        return isLeafType ? TreeLayout.integerLeafSlotByteCount : TreeLayout.integerInteriorSlotByteCount
    }

    /// The cells, in slot order; if the cell count is too large, only those with room for their slots.
    var cells: [CellImage] {
        guard isTreePage else { return [] }
        let room = max(0, (pageSize - TreeLayout.slots) / slotByteCount)
        return (0..<min(cellCount, room)).map { hasIntegerKeys ? integerCell($0) : bytesCell($0) }
    }

    /// The prefix that all keys of a bytes page share.
    var prefix: [UInt8] {
        guard isTreePage, !hasIntegerKeys else { return [] }
        return Array(lowFence.prefix(u16(TreeLayout.prefixByteCount)))
    }

    /// The bytes of the low fence; for an integer page, the eight bytes as stored.
    var lowFence: [UInt8] {
        if hasIntegerKeys { return slice(pageSize - 16, u16(TreeLayout.lowFenceByteCount)) }
        let (low, high) = (u16(TreeLayout.lowFenceByteCount), u16(TreeLayout.highFenceByteCount))
        return slice(pageSize - high - low, low)
    }

    /// The bytes of the high fence; for an integer page, the eight bytes as stored.
    var highFence: [UInt8] {
        if hasIntegerKeys { return slice(pageSize - 8, u16(TreeLayout.highFenceByteCount)) }
        return slice(pageSize - u16(TreeLayout.highFenceByteCount), u16(TreeLayout.highFenceByteCount))
    }

    private func integerCell(_ index: Int) -> CellImage {
        let key = CellImage.Key.integer(u64(TreeLayout.slots + 8 * index))
        let second = TreeLayout.slots + 8 * cellCount
        guard isLeafType else {
            return CellImage(offset: nil, key: key, content: .child(u32(second + 4 * index)), isInPlace: true)
        }
        let offset = u16(second + 2 * index)
        return leafCell(at: offset, key: key, suffixByteCount: 0)
    }

    private func bytesCell(_ index: Int) -> CellImage {
        let slot = TreeLayout.slots + TreeLayout.bytesSlotByteCount * index
        let (offset, suffixByteCount) = (u16(slot), u16(slot + 2))
        let before = isLeafType ? TreeLayout.valueWordByteCount : TreeLayout.childByteCount
        let key = CellImage.Key.bytes(prefix + slice(offset + before, suffixByteCount))
        guard isLeafType else {
            let end = offset + before + suffixByteCount
            return CellImage(
                offset: offset, key: key, content: .child(u32(offset)), isInPlace: isInCellArea(offset, end))
        }
        return leafCell(at: offset, key: key, suffixByteCount: suffixByteCount)
    }

    private func leafCell(at offset: Int, key: CellImage.Key, suffixByteCount: Int) -> CellImage {
        let word = u16(offset)
        let start = offset + TreeLayout.valueWordByteCount + suffixByteCount
        let length = word & ~Int(TreeLayout.overflowFlag)
        let content: CellImage.Content =
            word & Int(TreeLayout.overflowFlag) != 0
            ? .overflow(byteCount: u64(start), first: u32(start + 8)) : .value(slice(start, length))
        return CellImage(
            offset: offset, key: key, content: content, isInPlace: isInCellArea(offset, start + length))
    }

    private func isInCellArea(_ start: Int, _ end: Int) -> Bool { start >= contentStart && end <= pageSize }
}
