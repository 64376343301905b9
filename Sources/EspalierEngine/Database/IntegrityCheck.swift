// The integrity check: every page's checksum and structure (L1), every tree (L2, `TreeCheck`), and what only the whole
// store shows (L3): every page is reached exactly once or free, and counts agree.
//
// Invariants
//   1. Goes on after a finding; reports all of them. Only what keeps it from reading at all is thrown.
//   2. Works on one snapshot, beside readers and the writer.
//   3. Memory follows the pages that are there, not the number that a damaged file claims (`PageSet`).

/// The check of a whole store.
struct IntegrityCheck {
    private let pages: ReadPages
    private let progress: (CheckProgress) -> Bool
    private var visited: PageSet
    private var report = CheckReport()
    private var isCancelled = false

    /// Checks the newest commit of `engine`.
    static func run(
        _ engine: Engine, progress: ((CheckProgress) -> Bool)?
    ) throws(StorageError) -> CheckReport {
        let pages = try engine.beginRead()
        defer { pages.end() }
        var check = IntegrityCheck(pages: pages, progress: progress ?? { _ in true })
        try check.checkTrees()
        if !check.isCancelled { try check.checkFreeSpace() }
        check.report.isComplete = !check.isCancelled
        return check.report
    }

    private init(pages: ReadPages, progress: @escaping (CheckProgress) -> Bool) {
        self.pages = pages
        self.progress = progress
        visited = PageSet(pageCount: pages.pageCount)
        report.pageCount = UInt64(pages.pageCount)
    }

    private mutating func note(_ corruption: Corruption, tree: String?) {
        report.findings.append(CheckReport.Finding(corruption: corruption, treeName: tree))
    }

    private mutating func note(_ rule: CorruptionRule, page: PageNumber, byteOffset: Int = 0) {
        note(
            Corruption(page: page, treeID: 0, byteOffset: UInt32(byteOffset), rule: rule, file: .store), tree: nil)
    }

    // MARK: Trees

    private mutating func checkTrees() throws(StorageError) {
        let catalog = TreeRecord(
            treeID: FixedPlace.catalogTreeID, root: pages.versions.state.catalogRoot, kind: .bytes)
        _ = try check(catalog, name: "")
        guard !isCancelled else { return }
        let trees: [(name: String, record: TreeRecord)]
        do throws(StorageError) {
            trees = try Catalog(pages, root: pages.versions.state.catalogRoot).list()
        } catch {
            // The catalog's own damage is reported above; without it no tree is known, and all pages would seem lost.
            guard case .corruption(let corruption) = error else { throw error }
            if report.findings.isEmpty { note(corruption, tree: nil) }
            isCancelled = true
            return
        }
        for tree in trees {
            let result = try check(tree.record, name: tree.name)
            report.trees.append(
                CheckReport.TreeCount(
                    summary: TreeSummary(tree.record, name: tree.name), entryCount: result.entryCount,
                    pageCount: result.leafPageCount + result.interiorPageCount + result.overflowPageCount))
            guard !isCancelled else { return }
        }
    }

    private mutating func check(_ record: TreeRecord, name: String) throws(StorageError) -> TreeCheckResult {
        let (progress, total) = (progress, UInt64(pages.pageCount))
        let result = try TreeCheck.run(
            pages, record, name: name, visited: &visited,
            progress: { progress(CheckProgress(pagesChecked: UInt64($0), pageCount: total)) })
        for finding in result.findings { note(finding, tree: name.isEmpty ? nil : name) }
        isCancelled = result.isCancelled
        return result
    }

    // MARK: Free space

    /// Every page is the superblock, a bitmap page, in a tree, or free, and just one of them.
    private mutating func checkFreeSpace() throws(StorageError) {
        let geometry = pages.versions.files.geometry
        let storeByteCount = try pages.versions.files.store.size()
        var freeCount: UInt64 = 0
        var group: PageNumber = 0
        while group + 1 < pages.pageCount {
            let findingCount = report.findings.count
            if visited.insert(group + 1) {
                freeCount += try checkGroup(group, geometry)
            } else {
                note(.pageReachedTwice, page: group + 1)
            }
            // A page count that the file does not bear out is reported once, not for each group that is missing.
            if report.findings.count > findingCount, UInt64(group) * UInt64(geometry.pageSize) >= storeByteCount {
                break
            }
            let next = group.addingReportingOverflow(PageNumber(geometry.pagesPerBitmap))
            if next.overflow { break }
            group = next.partialValue
        }
        report.freePageCount = freeCount
        if freeCount != UInt64(pages.versions.state.freeCount) {
            note(.freeCountWrong, page: FixedPlace.superblock)
        }
    }

    /// Checks one bitmap page; returns how many pages it calls free.
    private mutating func checkGroup(_ group: PageNumber, _ geometry: StoreGeometry) throws(StorageError) -> UInt64 {
        do throws(StorageError) {
            let bitmap = try pages.pin(group + 1)
            guard bitmap.view.typeByte == PageType.bitmap.rawValue else {
                throw StorageError.corrupt(.pageType, page: group + 1, byteOffset: PageLayout.type)
            }
            return compare(bitmap.view, with: group, geometry)
        } catch {
            guard case .corruption(let corruption) = error else { throw error }
            note(corruption, tree: nil)
            return 0
        }
    }

    /// Compares the bits of one bitmap page with what was reached; returns how many pages it calls free.
    private mutating func compare(_ bitmap: PageView, with group: PageNumber, _ geometry: StoreGeometry) -> UInt64 {
        var freeCount: UInt64 = 0
        for bit in 0..<geometry.pagesPerBitmap {
            let isFree = bitmap.bitmapIsFree(bit)
            let number = UInt64(group) + UInt64(bit)
            guard number < UInt64(pages.pageCount) else {
                if isFree { note(.pageBeyondEnd, page: group + 1, byteOffset: BitmapLayout.bits + bit / 8) }
                continue
            }
            let page = PageNumber(number)
            if isFree {
                freeCount += 1
                if page == FixedPlace.superblock || visited.contains(page) { note(.pageReachedButFree, page: page) }
            } else if page != FixedPlace.superblock, !visited.contains(page) {
                note(.pageLost, page: page)
            }
        }
        return freeCount
    }
}
