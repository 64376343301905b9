// Changes one tree page in place: inserts, removes and packs cells.
//
// Invariants
//   1. After each function the page is one that `PageValidation` accepts.
//   2. Cells + fragments = cell area, always; a page without cells has no fragments.
//   3. A function that returns `false` has at most moved cells.

extension PageView {
    /// Whether a cell of `byteCount` bytes and its slot fit, possibly after packing.
    package func hasRoom(forCell byteCount: Int) -> Bool {
        contentStart &- slotsEnd &+ fragmentByteCount >= byteCount &+ slotByteCount
    }

    /// Inserts `key` and `value` as entry `index` of a leaf.
    ///
    /// `key` begins with the page's prefix.
    ///
    /// - Returns: `false` if there is no room.
    package func insertEntry(_ index: Int, _ key: TreeKey, _ value: StoredValue) -> Bool {
        assert(isLeaf && index >= 0 && index <= cellCount, "entry \(index) of \(cellCount)")
        let isInteger = hasIntegerKeys
        let suffix = isInteger ? key.bytes : key.bytes.dropping(prefixByteCount)
        let cellByteCount = TreeLayout.valueWordByteCount &+ suffix.count &+ value.cellByteCount
        guard makeRoom(forCell: cellByteCount) else { return false }
        let offset = contentStart &- cellByteCount
        setContentStart(offset)
        if isInteger {
            openIntegerSlot(index, key.integer, payloadByteCount: 2)
            set(UInt16(truncatingIfNeeded: offset), at: TreeLayout.slots &+ 8 &* cellCount &+ 2 &* index)
        } else {
            openBytesSlot(index, suffix, offset)
        }
        storeLeafCell(at: offset, suffix: suffix, value: value)
        assert(checkCellArea())
        return true
    }

    /// Sets the high fence of an integer page; its cells stay as they are.
    package func setIntegerHighFence(_ key: UInt64) {
        assert(cellCount > 0 && integerKey(cellCount - 1) < key, "invariant 1: a key is not below the fence")
        set(UInt16(8), at: TreeLayout.highFenceByteCount)
        set(key, at: byteCount &- 8)
    }

    /// Inserts `key` with the child to its left as separator `index` of an interior page.
    ///
    /// - Returns: `false` if there is no room.
    package func insertSeparator(_ index: Int, _ key: TreeKey, leftChild: PageNumber) -> Bool {
        assert(!isLeaf && index >= 0 && index <= cellCount, "separator \(index) of \(cellCount)")
        if hasIntegerKeys {
            guard makeRoom(forCell: 0) else { return false }
            openIntegerSlot(index, key.integer, payloadByteCount: 4)
            set(leftChild, at: TreeLayout.slots &+ 8 &* cellCount &+ 4 &* index)
            return true
        }
        let suffix = key.bytes.dropping(prefixByteCount)
        guard makeRoom(forCell: TreeLayout.childByteCount &+ suffix.count) else { return false }
        let offset = contentStart &- TreeLayout.childByteCount &- suffix.count
        setContentStart(offset)
        openBytesSlot(index, suffix, offset)
        set(leftChild, at: offset)
        copy(suffix, to: offset &+ TreeLayout.childByteCount)
        assert(checkCellArea())
        return true
    }

    /// Writes the bytes of a leaf cell.
    @inline(__always)
    package func storeLeafCell(at offset: Int, suffix: ByteString, value: StoredValue) {
        set(value.word, at: offset)
        let start = offset &+ TreeLayout.valueWordByteCount
        copy(suffix, to: start)
        storeValue(value, at: start &+ suffix.count)
    }

    @inline(__always)
    private func storeValue(_ value: StoredValue, at offset: Int) {
        switch value {
        case .inline(let bytes): copy(bytes, to: offset)
        case .overflow(let first, let byteCount):
            set(byteCount, at: offset)
            set(first, at: offset &+ 8)
        }
    }

    /// Replaces the value of entry `index` of a leaf with one that needs no more bytes in the cell.
    ///
    /// - Returns: `false` if it needs more.
    package func replaceValue(_ index: Int, _ value: StoredValue) -> Bool {
        let offset = cellOffset(index)
        let oldByteCount = Int(u16(offset) & ~TreeLayout.overflowFlag)
        guard value.cellByteCount <= oldByteCount else { return false }
        set(value.word, at: offset)
        let suffixLength = hasIntegerKeys ? 0 : suffixByteCount(index)
        storeValue(value, at: offset &+ TreeLayout.valueWordByteCount &+ suffixLength)
        addFragments(oldByteCount &- value.cellByteCount)
        assert(checkCellArea())
        return true
    }

    /// Removes entries or separators in `range`.
    ///
    /// In an interior page, the child to the left of each separator is removed too.
    package func removeCells(_ range: Range<Int>) {
        assert(range.lowerBound >= 0 && range.upperBound <= cellCount, "cells \(range) of \(cellCount)")
        for index in range {
            let length = cellByteCount(index)
            guard length > 0 else { continue }
            // The bytes of the lowest cell become part of the gap; those of any other become a fragment.
            let offset = cellOffset(index)
            if offset == contentStart { setContentStart(offset &+ length) } else { addFragments(length) }
        }
        closeSlots(range)
        if cellCount == 0 {
            setContentStart(contentEnd)
            set(UInt16(0), at: TreeLayout.fragmentByteCount)
        }
        assert(checkCellArea())
    }

    /// Moves all cells to the end of the cell area, so that no fragments are left.
    package func pack() {
        let scratch = ScratchPage(byteCount: byteCount)
        scratch.view.copy(from: self, at: 0, to: 0, count: byteCount)
        let isInteger = hasIntegerKeys
        let count = cellCount
        var offset = contentEnd
        for index in 0..<count {
            let length = scratch.view.cellByteCount(index)
            offset &-= length
            copy(from: scratch.view, at: scratch.view.cellOffset(index), to: offset, count: length)
            let slot = TreeLayout.slots &+ (isInteger ? 8 &* count &+ 2 &* index : 8 &* index)
            set(UInt16(truncatingIfNeeded: offset), at: slot)
        }
        setContentStart(offset)
        set(UInt16(0), at: TreeLayout.fragmentByteCount)
        assert(checkCellArea())
    }

    /// Asserts invariant 2 for a page of up to 16 cells; to be called in `assert`.
    ///
    /// O(cells).
    private func checkCellArea() -> Bool {
        assert(slotsEnd <= contentStart && contentStart <= contentEnd, "cells in \(contentStart)..<\(contentEnd)")
        guard cellCount <= 16 else { return true }
        let cells = (0..<cellCount).reduce(0) { $0 + cellByteCount($1) }
        assert(
            cells + fragmentByteCount == contentEnd - contentStart,
            "invariant 2: \(cells) + \(fragmentByteCount) bytes in \(contentStart)..<\(contentEnd)")
        return true
    }

    // MARK: - Slots

    private func addFragments(_ length: Int) {
        assert(length >= 0 && fragmentByteCount + length <= byteCount, "\(length) bytes of fragments")
        set(UInt16(truncatingIfNeeded: fragmentByteCount &+ length), at: TreeLayout.fragmentByteCount)
    }

    @inline(__always)
    private func makeRoom(forCell cellByteCount: Int) -> Bool {
        let need = cellByteCount &+ slotByteCount
        let gap = contentStart &- slotsEnd
        if gap >= need { return true }
        guard gap &+ fragmentByteCount >= need else { return false }
        pack()
        return true
    }

    /// Opens slot `index` of an integer page whose second array has elements of `payloadByteCount` bytes.
    @inline(__always)
    private func openIntegerSlot(_ index: Int, _ key: UInt64, payloadByteCount: Int) {
        let count = cellCount
        let keys = TreeLayout.slots
        let seconds = keys &+ 8 &* count
        // From the back, so that each move overwrites only bytes that were moved before.
        let tail = seconds &+ payloadByteCount &* index
        move(from: tail, to: tail &+ 8 &+ payloadByteCount, count: payloadByteCount &* (count &- index))
        move(from: seconds, to: seconds &+ 8, count: payloadByteCount &* index)
        move(from: keys &+ 8 &* index, to: keys &+ 8 &* index &+ 8, count: 8 &* (count &- index))
        set(key, at: keys &+ 8 &* index)
        setCellCount(count &+ 1)
    }

    @inline(__always)
    private func openBytesSlot(_ index: Int, _ suffix: ByteString, _ offset: Int) {
        let count = cellCount
        let slot = TreeLayout.slots &+ 8 &* index
        move(from: slot, to: slot &+ 8, count: 8 &* (count &- index))
        storeBytesSlot(index, suffix, offset)
        setCellCount(count &+ 1)
    }

    /// Writes slot `index` of a bytes page.
    @inline(__always)
    package func storeBytesSlot(_ index: Int, _ suffix: ByteString, _ offset: Int) {
        assert(offset > 0 && offset + suffix.count <= byteCount, "a cell at \(offset)")
        let slot = TreeLayout.slots &+ 8 &* index
        set(UInt16(truncatingIfNeeded: offset), at: slot)
        set(UInt16(truncatingIfNeeded: suffix.count), at: slot &+ 2)
        set(suffix.head, at: slot &+ 4)
    }

    private func closeSlots(_ range: Range<Int>) {
        let count = cellCount
        let left = count &- range.count
        assert(left >= 0, "\(range.count) of \(count) slots")
        let slots = TreeLayout.slots
        let tail = count &- range.upperBound
        move(from: slots &+ 8 &* range.upperBound, to: slots &+ 8 &* range.lowerBound, count: 8 &* tail)
        if hasIntegerKeys {
            let width = isLeaf ? 2 : 4
            let (old, new) = (slots &+ 8 &* count, slots &+ 8 &* left)
            move(from: old, to: new, count: width &* range.lowerBound)
            move(
                from: old &+ width &* range.upperBound, to: new &+ width &* range.lowerBound, count: width &* tail)
        }
        setCellCount(left)
    }
}

/// A page of memory that is not part of the store.
@safe
package struct ScratchPage: ~Copyable {
    /// The memory.
    package let view: PageView

    /// Allocates `byteCount` bytes; their content is undefined.
    package init(byteCount: Int) {
        assert(byteCount > 0, "\(byteCount) bytes")
        // SAFETY: freed by `deinit`; no view of the memory is used after that.
        unsafe view = PageView(
            base: UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16), byteCount: byteCount)
    }

    // SAFETY: allocated by `init`, and a noncopyable value is destroyed once.
    deinit { unsafe view.base.deallocate() }
}
