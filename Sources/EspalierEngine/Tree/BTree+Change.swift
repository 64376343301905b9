// Changes a value in place.
//
// Invariants
//   1. A value keeps its byte count, so no cell moves and no page splits.
//   2. As with insertions, a run of neighboring changes does not descend: the leaf of the last one is tried first.

extension BTree where Source: WritablePageSource {
    /// Calls `body` with the bytes of the value of `key`, which it may change in place.
    ///
    /// A value in overflow pages is copied, changed and stored again.
    ///
    /// - Returns: whether the key exists; without it `body` is not called.
    /// - Throws: `corruption` or what the source throws.
    /// - Complexity: O(log n) pages; O(1) in a run of neighboring keys.
    package func changeValue(
        of key: TreeKey, in record: inout TreeRecord, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        if record.hint.isInRun, let isChanged = try changeAtHint(key, &record, body) { return isChanged }
        let (leaf, index): (PageNumber, Int)
        do {
            let found = try locate(key, in: record)
            guard found.isExact else { return false }
            guard case .inline = found.pin.view.value(found.index) else {
                return try changeOverflow(of: key, found.pin.view.value(found.index), in: &record, body)
            }
            (leaf, index) = (found.pin.number, found.index)
        }
        let pin = try source.edit(leaf)
        record.hint.note(leaf, index, isAppend: false)
        assert(pin.number == leaf && pin.view.isLeaf && index < pin.view.cellCount, "entry \(index) of page \(leaf)")
        pin.view.changeValue(index, body)
        return true
    }

    /// Tries the leaf of the last insertion or change; `nil` if the key does not belong there, or the value is in
    /// overflow pages.
    private func changeAtHint(
        _ key: TreeKey, _ record: inout TreeRecord, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool? {
        assert(record.hint.isInRun && record.hint.leaf != 0, "the last change has left no leaf")
        let leaf = record.hint.leaf
        guard let pin = try source.editAgain(leaf) else { return nil }
        try check(pin.view, leaf, record, 0)
        guard pin.view.fencesContain(key) else { return nil }
        let position = pin.view.position(of: key)
        guard position.isExact else { return false }
        guard case .inline = pin.view.value(position.index) else { return nil }
        record.hint.note(leaf, position.index, isAppend: false)
        pin.view.changeValue(position.index, body)
        return true
    }

    private func changeOverflow(
        of key: TreeKey, _ value: StoredValue, in record: inout TreeRecord, _ body: (inout MutableRawSpan) -> Void
    ) throws(StorageError) -> Bool {
        guard case .overflow(let first, let byteCount) = value else { return false }
        var bytes = try overflowValue(first, byteCount: byteCount, treeID: record.treeID)
        // SAFETY: the array outlives the calls; the memory of the span is its own.
        unsafe bytes.withUnsafeMutableBytes { buffer in
            var span = unsafe MutableRawSpan(_unsafeBytes: buffer)
            body(&span)
        }
        let isReplaced = unsafe try bytes.span.bytes.withUnsafeBytes { buffer throws(StorageError) in
            unsafe try insert(key, ByteString(buffer), into: &record)
        }
        assert(isReplaced, "the key is not found again")
        return isReplaced
    }
}

extension PageView {
    /// Calls `body` with the bytes of the inline value `index`.
    fileprivate func changeValue(_ index: Int, _ body: (inout MutableRawSpan) -> Void) {
        assert(isLeaf && index >= 0 && index < cellCount, "entry \(index) of \(cellCount)")
        guard case .inline(let bytes) = value(index) else { return }
        // SAFETY: the page is pinned for writing, and the bytes are within it.
        var span = unsafe MutableRawSpan(
            _unsafeStart: UnsafeMutableRawPointer(mutating: bytes.base), byteCount: bytes.count)
        body(&span)
    }
}
