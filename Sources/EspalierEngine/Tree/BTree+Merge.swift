// Merges pages that have become nearly empty, and lowers the root when it has a single child.
//
// Invariants
//   1. Two neighbors are merged into the left one; the right one is freed, and the parent loses its separator.
//   2. The sizes of a merged page are computed exactly before anything is written.
//   3. A tree that has lost all its entries is one empty leaf.

extension BTree where Source: WritablePageSource {
    /// Merges pages from the end of `path` up as long as they are less than a quarter full and a neighbor has room.
    func mergeUpwards(_ path: TreePath, _ record: inout TreeRecord) throws(StorageError) {
        assert(
            path.count > 0 && path.page(0) == record.root, "the path does not begin at the root, page \(record.root)")
        var depth = path.count - 1
        while depth > 0 {
            guard try isNearlyEmpty(path.page(depth)) else { return }
            let parent = path.page(depth - 1)
            let index = path.index(depth - 1)
            let separatorCount = try cellCount(of: parent)
            // A page without a neighbor is the only child of its parent; the parent may still have a neighbor.
            if separatorCount > 0 {
                var isMerged = false
                if index < separatorCount { isMerged = try mergeChildren(index, of: parent, &record) }
                let wantsLeft = isMerged ? try isNearlyEmpty(path.page(depth)) : true
                if index > 0, wantsLeft, try mergeChildren(index - 1, of: parent, &record) { isMerged = true }
                guard isMerged else { return }
            }
            depth -= 1
        }
        try lowerRoot(&record)
    }

    private func isNearlyEmpty(_ page: PageNumber) throws(StorageError) -> Bool {
        let pin = try source.pin(page)
        return isNearlyEmpty(pin.view)
    }

    /// Whether the page is less than a quarter full.
    func isNearlyEmpty(_ view: PageView) -> Bool {
        assert(view.byteCount == source.pageSize, "a page of \(view.byteCount) bytes")
        return view.usedByteCount * 4 < source.pageSize - TreeLayout.slots
    }

    private func cellCount(of page: PageNumber) throws(StorageError) -> Int {
        let pin = try source.pin(page)
        return pin.view.cellCount
    }

    /// Merges children `index` and `index + 1` of `parent` if they fit into one page; returns whether they did.
    private func mergeChildren(
        _ index: Int, of parent: PageNumber, _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        let (left, right): (PageNumber, PageNumber)
        let level: Int
        do {
            let pin = try source.pin(parent)
            assert(index >= 0 && index < pin.view.cellCount, "separator \(index) of \(pin.view.cellCount)")
            (left, right) = (pin.view.child(index), pin.view.child(index + 1))
            level = pin.view.level - 1
        }
        guard left != right else { throw .corrupt(.pageReachedTwice, page: left, tree: record.treeID) }
        do {
            let leftPin = try source.pin(left)
            let rightPin = try source.pin(right)
            try check(leftPin.view, left, record, level)
            try check(rightPin.view, right, record, level)
            guard rightPin.view.follows(leftPin.view) else {
                throw .corrupt(.fencesOfChild, page: right, tree: record.treeID)
            }
            guard mergedByteCount(leftPin.view, rightPin.view) <= source.pageSize else { return false }
        }
        let seam: Int
        do {
            let leftPin = try source.edit(left)
            let rightPin = try source.pin(right)
            seam = leftPin.view.cellCount
            let byteCount = mergedByteCount(leftPin.view, rightPin.view)
            try merge(rightPin.view, into: leftPin.view)
            assert(leftPin.view.occupiedByteCount == byteCount, "invariant 2: not \(byteCount) bytes are occupied")
        }
        do {
            let pin = try source.edit(parent)
            pin.view.removeCells(index..<index + 1)
            pin.view.setChild(index, to: left)
        }
        try source.free(right)
        if level == 0 { record.leafPageCount &-= 1 }
        record.hint = WriteHint()
        if level > 0 { try mergeSeam(seam, of: left, &record) }
        return true
    }

    /// Merges children `index` and `index + 1` of a page that was just merged, if one of them is nearly empty: before,
    /// they had different parents.
    private func mergeSeam(
        _ index: Int, of page: PageNumber, _ record: inout TreeRecord
    ) throws(StorageError) {
        let (left, right): (PageNumber, PageNumber)
        do {
            let pin = try source.pin(page)
            assert(!pin.view.isLeaf && index < pin.view.cellCount, "separator \(index) of \(pin.view.cellCount)")
            (left, right) = (pin.view.child(index), pin.view.child(index + 1))
        }
        let isWorthwhile = try isNearlyEmpty(left) ? true : isNearlyEmpty(right)
        if isWorthwhile { _ = try mergeChildren(index, of: page, &record) }
    }

    /// The size in bytes of a page with the content of `left` and `right`.
    private func mergedByteCount(_ left: PageView, _ right: PageView) -> Int {
        assert(left.level == right.level && left.hasIntegerKeys == right.hasIntegerKeys, "pages of two kinds")
        let header = TreeLayout.slots
        var cells = left.usedByteCount + right.usedByteCount
        if left.hasIntegerKeys {
            if !left.isLeaf { cells += TreeLayout.integerInteriorSlotByteCount }
            return header + cells + TreeLayout.integerFenceByteCount
        }
        let prefix =
            right.highFenceByteCount == 0 ? 0 : left.lowFence.commonPrefix(with: right.highFence)
        cells += left.cellCount * (left.prefixByteCount - prefix)
        cells += right.cellCount * (right.prefixByteCount - prefix)
        if !left.isLeaf {
            cells += TreeLayout.bytesSlotByteCount + TreeLayout.childByteCount + left.highFenceByteCount - prefix
        }
        return header + cells + left.lowFenceByteCount + right.highFenceByteCount
    }

    private func merge(_ right: PageView, into left: PageView) throws(StorageError) {
        let old = ScratchPage(byteCount: source.pageSize)
        old.view.copy(from: left, at: 0, to: 0, count: source.pageSize)
        let isLeaf = left.isLeaf
        let (leftCount, rightCount) = (old.view.cellCount, right.cellCount)
        var builder = TreePageBuilder(
            left, TreePageIdentity(of: old.view), count: leftCount + rightCount + (isLeaf ? 0 : 1),
            low: old.view.lowFenceKey, high: right.highFenceKey, rightChild: isLeaf ? 0 : right.rightChild)
        try builder.append(from: old.view, 0..<leftCount)
        if !isLeaf, let separator = old.view.highFenceKey {
            // The separator of the two pages becomes an entry between theirs: the left page's high fence, with the left
            // page's right child.
            try builder.append(separator, leftChild: old.view.rightChild)
        }
        try builder.append(from: right, 0..<rightCount)
        builder.finish()
        assert(left.isLeaf == isLeaf && left.cellCount >= leftCount + rightCount, "an entry is lost")
    }

    /// Moves the content of the root's only child into the root, as long as the root has only one child.
    private func lowerRoot(_ record: inout TreeRecord) throws(StorageError) {
        while true {
            let child: PageNumber
            let level: Int
            do {
                let pin = try source.pin(record.root)
                guard !pin.view.isLeaf, pin.view.cellCount == 0 else { return }
                (child, level) = (pin.view.rightChild, pin.view.level - 1)
            }
            do {
                let rootPin = try source.edit(record.root)
                let childPin = try source.pin(child)
                try check(childPin.view, child, record, level)
                guard childPin.view.lowFenceByteCount + childPin.view.highFenceByteCount == 0 else {
                    throw .corrupt(.fencesOfChild, page: child, tree: record.treeID)
                }
                let tag = rootPin.view.rootTag
                rootPin.view.copy(from: childPin.view, at: 0, to: 0, count: source.pageSize)
                rootPin.view.set(record.root, at: PageLayout.number)
                rootPin.view.set(PageFlags.root, at: PageLayout.flags)
                rootPin.view.set(tag, at: TreeLayout.rootTag)
                assert(
                    rootPin.view.level == level && rootPin.view.storedNumber == record.root,
                    "the root is not one lower")
            }
            try source.free(child)
            record.height = level + 1
            record.hint = WriteHint()
        }
    }
}
