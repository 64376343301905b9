// Replaces a value in overflow pages by another one, whose last pages stay where they are if their bytes are equal.
//
// So a change near the beginning of a long value, such as a new title beside 30 MB of a picture, writes a page or two,
// whatever the length of the value.
//
// Invariants
//   1. The pages that stay are not changed, and the others are new: the old value is whole in the file until its first
//      pages are used again. (Damaged stores are salvaged by such traces; a page that was changed in place could make a
//      value of two halves.)
//   2. Before the last page, only the last one of the new pages may be not full. So a chain has at most one such page,
//      and at most one page more than its bytes need.

extension BTree where Source: WritablePageSource {
    /// The last pages of a chain, which hold the last bytes of a new value, too.
    private struct Tail {
        /// The pages before it.
        let head: [PageNumber]
        let first: PageNumber
        /// Where its bytes begin in the new value.
        let offset: Int
    }

    /// Stores `value`, which is too long for a leaf, in place of a value of `key` that shares its last pages.
    ///
    /// - Returns: whether that was possible; otherwise nothing has changed.
    /// - Throws: `corruption` or what the source throws.
    /// - Complexity: reads the pages of the former value, and writes those before the common ones.
    func replaceKeepingTail(
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
        guard let tail = try tail(of: value, first, byteCount: byteCount, treeID: record.treeID) else { return false }
        let head = value.prefix(tail.offset)
        let newFirst = head.count == 0 ? tail.first : try writeOverflow(head, of: record, before: tail.first)
        for page in tail.head { try source.free(page) }
        let pin = try source.edit(leaf)
        record.hint.note(leaf, index, isAppend: false)
        let isDone = pin.view.replaceValue(index, .overflow(first: newFirst, byteCount: UInt64(value.count)))
        assert(isDone, "a reference does not fit in the place of another")
        return true
    }

    /// The longest tail of the chain from `first` on that holds the last bytes of `value` as well; `nil` if the last
    /// page differs already.
    ///
    /// - Throws: `corruption` if the chain does not hold exactly `byteCount` bytes of tree `treeID`.
    private func tail(
        of value: ByteString, _ first: PageNumber, byteCount: UInt64, treeID: UInt32
    ) throws(StorageError) -> Tail? {
        try checkLength(byteCount, of: first, treeID: treeID)
        let payload = StoreGeometry(pageSize: source.pageSize).overflowByteCount
        var pages: [PageNumber] = []
        var tail: (index: Int, offset: Int)?
        // Where the bytes of a page would be in the new value, if all after them are equal.
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
        guard let tail else { return nil }
        assert(offset == value.count, "a chain of \(byteCount) bytes ends at byte \(offset) of \(value.count)")
        return Tail(head: Array(pages[..<tail.index]), first: pages[tail.index], offset: tail.offset)
    }
}
