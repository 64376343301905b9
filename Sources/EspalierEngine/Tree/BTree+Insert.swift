// Inserts and replaces entries.
//
// Invariants
//   1. A run of neighboring insertions or replacements does not descend: the leaf of the last one is tried first, if
//      its fences contain the key. Only for a value that is too long for a leaf the tree is descended once, to find the
//      value that it may replace.
//   2. A leaf is changed only if its fences contain the key.

extension BTree where Source: WritablePageSource {
    /// Stores `value` under `key`.
    ///
    /// - Returns: whether it replaced an older value.
    /// - Throws: `keyTooLong`, `valueTooLarge`, with nothing changed; `corruption` or what the source throws.
    /// - Complexity: O(log n) pages; O(1) in a run of neighboring keys whose values fit in a leaf. For a longer value
    ///   also its own pages and those of the value that it replaces.
    package func insert(
        _ key: TreeKey, _ value: ByteString, into record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        if isLong(value), try replaceLongValue(of: key, by: value, in: &record) { return true }
        let stored = try storedForm(checking: key, value, of: record)
        if record.hint.isInRun, let replaced = try insertAtHint(key, stored, into: &record) { return replaced }
        var path = TreePath()
        try descend(to: key, in: record, &path)
        let depth = path.count - 1
        let leaf = path.page(depth)
        var outcome: Placement
        do {
            let pin = try source.edit(leaf)
            try check(pin.view, leaf, record, 0)
            guard pin.view.fencesContain(key) else {
                throw .corrupt(.fencesOfChild, page: leaf, tree: record.treeID)
            }
            outcome = try place(key, stored, in: pin.view, &record)
            assert(!outcome.isDone || pin.view.position(of: key).isExact, "the key is not in its leaf")
        }
        if !outcome.isDone {
            path.setIndex(depth, outcome.index)
            try insertIntoFullLeaf(&path, key, stored, &record)
        }
        if !outcome.replaced { record.entryCount &+= 1 }
        return outcome.replaced
    }

    /// Tries the leaf of the last insertion; `nil` if the key does not belong there or there is no room.
    private func insertAtHint(
        _ key: TreeKey, _ stored: StoredValue, into record: inout TreeRecord
    ) throws(StorageError) -> Bool? {
        assert(record.hint.isInRun && record.hint.leaf != 0, "the last insertion has left no leaf")
        let leaf = record.hint.leaf
        guard let pin = try source.editAgain(leaf) else { return nil }
        let view = pin.view
        try check(view, leaf, record, 0)
        guard view.fencesContain(key) else { return nil }
        let position = view.position(of: key, expectedAt: record.hint.next)
        // An entry that may need a split uses the full descent, which knows the parents.
        if position.isExact {
            guard case .inline = view.value(position.index), view.replaceValue(position.index, stored) else {
                return nil
            }
            record.hint.note(leaf, position.index, isAppend: false)
            return true
        }
        let isAppend = view.highFenceByteCount == 0 && position.index == view.cellCount
        guard view.insertEntry(position.index, key, stored) else { return nil }
        assert(view.position(of: key).isExact, "the key is not in its leaf")
        record.hint.note(leaf, position.index, isAppend: isAppend)
        record.entryCount &+= 1
        return false
    }

    /// The result of placing an entry in its leaf.
    struct Placement {
        /// The index where the key is or belongs.
        let index: Int
        /// Whether an older value was removed.
        let replaced: Bool
        /// Whether the entry is in the leaf now; otherwise the leaf must be split.
        let isDone: Bool
    }

    private func place(
        _ key: TreeKey, _ stored: StoredValue, in view: PageView, _ record: inout TreeRecord
    ) throws(StorageError) -> Placement {
        assert(view.isLeaf && view.fencesContain(key), "the key does not belong to page \(view.storedNumber)")
        let position = view.position(of: key)
        let index = position.index
        if position.isExact {
            try freeOverflow(of: view.value(index), treeID: record.treeID)
            if view.replaceValue(index, stored) {
                record.hint.note(view.storedNumber, index, isAppend: false)
                return Placement(index: index, replaced: true, isDone: true)
            }
            view.removeCells(index..<index + 1)
            let isDone = view.insertEntry(index, key, stored)
            return Placement(index: index, replaced: true, isDone: isDone)
        }
        let isAppend = view.highFenceByteCount == 0 && index == view.cellCount
        record.hint.note(view.storedNumber, index, isAppend: isAppend)
        return Placement(index: index, replaced: false, isDone: view.insertEntry(index, key, stored))
    }
}
