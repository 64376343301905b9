// The integrity check: page 0 (`Page0Check`), every page's checksum and structure (L1), every tree (L2, `TreeCheck`),
// and the rules of the whole store (L3): every page is free or reached exactly once, and counts agree.
//
// Invariants
//   1. The check continues after a finding and reports all of them; it throws only errors that keep it from reading.
//   2. The check uses one snapshot, concurrently with readers and the writer; one step checks one page.
//   3. Memory grows with the pages that exist, not with the number that a damaged file claims (`PageSet`).
//   4. A page that a damaged page hides is not a finding of its own: it is counted with its tree (`unreached`).

/// The check of a whole store.
struct IntegrityCheck {
    /// The part of the store that the next step checks.
    private enum Phase {
        case page0
        case catalog
        case tree(Int)
        case freeSpace(group: PageNumber)
        case done
    }

    private let engine: Engine
    private let pages: ReadPages
    private var phase = Phase.page0
    private var trees: [(name: String, record: TreeRecord)] = []
    /// The running check of the tree that `phase` names; it owns the set of visited pages meanwhile.
    private var treeCheck: TreeCheck<ReadPages>?
    private var visited: PageSet
    /// Whether the catalog could be read; without the list of trees all pages would seem lost.
    private var isCatalogReadable = true
    private(set) var report = CheckReport()

    /// Begins a check of the newest commit of `engine`.
    init(_ engine: Engine) throws(StorageError) {
        self.engine = engine
        pages = try engine.beginRead()
        visited = PageSet(pageCount: pages.pageCount)
        report.pageCount = UInt64(pages.pageCount)
        assert(pages.pageCount >= FixedPlace.initialPageCount, "a store of \(pages.pageCount) pages")
    }

    /// Releases the snapshot.
    func end() { pages.end() }

    /// Whether nothing is left to check.
    var isOver: Bool {
        if case .done = phase { true } else { false }
    }

    /// Ends the check because the snapshot has expired.
    mutating func expire() {
        report.isSnapshotExpired = true
        phase = .done
    }

    /// Checks the next page; returns `false` if the check is over.
    mutating func step() throws(StorageError) -> Bool {
        if isOver { return false }
        try pages.checkUsable()
        switch phase {
        case .page0:
            for finding in try Page0Check.findings(engine) { note(finding, tree: nil) }
            try checkSize(of: engine.files.store)
            phase = .catalog
        case .catalog:
            let catalog = TreeRecord(
                treeID: FixedPlace.catalogTreeID, root: pages.versions.state.catalogRoot, kind: .bytes)
            guard let result = try stepTree(catalog, name: "") else { break }
            isCatalogReadable = try listTrees(isCut: result.cutCount > 0)
            if isCatalogReadable {
                phase = .tree(0)
            } else {
                hide(FixedPlace.catalogTreeID, name: nil, causeCount: max(result.cutCount, 1))
                phase = .freeSpace(group: 0)
            }
        case .tree(let number):
            guard number < trees.count else {
                phase = .freeSpace(group: 0)
                break
            }
            let tree = trees[number]
            guard let result = try stepTree(tree.record, name: tree.name) else { break }
            report.trees.append(
                CheckReport.TreeCount(
                    summary: TreeSummary(tree.record, name: tree.name, store: engine.storeMark),
                    entryCount: result.entryCount,
                    pageCount: result.leafPageCount + result.interiorPageCount + result.overflowPageCount))
            phase = .tree(number + 1)
        case .freeSpace(let group): try stepFreeSpace(group)
        case .done: break
        }
        report.checkedPageCount = UInt64(treeCheck?.visited.count ?? visited.count)
        assert(report.checkedPageCount <= report.pageCount, "\(report.checkedPageCount) pages were checked")
        return !isOver
    }

    private mutating func note(_ corruption: Corruption, tree: String?) {
        report.findings.append(CheckReport.Finding(corruption: corruption, treeName: tree))
    }

    private mutating func note(_ rule: CorruptionRule, page: PageNumber, byteOffset: Int = 0) {
        note(
            Corruption(page: page, treeID: 0, byteOffset: UInt32(byteOffset), rule: rule, file: .store), tree: nil)
    }

    /// Checks that the store file holds all pages that its newest slot counts.
    private mutating func checkSize(of store: any StorageFile) throws(StorageError) {
        let slot = try Engine.readSuperblock(of: store).1
        let size = try store.size()
        // Another process may just have truncated the file; the file then has a newer slot by now.
        guard size < UInt64(slot.pageCount) * UInt64(pages.pageSize),
            try Engine.readSuperblock(of: store).1 == slot
        else { return }
        note(.pageCountWrong, page: slot.pageCount - 1)
    }

    // MARK: Trees

    /// Checks the next page of a tree; returns the tree's result if that was the last page.
    private mutating func stepTree(_ record: TreeRecord, name: String) throws(StorageError) -> TreeCheckResult? {
        assert((treeCheck == nil) == (visited.pageCount > 0), "the set of pages is in two places, or in none")
        if treeCheck == nil {
            // Move the set instead of sharing it: a shared set would be copied with every page.
            treeCheck = TreeCheck(pages, record, name: name, visited: visited, depth: .sealed)
            visited = PageSet(pageCount: 0)
        }
        if try treeCheck?.step() ?? false { return nil }
        guard let check = treeCheck else { return nil }
        treeCheck = nil
        visited = check.visited
        for finding in check.result.findings { note(finding, tree: name.isEmpty ? nil : name) }
        if check.result.cutCount > 0, record.treeID != FixedPlace.catalogTreeID {
            hide(record.treeID, name: name, causeCount: check.result.cutCount)
        }
        return check.result
    }

    /// Lists the trees of the catalog; returns `false` if the catalog is damaged.
    private mutating func listTrees(isCut: Bool) throws(StorageError) -> Bool {
        do throws(StorageError) {
            trees = try Catalog(pages, root: pages.versions.state.catalogRoot).list()
        } catch {
            // The walk of the catalog has reported the damage, unless it is in a record.
            guard case .corruption(let corruption) = error else { throw error }
            if !isCut { note(corruption, tree: nil) }
            return false
        }
        var numbers: Set<UInt32> = []
        for (name, record) in trees {
            guard
                !name.isEmpty, numbers.insert(record.treeID).inserted,
                record.treeID < pages.versions.state.nextTreeID,
                record.root < pages.versions.state.pageCount,
                record.createdTransaction <= pages.versions.state.transactionID
            else {
                let corruption = Corruption(
                    page: pages.versions.state.catalogRoot, treeID: record.treeID, byteOffset: 0, rule: .catalogRecord,
                    file: .store)
                note(corruption, tree: name)
                continue
            }
        }
        return true
    }

    // MARK: Pages that were not reached

    /// Records that damaged pages of a tree hide other pages.
    private mutating func hide(_ treeID: UInt32, name: String?, causeCount: Int) {
        assert(causeCount > 0, "nothing hides pages of tree \(treeID)")
        report.unreached.append(
            CheckReport.UnreachedPages(treeName: name, treeID: treeID, causeCount: causeCount))
    }

    /// Counts an unreached page in use with the damage that hides it, or reports it as lost if nothing hides it.
    private mutating func judgeUnreached(_ page: PageNumber) throws(StorageError) {
        assert(page < pages.pageCount, "page \(page) of \(pages.pageCount)")
        guard let index = try indexOfCause(of: page) else { return note(.pageLost, page: page) }
        report.unreached[index].pageCount += 1
    }

    /// The position in `report.unreached` of the tree that `page` belongs to; `nil` if nothing hides the page.
    private func indexOfCause(of page: PageNumber) throws(StorageError) -> Int? {
        guard !report.unreached.isEmpty else { return nil }
        guard isCatalogReadable else { return 0 }
        do throws(StorageError) {
            let pin = try pages.pin(page)
            let treeID = pin.view.treeID
            return report.unreached.firstIndex { $0.treeID == treeID }
        } catch {
            // The tree of a damaged page is unknown.
            guard case .corruption = error else { throw error }
            return 0
        }
    }

    // MARK: Free space

    /// Checks the pages of one bitmap page: each must be exactly one of superblock, bitmap page, page of a tree, and
    /// free page.
    private mutating func stepFreeSpace(_ group: PageNumber) throws(StorageError) {
        guard group + 1 < pages.pageCount else { return finish() }
        let geometry = pages.versions.files.geometry
        assert(group % PageNumber(geometry.pagesPerBitmap) == 0, "page \(group) begins no group")
        let findingCount = report.findings.count
        if visited.contains(group + 1) {
            note(.pageReachedTwice, page: group + 1)
        } else {
            report.freePageCount += try checkGroup(group)
        }
        // Report a page count that exceeds the file once, not for each missing group.
        if report.findings.count > findingCount,
            UInt64(group) * UInt64(geometry.pageSize) >= (try pages.versions.files.store.size())
        {
            return finish()
        }
        let next = group.addingReportingOverflow(PageNumber(geometry.pagesPerBitmap))
        if next.overflow { return finish() }
        phase = .freeSpace(group: next.partialValue)
    }

    private mutating func finish() {
        assert(treeCheck == nil && !isOver, "the free pages are counted before the trees are checked")
        if report.freePageCount != UInt64(pages.versions.state.freeCount) {
            note(.freeCountWrong, page: FixedPlace.superblock)
        }
        report.isComplete = isCatalogReadable
        phase = .done
    }

    /// Checks one bitmap page; returns how many pages it marks as free.
    private mutating func checkGroup(_ group: PageNumber) throws(StorageError) -> UInt64 {
        assert(group + 1 < pages.pageCount, "the bitmap page of group \(group)")
        do throws(StorageError) {
            let bitmap = try pages.pin(group + 1)
            // The page was validated when it was loaded, but commits of this process may have changed it since.
            try PageValidation.validate(bitmap.view, number: group + 1)
            // Insert only now: a page that does not exist must not enlarge the set (invariant 3).
            _ = visited.insert(group + 1)
            return try compare(bitmap.view, with: group)
        } catch {
            guard case .corruption(let corruption) = error else { throw error }
            note(corruption, tree: nil)
            return 0
        }
    }

    /// Compares the bits of one bitmap page with the visited pages; returns how many existing pages it marks as free.
    private mutating func compare(_ bitmap: PageView, with group: PageNumber) throws(StorageError) -> UInt64 {
        var freeCount: UInt64 = 0
        for index in 0..<bitmap.bitmapWordCount {
            let first = UInt64(group) + UInt64(64 * index)
            let free = bitmap.bitmapWord(index)
            // In nearly all words every page is either free or reached.
            let reached = visited.word(at: first) | (first == 0 ? 1 : 0)
            let left = UInt64(pages.pageCount) > first ? UInt64(pages.pageCount) - first : 0
            let existing: UInt64 = left >= 64 ? .max : (1 << left) - 1
            freeCount += UInt64((free & existing).nonzeroBitCount)
            var wrong = (free & ~existing) | (~(free ^ reached) & existing)
            while wrong != 0 {
                let bit = wrong.trailingZeroBitCount
                wrong &= wrong - 1
                let isFree = free & (1 << UInt64(bit)) != 0
                if existing & (1 << UInt64(bit)) == 0 {
                    note(.bitmapReserved, page: group + 1, byteOffset: BitmapLayout.bits + 8 * index + bit / 8)
                } else if isFree {
                    note(.pageReachedButFree, page: PageNumber(first) + PageNumber(bit))
                } else {
                    try judgeUnreached(PageNumber(first) + PageNumber(bit))
                }
            }
        }
        assert(freeCount <= UInt64(pages.pageCount), "\(freeCount) of \(pages.pageCount) pages are free")
        return freeCount
    }
}
