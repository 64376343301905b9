// The check of a tree: every page on its own, pages against their parents, and the counts of the catalog.
//
// Invariants
//   1. Goes on after a finding, as far as the damaged place lets it; reports every finding with page, tree and rule.
//   2. Visits no page twice, so its work is bounded by the file even if references form loops.
//   3. Errors that are not about the content (I/O, closed) end the check.

/// What the check of a tree found and counted.
package struct TreeCheckResult: Sendable {
    /// Broken rules, in the order in which they were met.
    package var findings: [Corruption] = []
    /// Entries of all leaves that could be read.
    package var entryCount: UInt64 = 0
    /// Leaves that could be read.
    package var leafPageCount: UInt64 = 0
    /// Interior pages that could be read.
    package var interiorPageCount: UInt64 = 0
    /// Overflow pages that could be read.
    package var overflowPageCount: UInt64 = 0
    /// Whether the caller asked to stop.
    package var isCancelled = false

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
    private let progress: (Int) -> Bool
    private var visited: PageSet
    private var result = TreeCheckResult()

    /// Checks the tree of `record`, called `name`.
    ///
    /// - Parameters:
    ///   - visited: pages that are reached already; those of this tree are added.
    ///   - depth: how much of each page is checked (again).
    ///   - progress: called per page with the number of pages visited so far; `false` stops the check.
    package static func run(
        _ source: Source, _ record: TreeRecord, name: String, visited: inout PageSet,
        depth: PageValidation.Depth = .thorough, progress: @escaping (Int) -> Bool = { _ in true }
    ) throws(StorageError) -> TreeCheckResult {
        var check = TreeCheck(
            source: source, tree: BTree(source), record: record, rootTag: Catalog<Source>.rootTag(of: name),
            hasCounts: record.treeID != FixedPlace.catalogTreeID, depth: depth, progress: progress, visited: visited)
        try check.checkPage(record.root, Expectation(level: nil, low: nil, high: nil))
        if !check.result.isCancelled, check.hasCounts { check.checkCounts() }
        visited = check.visited
        return check.result
    }

    /// What a parent says about a child.
    private struct Expectation {
        /// `nil`: it is the root.
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

    /// Notes `error` if it is about content; throws it otherwise.
    private mutating func note(_ error: StorageError) throws(StorageError) {
        guard case .corruption(let corruption) = error else { throw error }
        let located = Corruption(
            page: corruption.page, treeID: record.treeID, byteOffset: corruption.byteOffset, rule: corruption.rule,
            file: corruption.file)
        result.findings.append(located)
    }

    /// Marks `page` visited; `false` (and a finding) if it cannot be visited.
    private mutating func enter(_ page: PageNumber) -> Bool {
        guard page < visited.pageCount else {
            note(.pageBeyondEnd, page)
            return false
        }
        guard visited.insert(page) else {
            note(.pageReachedTwice, page)
            return false
        }
        if !progress(visited.count) { result.isCancelled = true }
        return !result.isCancelled
    }

    /// Copies `page` if it can be read and is a page of this tree at the right level.
    private mutating func read(
        _ page: PageNumber, _ expectation: Expectation, into copy: PageView
    ) throws(StorageError) -> Bool {
        do throws(StorageError) {
            let pin = try source.pin(page)
            copy.copy(from: pin.view, at: 0, to: 0, count: source.pageSize)
            try PageValidation.validate(copy, number: page, depth: depth)
            try tree.check(copy, page, record, expectation.level ?? -1)
            return true
        } catch {
            try note(error)
            return false
        }
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
        if view.isLeaf { try checkLeaf(view) } else { try checkChildren(of: view) }
    }

    private mutating func checkRoot(_ view: PageView, _ page: PageNumber, isRoot: Bool) {
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

    private mutating func checkChildren(of view: PageView) throws(StorageError) {
        result.interiorPageCount += 1
        var low = fence(view.lowFenceKey)
        for index in 0...view.cellCount where !result.isCancelled {
            let high: OwnedFence? =
                if index == view.cellCount {
                    fence(view.highFenceKey)
                } else if record.kind == .integer {
                    .integer(view.integerKey(index))
                } else {
                    .bytes(view.keyArray(index))
                }
            try checkPage(view.child(index), Expectation(level: view.level - 1, low: low, high: high))
            low = high
        }
    }

    private mutating func checkLeaf(_ view: PageView) throws(StorageError) {
        result.leafPageCount += 1
        result.entryCount += UInt64(view.cellCount)
        for index in 0..<view.cellCount {
            guard case .overflow(let first, let byteCount) = view.value(index) else { continue }
            try checkChain(first, byteCount: byteCount)
        }
    }

    private mutating func checkChain(_ first: PageNumber, byteCount: UInt64) throws(StorageError) {
        var page = first
        var left = byteCount
        while left > 0, !result.isCancelled {
            guard page != 0 else { return note(.overflowLength, first) }
            guard enter(page) else { return }
            do throws(StorageError) {
                let pin = try source.pin(page)
                try PageValidation.validate(pin.view, number: page, depth: depth)
                guard pin.view.typeByte == PageType.overflow.rawValue else { return note(.pageType, page) }
                if pin.view.treeID != record.treeID { note(.treeOfPage, page) }
                let length = UInt64(pin.view.overflowPayload.count)
                guard length <= left else { return note(.overflowLength, page) }
                left -= length
                page = pin.view.overflowNext
                result.overflowPageCount += 1
            } catch { return try note(error) }
        }
        if page != 0, !result.isCancelled { note(.overflowLength, page) }
    }

    private mutating func checkCounts() {
        // Counts of a tree that could not be read as a whole say nothing.
        guard result.findings.isEmpty else { return }
        if result.entryCount != record.entryCount { note(.entryCount, record.root) }
        if result.leafPageCount != record.leafPageCount { note(.leafCount, record.root) }
    }
}
