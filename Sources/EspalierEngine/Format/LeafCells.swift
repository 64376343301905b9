// The cells of a leaf of integer keys as a loop in another module goes through them: two loads a cell and no call.
//
// Invariants
//   1. The page passed `PageValidation`, and neither goes away nor changes while its cells are in use.
//   2. `range` lies within the cells of the page.
// SAFETY: by invariant 1 the bytes are there and every cell lies within them; positions are those of `range`, asserted.

/// Some cells of a pinned leaf of integer keys.
@safe @usableFromInline
struct LeafCells {
    /// The positions that may be asked for.
    @usableFromInline let range: Range<Int>
    @usableFromInline let page: UnsafeRawPointer
    /// The first key, and the offset of the first cell.
    @usableFromInline let keys: UnsafeRawPointer
    @usableFromInline let offsets: UnsafeRawPointer

    /// The cells of a leaf of integer keys in `range`.
    init(_ view: PageView, _ range: Range<Int>) {
        assert(view.isLeaf && view.hasIntegerKeys && range.lowerBound >= 0 && range.upperBound <= view.cellCount)
        self.range = range
        unsafe page = UnsafeRawPointer(view.base)
        unsafe keys = page + TreeLayout.slots
        unsafe offsets = keys + 8 * view.cellCount
    }

    /// The key of cell `index`.
    @inlinable @inline(__always)
    func key(_ index: Int) -> UInt64 {
        assert(range.contains(index))
        return unsafe UInt64(littleEndian: keys.loadUnaligned(fromByteOffset: 8 &* index, as: UInt64.self))
    }

    /// The value in cell `index`; `nil` if it lies in overflow pages.
    @inlinable @inline(__always)
    func inlineValue(_ index: Int) -> UnsafeRawBufferPointer? {
        assert(range.contains(index))
        let offset = unsafe Int(
            UInt16(littleEndian: offsets.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)))
        let word = unsafe UInt16(littleEndian: page.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        guard word & TreeLayout.overflowFlag == 0 else { return nil }
        return unsafe UnsafeRawBufferPointer(start: page + offset + TreeLayout.valueWordByteCount, count: Int(word))
    }
}
