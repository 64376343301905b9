// The independent check of a store: every rule of FileFormat.md on the newest state of the store's two files and, for
// an object store, every rule of ObjectFormat.md.
//
// The module is written from the two documents alone and shares no code with the engine, so that a misunderstanding in
// one is not repeated in the other. The build enforces this: the module imports no other module of the package.

/// The findings and counts of an audit.
package struct AuditReport: Sendable {
    /// A tree of the store.
    package struct Tree: Sendable {
        package let name: [UInt8]
        package let number: UInt32
        package let hasIntegerKeys: Bool
        package let counts: TreeCounts
    }

    /// The broken rules.
    package fileprivate(set) var findings = AuditFindings()
    /// The trees in the order of their names, without the catalog.
    package fileprivate(set) var trees: [Tree] = []
    package fileprivate(set) var pageSize = 0
    package fileprivate(set) var pageCount: UInt32 = 0
    package fileprivate(set) var freePageCount: UInt64 = 0
    /// The number of the newest transaction.
    package fileprivate(set) var transaction: UInt64 = 0
    /// The number of valid commits in the log.
    package fileprivate(set) var logCommitCount = 0
    /// The counts of an object store; `nil` for other stores.
    package fileprivate(set) var objects: ObjectReport?
    /// Whether the files changed while they were read: findings may then result from mixed states.
    package fileprivate(set) var hasChanged = false

    /// Whether no finding was reported.
    package var isOK: Bool { findings.count == 0 }
}

/// The independent check.
package enum StoreAudit {
    /// Audits the newest state of a store.
    ///
    /// - Parameters:
    ///   - store: the file of pages.
    ///   - log: the log beside it, if there is one. It is evaluated after page 0 is read: a writer creates the log
    ///     before it writes to page 0 that there is one, so a log that is missing then was already missing when page 0
    ///     was read.
    /// - Throws: `AuditFailure` if the store cannot be audited.
    /// - Complexity: each referenced page is read once; in an object store the pages of trees that differ are read
    ///   twice. Memory is some bits for each page and each row.
    package static func run(
        store: any ByteSource, log: @autoclosure () -> (any ByteSource)?
    ) throws(AuditFailure) -> AuditReport {
        var report = AuditReport()
        let page0 = try store.read(at: 0, count: 4096)
        let log = log()
        let superblock = try Superblock(page0, &report.findings)
        report.pageSize = superblock.pageSize
        let slot = CheckpointSlot.newest(in: page0, hasLog: log != nil, &report.findings)
        guard superblock.hasValidPageSize, let slot else { return report }
        try checkRest(of: store, superblock, &report.findings)
        let walk = try LogWalk.beside(store: superblock, slot, log, &report.findings)
        let state = walk?.state ?? slot.state
        let pages = PageImages(
            store: store, log: walk, superblock: superblock, state: state, commitLSN: walk?.commitLSN ?? slot.lsn,
            filePageCount: try store.byteCount() / UInt64(superblock.pageSize))
        (report.pageCount, report.transaction) = (state.pageCount, state.transaction)
        report.logCommitCount = walk?.commitCount ?? 0
        if UInt64(slot.state.pageCount) > pages.filePageCount {
            report.findings.add(
                94, .page(0, offset: 0),
                "the file has \(pages.filePageCount) pages, but the newest slot states \(slot.state.pageCount)")
        }
        try checkTrees(pages, &report)
        report.hasChanged = try hasChanged(store, since: page0, walk)
        return report
    }

    /// Checks that the part of page 0 without a meaning is zero.
    private static func checkRest(
        of store: any ByteSource, _ superblock: Superblock, _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        let page = try store.read(at: 0, count: superblock.pageSize)
        if let stray = page.firstNonzero(in: Superblock.usedByteCount..<superblock.pageSize) {
            findings.add(5, .page(0, offset: stray), "a reserved byte is not zero")
        }
    }

    private static func checkTrees(_ pages: PageImages, _ report: inout AuditReport) throws(AuditFailure) {
        var uses = PageUses()
        var catalog = Catalog(pages)
        try catalog.walk(&uses, &report.findings)
        var isComplete = catalog.isComplete
        let objects = ObjectAudit(pages.superblock, catalog)
        let order = objects == nil ? Array(catalog.records.indices) : ObjectAudit.order(catalog.records)
        let lastOfRows = order.last { catalog.records[$0].title.hasPrefix("rows:") }
        var counts = [TreeCounts](repeating: TreeCounts(), count: catalog.records.count)
        for index in order {
            let record = catalog.records[index]
            var walk = TreeWalk(pages, record.identity, visit: objects?.visitor(of: record.title))
            try walk.run(root: record.root, from: record.place, &uses, &report.findings)
            if walk.isComplete {
                record.compare(with: walk, &report.findings)
            } else {
                isComplete = false
            }
            objects?.end(record.title, isComplete: walk.isComplete, isLastOfRows: index == lastOfRows)
            counts[index] = walk.counts
        }
        report.trees = zip(catalog.records, counts).map { record, counts in
            AuditReport.Tree(
                name: record.name, number: record.tree, hasIntegerKeys: record.hasIntegerKeys, counts: counts)
        }
        var freeSpace = FreeSpaceCheck()
        try freeSpace.run(pages, uses, usesAreComplete: isComplete, &report.findings)
        report.freePageCount = freeSpace.freeCount
        try finish(objects, pages, &report)
    }

    /// Compares the trees of an object store with each other.
    private static func finish(
        _ objects: ObjectAudit?, _ pages: PageImages, _ report: inout AuditReport
    ) throws(AuditFailure) {
        guard let objects else { return }
        try objects.finish { record, visit throws(AuditFailure) in
            // Damage was reported when the tree was read the first time.
            var (uses, findings) = (PageUses(), AuditFindings())
            var walk = TreeWalk(pages, record.identity, visit: visit)
            try walk.run(root: record.root, from: record.place, &uses, &findings)
        }
        report.findings.append(objects.findings)
        report.objects = objects.report
    }

    /// Whether a writer was active: its checkpoints change page 0, its commits the end of the log.
    private static func hasChanged(
        _ store: any ByteSource, since page0: [UInt8], _ walk: LogWalk?
    ) throws(AuditFailure) -> Bool {
        if try store.read(at: 0, count: page0.count) != page0 { return true }
        return try walk?.hasGrown() ?? false
    }
}
