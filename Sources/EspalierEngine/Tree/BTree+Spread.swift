// Spreads the entries of a full leaf over its neighbors, or those of full neighbors over one leaf more.
//
// Invariants
//   1. The leaves are adjacent children of one page, and keep their numbers and their order.
//   2. Nothing is written unless all leaves and their parent have room for the result.
// Why: a store of rows in random order needed 157 bytes for each row of 108 when full leaves were split in halves, and
// needs 124 with up to six leaves that share (`bench --only "file after"`), at the cost of more leaves rewritten.
// Elsewhere: keys that are inserted in order (`BTree+Shift.swift`).

extension BTree where Source: WritablePageSource {
    /// Stores an entry, which belongs at the last index of `path`, after sharing entries with neighbors.
    ///
    /// - Returns: whether the entry was stored; otherwise nothing was changed.
    func spread(
        _ path: TreePath, _ key: TreeKey, _ stored: StoredValue, _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        guard path.count > 1 else { return false }
        let depth = path.count - 1
        let (parent, page) = (path.page(depth - 1), path.page(depth))
        let worthwhile = SpreadPlan.worthwhileByteCount(pageSize: source.pageSize)
        var first = path.index(depth - 1)
        var leaves = [page]
        var room = try room(of: page, record) - newByteCount(key, stored, in: page)
        // Uses as few leaves as possible, and adds the emptier neighbor first.
        while leaves.count < SpreadPlan.leafCountMax {
            let left = try neighbor(first - 1, of: parent, besides: leaves, record)
            let right = try neighbor(first + leaves.count, of: parent, besides: leaves, record)
            guard let next = [left, right].compactMap(\.self).max(by: { $0.room < $1.room }) else { break }
            if next.page == left?.page {
                leaves.insert(next.page, at: 0)
                first -= 1
            } else {
                leaves.append(next.page)
            }
            room += next.room
            guard room >= leaves.count * worthwhile else { continue }
            var plan = try plan(leaves, newIn: page, at: path.index(depth), key, stored, record)
            if let free = plan.cut(into: leaves.count), free >= leaves.count * worthwhile,
                try write(plan, leaves, from: first, path, &record)
            {
                return true
            }
        }
        assert(first >= 0 && leaves.count <= SpreadPlan.leafCountMax, "\(leaves.count) leaves from \(first) on")
        guard leaves.count > 1 else { return false }
        var plan = try plan(leaves, newIn: page, at: path.index(depth), key, stored, record)
        guard plan.cut(into: leaves.count + 1) != nil else { return false }
        return try write(plan, leaves, from: first, path, &record)
    }

    /// The free bytes of a leaf.
    private func room(of leaf: PageNumber, _ record: TreeRecord) throws(StorageError) -> Int {
        let pin = try source.pin(leaf)
        try check(pin.view, leaf, record, 0)
        assert(pin.view.usedByteCount <= pin.view.capacity, "\(pin.view.usedByteCount) bytes are used")
        return pin.view.capacity - pin.view.usedByteCount
    }

    private func newByteCount(
        _ key: TreeKey, _ stored: StoredValue, in leaf: PageNumber
    ) throws(StorageError) -> Int {
        let pin = try source.pin(leaf)
        assert(pin.view.isLeaf && pin.view.fencesContain(key), "the key does not belong to page \(leaf)")
        return SpreadPlan.byteCount(of: key, stored, in: pin.view) - pin.view.prefixByteCount
    }

    /// Child `index` of `parent` and its free bytes; `nil` if there is no such child.
    private func neighbor(
        _ index: Int, of parent: PageNumber, besides leaves: [PageNumber], _ record: TreeRecord
    ) throws(StorageError) -> (page: PageNumber, room: Int)? {
        let page: PageNumber
        do {
            let pin = try source.pin(parent)
            assert(!pin.view.isLeaf, "page \(parent) has no children")
            guard index >= 0, index <= pin.view.cellCount else { return nil }
            page = pin.view.child(index)
        }
        guard !leaves.contains(page) else { throw .corrupt(.pageReachedTwice, page: page, tree: record.treeID) }
        return (page, try room(of: page, record))
    }

    /// The plan for the entries of `leaves` and the new one, which belongs at `index` of leaf `page`.
    private func plan(
        _ leaves: [PageNumber], newIn page: PageNumber, at index: Int, _ key: TreeKey, _ stored: StoredValue,
        _ record: TreeRecord
    ) throws(StorageError) -> SpreadPlan {
        assert(leaves.contains(page), "page \(page) is none of the leaves")
        var plan = SpreadPlan(copyCount: leaves.count, pageSize: source.pageSize, key, stored)
        var place = 0
        for (number, leaf) in leaves.enumerated() {
            let pin = try source.pin(leaf)
            plan.copy(number).copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
            guard number == 0 || plan.copy(number).follows(plan.copy(number - 1)) else {
                throw .corrupt(.fencesOfChild, page: leaf, tree: record.treeID)
            }
            if leaf == page { place = number }
        }
        plan.collect(newAt: index, of: place)
        return plan
    }

    /// Writes the leaves of `plan` over `leaves`, the children of their parent from `first` on, and over a new one if
    /// the plan has one more; `false`, with nothing changed, if the parent has no room.
    private func write(
        _ plan: borrowing SpreadPlan, _ leaves: [PageNumber], from first: Int, _ path: TreePath,
        _ record: inout TreeRecord
    ) throws(StorageError) -> Bool {
        let parent = path.page(path.count - 2)
        guard try hasRoom(for: plan, besides: first..<first + leaves.count - 1, in: parent) else { return false }
        var pages = leaves
        if plan.leafCount > leaves.count {
            let fresh = try allocatePage(near: path.page(path.count - 1), outside: path, record)
            guard !leaves.contains(fresh) else {
                throw .corrupt(.pageReachedButFree, page: fresh, tree: record.treeID)
            }
            // The new page is not the last one, because the parent's reference to the last one stays as it is.
            pages.insert(fresh, at: leaves.count - 1)
            record.leafPageCount &+= 1
        }
        do {
            assert(pages.count == plan.leafCount, "\(pages.count) pages for \(plan.leafCount) leaves")
            let pin = try source.edit(parent)
            pin.view.removeCells(first..<first + leaves.count - 1)
            for number in 0..<plan.leafCount - 1 {
                let isDone = pin.view.insertSeparator(first + number, plan.separator(number), leftChild: pages[number])
                precondition(isDone, "more room was counted than there is")
            }
        }
        for (number, page) in pages.enumerated() {
            let pin = try source.edit(page)
            try plan.build(number, as: page, to: pin.view)
        }
        if record.hint.leaf == path.page(path.count - 1) {
            record.hint.follow(to: pages[plan.placeOfNew.leaf], index: plan.placeOfNew.index)
        }
        return true
    }

    /// Whether `parent` has room for the separators of `plan` in place of those in `range`.
    private func hasRoom(
        for plan: borrowing SpreadPlan, besides range: Range<Int>, in parent: PageNumber
    ) throws(StorageError) -> Bool {
        let pin = try source.pin(parent)
        let view = pin.view
        assert(range.lowerBound >= 0 && range.upperBound <= view.cellCount, "separators \(range) of a page")
        var room = view.capacity - view.usedByteCount
        for index in range { room += view.slotByteCount + view.cellByteCount(index) }
        for number in 0..<plan.leafCount - 1 {
            let key = plan.separator(number)
            guard view.fencesContain(key) else {
                throw .corrupt(.fencesOfChild, page: parent, tree: view.treeID)
            }
            room -= view.slotByteCount
            if !view.hasIntegerKeys { room -= TreeLayout.childByteCount + key.bytes.count - view.prefixByteCount }
        }
        return room >= 0
    }
}
