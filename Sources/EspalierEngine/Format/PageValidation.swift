// The rules that a page can break on its own: checked once, when it is read. Afterwards hot code loads unchecked.
//
// Invariants
//   1. Validation is total: any bytes have a result; no load depends on bytes that were not checked before.
//   2. An accepted tree page is safe to search and to change: every offset and length that later code follows is
//      within the page, and cells, fragments and gap add up.
//   3. The tree checks the rules that need a second page (tree, level of the parent, fences of neighbors).

/// The checks of one page.
package struct PageValidation {
    private let view: PageView
    private let number: PageNumber

    /// The set of rules to check; each depth includes the ones before it.
    package enum Depth {
        /// Everything that later code relies on, and the order of keys.
        case load
        /// Also a rule that costs more to check: no two cells overlap.
        case thorough
        /// Also a rule for pages as they are written: gaps and unused tails are zero.
        case sealed
    }

    /// Checks the page in `view`, read as page `number`, against its checksum and rules 1 to 53.
    ///
    /// - Throws: `corruption` with the rule and the place.
    package static func verify(
        _ view: PageView, number: PageNumber, storeSeed: UInt64, depth: Depth = .load
    ) throws(StorageError) {
        guard view.storedChecksum == view.computedChecksum(number: number, storeSeed: storeSeed) else {
            throw .corrupt(.pageChecksum, page: number, byteOffset: PageLayout.checksum)
        }
        try validate(view, number: number, depth: depth)
    }

    /// Checks the page in `view`, read as page `number`, against rules 2 to 53 (all but the checksum).
    ///
    /// - Throws: `corruption` with the rule and the place.
    package static func validate(
        _ view: PageView, number: PageNumber, depth: Depth = .load
    ) throws(StorageError) {
        let validation = PageValidation(view: view, number: number)
        try validation.checkHeader()
        switch PageType(rawValue: view.typeByte) {
        case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger:
            try validation.checkTreeHeader()
            if view.hasIntegerKeys { try validation.checkIntegerPage() } else { try validation.checkBytesPage() }
        case .overflow: try validation.checkOverflow()
        case .bitmap: try validation.checkBitmap()
        case .free: break
        case nil: throw validation.broken(.pageType, at: PageLayout.type)
        }
        if depth != .load { try validation.checkOverlaps() }
        if depth == .sealed { try validation.checkGap() }
    }

    private func broken(_ rule: CorruptionRule, at offset: Int) -> StorageError {
        assert(offset >= 0, "byte \(offset) of page \(number)")
        return .corrupt(rule, page: number, tree: view.treeID, byteOffset: offset)
    }

    private func require(
        _ condition: Bool, _ rule: CorruptionRule, at offset: Int
    ) throws(StorageError) {
        guard condition else { throw broken(rule, at: offset) }
    }

    // MARK: - Every page

    private func checkHeader() throws(StorageError) {
        try require(view.storedNumber == number, .pageNumber, at: PageLayout.number)
        try require(view.u8(PageLayout.reserved) == 0, .pageReserved, at: PageLayout.reserved)
        let isBitmap = view.typeByte == PageType.bitmap.rawValue
        let geometry = StoreGeometry(pageSize: view.byteCount)
        try require(geometry.isBitmapPage(number) == isBitmap, .bitmapPlace, at: PageLayout.type)
    }

    // MARK: - Tree pages

    private func checkTreeHeader() throws(StorageError) {
        assert(view.isTreePage, "page \(number) is of another type")
        let type = view.typeByte
        let isLeafType = type == PageType.leafBytes.rawValue || type == PageType.leafInteger.rawValue
        try require(view.isLeaf == isLeafType, .levelOfType, at: PageLayout.level)
        try require(view.level < StoreGeometry.treeDepthMax, .treeTooDeep, at: PageLayout.level)
        let isRoot = view.flags == PageFlags.root
        try require(isRoot || view.flags == 0, .pageReserved, at: PageLayout.flags)
        try require(isRoot || view.rootTag == 0, .pageReserved, at: TreeLayout.rootTag)
        try require(
            !isRoot || view.lowFenceByteCount + view.highFenceByteCount == 0, .fenceLength,
            at: TreeLayout.lowFenceByteCount)
        if isLeafType {
            try require(view.rightChild == 0, .pageReserved, at: TreeLayout.rightChild)
        } else {
            try checkChild(at: TreeLayout.rightChild)
        }
        try checkFenceLengths()
        let (start, end) = (view.contentStart, view.contentEnd)
        try require(view.slotsEnd <= start && start <= end, .slotsOverCells, at: PageLayout.contentStart)
    }

    private func checkFenceLengths() throws(StorageError) {
        assert(view.isTreePage, "page \(number) has no fences")
        let (low, high) = (view.lowFenceByteCount, view.highFenceByteCount)
        let place = TreeLayout.lowFenceByteCount
        if view.hasIntegerKeys {
            try require(low == 0 || low == 8, .fenceLength, at: place)
            try require(high == 0 || high == 8, .fenceLength, at: TreeLayout.highFenceByteCount)
            try require(low == 8 || view.integerLowFence == 0, .fenceLength, at: view.byteCount - 16)
            try require(high == 8 || view.integerHighFence == 0, .fenceLength, at: view.byteCount - 8)
            let isOrdered = high == 0 || view.integerLowFence < view.integerHighFence
            try require(isOrdered, .fenceOrder, at: view.byteCount - 16)
            try require(view.prefixByteCount == 0, .prefixLength, at: TreeLayout.prefixByteCount)
            return
        }
        let keyMax = StoreGeometry(pageSize: view.byteCount).keyByteCountMax
        try require(low <= keyMax && high <= keyMax, .fenceLength, at: place)
        let isOrdered = high == 0 || view.lowFence.compare(view.highFence) < 0
        try require(isOrdered, .fenceOrder, at: view.byteCount - high - low)
        let shared = high == 0 ? 0 : view.lowFence.commonPrefix(with: view.highFence)
        try require(view.prefixByteCount == shared, .prefixLength, at: TreeLayout.prefixByteCount)
    }

    private func checkChild(at offset: Int) throws(StorageError) {
        let child = view.u32(offset)
        try require(child > FixedPlace.firstBitmap && child != number, .childNumber, at: offset)
    }

    private func checkIntegerPage() throws(StorageError) {
        assert(view.hasIntegerKeys, "page \(number) has other keys")
        let count = view.cellCount
        var total = view.fragmentByteCount
        if view.isLeaf {
            let limit = StoreGeometry(pageSize: view.byteCount).cellByteCountMax - TreeLayout.integerLeafSlotByteCount
            let (area, offsets) = (CellArea(of: view), TreeLayout.slots &+ 8 &* count)
            for index in 0..<count {
                let offset = Int(view.u16(offsets &+ 2 &* index))
                total &+= try checkLeafCell(at: offset, keyByteCount: 0, in: area, limit: limit)
            }
        } else {
            for index in 0..<count { try checkChild(at: TreeLayout.slots &+ 8 &* count &+ 4 &* index) }
        }
        try require(
            total == view.contentEnd - view.contentStart, .cellAccounting, at: TreeLayout.fragmentByteCount)
        guard count > 0 else { return }
        var previous = view.integerKey(0)
        let low = view.integerLowFence
        // A separator equal to the low fence would leave its left child without any key.
        let isInside = view.isLeaf || view.lowFenceByteCount == 0 ? previous >= low : previous > low
        try require(isInside, .keyOutsideFences, at: TreeLayout.slots)
        for index in 1..<max(count, 1) {
            let key = view.integerKey(index)
            guard previous < key else { throw broken(.keyOrder, at: TreeLayout.slots + 8 * index) }
            previous = key
        }
        let isBelow = view.highFenceByteCount == 0 || previous < view.integerHighFence
        try require(isBelow, .keyOutsideFences, at: TreeLayout.slots + 8 * (count - 1))
    }

    /// The cell area of a page: read once, because the reads in the loop are most of the cost of a check.
    private struct CellArea {
        let start: Int
        let end: Int

        init(of view: PageView) {
            (start, end) = (view.contentStart, view.contentEnd)
            assert(start <= end && end <= view.byteCount, "cells from \(start) to \(end)")
        }
    }

    /// Checks that the leaf cell at `offset` is within the cell area; returns its byte count.
    @inline(__always)
    private func checkLeafCell(
        at offset: Int, keyByteCount: Int, in area: CellArea, limit: Int
    ) throws(StorageError) -> Int {
        guard offset >= area.start, offset &+ TreeLayout.valueWordByteCount <= area.end else {
            throw broken(.cellOffset, at: offset)
        }
        let word = view.u16(offset)
        let valueByteCount = Int(word & ~TreeLayout.overflowFlag)
        let length = TreeLayout.valueWordByteCount &+ keyByteCount &+ valueByteCount
        guard offset &+ length <= area.end, length <= limit else { throw broken(.cellLength, at: offset) }
        if word & TreeLayout.overflowFlag != 0 {
            let start = offset &+ TreeLayout.valueWordByteCount &+ keyByteCount
            guard valueByteCount == TreeLayout.overflowReferenceByteCount,
                view.u64(start) > 0, view.u64(start) <= UInt64(StoreGeometry.valueByteCountMax),
                view.u32(start &+ 8) > FixedPlace.firstBitmap, view.u32(start &+ 8) != number
            else { throw broken(.overflowReference, at: start) }
        }
        return length
    }

    private func checkBytesPage() throws(StorageError) {
        assert(view.isTreePage && !view.hasIntegerKeys, "page \(number) has other keys")
        let (isLeaf, area) = (view.isLeaf, CellArea(of: view))
        let geometry = StoreGeometry(pageSize: view.byteCount)
        let suffixMax = geometry.keyByteCountMax - view.prefixByteCount
        let limit = geometry.cellByteCountMax - TreeLayout.bytesSlotByteCount - view.prefixByteCount
        var total = view.fragmentByteCount
        var before: (suffix: ByteString, head: UInt32)?
        for index in 0..<view.cellCount {
            let slot = TreeLayout.slots &+ 8 &* index
            let (offset, length, head) = (view.bytesCellOffset(index), view.suffixByteCount(index), view.head(index))
            guard length <= suffixMax else { throw broken(.cellLength, at: slot) }
            let suffix: ByteString
            if isLeaf {
                total &+= try checkLeafCell(at: offset, keyByteCount: length, in: area, limit: limit)
                suffix = view.bytes(offset &+ TreeLayout.valueWordByteCount, length)
            } else {
                total &+= try checkSeparator(at: offset, keyByteCount: length, in: area)
                suffix = view.bytes(offset &+ TreeLayout.childByteCount, length)
            }
            guard suffix.head == head else { throw broken(.keyHead, at: slot) }
            if let before {
                let isAscending = before.head < head || before.head == head && before.suffix.compare(suffix) < 0
                guard isAscending else { throw broken(.keyOrder, at: slot) }
            }
            before = (suffix, head)
        }
        try require(
            total == view.contentEnd - view.contentStart, .cellAccounting, at: TreeLayout.fragmentByteCount)
        try checkBytesFences()
    }

    private func checkSeparator(at offset: Int, keyByteCount: Int, in area: CellArea) throws(StorageError) -> Int {
        assert(!view.isLeaf && area.start <= area.end, "page \(number) has no separators")
        let length = TreeLayout.childByteCount &+ keyByteCount
        guard offset >= area.start, offset &+ TreeLayout.childByteCount <= area.end else {
            throw broken(.cellOffset, at: offset)
        }
        guard offset &+ length <= area.end else { throw broken(.cellLength, at: offset) }
        try checkChild(at: offset)
        return length
    }

    private func checkBytesFences() throws(StorageError) {
        assert(view.isTreePage && !view.hasIntegerKeys, "page \(number) has other keys")
        let count = view.cellCount
        guard count > 0 else { return }
        let first = view.suffix(0).compare(view.lowFence.dropping(view.prefixByteCount))
        let isInside = view.isLeaf ? first >= 0 : first > 0
        try require(isInside, .keyOutsideFences, at: TreeLayout.slots)
        if view.highFenceByteCount > 0 {
            let last = view.suffix(count - 1).compare(view.highFence.dropping(view.prefixByteCount))
            try require(last < 0, .keyOutsideFences, at: TreeLayout.slots + 8 * (count - 1))
        }
    }

    // MARK: - Other pages

    private func checkOverflow() throws(StorageError) {
        assert(view.typeByte == PageType.overflow.rawValue, "page \(number) is of another type")
        let isPlain = view.flags == 0 && view.level == 0 && view.cellCount == 0
        try require(isPlain, .overflowHeader, at: PageLayout.flags)
        let end = view.contentStart
        let hasPayload = end > OverflowLayout.payload && end <= view.byteCount
        try require(hasPayload, .overflowHeader, at: PageLayout.contentStart)
        let (next, runLength) = (view.overflowNext, view.overflowRunLength)
        if next == 0 {
            try require(runLength == 1, .overflowRun, at: OverflowLayout.runLength)
            return
        }
        try require(next > FixedPlace.firstBitmap && next != number, .overflowRun, at: OverflowLayout.next)
        let isRun = runLength == 1 || runLength > 1 && next == number &+ 1
        try require(isRun, .overflowRun, at: OverflowLayout.runLength)
    }

    private func checkBitmap() throws(StorageError) {
        assert(view.typeByte == PageType.bitmap.rawValue, "page \(number) is of another type")
        let isPlain =
            view.flags == 0 && view.level == 0 && view.treeID == 0 && view.u32(PageLayout.cellCount) == 0
            && view.u64(BitmapLayout.reserved) | view.u64(BitmapLayout.reserved + 8)
                | view.u64(BitmapLayout.reserved + 16) == 0
        try require(isPlain, .pageReserved, at: PageLayout.flags)
        try require(
            view.bitmapPopulationCount == view.bitmapFreeCount, .bitmapCount, at: BitmapLayout.freeCount)
        let isForbidden = view.bitmapIsFree(1) || number == FixedPlace.firstBitmap && view.bitmapIsFree(0)
        try require(!isForbidden, .bitmapReserved, at: BitmapLayout.bits)
        let bitCount = 64 * view.bitmapWordCount
        try require(view.bitmapHint <= bitCount, .bitmapHint, at: BitmapLayout.hint)
        let (fullWords, restBits) = (view.bitmapHint / 64, view.bitmapHint % 64)
        var below: UInt64 = 0
        for index in 0..<fullWords { below |= view.bitmapWord(index) }
        if restBits > 0 { below |= view.bitmapWord(fullWords) & (1 << UInt64(restBits) &- 1) }
        try require(below == 0, .bitmapHint, at: BitmapLayout.hint)
    }

    // MARK: - Thorough

    private func checkGap() throws(StorageError) {
        for offset in view.holeRange where view.u8(offset) != 0 {
            let isTail = view.typeByte == PageType.overflow.rawValue
            throw broken(isTail ? .overflowTail : .pageGap, at: offset)
        }
    }

    private func checkOverlaps() throws(StorageError) {
        let type = PageType(rawValue: view.typeByte)
        guard type == .leafInteger || type == .leafBytes || type == .interiorBytes else { return }
        let cells = (0..<view.cellCount).map { (start: view.cellOffset($0), length: view.cellByteCount($0)) }
        var end = view.contentStart
        for cell in cells.sorted(by: { $0.start < $1.start }) {
            guard cell.start >= end else { throw broken(.cellOverlap, at: cell.start) }
            end = cell.start + cell.length
        }
    }
}
