// The survey of a damaged store: reads every page once, and records the leaves, trees and overflow chains to salvage.
//
// Invariants
//   1. A page is free if a usable bitmap page that is newer than the page marks it as free: a page that was allocated
//      after the bitmap page was written is not free.
//   2. An overflow page belongs to one value only: that of the newest leaf which refers to it. Older references are
//      remnants of discarded leaves, and their pages may hold another value by now.
//   3. Memory and time grow with the pages that exist: holes of a sparse file are skipped.

/// The pages found in a damaged store.
final class SalvageSurvey {
    /// A leaf whose rows are to be salvaged.
    struct Leaf {
        let lsn: UInt64
        let page: PageNumber
        let treeID: UInt32
        let isFree: Bool
        let isInteger: Bool
        let hasOverflow: Bool
    }

    /// The known facts about a tree.
    struct FoundTree {
        var pageCount: UInt64 = 0
        var damagedPageCount: UInt64 = 0
        var integerLeafCount: UInt64 = 0
        var bytesLeafCount: UInt64 = 0
        var rootTag: UInt32?

        /// The key kind of most of its leaves.
        var kind: KeyKind { integerLeafCount >= bytesLeafCount ? .integer : .bytes }
    }

    /// Leaves in the order in which their rows are to be written: free ones first, each by LSN.
    private(set) var leaves: [Leaf] = []
    private(set) var trees: [UInt32: FoundTree] = [:]
    /// The first page of each whole chain of overflow pages, and the index in `leaves` of the leaf that it belongs to.
    private(set) var chains: [PageNumber: Int] = [:]
    private(set) var report = SalvageReport()
    private let damaged: DamagedStore
    private let options: SalvageOptions
    private let page: ScratchPage
    private let bitmap: ScratchPage
    private var bitmapNumber: PageNumber = 0

    /// Reads every page of `damaged`.
    init(_ damaged: DamagedStore, _ options: SalvageOptions) throws(StorageError) {
        self.damaged = damaged
        self.options = options
        page = ScratchPage(byteCount: damaged.geometry.pageSize)
        bitmap = ScratchPage(byteCount: damaged.geometry.pageSize)
        report.key = damaged.key
        report.pageSize = damaged.geometry.pageSize
        report.pageCount = UInt64(damaged.storedPageCount)
        var number: PageNumber = 1
        while number < damaged.storedPageCount {
            let isBlank = try look(at: number)
            number = isBlank ? try damaged.nextPage(from: number + 1) : number + 1
        }
        for number in damaged.pagesBeyond { _ = try look(at: number) }
        leaves.sort { ($0.isFree ? 0 : 1, $0.lsn, $0.page) < ($1.isFree ? 0 : 1, $1.lsn, $1.page) }
        assert(leaves.count <= damaged.countOfPages, "\(leaves.count) leaves in \(damaged.countOfPages) pages")
        try claimChains()
    }

    // MARK: Pages

    /// Whether a page that was read as `reading` is used.
    private func isUsable(_ reading: DamagedStore.Reading) -> Bool {
        switch reading {
        case .intact: true
        case .sound: options.acceptsDamaged
        case .damaged, .blank: false
        }
    }

    /// Records a page; returns whether it was never written.
    private func look(at number: PageNumber) throws(StorageError) -> Bool {
        assert(number != FixedPlace.superblock, "page 0 is in a tree")
        let view = page.view
        let reading = try damaged.read(number, to: view)
        if damaged.isFromLog { report.loggedPageCount += 1 }
        if reading == .blank { return true }
        if reading != .intact {
            report.damagedPageCount += 1
            if isUsable(reading) { report.acceptedPageCount += 1 }
            if view.storedNumber == number, let tree = treeOfDamaged(view) {
                trees[tree, default: FoundTree()].damagedPageCount += 1
            }
        }
        if isUsable(reading) { try take(view, number) }
        return false
    }

    /// Records a page that can be used.
    private func take(_ view: PageView, _ number: PageNumber) throws(StorageError) {
        switch PageType(rawValue: view.typeByte) {
        case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger, .overflow: break
        case .bitmap, .free, nil: return
        }
        let treeID = view.treeID
        // The last tree number is never used.
        guard treeID >= FixedPlace.catalogTreeID, treeID < .max else { return }
        let isFree = try isFree(number, lsn: view.lsn)
        if isFree { report.freePageCount += 1 }
        guard !isFree || options.includesDeleted else { return }
        if !isFree { note(view, of: treeID) }
        guard view.isLeaf, view.typeByte != PageType.overflow.rawValue else { return }
        assert(number > 0, "page 0 is a leaf")
        leaves.append(
            Leaf(
                lsn: view.lsn, page: number, treeID: treeID, isFree: isFree, isInteger: view.hasIntegerKeys,
                hasOverflow: view.hasOverflowValues))
    }

    private func treeOfDamaged(_ view: PageView) -> UInt32? {
        switch PageType(rawValue: view.typeByte) {
        case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger, .overflow:
            // A number that no intact page carries is more likely damage than a tree.
            trees[view.treeID] == nil ? nil : view.treeID
        case .bitmap, .free, nil: nil
        }
    }

    private func note(_ view: PageView, of treeID: UInt32) {
        assert(treeID >= FixedPlace.catalogTreeID && treeID == view.treeID, "page of tree \(treeID)")
        var tree = trees[treeID] ?? FoundTree()
        tree.pageCount += 1
        if view.typeByte == PageType.leafInteger.rawValue { tree.integerLeafCount += 1 }
        if view.typeByte == PageType.leafBytes.rawValue { tree.bytesLeafCount += 1 }
        if view.typeByte != PageType.overflow.rawValue, view.flags & PageFlags.root != 0 { tree.rootTag = view.rootTag }
        trees[treeID] = tree
    }

    /// Whether a page is free (invariant 1); a page beyond the end of a newer state is free, too.
    private func isFree(_ number: PageNumber, lsn: UInt64) throws(StorageError) -> Bool {
        if let state = damaged.newestState, number >= state.pageCount, lsn < state.commitLSN { return true }
        let place = damaged.geometry.bitmapPage(of: number)
        assert(damaged.geometry.isBitmapPage(place), "page \(place) does not describe page \(number)")
        if place != bitmapNumber {
            bitmapNumber = place
            let reading = try damaged.read(place, to: bitmap.view)
            // Without a usable bitmap page none of its pages is free.
            if !isUsable(reading) || bitmap.view.typeByte != PageType.bitmap.rawValue {
                bitmap.view.formatBitmap(number: place)
            }
        }
        return bitmap.view.lsn > lsn && bitmap.view.bitmapIsFree(damaged.geometry.bitmapBit(of: number))
    }

    // MARK: Overflow pages

    /// Assigns the overflow chains to leaves; newer leaves choose first (invariant 2).
    private func claimChains() throws(StorageError) {
        var claimed = PageSet(pageCount: .max)
        for (place, leaf) in leaves.enumerated().reversed() where leaf.hasOverflow {
            let reading = try damaged.read(leaf.page, to: page.view)
            guard isUsable(reading) else { continue }
            let references = (0..<page.view.cellCount).compactMap { index -> (PageNumber, UInt64)? in
                guard case .overflow(let first, let byteCount) = page.view.value(index) else { return nil }
                return (first, byteCount)
            }
            for (first, byteCount) in references {
                let isWhole = try forEachChainPage(first, byteCount, leaf.treeID) { view in
                    claimed.insert(view.storedNumber)
                }
                if isWhole { chains[first] = place }
            }
        }
    }

    /// Calls `body` with each page of a chain until it returns `false`; returns whether the chain is whole.
    func forEachChainPage(
        _ first: PageNumber, _ byteCount: UInt64, _ treeID: UInt32, _ body: (PageView) -> Bool
    ) throws(StorageError) -> Bool {
        assert(treeID >= FixedPlace.catalogTreeID, "a value of tree \(treeID)")
        var (number, left) = (first, byteCount)
        while left > 0 {
            guard number != 0, isUsable(try damaged.read(number, to: page.view)) else { return false }
            let view = page.view
            guard view.typeByte == PageType.overflow.rawValue, view.treeID == treeID else { return false }
            let length = UInt64(view.overflowPayload.count)
            guard length <= left, body(view) else { return false }
            left -= length
            number = view.overflowNext
        }
        return number == 0
    }
}

extension PageView {
    /// Whether any value of this leaf is in overflow pages.
    fileprivate var hasOverflowValues: Bool {
        guard isLeaf, typeByte == PageType.leafBytes.rawValue || typeByte == PageType.leafInteger.rawValue else {
            return false
        }
        for index in 0..<cellCount where u16(cellOffset(index)) & TreeLayout.overflowFlag != 0 { return true }
        return false
    }
}
