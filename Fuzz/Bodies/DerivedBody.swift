// The body that damages a store above its pages: entries of indexes, constraints and lists, counters, whole rows.
//
// Promises
//   1. The check objects exactly if an oracle does, whatever was removed, added or altered.
//   2. After a rebuild the check objects only to faults that are not in derived trees: rows that share unique values,
//      to-one values without a row, rows that cannot be read. Rows have not changed, and a second rebuild changes
//      nothing.
//   3. The independent audit agrees with the check, before and after the rebuild.
//   4. A dry run announces a change exactly if the rebuild changes something, and writes nothing.

import EspalierAudit
import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport

extension FuzzBody {
    /// The bytes are decisions: the trees and entries to damage, and the kind of damage.
    public static let derived = FuzzBody(
        name: "derived",
        seeds: {
            var seeds: [String: [UInt8]] = ["nothing": []]
            for tree in 0..<DerivedRun.treeNames.count {
                for action in 0..<UInt8(DerivedRun.actionCount) {
                    seeds["tree-\(tree)-\(action)"] = [UInt8(tree), action, 1, 0x5A, 3]
                }
            }
            return seeds
        },
        run: { bytes in
            do {
                var run = DerivedRun(bytes)
                try run.run()
            } catch {
                preconditionFailure("a store with sound pages throws \(error)")
            }
        })
}

/// One damage of the store, then check, audit and rebuild.
struct DerivedRun {
    /// Trees that can be damaged: not the schema, whose damage keeps a store closed, nor the application's metadata.
    static let treeNames = treeNumbers.keys.filter { $0 != "schema" && $0 != "metadata" }.sorted()
    /// The numbers of all trees.
    static let treeNumbers: [String: UInt64] = {
        do throws(StorageError) {
            let database = try open(DerivedFixture.file)
            let trees = try database.beginRead().trees().map(\.tree)
            try database.close()
            return Dictionary(uniqueKeysWithValues: trees.map { ($0.name, UInt64($0.id)) })
        } catch {
            preconditionFailure("the store of the body cannot be opened: \(error)")
        }
    }()
    static let actionCount = 6

    private var input: FuzzInput
    /// Whether a row was altered, or moved to a key that no row can have; the oracle does not judge such rows.
    private var hasAlteredRow = false

    init(_ bytes: [UInt8]) { input = FuzzInput(bytes) }

    /// A machine with the sound store.
    private let system = SimulatedFileSystem(seed: 22)

    private static func open(
        _ file: [UInt8], in system: SimulatedFileSystem = SimulatedFileSystem(seed: 22)
    ) throws(StorageError) -> Database {
        system.replaceContents(of: DerivedFixture.path, with: file)
        return try Database.open(DerivedFixture.path, in: system, options: .small)
    }

    mutating func run() throws {
        let database = try Self.open(DerivedFixture.file, in: system)
        let before = try Self.contents(of: database)
        var damageCount = 0
        while !input.isAtEnd, damageCount < 8 {
            try damage(database)
            damageCount += 1
        }
        let damaged = try Self.contents(of: database)
        let store = try BTreeStore.open(database, path: nil, model: nil)
        let report = try store.check()
        precondition(report.isComplete, "the check did not complete")
        let objects = !report.isOK || !report.dangling.isEmpty
        if damaged == before { precondition(!objects, "a sound store: \(report.findings)\(report.dangling)") }
        if !hasAlteredRow, let isInOrder = try judge(store, damaged) {
            precondition(
                isInOrder != objects,
                "the oracle says \(isInOrder), the check \(report.findings)\(report.dangling)\(report.duplicates)")
        }
        try audit(report)
        try rebuild(store, damaged)
        try audit(try store.check())
        try store.close()
    }

    /// Requires the audit, which reads the files as another process sees them, to agree with `report`.
    private func audit(_ report: StoreCheckReport) throws {
        let store = system.contents(of: DerivedFixture.path) ?? []
        let audit = try StoreAudit.run(store: store, log: system.contents(of: DerivedFixture.path + "-wal"))
        let isOK = report.isOK && report.dangling.isEmpty
        precondition(
            audit.isOK == isOK,
            "the audit says \(audit.findings.list), the check \(report.findings)\(report.dangling)\(report.duplicates)")
    }

    /// The verdict of the oracle; `nil` if the rows cannot be read.
    private mutating func judge(_ store: BTreeStore, _ contents: TreeContents) throws -> Bool? {
        var rows: [ObjectSnapshot] = []
        for entity in store.model.entities where entity.root == entity.index {
            do throws(StoreError) {
                rows += Array(try store.fetch(StoreFetch(entity: entity)))
            } catch .damagedContent {
                // A row was moved to a key that no row can have.
                hasAlteredRow = true
                return nil
            }
        }
        return DerivedOracle(contents, rows: rows).isInOrder
    }

    private mutating func rebuild(_ store: BTreeStore, _ damaged: TreeContents) throws {
        let plan = try store.rebuildDerivedTrees(isDryRun: true)
        precondition(plan.after == nil, "a dry run checks a result that it did not write")
        let untouched = try Self.contents(of: store.database)
        precondition(untouched == damaged, "a dry run writes")
        let rebuilt = try store.rebuildDerivedTrees()
        precondition(
            plan.hasChanges == rebuilt.hasChanges, "a dry run and a rebuild disagree about whether anything changes")
        precondition(
            plan.trees.map(\.isChanged) == rebuilt.trees.map(\.isChanged),
            "a dry run and a rebuild change different trees")
        let after = try store.check()
        let problems = after.findings.filter { !$0.tree.hasPrefix("rows:") }
        precondition(problems.isEmpty, "after a rebuild: \(problems)")
        precondition(after.dangling.allSatisfy { $0.tree.hasPrefix("rows:") }, "after a rebuild: \(after.dangling)")
        if !hasAlteredRow {
            precondition(after.findings.isEmpty, "after a rebuild: \(after.findings)")
            if let isInOrder = try judge(store, try Self.contents(of: store.database)) {
                precondition(
                    isInOrder == (after.isOK && after.dangling.isEmpty), "after a rebuild the oracle says \(isInOrder)")
            }
        }
        let again = try store.rebuildDerivedTrees()
        precondition(!again.hasChanges, "a second rebuild changes something: \(again.trees.filter(\.isChanged))")
        let contents = try Self.contents(of: store.database)
        for (name, rows) in damaged where name.hasPrefix("rows:") {
            precondition(contents[name] == rows, "a rebuild changed tree \(name)")
        }
        let pages = try store.database.check()
        precondition(pages.isOK, "a rebuild damages pages: \(pages.findings)")
    }

    // MARK: Damage

    /// The entries of all trees; integer keys as their big-endian bytes.
    static func contents(of database: Database) throws(StorageError) -> TreeContents {
        let read = try database.beginRead()
        var contents: TreeContents = [:]
        for tree in try read.trees().map(\.tree) {
            var entries: [[UInt8]: [UInt8]] = [:]
            var cursor = try read.cursor(over: tree)
            while try cursor.next() {
                let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
                entries[key] = try cursor.value()
            }
            contents[tree.name] = entries
        }
        return contents
    }

    private mutating func damage(_ database: Database) throws(StorageError) {
        let name = Self.treeNames[input.number(below: Self.treeNames.count)]
        let action = input.number(below: Self.actionCount)
        let position = Int(input.byte())
        var write = try database.beginWrite()
        guard let tree = try write.tree(named: name) else { return }
        var entries: [(key: [UInt8], value: [UInt8])] = []
        var cursor = try write.cursor(over: tree)
        while try cursor.next() {
            let key = try cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
            entries.append((key, try cursor.value()))
        }
        guard !entries.isEmpty else { return }
        let entry = entries[position % entries.count]
        switch action {
        case 0: try write.remove(entry.key, from: tree)
        case 1: try write.put(entry.value, for: flipped(entry.key), in: tree)
        case 2:
            try write.remove(entry.key, from: tree)
            try write.put(entry.value, for: flipped(entry.key), in: tree)
        case 3: try write.put(entries[Int(input.byte()) % entries.count].value, for: entry.key, in: tree)
        case 4:
            if name.hasPrefix("rows:") { hasAlteredRow = true }
            try write.put(flipped(entry.value), for: entry.key, in: tree)
        default:
            for entry in entries where !name.hasPrefix("rows:") { try write.remove(entry.key, from: tree) }
        }
        try write.commit(Durability.none)
    }

    /// The bytes with one of them changed.
    private mutating func flipped(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return [1] }
        var changed = bytes
        // Most keys differ at their end, so the position counts from there.
        let mask = input.byte()
        let place = Int(input.byte()) % bytes.count
        changed[bytes.count - 1 - place] ^= mask
        return changed
    }
}
