// The check of a store's content (level 4): rows, index entries, links and counters against each other.
//
// Proved by a check without findings
//   1. Every row can be decoded completely, and belongs in its tree; counters count the rows.
//   2. Every row has its entry in every index it belongs to, with the right flags, and there is no other entry.
//   3. No two rows share values that must be unique.
//   4. Every list matches the to-one relationships of its members; both directions of all other links agree.
//   5. Every reference leads to an existing row of the right entity; required values are present.
//   6. Every derived value is the one that follows from the other values of the store.
// Method: each tree is read from its beginning to its end. The entries that rows require and the entries that trees
// have are summed up in sketches (`EntrySketch`), so that the memory does not grow with the store; only where two sums
// differ, their unbalanced parts are read again and compared exactly.
// Not here: pages (the engine's check).

internal import EspalierEngine
internal import EspalierModel

extension BTreeStore {
    /// Checks the content of the whole store on one snapshot.
    ///
    /// - Parameter progress: called now and then; `false` ends the check.
    /// - Throws: the engine's errors about pages; wrong content is a finding.
    /// - Complexity: O(rows x indexes + links). The memory does not depend on the number of rows: at most about 32 MiB
    ///   beside the engine's cache and the longest row; 8 bytes for each member of the longest list of a relationship
    ///   that is ordered at both ends; and 16 bytes for each row of the largest set that shares the first 512 bytes of
    ///   unique values.
    public func check(progress: ((StoreCheckProgress) -> Bool)? = nil) throws(StoreError) -> StoreCheckReport {
        try withPath { () throws(StoreError) in
            let session = ReadSession(try beginRead(), catalog, sortSpace)
            var check = StoreCheck(session: session, mender: nil, progress: progress)
            try check.run()
            return check.report
        }
    }
}

struct StoreCheck {
    /// The most findings of one kind that are listed for one tree.
    private static let findingCountMax = 1000

    let session: ReadSession
    /// Mends the findings; `nil` = the check only reports.
    let mender: StoreMender?
    private let progress: ((StoreCheckProgress) -> Bool)?
    var report = StoreCheckReport()
    let hash = EntryHash()
    var presence: KeyPresence
    let plans: [EntityCheckPlan?]
    var lists: [ToManyList]
    /// By position in `schema.groups`: the entries that rows require, against the entries of the tree.
    var groupSketches: [EntrySketch]
    /// By position in `schema.groups`: the number of rows whose values are cut.
    var expectedCuts: [UInt64]
    /// By index of the root entity: the greatest key that a row has, or a reference names.
    var greatestKeys: [UInt64]
    private var noteCounts: [NoteKind: Int] = [:]
    private var stepCount = 0
    private var entryCount = 0
    private(set) var isCancelled = false

    init(session: ReadSession, mender: StoreMender?, progress: ((StoreCheckProgress) -> Bool)?) {
        self.session = session
        self.mender = mender
        self.progress = progress
        let catalog = session.catalog
        presence = KeyPresence(session)
        plans = EntityCheckPlan.all(catalog)
        lists = catalog.toManyLists()
        groupSketches = Array(repeating: EntrySketch(), count: catalog.schema.groups.count)
        expectedCuts = Array(repeating: 0, count: catalog.schema.groups.count)
        greatestKeys = Array(repeating: 0, count: catalog.model.entities.count)
        assert(plans.count == catalog.numbering.entities.count, "\(plans.count) plans of entities")
    }

    var catalog: StoreCatalog { session.catalog }
    var model: ManagedObjectModel { session.catalog.model }

    mutating func run() throws(StoreError) {
        try countEntries()
        // First, because it removes malformed counters, which later checks write anew.
        try checkCounters()
        for entity in model.entities where entity.root == entity.index { try collectKeys(entity) }
        for entity in model.entities where entity.root == entity.index { try checkRows(entity) }
        for group in catalog.schema.groups.indices { try checkEntries(group) }
        for list in lists.indices { try checkList(list) }
        if !isCancelled { try checkDerivedValues() }
        for entity in model.entities where entity.root == entity.index { try checkLastKey(entity) }
        try checkMetadata()
        try checkSchema()
        for (kind, count) in noteCounts.sorted(by: { $0.key < $1.key }) where count > Self.findingCountMax {
            let problem = "\(count - Self.findingCountMax) more findings of this kind are not listed"
            append(StoreFinding(entity: "", tree: kind.tree, key: "", problem: problem), to: kind.list)
        }
        report.isComplete = !isCancelled
    }

    // MARK: Findings

    /// The list of the report that gets a finding.
    enum FindingList: Int {
        case contradictions, dangling, unset
    }

    private struct NoteKind: Hashable, Comparable {
        let list: FindingList
        let tree: String

        static func < (left: NoteKind, right: NoteKind) -> Bool {
            (left.list.rawValue, left.tree) < (right.list.rawValue, right.tree)
        }
    }

    /// Adds a finding; only the first ones of each kind and tree are listed.
    mutating func note<Key>(
        _ entity: Entity?, _ tree: Tree<Key>, _ key: String, _ problem: @autoclosure () -> String,
        in list: FindingList = .contradictions
    ) {
        note(entity, treeNamed: tree.name, key, problem(), in: list)
    }

    /// Adds a finding; only the first ones of each kind and tree are listed.
    mutating func note(
        _ entity: Entity?, treeNamed tree: String, _ key: String, _ problem: @autoclosure () -> String,
        in list: FindingList = .contradictions
    ) {
        let kind = NoteKind(list: list, tree: tree)
        let count = (noteCounts[kind] ?? 0) + 1
        noteCounts[kind] = count
        guard count <= Self.findingCountMax else { return }
        append(StoreFinding(entity: entity?.name ?? "", tree: tree, key: key, problem: problem()), to: list)
    }

    private mutating func append(_ finding: StoreFinding, to list: FindingList) {
        switch list {
        case .contradictions: report.findings.append(finding)
        case .dangling: report.dangling.append(finding)
        case .unset: report.unsetValues.append(finding)
        }
    }

    /// Adds two rows that share values.
    mutating func note(_ duplicate: StoreDuplicate) {
        assert(duplicate.first.key < duplicate.second.key, "\(duplicate.first) is not before \(duplicate.second)")
        guard report.duplicates.count < Self.findingCountMax, !report.duplicates.contains(duplicate) else { return }
        report.duplicates.append(duplicate)
    }

    static func hexadecimal(_ bytes: RawSpan) -> String {
        bytes.copy(0..<bytes.byteCount).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: Steps

    /// Counts a row or an entry; returns whether the check continues.
    @inline(__always)
    mutating func countStep() -> Bool {
        stepCount &+= 1
        return stepCount & 1023 == 0 ? tellProgress() : true
    }

    @inline(never)
    private mutating func tellProgress() -> Bool {
        let state = StoreCheckProgress(entriesChecked: stepCount, entryCount: max(entryCount, stepCount))
        if let progress, !progress(state) { isCancelled = true }
        return !isCancelled
    }

    private mutating func countEntries() throws(StoreError) {
        for entity in model.entities where entity.root == entity.index {
            // Rows are read once for their keys and once for the check.
            for _ in 0..<2 { try count(catalog.rowTree(of: entity)) }
        }
        for tree in catalog.groupTrees { try count(tree) }
        for list in lists {
            try count(list.tree.tree)
            if case .owners(let back) = list.counterpart { try count(back.tree) }
        }
    }

    /// Adds the number of entries that the catalog states for a tree, which may be any.
    private mutating func count<Key>(_ tree: Tree<Key>) throws(StoreError) {
        if !isNew(tree) { entryCount.add(clamping: try session.transaction.count(of: tree)) }
    }

    /// Whether a tree was missing, and is created by the mender: the snapshot does not have it.
    func isNew<Key>(_ tree: Tree<Key>) -> Bool { mender?.isNew(tree) ?? false }

    // MARK: Reading trees

    /// Calls `body` with each entry of a tree with keys of bytes, until it returns `false`.
    @inline(__always)
    func forEachEntry(
        in tree: Tree<[UInt8]>, from lower: [UInt8] = [], _ body: (RawSpan, RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if isNew(tree) { return }
        var lookup = try session.transaction.lookup(in: tree)
        try lookup.forEach(from: lower, body)
    }

    /// Calls `body` with each row of a hierarchy, until it returns `false`.
    @inline(__always)
    func forEachRow(
        of root: Entity, _ body: (UInt64, RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        assert(root.root == root.index, "\(root.name) has no tree of its own")
        let tree = catalog.rowTree(of: root)
        if isNew(tree) { return }
        var cursor = try session.transaction.cursor(over: tree)
        guard try cursor.first() else { return }
        try cursor.forEachValue(body)
    }

    /// Calls `body` with the row that has this key in a hierarchy, if it exists and is sound.
    func withRow<R>(
        _ key: UInt64, of root: Entity, _ body: (_ row: RawSpan, _ entityNumber: UInt16) throws(StoreError) -> R
    ) throws(StoreError) -> R? {
        assert(root.root == root.index, "\(root.name) has no tree of its own")
        let tree = catalog.rowTree(of: root)
        if isNew(tree) { return nil }
        return try session.transaction.withValue(of: key, in: tree) { row throws(StoreError) -> R? in
            guard let number = session.entityNumber(of: row, key, root) else { return nil }
            return try body(row, number)
        } ?? nil
    }
}

// A method of the session: as one of the check, it would copy the check for each row.
extension ReadSession {
    /// The number of a row's entity if the row is sound.
    @inline(__always)
    func entityNumber(of row: RawSpan, _ key: UInt64, _ root: Entity) -> UInt16? {
        guard key != 0, case let number? = try? reader.check(row),
            catalog.numbering.root(ofEntity: number) == root.index
        else { return nil }
        return number
    }
}
