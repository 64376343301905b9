// Changes a value in place.
//
// Invariants
//   1. A value keeps its byte count, so no cell moves and no page splits.
//   2. As with insertions, a run of neighboring changes does not descend: the leaf of the last one is tried first.
//   3. Changes of several keys descend once for each leaf, and pin it once.

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

    /// Calls `body` with the value of each of `keys` that exists, in their order; it may change the bytes in place.
    ///
    /// - Parameters:
    ///   - keys: integers, each greater than the one before.
    ///   - body: gets the position of the key in `keys` and the bytes; returns whether to continue.
    /// - Throws: `corruption` or what the source throws.
    /// - Complexity: O(log n) pages for each leaf with some of the keys, and for each value in overflow pages.
    package func changeValues(
        of keys: [UInt64], in record: inout TreeRecord,
        _ body: (_ position: Int, _ value: inout MutableRawSpan) -> Bool
    ) throws(StorageError) {
        assert(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }, "\(keys.count) keys do not ascend")
        var position = 0
        while position < keys.count {
            guard let next = try changeLeaf(keys, from: position, in: &record, body) else { return }
            assert(next > position && next <= keys.count, "the walk goes from key \(position) to key \(next)")
            position = next
        }
    }

    /// Visits the key at `first`, and those after it that are in the same leaf.
    ///
    /// - Returns: the position of the first key that was not visited; `nil` if `body` has ended the walk.
    private func changeLeaf(
        _ keys: [UInt64], from first: Int, in record: inout TreeRecord,
        _ body: (_ position: Int, _ value: inout MutableRawSpan) -> Bool
    ) throws(StorageError) -> Int? {
        let leaf: PageNumber
        var index: Int
        do {
            let key = TreeKey(keys[first])
            let found = try locate(key, in: record)
            guard found.isExact else { return first + 1 }
            guard case .inline = found.pin.view.value(found.index) else {
                var wantsMore = true
                _ = try changeOverflow(of: key, found.pin.view.value(found.index), in: &record) {
                    wantsMore = body(first, &$0)
                }
                return wantsMore ? first + 1 : nil
            }
            (leaf, index) = (found.pin.number, found.index)
        }
        let pin = try source.edit(leaf)
        let view = pin.view
        assert(pin.number == leaf && view.isLeaf && index < view.cellCount, "entry \(index) of page \(leaf)")
        var position = first
        while position < keys.count {
            let key = keys[position]
            // The next key is mostly that of the next entry.
            if index >= view.cellCount || view.integerKey(index) != key {
                guard view.fencesContain(TreeKey(key)) else { break }
                let found = view.position(ofInteger: key)
                index = found.index
                guard found.isExact else {
                    position += 1
                    continue
                }
            }
            guard case .inline = view.value(index) else { break }
            var wantsMore = true
            view.changeValue(index) { wantsMore = body(position, &$0) }
            guard wantsMore else { return nil }
            position += 1
            index += 1
        }
        return position
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
