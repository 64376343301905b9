// Removes entries, ranges of entries, and whole trees.
//
// Invariants
//   1. A page that becomes less than a quarter full is merged with a neighbor under the same parent, if both fit into
//      one page. Otherwise no entry moves: a tree that shrinks and grows again does not merge and split in turn.
//   2. A run of neighboring removals does not descend: the leaf of the last one is tried first, if its fences contain
//      the key.
//   3. An empty leaf may remain if the merged page would be too large (a shorter prefix makes the neighbor's keys
//      longer).

extension BTree where Source: WritablePageSource {
    /// Removes `key`.
    ///
    /// - Returns: whether it existed.
    /// - Complexity: O(log n) pages, and those of the value.
    package func remove(_ key: TreeKey, from record: inout TreeRecord) throws(StorageError) -> Bool {
        if record.hint.removesInRun, let isRemoved = try removeAtHint(key, from: &record) { return isRemoved }
        var path = TreePath()
        try descend(to: key, in: record, &path)
        let leaf = path.page(path.count - 1)
        let position: SlotPosition
        do {
            let pin = try source.pin(leaf)
            try check(pin.view, leaf, record, 0)
            position = pin.view.position(of: key)
        }
        // The page is made writable only if there is something to remove.
        guard position.isExact else { return false }
        record.hint.noteRemoval(leaf)
        try removeEntries(position.index..<position.index + 1, ofLeafIn: path, &record)
        return true
    }

    /// Tries the leaf of the last removal; `nil` if the key does not belong there, or its value has overflow pages.
    private func removeAtHint(_ key: TreeKey, from record: inout TreeRecord) throws(StorageError) -> Bool? {
        assert(record.hint.removesInRun && record.hint.removalLeaf != 0, "the last removal has left no leaf")
        let leaf = record.hint.removalLeaf
        let wantsMerge: Bool
        do {
            // A leaf of an earlier transaction would be copied, and logged, even if the key is elsewhere.
            guard let pin = try source.editAgain(leaf) else { return nil }
            try check(pin.view, leaf, record, 0)
            guard pin.view.fencesContain(key) else { return nil }
            let position = pin.view.position(of: key)
            guard position.isExact else { return false }
            guard case .inline = pin.view.value(position.index) else { return nil }
            pin.view.removeCells(position.index..<position.index + 1)
            assert(!pin.view.position(of: key).isExact, "the key was in its leaf twice")
            wantsMerge = record.height > 1 && isNearlyEmpty(pin.view)
        }
        record.entryCount &-= 1
        // A merge needs the path from the root.
        if wantsMerge {
            var path = TreePath()
            try descend(to: key, in: record, &path)
            try mergeUpwards(path, &record)
        }
        return true
    }

    /// Removes all entries from `low` on (`nil`: from the first) and before `high` (`nil`: to the last).
    ///
    /// - Returns: the number of removed entries.
    /// - Complexity: O(log n) pages per leaf that is touched.
    package func removeRange(
        from low: TreeKey?, to high: TreeKey?, in record: inout TreeRecord
    ) throws(StorageError) -> UInt64 {
        let before = record.entryCount
        // The key at which the next leaf begins, in memory of its own, because pages change meanwhile.
        var start = KeyBuffer(byteCount: max(source.pageSize, low?.bytes.count ?? 0))
        if let low { start.copy(low, isInteger: record.kind == .integer) } else { start.setLeast(record.kind) }
        var isDone = false
        while !isDone {
            var path = TreePath()
            try descend(to: start.key, in: record, &path)
            let leaf = path.page(path.count - 1)
            let range: Range<Int>
            do {
                let pin = try source.pin(leaf)
                let view = pin.view
                try check(view, leaf, record, 0)
                let first = view.position(of: start.key).index
                let end = high.map { view.position(of: $0).index } ?? view.cellCount
                range = first..<max(first, end)
                // Fences ascend strictly from leaf to leaf, so this loop ends even in a damaged tree.
                if let fence = view.highFenceKey, end == view.cellCount {
                    guard isBelow(start.key, fence, record) else {
                        throw .corrupt(.fencesOfChild, page: leaf, tree: record.treeID)
                    }
                    start.copy(fence, isInteger: record.kind == .integer)
                } else {
                    isDone = true
                }
            }
            if !range.isEmpty { try removeEntries(range, ofLeafIn: path, &record) }
        }
        return before &- record.entryCount
    }

    private func isBelow(_ first: TreeKey, _ second: TreeKey, _ record: TreeRecord) -> Bool {
        record.kind == .integer ? first.integer < second.integer : first.bytes.compare(second.bytes) < 0
    }

    /// Removes the entries `range` of the leaf at the end of `path`, with their overflow pages.
    private func removeEntries(
        _ range: Range<Int>, ofLeafIn path: TreePath, _ record: inout TreeRecord
    ) throws(StorageError) {
        assert(!range.isEmpty, "no entries of page \(path.page(path.count - 1))")
        do {
            let pin = try source.edit(path.page(path.count - 1))
            for index in range { try freeOverflow(of: pin.view.value(index), treeID: record.treeID) }
            pin.view.removeCells(range)
        }
        record.entryCount &-= UInt64(range.count)
        try mergeUpwards(path, &record)
    }

    /// Removes all entries, and frees all pages but the root.
    ///
    /// - Returns: the number of removed entries.
    /// - Complexity: O(pages).
    package func removeAll(from record: inout TreeRecord) throws(StorageError) -> UInt64 {
        let rootTag: UInt32
        do {
            let pin = try source.pin(record.root)
            try check(pin.view, record.root, record, PageView.anyLevel)
            rootTag = pin.view.rootTag
        }
        try dropContents(of: record.root, expectedLevel: PageView.anyLevel, record)
        let pin = try source.edit(record.root)
        Self.formatRoot(pin.view, number: record.root, treeID: record.treeID, kind: record.kind, rootTag: rootTag)
        assert(pin.view.isLeaf && pin.view.cellCount == 0, "page \(record.root) is no empty root")
        defer {
            record.entryCount = 0
            record.leafPageCount = 1
            record.height = 1
            record.hint = WriteHint()
        }
        return record.entryCount
    }

    /// Frees all pages of the tree, its root included.
    ///
    /// - Complexity: O(pages).
    package func dropTree(_ record: TreeRecord) throws(StorageError) {
        try dropPage(record.root, expectedLevel: PageView.anyLevel, record)
    }

    /// Frees a page and all pages below it.
    private func dropPage(
        _ page: PageNumber, expectedLevel: Int, _ record: TreeRecord
    ) throws(StorageError) {
        try dropContents(of: page, expectedLevel: expectedLevel, freeingIt: true, record)
    }

    private func dropContents(
        of page: PageNumber, expectedLevel: Int, freeingIt: Bool = false, _ record: TreeRecord
    ) throws(StorageError) {
        // A copy, so that no page is pinned while it is freed; the recursion is as deep as the tree, at most 24.
        let copy = ScratchPage(byteCount: source.pageSize)
        do {
            let pin = try source.pin(page)
            try check(pin.view, page, record, expectedLevel)
            copy.view.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
        }
        // The page is freed before its children: `free` then throws for a page that is reached twice before its
        // children are visited again, so the work stays proportional to the file.
        assert(copy.view.isTreePage && copy.view.treeID == record.treeID, "page \(page) is not of the tree")
        if freeingIt { try source.free(page) }
        if copy.view.isLeaf {
            for index in 0..<copy.view.cellCount {
                try freeOverflow(of: copy.view.value(index), treeID: record.treeID)
            }
        } else {
            for index in 0...copy.view.cellCount {
                try dropPage(copy.view.child(index), expectedLevel: copy.view.level - 1, record)
            }
        }
    }
}
