// The shrink in place: pages from the end of the store move to the lowest free places, and the store ends earlier.
//
// A page does not say which page refers to it. The low fence of a tree page gives the path from the root. Overflow
// pages have no fence: the leaves of their tree are searched for the values that they belong to.
//
// Invariants
//   1. A shrink is a change of the write transaction like others: snapshots see the pages at their old places, and a
//      crash or a rollback, whole or to a savepoint, undoes all of it.
//   2. A page that moves keeps its bytes, except its number and, in a chain, its links. The reference to it changes at
//      the same time: in its parent, in the cell or page before it, or for a root in its record in the catalog.
//   3. A page that is not pinned is valid by itself: it may be spilled to the log, and is checked when it is read
//      again.
//   4. A page of a chain is copied and linked under one pin (invariant 3), and written once.
//   5. The next checkpoint that makes a slot with fewer pages durable truncates the file (rule F2).

/// Moves pages within a write transaction.
struct Shrink {
    private let pages: WritePages
    /// Pages from here on move; below it there is a free place for each.
    private let floor: PageNumber
    /// The pages to move, in descending order.
    private let tail: [PageNumber]
    private var trees: [UInt32: (name: String, record: TreeRecord)] = [:]
    private(set) var moveCount = 0

    /// Selects the pages to move: at most `pageMax` pages, and none that can keep its place.
    init(_ pages: WritePages, pageMax: Int) throws(StorageError) {
        self.pages = pages
        let inUse = pages.writes.state.pageCount - pages.writes.state.freeCount
        tail = try pages.lastPagesInUse(pageMax, from: inUse)
        floor = tail.last ?? pages.writes.state.pageCount
        assert(floor >= inUse, "page \(floor) is to move, but \(inUse) pages are in use")
        let catalog = TreeRecord(treeID: FixedPlace.catalogTreeID, root: FixedPlace.catalogRoot, kind: .bytes)
        trees[catalog.treeID] = ("", catalog)
        for tree in try Catalog(pages).list() { trees[tree.record.treeID] = tree }
    }

    /// Whether these were the last pages to move.
    func isComplete(pageMax: Int) -> Bool {
        assert(pageMax > 0 && tail.count <= pageMax, "\(tail.count) of \(pageMax) pages")
        return tail.count < pageMax || moveCount == 0
    }

    /// Moves the selected pages, and ends the store after its last page in use.
    mutating func run() throws(StorageError) {
        assert(moveCount == 0, "\(moveCount) pages were moved before")
        var overflowCounts: [UInt32: Int] = [:]
        for page in tail {
            let (type, treeID) = try describe(page)
            switch type {
            case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger: try moveTreePage(page, of: treeID)
            case .overflow: overflowCounts[treeID, default: 0] += 1
            case .bitmap, .free, nil: throw .corrupt(.pageType, page: page, byteOffset: PageLayout.type)
            }
        }
        for (treeID, count) in overflowCounts.sorted(by: { $0.key < $1.key }) {
            var left = count
            let record = try record(treeID, of: tail[0])
            try moveOverflow(below: record.root, record, expectedLevel: PageView.anyLevel, &left)
        }
        try pages.trimEnd()
    }

    private func describe(_ page: PageNumber) throws(StorageError) -> (type: PageType?, treeID: UInt32) {
        let pin = try pages.pin(page)
        return (PageType(rawValue: pin.view.typeByte), pin.view.treeID)
    }

    private func record(_ treeID: UInt32, of page: PageNumber) throws(StorageError) -> TreeRecord {
        guard let tree = trees[treeID] else { throw .corrupt(.pageLost, page: page, tree: treeID) }
        return tree.record
    }

    /// Moves a page to the lowest free place; returns the place, or `nil` if there is none below the floor.
    private mutating func move(_ page: PageNumber) throws(StorageError) -> PageNumber? {
        guard let place = try pages.takeLowest(below: floor) else { return nil }
        _ = try copy(page, to: place)
        assert(place < floor && page >= floor, "page \(page) moves to \(place), not to the front")
        // The page is not pinned here: a pinned page must never be free.
        try pages.free(page)
        moveCount += 1
        return place
    }

    /// Copies `page` to `place`, and returns the pinned copy.
    private func copy(_ page: PageNumber, to place: PageNumber) throws(StorageError) -> PagePin {
        let source = try pages.pin(page)
        assert(place != page, "page \(page) moves to its own place")
        let target = try pages.edit(place)
        target.view.copy(from: source.view, at: 0, to: 0, count: pages.pageSize)
        target.view.set(place, at: PageLayout.number)
        return target
    }

    // MARK: Tree pages

    private mutating func moveTreePage(_ page: PageNumber, of treeID: UInt32) throws(StorageError) {
        assert(page >= floor, "page \(page) moves, although it is before page \(floor)")
        let record = try record(treeID, of: page)
        if page == record.root { return try moveRoot(page, of: treeID) }
        let (parent, index) = try parent(of: page, record)
        guard let place = try move(page) else { return }
        let pin = try pages.edit(parent)
        pin.view.setChild(index, to: place)
    }

    private mutating func moveRoot(_ page: PageNumber, of treeID: UInt32) throws(StorageError) {
        assert(trees[treeID]?.record.root == page, "page \(page) is not the root of tree \(treeID)")
        guard var tree = trees[treeID], let place = try move(page) else { return }
        tree.record.root = place
        trees[treeID] = tree
        try Catalog(pages).store(tree.record, as: tree.name)
        pages.trees.move(treeID, to: place)
    }

    /// The parent of `page`, and the index of `page` among its children.
    private func parent(
        of page: PageNumber, _ record: TreeRecord
    ) throws(StorageError) -> (page: PageNumber, index: Int) {
        let child = try pages.pin(page)
        var low = KeyBuffer(byteCount: pages.pageSize)
        low.setLeast(record.kind)
        if let fence = child.view.lowFenceKey { low.copy(fence, isInteger: record.kind == .integer) }
        var (above, expectedLevel) = (record.root, PageView.anyLevel)
        while true {
            let pin = try pages.pin(above)
            try BTree(pages).check(pin.view, above, record, expectedLevel)
            guard pin.view.level > child.view.level else { break }
            let index = pin.view.position(of: low.key).childIndex
            let next = pin.view.child(index)
            if next == page { return (above, index) }
            (above, expectedLevel) = (next, pin.view.level - 1)
        }
        throw .corrupt(.pageLost, page: page, tree: record.treeID)
    }

    // MARK: Long values

    /// Moves overflow pages of the values below `page`, until `left` of them have moved.
    private mutating func moveOverflow(
        below page: PageNumber, _ record: TreeRecord, expectedLevel: Int, _ left: inout Int
    ) throws(StorageError) {
        let (level, count) = try look(page, record, expectedLevel)
        guard level > 0 else {
            for index in 0..<count where left > 0 { try moveChain(index, of: page, record, &left) }
            return
        }
        for index in 0...count where left > 0 {
            try moveOverflow(below: try child(index, of: page), record, expectedLevel: level - 1, &left)
        }
    }

    private func look(
        _ page: PageNumber, _ record: TreeRecord, _ expectedLevel: Int
    ) throws(StorageError) -> (level: Int, count: Int) {
        let pin = try pages.pin(page)
        try BTree(pages).check(pin.view, page, record, expectedLevel)
        return (pin.view.level, pin.view.cellCount)
    }

    private func child(_ index: Int, of page: PageNumber) throws(StorageError) -> PageNumber {
        let pin = try pages.pin(page)
        return pin.view.child(index)
    }

    private mutating func moveChain(
        _ index: Int, of leaf: PageNumber, _ record: TreeRecord, _ left: inout Int
    ) throws(StorageError) {
        guard let (first, byteCount) = try overflow(index, of: leaf) else { return }
        let runs = try BTree(pages).overflowRuns(first, byteCount: byteCount, treeID: record.treeID)
        guard runs.contains(where: { $0.upperBound > floor }) else { return }
        // Read and verify every page of the chain before any of it is changed.
        var chain: [PageNumber] = []
        try BTree(pages).forEachOverflowPage(first, byteCount: byteCount, treeID: record.treeID) { view in
            chain.append(view.storedNumber)
        }
        assert(chain.first == first, "the chain of page \(first) begins at \(chain.first ?? 0)")
        var places = chain
        for (number, page) in chain.enumerated() where page >= floor {
            guard let place = try pages.takeLowest(below: floor) else { break }
            places[number] = place
        }
        try write(chain, to: places)
        for (page, place) in zip(chain, places) where place != page {
            // The page is not pinned here: a pinned page must never be free.
            try pages.free(page)
            moveCount += 1
            left -= 1
        }
        guard places[0] != first else { return }
        let pin = try pages.edit(leaf)
        let isDone = pin.view.replaceValue(index, .overflow(first: places[0], byteCount: byteCount))
        assert(isDone, "a reference does not fit in the place of another")
    }

    private func overflow(
        _ index: Int, of leaf: PageNumber
    ) throws(StorageError) -> (first: PageNumber, byteCount: UInt64)? {
        let pin = try pages.pin(leaf)
        guard case .overflow(let first, let byteCount) = pin.view.value(index) else { return nil }
        return (first, byteCount)
    }

    /// Copies the pages of a chain that move, and links the whole chain, from its end because runs are counted from
    /// there.
    ///
    /// A copy gets its links while it is pinned (invariant 4).
    private func write(_ chain: [PageNumber], to places: [PageNumber]) throws(StorageError) {
        assert(chain.count == places.count, "\(places.count) places for \(chain.count) pages")
        var next: PageNumber = 0
        var runLength = 0
        for (page, place) in zip(chain, places).reversed() {
            runLength = next == place + 1 ? runLength + 1 : 1
            if page != place {
                link(try copy(page, to: place), next, runLength)
            } else if try !isLinked(place, next, runLength) {
                link(try pages.edit(place), next, runLength)
            }
            next = place
        }
    }

    private func link(_ pin: borrowing PagePin, _ next: PageNumber, _ runLength: Int) {
        assert(runLength == 1 || runLength > 1 && next == pin.number + 1, "a run of \(runLength) before page \(next)")
        pin.view.set(next, at: OverflowLayout.next)
        pin.view.set(UInt32(runLength), at: OverflowLayout.runLength)
    }

    private func isLinked(_ place: PageNumber, _ next: PageNumber, _ runLength: Int) throws(StorageError) -> Bool {
        assert(runLength > 0 && next != place, "a run of \(runLength) before page \(next)")
        let pin = try pages.pin(place)
        return pin.view.overflowNext == next && pin.view.overflowRunLength == runLength
    }
}
