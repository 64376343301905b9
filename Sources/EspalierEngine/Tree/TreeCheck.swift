// The check of a tree: every page on its own, pages against their parents, and the counts of the catalog.
//
// Invariants
//   1. The check continues after a finding as far as the damage allows; each finding has its page, tree and rule.
//   2. It visits no page twice, so the file bounds its work even if references form loops.
//   3. Errors that are not about the content (I/O, closed) end the check.
//   4. One step checks one page, so that a check can pause between any two steps and continue later.

/// The findings and counts of the check of a tree.
package struct TreeCheckResult: Sendable {
    /// Broken rules, in the order in which they were found.
    package var findings: [Corruption] = []
    /// Entries of all leaves that could be read.
    package var entryCount: UInt64 = 0
    /// Leaves that could be read.
    package var leafPageCount: UInt64 = 0
    /// Interior pages that could be read.
    package var interiorPageCount: UInt64 = 0
    /// Overflow pages that could be read.
    package var overflowPageCount: UInt64 = 0
    /// The number of pages that could not be read or followed: the pages to which they refer were not reached.
    package var cutCount = 0

    /// No findings yet.
    package init() {}
}

/// Checks one tree.
package struct TreeCheck<Source: PageSource> {
    private let source: Source
    private let tree: BTree<Source>
    private let record: TreeRecord
    private let rootTag: UInt32
    /// Whether the catalog's counts are compared; the catalog itself has none.
    private let hasCounts: Bool
    private let depth: PageValidation.Depth
    /// The pages that are still to be checked; the next one is the last element.
    private var work: [Work]
    /// Pages that were reached, in this tree or before.
    package private(set) var visited: PageSet
    /// The findings and counts so far.
    package private(set) var result = TreeCheckResult()

    /// Begins to check the tree of `record`, called `name`.
    ///
    /// - Parameters:
    ///   - visited: pages that were already reached.
    ///   - depth: the rules against which each page is checked again.
    package init(
        _ source: Source, _ record: TreeRecord, name: String, visited: PageSet,
        depth: PageValidation.Depth = .thorough
    ) {
        self.source = source
        self.record = record
        self.visited = visited
        self.depth = depth
        tree = BTree(source)
        rootTag = Catalog<Source>.rootTag(of: name)
        hasCounts = record.treeID != FixedPlace.catalogTreeID
        work = [.page(record.root, Expectation(level: nil, low: nil, high: nil))]
    }

    /// Checks the whole tree of `record`, called `name`.
    ///
    /// - Parameter visited: pages that were already reached; those of this tree are added.
    package static func run(
        _ source: Source, _ record: TreeRecord, name: String, visited: inout PageSet
    ) throws(StorageError) -> TreeCheckResult {
        var check = TreeCheck(source, record, name: name, visited: visited)
        while try check.step() {}
        visited = check.visited
        return check.result
    }

    /// Checks the next page; `false` if that was the last.
    package mutating func step() throws(StorageError) -> Bool {
        switch work.popLast() {
        case .page(let page, let expectation): try checkPage(page, expectation)
        case .chain(let first, let page, let left, let announced, let hasShortPage):
            try checkChain(first, page, left, announced, hasShortPage)
        case nil: return false
        }
        if work.isEmpty, hasCounts { checkCounts() }
        return !work.isEmpty
    }

    /// A page that is still to be checked.
    private enum Work {
        /// A page of the tree.
        case page(PageNumber, Expectation)
        /// The next page of the chain that begins at `first` and has `left` bytes left.
        ///
        /// `announced` is the run length that the page before implies for it; `nil` at the first page and after a run.
        /// `hasShortPage`: whether a page before is not full.
        case chain(first: PageNumber, next: PageNumber, left: UInt64, announced: Int?, hasShortPage: Bool)
    }

    /// The level and the fences that a parent expects of a child.
    private struct Expectation {
        /// `nil` for the root.
        let level: Int?
        let low: OwnedFence?
        let high: OwnedFence?
    }

    /// A fence copied out of its page.
    private enum OwnedFence: Equatable {
        case integer(UInt64)
        case bytes([UInt8])
    }

    private mutating func note(_ rule: CorruptionRule, _ page: PageNumber, at offset: Int = 0) {
        result.findings.append(
            Corruption(
                page: page, treeID: record.treeID, byteOffset: UInt32(truncatingIfNeeded: offset), rule: rule,
                file: .store))
    }

    /// Notes a broken rule that hides the pages after this one.
    private mutating func cut(_ rule: CorruptionRule, _ page: PageNumber, at offset: Int = 0) {
        note(rule, page, at: offset)
        result.cutCount += 1
        assert(result.cutCount <= result.findings.count, "a cut of the walk is no finding")
    }

    /// Notes `error`, which hides the pages after this one, if it is about content; throws it otherwise.
    private mutating func cut(_ error: StorageError) throws(StorageError) {
        guard case .corruption(let corruption) = error else { throw error }
        let located = Corruption(
            page: corruption.page, treeID: record.treeID, byteOffset: corruption.byteOffset, rule: corruption.rule,
            file: corruption.file)
        result.findings.append(located)
        result.cutCount += 1
        assert(result.cutCount <= result.findings.count, "a cut of the walk is no finding")
    }

    /// Marks `page` visited; `false` (and a finding) if it cannot be visited.
    private mutating func enter(_ page: PageNumber) -> Bool {
        guard page < visited.pageCount else {
            cut(.pageBeyondEnd, page)
            return false
        }
        guard visited.insert(page) else {
            cut(.pageReachedTwice, page)
            return false
        }
        return true
    }

    /// Copies `page` if it can be read and is a page of this tree at the right level.
    private mutating func read(
        _ page: PageNumber, _ expectation: Expectation, into copy: PageView
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            let pin = try source.pin(page) { leavesAhead($0) }
            copy.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
            try PageValidation.validate(copy, number: page, depth: depth)
            try tree.check(copy, page, record, expectation.level ?? PageView.anyLevel)
            return true
        } catch {
            try cut(error)
            return false
        }
    }

    /// The leaves that the next steps will check.
    private func leavesAhead(_ countMax: Int) -> [PageNumber] {
        var leaves: [PageNumber] = []
        for step in work.reversed() {
            guard leaves.count < countMax, case .page(let page, let expectation) = step, expectation.level == 0 else {
                break
            }
            leaves.append(page)
        }
        return leaves
    }

    private mutating func checkPage(
        _ page: PageNumber, _ expectation: Expectation
    ) throws(StorageError) {
        guard enter(page) else { return }
        let copy = ScratchPage(byteCount: source.pageSize)
        guard try read(page, expectation, into: copy.view) else { return }
        let view = copy.view
        checkRoot(view, page, isRoot: expectation.level == nil)
        if expectation.level != nil,
            fence(view.lowFenceKey) != expectation.low
                || fence(view.highFenceKey) != expectation.high
        {
            note(.fencesOfChild, page, at: TreeLayout.lowFenceByteCount)
        }
        if view.isLeaf { checkLeaf(view) } else { checkChildren(of: view) }
    }

    private mutating func checkRoot(_ view: PageView, _ page: PageNumber, isRoot: Bool) {
        assert(view.isTreePage && view.treeID == record.treeID, "page \(page) is not of the tree")
        if (view.flags & PageFlags.root != 0) != isRoot {
            note(.rootFlag, page, at: PageLayout.flags)
        } else if isRoot, view.rootTag != rootTag {
            note(.rootTag, page, at: TreeLayout.rootTag)
        }
        if isRoot, hasCounts, view.level + 1 != record.height { note(.treeHeight, page, at: PageLayout.level) }
    }

    private func fence(_ key: TreeKey?) -> OwnedFence? {
        key.map { record.kind == .integer ? .integer($0.integer) : .bytes($0.bytes.array) }
    }

    private mutating func checkChildren(of view: PageView) {
        assert(!view.isLeaf, "page \(view.storedNumber) has no children")
        result.interiorPageCount += 1
        var low = fence(view.lowFenceKey)
        var children: [Work] = []
        for index in 0...view.cellCount {
            let high: OwnedFence? =
                if index == view.cellCount {
                    fence(view.highFenceKey)
                } else if record.kind == .integer {
                    .integer(view.integerKey(index))
                } else {
                    .bytes(view.keyArray(index))
                }
            children.append(.page(view.child(index), Expectation(level: view.level - 1, low: low, high: high)))
            low = high
        }
        assert(children.count == view.cellCount + 1, "\(children.count) children of \(view.cellCount) keys")
        work += children.reversed()
    }

    private mutating func checkLeaf(_ view: PageView) {
        assert(view.isLeaf, "page \(view.storedNumber) is no leaf")
        result.leafPageCount += 1
        result.entryCount += UInt64(view.cellCount)
        for index in (0..<view.cellCount).reversed() {
            guard case .overflow(let first, let byteCount) = view.value(index) else { continue }
            work.append(.chain(first: first, next: first, left: byteCount, announced: nil, hasShortPage: false))
        }
    }

    private mutating func checkChain(
        _ first: PageNumber, _ page: PageNumber, _ left: UInt64, _ announced: Int?, _ hasShortPage: Bool
    ) throws(StorageError) {
        guard page != 0 else { return cut(.overflowLength, first) }
        guard enter(page) else { return }
        do throws(StorageError) {
            let pin = try source.pin(page) { BTree<Source>.pages(after: page, inRunOf: announced ?? 1, $0) }
            try PageValidation.validate(pin.view, number: page, depth: depth)
            guard pin.view.typeByte == PageType.overflow.rawValue else { return cut(.pageType, page) }
            if pin.view.treeID != record.treeID { note(.treeOfPage, page) }
            let runLength = pin.view.overflowRunLength
            if let announced, announced != runLength { note(.overflowRun, page, at: OverflowLayout.runLength) }
            let length = UInt64(pin.view.overflowPayload.count)
            guard length <= left else { return cut(.overflowLength, page) }
            result.overflowPageCount += 1
            let next = pin.view.overflowNext
            if left > length {
                let isShort = pin.view.contentStart < pin.view.byteCount
                if isShort, hasShortPage { return cut(.overflowLength, page) }
                work.append(
                    .chain(
                        first: first, next: next, left: left - length, announced: runLength > 1 ? runLength - 1 : nil,
                        hasShortPage: hasShortPage || isShort))
            } else if next != 0 {
                cut(.overflowLength, next)
            }
        } catch { return try cut(error) }
    }

    private mutating func checkCounts() {
        // The counts of a damaged tree prove nothing, because parts of it may not have been read.
        guard result.findings.isEmpty else { return }
        if result.entryCount != record.entryCount { note(.entryCount, record.root) }
        if result.leafPageCount != record.leafPageCount { note(.leafCount, record.root) }
    }
}
