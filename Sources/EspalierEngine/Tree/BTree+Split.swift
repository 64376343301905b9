// Splits pages that have no room: leaves, interior pages, and the root, whose number must not change.
//
// Invariants
//   1. A split page keeps its number and its left part; the right part is moved to a new page.
//   2. The separator in the parent = the high fence of the left page = the low fence of the right page.
//   3. A full root copies its content into a new child and becomes an interior page above it; then the child is split.

extension BTree where Source: WritablePageSource {
    /// Stores an entry, which belongs at the last index of `path`, in a full leaf.
    ///
    /// Moves entries to other leaves, or splits the leaf.
    func insertIntoFullLeaf(
        _ path: inout TreePath, _ key: TreeKey, _ stored: StoredValue, _ record: inout TreeRecord
    ) throws(StorageError) {
        if try comesInOrder(path, record) {
            if try shiftToLeft(path, key, stored, &record) { return }
        } else if path.index(path.count - 1) > 0, try spread(path, key, stored, &record) {
            return
        }
        if path.count == 1 { try raiseRoot(&path, &record) }
        let depth = path.count - 1
        let (left, index) = (path.page(depth), path.index(depth))
        assert(depth > 0, "a leaf that is split has no parent")
        let right = try allocatePage(near: left, outside: path, record)
        var separator = KeyBuffer(byteCount: source.pageSize)
        do {
            let leftPin = try source.edit(left)
            let rightPin = try source.edit(right)
            let plan = leafPlan(leftPin.view, index, key, stored)
            guard let cut = plan.cut(pattern(record.hint, left)) else {
                throw .corrupt(.cellLength, page: left, tree: record.treeID)
            }
            plan.copyKey(cut.index, byteCount: cut.separatorByteCount, to: &separator)
            rightPin.view.set(right, at: PageLayout.number)
            if plan.leavesPageAsItIs(cut) {
                try buildLeaf(
                    rightPin.view, plan, cut.index..<plan.count, separator.key, leftPin.view.highFenceKey, stored)
                leftPin.view.setIntegerHighFence(separator.key.integer)
            } else {
                let old = ScratchPage(byteCount: source.pageSize)
                old.view.copy(from: leftPin.view, at: 0, to: 0, count: source.pageSize)
                let plan = leafPlan(old.view, index, key, stored)
                try buildLeaf(leftPin.view, plan, 0..<cut.index, old.view.lowFenceKey, separator.key, stored)
                try buildLeaf(
                    rightPin.view, plan, cut.index..<plan.count, separator.key, old.view.highFenceKey, stored)
            }
            followHint(plan, cut, left: left, leftCount: 0, right: right, &record)
        }
        record.leafPageCount &+= 1
        assert(left != right, "page \(left) is split into itself")
        try insertSeparator(at: depth - 1, &path, separator.key, left: left, right: right, &record)
    }

    /// The plan for the full leaf in `view` and a new entry, which belongs at `index`.
    func leafPlan(_ view: PageView, _ index: Int, _ key: TreeKey, _ stored: StoredValue) -> SplitPlan {
        let suffixLength = view.hasIntegerKeys ? 0 : key.bytes.count - view.prefixByteCount
        assert(view.isLeaf && index >= 0 && index <= view.cellCount && suffixLength >= 0, "entry \(index) of a leaf")
        return SplitPlan(
            view: view, newIndex: index, newKey: key,
            newCellByteCount: TreeLayout.valueWordByteCount + suffixLength + stored.cellByteCount)
    }

    /// Sets the hint to the place of the new entry of `plan`, if the hint is about this leaf.
    func followHint(
        _ plan: SplitPlan, _ cut: SplitPlan.Cut, left: PageNumber, leftCount: Int, right: PageNumber,
        _ record: inout TreeRecord
    ) {
        assert(left != right && leftCount >= 0 && cut.index <= plan.count, "pages \(left) and \(right)")
        guard record.hint.leaf == plan.view.storedNumber else { return }
        if plan.newIndex < cut.index {
            record.hint.follow(to: left, index: leftCount + plan.newIndex)
        } else {
            record.hint.follow(to: right, index: plan.newIndex - cut.index)
        }
    }

    /// The pattern of the last insertions into `leaf`.
    func pattern(_ hint: WriteHint, _ leaf: PageNumber) -> SplitPlan.Pattern {
        assert(leaf != 0, "a leaf has no number")
        guard hint.leaf == leaf else { return .scattered }
        if hint.ascending >= 3 { return .ascending }
        return hint.descending >= 3 ? .descending : .scattered
    }

    /// Whether the entry that belongs at the end of `path` continues a run in order, or is the last of the tree.
    private func comesInOrder(_ path: TreePath, _ record: TreeRecord) throws(StorageError) -> Bool {
        let depth = path.count - 1
        if case .scattered = pattern(record.hint, path.page(depth)) {
            let pin = try source.pin(path.page(depth))
            return pin.view.highFenceByteCount == 0 && path.index(depth) == pin.view.cellCount
        }
        return true
    }

    /// Writes the leaf in `view`, which already has its number: first all entries of the leaf `first`, if there is one,
    /// then the entries `range` of `plan`.
    func buildLeaf(
        _ view: PageView, _ plan: SplitPlan, _ range: Range<Int>, _ low: TreeKey?, _ high: TreeKey?,
        _ stored: StoredValue, behind first: PageView? = nil
    ) throws(StorageError) {
        let firstCount = first?.cellCount ?? 0
        assert(range.lowerBound >= 0 && range.upperBound <= plan.count, "entries \(range) of \(plan.count)")
        let identity = TreePageIdentity(
            number: view.storedNumber, treeID: plan.view.treeID, level: 0, isInteger: plan.view.hasIntegerKeys)
        var builder = TreePageBuilder(
            view, identity, count: firstCount + range.count, low: low, high: high)
        if let first { try builder.append(from: first, 0..<firstCount) }
        let (before, after) = plan.oldIndices(of: range)
        try builder.append(from: plan.view, before)
        if range.contains(plan.newIndex) { try builder.append(plan.newKey, stored) }
        try builder.append(from: plan.view, after)
        builder.finish()
    }

    /// Inserts `key` into the parent, entry `parentDepth` of `path`, whose child was split into `left` and `right`.
    private func insertSeparator(
        at parentDepth: Int, _ path: inout TreePath, _ key: TreeKey, left: PageNumber, right: PageNumber,
        _ record: inout TreeRecord
    ) throws(StorageError) {
        do {
            assert(left != right && parentDepth < path.count, "pages \(left) and \(right) at \(parentDepth)")
            let pin = try source.edit(path.page(parentDepth))
            let index = path.index(parentDepth)
            assert(index <= pin.view.cellCount, "child \(index) of \(pin.view.cellCount + 1)")
            guard pin.view.fencesContain(key) else {
                throw .corrupt(.fencesOfChild, page: left, tree: record.treeID)
            }
            if pin.view.insertSeparator(index, key, leftChild: left) {
                pin.view.setChild(index + 1, to: right)
                return
            }
        }
        var depth = parentDepth
        if depth == 0 {
            try raiseRoot(&path, &record)
            depth = 1
        }
        var separator = KeyBuffer(byteCount: source.pageSize)
        let page = path.page(depth)
        let newPage = try allocatePage(near: page, outside: path, record)
        try splitInterior(page, newPage, at: path.index(depth), key, left: left, right: right, &separator, record)
        try insertSeparator(at: depth - 1, &path, separator.key, left: page, right: newPage, &record)
    }

    /// Splits interior page `page` into itself and `newPage`, and replaces child `index` with `left`, `key`, `right`.
    private func splitInterior(
        _ page: PageNumber, _ newPage: PageNumber, at index: Int, _ key: TreeKey, left: PageNumber,
        right: PageNumber, _ separator: inout KeyBuffer, _ record: TreeRecord
    ) throws(StorageError) {
        let leftPin = try source.edit(page)
        let rightPin = try source.edit(newPage)
        let old = ScratchPage(byteCount: source.pageSize)
        old.view.copy(from: leftPin.view, at: 0, to: 0, count: source.pageSize)
        // The new separator is stored with its left child; the child after it is the right one.
        old.view.setChild(index, to: right)
        let suffixLength = record.kind == .integer ? 0 : key.bytes.count - old.view.prefixByteCount
        let plan = SplitPlan(
            view: old.view, newIndex: index, newKey: key,
            newCellByteCount: record.kind == .integer ? 0 : TreeLayout.childByteCount + suffixLength)
        guard let cut = plan.cut(.scattered) else {
            throw .corrupt(.cellLength, page: page, tree: record.treeID)
        }
        plan.copyKey(cut.index, byteCount: cut.separatorByteCount, to: &separator)
        let middleChild = plan.oldIndex(cut.index).map { old.view.child($0) } ?? left
        let level = old.view.level
        assert(level > 0 && cut.index < plan.count, "separator \(cut.index) of \(plan.count) moves up")
        let isInteger = record.kind == .integer
        try buildInterior(
            leftPin.view, TreePageIdentity(number: page, treeID: record.treeID, level: level, isInteger: isInteger),
            plan, 0..<cut.index, (old.view.lowFenceKey, separator.key), newChild: left, rightChild: middleChild)
        try buildInterior(
            rightPin.view,
            TreePageIdentity(number: newPage, treeID: record.treeID, level: level, isInteger: isInteger),
            plan, cut.index + 1..<plan.count, (separator.key, old.view.highFenceKey), newChild: left,
            rightChild: old.view.rightChild)
    }

    private func buildInterior(
        _ view: PageView, _ identity: TreePageIdentity, _ plan: SplitPlan, _ range: Range<Int>,
        _ fences: (low: TreeKey?, high: TreeKey?), newChild: PageNumber, rightChild: PageNumber
    ) throws(StorageError) {
        assert(identity.level > 0 && range.upperBound <= plan.count, "separators \(range) of \(plan.count)")
        var builder = TreePageBuilder(
            view, identity, count: range.count, low: fences.low, high: fences.high, rightChild: rightChild)
        let (before, after) = plan.oldIndices(of: range)
        try builder.append(from: plan.view, before)
        if range.contains(plan.newIndex) { try builder.append(plan.newKey, leftChild: newChild) }
        try builder.append(from: plan.view, after)
        builder.finish()
    }

    /// Copies the root's content into a new page and makes the root an interior page above it.
    private func raiseRoot(_ path: inout TreePath, _ record: inout TreeRecord) throws(StorageError) {
        let root = record.root
        let child = try allocatePage(near: root, outside: path, record)
        let rootPin = try source.edit(root)
        let childPin = try source.edit(child)
        let identity = TreePageIdentity(of: rootPin.view)
        guard identity.level + 1 < StoreGeometry.treeDepthMax else {
            throw .corrupt(.treeTooDeep, page: root, tree: record.treeID)
        }
        childPin.view.copy(from: rootPin.view, at: 0, to: 0, count: source.pageSize)
        childPin.view.set(child, at: PageLayout.number)
        childPin.view.set(UInt8(0), at: PageLayout.flags)
        childPin.view.set(UInt32(0), at: TreeLayout.rootTag)
        let raised = TreePageIdentity(
            number: root, treeID: identity.treeID, level: identity.level + 1, isInteger: identity.isInteger,
            rootTag: identity.rootTag)
        TreePageBuilder(rootPin.view, raised, count: 0, low: nil, high: nil, rightChild: child).finish()
        path.insertRoot(above: child)
        record.height += 1
        assert(path.count > 1 && path.page(1) == child, "invariant 3: page \(child) is not the former root")
        record.hint.leaveRoot(root, for: child)
    }

    /// Allocates a page; refuses one on `path`, which only a damaged bitmap can call free.
    func allocatePage(
        near page: PageNumber, outside path: TreePath, _ record: TreeRecord
    ) throws(StorageError) -> PageNumber {
        let fresh = try source.allocate(near: page, count: 1).first
        guard !path.contains(fresh) else {
            throw .corrupt(.pageReachedButFree, page: fresh, tree: record.treeID)
        }
        return fresh
    }
}
