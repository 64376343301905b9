// Replaces a value in overflow pages by another one, whose last pages stay where they are if their bytes are equal.
//
// So a change near the beginning of a long value, such as a new title beside 30 MB of a picture, writes a page or two,
// whatever the length of the value. The pages of the former value are read once, whether some of them stay or not.
//
// Invariants
//   1. The pages that stay are not changed, and the others are new: the old value is whole in the file until its first
//      pages are used again. (Damaged stores are salvaged by such traces; a page that was changed in place could make a
//      value of two halves.)
//   2. Before the last page, only the last one of the new pages may be not full. So a chain has at most one such page,
//      and at most one page more than its bytes need.

extension BTree where Source: WritablePageSource {
    /// The pages of a former value, divided into those that are replaced and those that stay.
    private struct Former {
        /// The pages that are replaced: the first ones, or all.
        let head: [PageNumber]
        /// The first page that stays; 0 if none does.
        let tail: PageNumber
        /// The number of bytes of the new value that are not in the pages that stay.
        let headByteCount: Int
    }

    /// Stores `value`, which is too long for a leaf, in place of a value of `key` in overflow pages.
    ///
    /// - Returns: `false`, with nothing changed, if `key` has no value or a short one.
    /// - Throws: `corruption` or what the source throws.
    /// - Complexity: O(log n) pages; reads the pages of the former value once, and writes those before the common ones.
    func replaceLongValue(
        of key: TreeKey, by value: ByteString, in record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        let (leaf, index, first, byteCount): (PageNumber, Int, PageNumber, UInt64)
        do {
            let found = try locate(key, in: record)
            guard found.isExact, case .overflow(let page, let length) = found.pin.view.value(found.index) else {
                return false
            }
            (leaf, index, first, byteCount) = (found.pin.number, found.index, page, length)
        }
        let newFirst = try replaceChain(first, byteCount: byteCount, by: value, of: record)
        let pin = try source.edit(leaf)
        record.hint.note(leaf, index, isAppend: false)
        let isDone = pin.view.replaceValue(index, .overflow(first: newFirst, byteCount: UInt64(value.count)))
        assert(isDone, "a reference does not fit in the place of another")
        return true
    }

    /// Whether a value is too long for a leaf, and not too long for a tree.
    @inline(__always)
    func isLong(_ value: ByteString) -> Bool {
        value.count > StoreGeometry(pageSize: source.pageSize).cellByteCountMax
            && value.count <= StoreGeometry.valueByteCountMax
    }

    /// Stores `value`, which is too long for a leaf, in place of the chain from `first` on; returns the first page of
    /// its chain.
    ///
    /// - Throws: `corruption` or what the source throws.
    func replaceChain(
        _ first: PageNumber, byteCount: UInt64, by value: ByteString, of record: TreeRecord
    ) throws(StorageError) -> PageNumber {
        assert(isLong(value), "a value of \(value.count) bytes in overflow pages")
        let former = try former(of: value, first, byteCount: byteCount, treeID: record.treeID)
        let head = value.prefix(former.headByteCount)
        let newFirst = head.count == 0 ? former.tail : try writeOverflow(head, of: record, before: former.tail)
        for page in former.head { try source.free(page) }
        return newFirst
    }

    /// The chain from `first` on, of which the longest tail stays that holds the last bytes of `value` as well.
    ///
    /// - Throws: `corruption` if the chain does not hold exactly `byteCount` bytes of tree `treeID`.
    private func former(
        of value: ByteString, _ first: PageNumber, byteCount: UInt64, treeID: UInt32
    ) throws(StorageError) -> Former {
        try checkLength(byteCount, of: first, treeID: treeID)
        let payload = StoreGeometry(pageSize: source.pageSize).overflowByteCount
        var pages: [PageNumber] = []
        var tail: (index: Int, offset: Int)?
        // The offset in the new value that the bytes of a page have if all bytes after them are equal.
        var offset = value.count - Int(byteCount)
        try forEachOverflowPage(first, byteCount: byteCount, treeID: treeID) { view in
            let part = view.overflowPayload
            let isEqual =
                offset >= 0 && value.count - offset >= part.count
                && value.dropping(offset).prefix(part.count).compare(part) == 0
            // A page that is not full is not kept before others (invariant 2).
            if !isEqual || part.count < payload && view.overflowNext != 0 {
                tail = nil
            } else if tail == nil {
                tail = (pages.count, offset)
            }
            pages.append(view.storedNumber)
            offset += part.count
        }
        assert(offset == value.count, "a chain of \(byteCount) bytes ends at byte \(offset) of \(value.count)")
        guard let tail else { return Former(head: pages, tail: 0, headByteCount: value.count) }
        return Former(head: Array(pages[..<tail.index]), tail: pages[tail.index], headByteCount: tail.offset)
    }
}
