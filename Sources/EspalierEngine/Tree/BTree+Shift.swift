// Moving entries of a full leaf to a neighbour that has room, instead of splitting.
//
// Invariants
//   1. Both leaves keep their numbers; only the separator between them changes. No page is taken or given back.
//   2. Nothing is written unless both leaves and the parent have room for the outcome.
// Why: a store of rows in random order took 157 bytes for each row of 108 while full leaves were split in halves, and
// takes 140 with two neighbours to ask (`bench --only "file after"`), at the price of more leaves rewritten. And behind
// a split at the right edge of a bytes tree the left leaf gets a high fence and so a prefix, and what its keys then
// leave out is room that no later key would use.

extension BTree where Source: WritablePageSource {
    /// Where a neighbour is.
    private enum Side { case left, right }

    /// The part of a page, in percent, that must be free for entries to be moved there.
    private static var worthwhilePercentage: Int { 15 }
    /// The same while keys come in order: then the leaf behind them will not get any more, and may as well stay full.
    private static var worthwhilePercentageInRun: Int { 30 }

    /// Makes room for an entry, whose place is the last index of `path`, by moving entries to a neighbour.
    ///
    /// - Returns: whether the entry is stored; otherwise nothing was changed.
    func shiftToNeighbour(
        _ path: TreePath, _ key: TreeKey, _ stored: StoredValue, _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        guard path.count > 1 else { return false }
        if try shift(to: .left, path, key, stored, &record) { return true }
        return try shift(to: .right, path, key, stored, &record)
    }

    private func shift(
        to side: Side, _ path: TreePath, _ key: TreeKey, _ stored: StoredValue, _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        let depth = path.count - 1
        let (parent, page) = (path.page(depth - 1), path.page(depth))
        let separatorIndex = path.index(depth - 1) - (side == .left ? 1 : 0)
        guard let neighbour = try neighbour(side, beyond: separatorIndex, of: parent) else { return false }
        guard neighbour != page else { throw .corrupt(.pageReachedTwice, page: page, tree: record.treeID) }
        let room = try room(of: neighbour, record)
        guard room >= Self.worthwhilePercentage else { return false }
        let old = try copy(of: page)
        let other = try copy(of: neighbour)
        guard side == .left ? old.view.follows(other.view) : other.view.follows(old.view) else {
            throw .corrupt(.fencesOfChild, page: page, tree: record.treeID)
        }
        let plan = leafPlan(old.view, path.index(depth), key, stored)
        let pattern = pattern(record.hint, page)
        let isAppending = pattern == .ascending || plan.isAtRightEdge
        if isAppending || pattern == .descending {
            guard side == .left, room >= Self.worthwhilePercentageInRun else { return false }
        }
        let found =
            side == .left
            ? plan.cut(movingTo: other.view, asMuchAsPossible: isAppending) : plan.cut(movingAheadOf: other.view)
        guard let cut = found else { return false }
        var separator = KeyBuffer(byteCount: source.pageSize)
        plan.copyKey(cut.index, byteCount: cut.separatorByteCount, to: &separator)
        let (left, right) = side == .left ? (neighbour, page) : (page, neighbour)
        guard try replaceSeparator(separatorIndex, of: parent, separator.key, leftChild: left) else { return false }
        let leftPin = try source.edit(left)
        let rightPin = try source.edit(right)
        let (leftOld, rightOld) = side == .left ? (other.view, old.view) : (old.view, other.view)
        try buildLeaf(
            leftPin.view, plan, 0..<cut.index, leftOld.lowFenceKey, separator.key, stored,
            behind: side == .left ? other.view : nil)
        try buildLeaf(
            rightPin.view, plan, cut.index..<plan.count, separator.key, rightOld.highFenceKey, stored,
            aheadOf: side == .right ? other.view : nil)
        followHint(
            plan, cut, left: left, leftCount: side == .left ? other.view.cellCount : 0, right: right, &record)
        return true
    }

    /// The child of `page` on that side of separator `index`, if there is such a separator.
    private func neighbour(_ side: Side, beyond index: Int, of page: PageNumber) throws(StorageError) -> PageNumber? {
        let pin = try source.pin(page)
        guard index >= 0, index < pin.view.cellCount else { return nil }
        return pin.view.child(side == .left ? index : index + 1)
    }

    /// How much of a leaf is free, in percent.
    private func room(of leaf: PageNumber, _ record: TreeRecord) throws(StorageError) -> Int {
        let pin = try source.pin(leaf)
        try check(pin.view, leaf, record, 0)
        return (pin.view.capacity - pin.view.usedByteCount) * 100 / source.pageSize
    }

    private func copy(of page: PageNumber) throws(StorageError) -> ScratchPage {
        let copy = ScratchPage(byteCount: source.pageSize)
        let pin = try source.pin(page)
        copy.view.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
        return copy
    }

    /// Puts `key` in the place of separator `index` of `page`; `false`, with nothing changed, if it does not fit.
    private func replaceSeparator(
        _ index: Int, of page: PageNumber, _ key: TreeKey, leftChild: PageNumber
    ) throws(StorageError) -> Bool {
        let pin = try source.edit(page)
        let view = pin.view
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

    /// Where to cut so that the cells before the cut go behind those of `left`.
    ///
    /// - Parameter asMuchAsPossible: whether to fill `left`; otherwise both get about the same.
    func cut(movingTo left: PageView, asMuchAsPossible: Bool) -> Cut? {
        var best: Cut?
        var moved = 0
        let total = (0..<count).reduce(0) { $0 + byteCount($1) }
        for index in 1..<count {
            moved += byteCount(index - 1)
            let cut = Cut(index: index, separatorByteCount: separatorByteCount(index))
            let sizes = byteCounts(of: cut, moved: moved, rest: total - moved, behind: left)
            if sizes.left > view.byteCount { break }
            guard sizes.right <= view.byteCount else { continue }
            best = cut
            if !asMuchAsPossible, sizes.left >= sizes.right { break }
        }
        return best
    }

    /// Where to cut so that the cells from the cut on go ahead of those of `right`, and both get about the same.
    func cut(movingAheadOf right: PageView) -> Cut? {
        var best: Cut?
        var moved = 0
        let total = (0..<count).reduce(0) { $0 + byteCount($1) }
        for index in (1..<count).reversed() {
            moved += byteCount(index)
            let cut = Cut(index: index, separatorByteCount: separatorByteCount(index))
            let sizes = byteCounts(of: cut, kept: total - moved, moved: moved, aheadOf: right)
            if sizes.right > view.byteCount { break }
            guard sizes.left <= view.byteCount else { continue }
            best = cut
            if sizes.right >= sizes.left { break }
        }
        return best
    }

    /// The sizes of both pages when the cells before `cut` are behind those of `left`.
    private func byteCounts(
        of cut: Cut, moved: Int, rest: Int, behind left: PageView
    ) -> (left: Int, right: Int) {
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

    /// The sizes of both pages when the cells from `cut` on are ahead of those of `right`.
    private func byteCounts(
        of cut: Cut, kept: Int, moved: Int, aheadOf right: PageView
    ) -> (left: Int, right: Int) {
        let header = TreeLayout.slots
        if view.hasIntegerKeys {
            let fences = TreeLayout.integerFenceByteCount
            return (header + kept + fences, header + right.usedByteCount + moved + fences)
        }
        let length = cut.separatorByteCount
        let leftPrefix = commonPrefix(of: view.lowFence, withSeparator: cut)
        let rightPrefix = right.highFenceByteCount == 0 ? 0 : commonPrefix(of: right.highFence, withSeparator: cut)
        let leftCells = kept + cut.index * (view.prefixByteCount - leftPrefix)
        let rightCells =
            right.usedByteCount + right.cellCount * (right.prefixByteCount - rightPrefix)
            + moved + (count - cut.index) * (view.prefixByteCount - rightPrefix)
        return (
            header + leftCells + view.lowFenceByteCount + length,
            header + rightCells + length + right.highFenceByteCount
        )
    }

    /// How many bytes `fence` and the separator of `cut` begin with in common.
    private func commonPrefix(of fence: ByteString, withSeparator cut: Cut) -> Int {
        let own = view.prefix
        let shared = fence.commonPrefix(with: own)
        guard shared == own.count else { return shared }
        let rest = suffix(cut.index).prefix(cut.separatorByteCount - own.count)
        return shared + fence.dropping(shared).commonPrefix(with: rest)
    }
}
