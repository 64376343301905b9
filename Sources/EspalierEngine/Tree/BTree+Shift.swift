// Moves entries of a full leaf to the one before it, instead of splitting, while keys are inserted in order.
//
// Invariants
//   1. Both leaves keep their numbers; only the separator between them changes. No page is allocated or freed.
//   2. Nothing is written unless both leaves and the parent have room for the result.
// Why: after a split at the right edge of a bytes tree the left leaf has a high fence and so a prefix, and no later key
// would use the room that its keys then leave out.
// Elsewhere: keys that are inserted in no order (`BTree+Spread.swift`).

extension BTree where Source: WritablePageSource {
    /// The free part of a leaf, in percent of a page, from which on entries are moved into it.
    ///
    /// A leaf that is filled is full afterwards, so it is filled once, and trees that grow at their end get full leaves
    /// (EspalierEngine.docc/Decisions.md). Leaves that share evenly can do so again and again.
    private static func worthwhilePercentage(isFilling: Bool) -> Int { isFilling ? 6 : 30 }

    /// Stores an entry, which belongs at the last index of `path`, after moving entries to the leaf before its own.
    ///
    /// - Returns: whether the entry was stored; otherwise nothing was changed.
    func shiftToLeft(
        _ path: TreePath, _ key: TreeKey, _ stored: StoredValue, _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        guard path.count > 1 else { return false }
        let depth = path.count - 1
        let (parent, page) = (path.page(depth - 1), path.page(depth))
        let separatorIndex = path.index(depth - 1) - 1
        guard separatorIndex >= 0 else { return false }
        let left = try child(separatorIndex, of: parent)
        guard left != page else { throw .corrupt(.pageReachedTwice, page: page, tree: record.treeID) }
        // Unless keys descend, the run continues after the moved entries.
        let isAppending = pattern(record.hint, page) != .descending
        guard try room(of: left, record) >= Self.worthwhilePercentage(isFilling: isAppending) else { return false }
        let old = try copy(of: page)
        let leftOld = try copy(of: left)
        guard old.view.follows(leftOld.view) else {
            throw .corrupt(.fencesOfChild, page: page, tree: record.treeID)
        }
        assert(path.index(depth) <= old.view.cellCount, "entry \(path.index(depth)) of page \(page)")
        let plan = leafPlan(old.view, path.index(depth), key, stored)
        guard let cut = plan.cut(movingTo: leftOld.view, asMuchAsPossible: isAppending) else { return false }
        var separator = KeyBuffer(byteCount: source.pageSize)
        plan.copyKey(cut.index, byteCount: cut.separatorByteCount, to: &separator)
        guard try replaceSeparator(separatorIndex, of: parent, separator.key, leftChild: left) else { return false }
        let leftPin = try source.edit(left)
        let pin = try source.edit(page)
        try buildLeaf(
            leftPin.view, plan, 0..<cut.index, leftOld.view.lowFenceKey, separator.key, stored, behind: leftOld.view)
        try buildLeaf(pin.view, plan, cut.index..<plan.count, separator.key, old.view.highFenceKey, stored)
        assert(
            leftPin.view.cellCount + pin.view.cellCount == leftOld.view.cellCount + plan.count,
            "\(leftPin.view.cellCount) + \(pin.view.cellCount) entries after a shift")
        followHint(plan, cut, left: left, leftCount: leftOld.view.cellCount, right: page, &record)
        return true
    }

    private func child(_ index: Int, of page: PageNumber) throws(StorageError) -> PageNumber {
        let pin = try source.pin(page)
        return pin.view.child(index)
    }

    /// The free part of a leaf, in percent of a page.
    private func room(of leaf: PageNumber, _ record: TreeRecord) throws(StorageError) -> Int {
        let pin = try source.pin(leaf)
        try check(pin.view, leaf, record, 0)
        assert(pin.view.usedByteCount <= pin.view.capacity, "\(pin.view.usedByteCount) bytes are used")
        return (pin.view.capacity - pin.view.usedByteCount) * 100 / source.pageSize
    }

    private func copy(of page: PageNumber) throws(StorageError) -> ScratchPage {
        let copy = ScratchPage(byteCount: source.pageSize)
        let pin = try source.pin(page)
        copy.view.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
        return copy
    }

    /// Replaces separator `index` of `page` with `key`; `false`, with nothing changed, if it does not fit.
    private func replaceSeparator(
        _ index: Int, of page: PageNumber, _ key: TreeKey, leftChild: PageNumber
    ) throws(StorageError) -> Bool {
        let pin = try source.edit(page)
        let view = pin.view
        assert(!view.isLeaf && index >= 0 && index < view.cellCount, "separator \(index) of \(view.cellCount)")
        if !view.hasIntegerKeys {
            guard view.fencesContain(key) else { throw .corrupt(.fencesOfChild, page: page, tree: view.treeID) }
            let newByteCount = key.bytes.count - view.prefixByteCount
            guard
                newByteCount <= view.suffixByteCount(index)
                    || view.hasRoom(forCell: TreeLayout.childByteCount + newByteCount)
            else { return false }
        }
        view.removeCells(index..<index + 1)
        return view.insertSeparator(index, key, leftChild: leftChild)
    }
}

extension SplitPlan {
    /// Whether the new cell is the last one of the whole tree.
    var isAtRightEdge: Bool { newIndex == count - 1 && view.highFenceByteCount == 0 }

    /// The cut for moving the cells before it to the end of `left`; `nil` if there is none that fits.
    ///
    /// - Parameter asMuchAsPossible: whether to fill `left`; otherwise both get about the same number of bytes.
    func cut(movingTo left: PageView, asMuchAsPossible: Bool) -> Cut? {
        assert(view.isLeaf && left.isLeaf && left.byteCount == view.byteCount, "pages that are not leaves of one tree")
        let total = totalByteCount
        let limit = asMuchAsPossible ? view.byteCount - TreeLayout.slots : (left.usedByteCount + total) / 2
        // The least size of the cells in `left`: its prefix can only become shorter.
        var least = left.usedByteCount
        let gain = left.prefixByteCount - view.prefixByteCount
        var (index, moved) = (0, 0)
        while index < count - 1 {
            let next = byteCount(index)
            guard least + next - gain <= limit else { break }
            (least, moved, index) = (least + next - gain, moved + next, index + 1)
        }
        while index > 0 {
            let cut = Cut(index: index, separatorByteCount: separatorByteCount(index))
            let sizes = byteCounts(of: cut, moved: moved, rest: total - moved, behind: left)
            if sizes.right > view.byteCount { return nil }
            assert(sizes.left > TreeLayout.slots && sizes.right > TreeLayout.slots, "pages of \(sizes) bytes")
            if sizes.left <= view.byteCount { return cut }
            index -= 1
            moved -= byteCount(index)
        }
        return nil
    }

    /// The sizes of both pages if the cells before `cut` are moved to the end of `left`.
    private func byteCounts(
        of cut: Cut, moved: Int, rest: Int, behind left: PageView
    ) -> (left: Int, right: Int) {
        assert(moved >= 0 && rest >= 0 && cut.index < count, "\(moved) bytes move, \(rest) stay")
        let header = TreeLayout.slots
        if view.hasIntegerKeys {
            let fences = TreeLayout.integerFenceByteCount
            return (header + left.usedByteCount + moved + fences, header + rest + fences)
        }
        let length = cut.separatorByteCount
        let leftPrefix = commonPrefix(of: left.lowFence, withSeparator: cut)
        let rightPrefix = view.highFenceByteCount == 0 ? 0 : commonPrefix(of: view.highFence, withSeparator: cut)
        let leftCells =
            left.usedByteCount + left.cellCount * (left.prefixByteCount - leftPrefix)
            + moved + cut.index * (view.prefixByteCount - leftPrefix)
        let rightCells = rest + (count - cut.index) * (view.prefixByteCount - rightPrefix)
        return (
            header + leftCells + left.lowFenceByteCount + length,
            header + rightCells + length + view.highFenceByteCount
        )
    }

    /// The length of the common prefix of `fence` and the separator of `cut`.
    private func commonPrefix(of fence: ByteString, withSeparator cut: Cut) -> Int {
        assert(cut.separatorByteCount >= view.prefixByteCount, "a separator of \(cut.separatorByteCount) bytes")
        let own = view.prefix
        let shared = fence.commonPrefix(with: own)
        guard shared == own.count else { return shared }
        let rest = suffix(cut.index).prefix(cut.separatorByteCount - own.count)
        return shared + fence.dropping(shared).commonPrefix(with: rest)
    }
}
