// The cells of a leaf of integer keys, for a loop in another module: two loads per cell and no call.
//
// Invariants
//   1. The page passed `PageValidation`, and stays pinned and unchanged while its cells are in use.
//   2. `range` is within the cells of the page.

/// Some cells of a pinned leaf of integer keys.
@safe @usableFromInline
struct LeafCells {
    /// The valid indices.
    @usableFromInline let range: Range<Int>
    @usableFromInline let page: UnsafeRawPointer
    /// The array of keys, and the array of cell offsets.
    @usableFromInline let keys: UnsafeRawPointer
    @usableFromInline let offsets: UnsafeRawPointer

    /// The cells in `range` of the leaf in `view`.
    init(_ view: PageView, _ range: Range<Int>) {
        assert(view.isLeaf && view.hasIntegerKeys && range.lowerBound >= 0 && range.upperBound <= view.cellCount)
        self.range = range
        // SAFETY: the arrays begin at fixed places of the page, which contains them (invariant 1).
        unsafe page = UnsafeRawPointer(view.base)
        unsafe keys = page + TreeLayout.slots
        unsafe offsets = keys + 8 * view.cellCount
    }

    /// The key of cell `index`.
    @inlinable @inline(__always)
    func key(_ index: Int) -> UInt64 {
        assert(range.contains(index))
        // SAFETY: `index` is in `range`, which is asserted, so its key is within the page (invariants 1 and 2).
        return unsafe UInt64(littleEndian: keys.loadUnaligned(fromByteOffset: 8 &* index, as: UInt64.self))
    }

    /// The value in cell `index`; `nil` if it is in overflow pages.
    @inlinable @inline(__always)
    func inlineValue(_ index: Int) -> UnsafeRawBufferPointer? {
        assert(range.contains(index))
        // SAFETY: `index` is in `range`, which is asserted; the validated page contains its offset, word and bytes.
        let offset = unsafe Int(
            UInt16(littleEndian: offsets.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)))
        let word = unsafe UInt16(littleEndian: page.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        guard word & TreeLayout.overflowFlag == 0 else { return nil }
        return unsafe UnsafeRawBufferPointer(start: page + offset + TreeLayout.valueWordByteCount, count: Int(word))
    }
}
