// The audit above the pages: the content of an object store's trees, checked from ObjectFormat.md alone. Rules 101 to
// 135.
//
// Invariants
//   1. Each tree is read once, the rows before every tree that is compared with them. Trees are read a second time only
//      where a comparison finds a difference or references must be searched again.
//   2. A tree that could not be read completely is not compared; `ObjectReport.uncompared` names it.

/// The audit of the content of one store.
final class ObjectAudit {
    private static let applicationIdentifier: UInt32 = 0x4553_504C
    private static let uncomparedCountMax = 100

    private(set) var findings = AuditFindings()
    private(set) var report = ObjectReport()

    /// The records of the catalog by tree name.
    private let trees: [String: CatalogRecord]
    private let catalogIsComplete: Bool
    private var incompleteTrees: Set<String> = []
    private var records: [[UInt8]: [UInt8]] = [:]
    private var roles: [String: TreeRole] = [ObjectSchema.treeName: .schema]
    private var rows: RowCheck?
    private var counters: [UInt64: UInt64] = [:]
    /// By position of the group in the schema; `listSketches` by position of the list.
    private var groupSketches: [MultisetSketch] = []
    private var listSketches: [MultisetSketch] = []
    private var linkCheck: LinkCheck?
    /// The codes of the previous entry of a unique group and its row; `nil` if that entry was cut.
    private var lastEntry: (codes: ArraySlice<UInt8>, key: UInt64)?

    /// `nil` if the file is not an object store, or is one that was never given a model.
    init?(_ superblock: Superblock, _ catalog: Catalog) {
        guard superblock.application == Self.applicationIdentifier,
            catalog.records.contains(where: { $0.title == ObjectSchema.treeName })
        else { return nil }
        trees = Dictionary(catalog.records.map { ($0.title, $0) }, uniquingKeysWith: { first, _ in first })
        catalogIsComplete = catalog.isComplete
    }

    /// The order in which the trees are read: the schema, then rows, then all others.
    static func order(_ records: [CatalogRecord]) -> [Int] {
        func rank(_ name: String) -> Int { name == ObjectSchema.treeName ? 0 : name.hasPrefix("rows:") ? 1 : 2 }
        return records.indices.sorted { (rank(records[$0].title), $0) < (rank(records[$1].title), $1) }
    }

    // MARK: The walk over all trees

    /// The closure that is called with each entry of a tree; `nil` if the tree has no role in an object store.
    func visitor(of tree: String) -> ((Key, [UInt8]) -> Void)? {
        guard let role = roles[tree], trees[tree]?.hasIntegerKeys == role.hasIntegerKeys else { return nil }
        lastEntry = nil
        linkCheck = nil
        switch role {
        case .schema: return { [unowned self] key, value in records[key.bytes] = value }
        case .counters: return { [unowned self] key, value in takeCounter(key.integer, value) }
        case .metadata: return { [unowned self] key, value in takeMetadata(key.bytes, value) }
        case .rows(let root):
            rows?.hierarchies[root] = HierarchyState(isWhole: true)
            return { [unowned self] key, value in takeRow(key.integer, value, tree, root) }
        case .group(let group): return { [unowned self] key, value in takeEntry(key.bytes, value, tree, group) }
        case .links(let list):
            linkCheck = rows.map { LinkCheck($0.schema.lists[list], isOwnerTree: false) }
            return { [unowned self] key, value in takeLink(key.bytes, value, tree, list, isOwnerTree: false) }
        case .owners(let list):
            linkCheck = rows.map { LinkCheck($0.schema.lists[list], isOwnerTree: true) }
            return { [unowned self] key, value in takeLink(key.bytes, value, tree, list, isOwnerTree: true) }
        }
    }

    /// Notes the end of a tree.
    ///
    /// - Parameter isLastOfRows: whether this was the last tree of rows.
    func end(_ tree: String, isComplete: Bool, isLastOfRows: Bool) {
        if !isComplete { incompleteTrees.insert(tree) }
        if case .rows(let root)? = roles[tree], !isComplete { rows?.hierarchies[root]?.isWhole = false }
        linkCheck?.finish { [unowned self] in add($0, tree, "") }
        if tree == ObjectSchema.treeName { isComplete ? readSchema() : leaveOut("all objects: their schema") }
        if isLastOfRows { rows?.finish() }
    }

    private func readSchema() {
        do throws(Breach) {
            let schema = try ObjectSchema(records) { [unowned self] key, breach in
                add(breach, ObjectSchema.treeName, key)
            }
            report.format = schema.format
            rows = RowCheck(schema)
            rows?.checkDefaultRows { [unowned self] number, breach in
                add(breach, ObjectSchema.treeName, "layout:\(number)")
            }
            groupSketches = Array(repeating: MultisetSketch(), count: schema.groups.count)
            listSketches = Array(repeating: MultisetSketch(), count: schema.lists.count)
            roles = TreeRole.all(schema)
            checkTrees()
        } catch {
            add(error, ObjectSchema.treeName, "")
        }
        records = [:]
    }

    private func checkTrees() {
        for (name, role) in roles.sorted(by: { $0.key < $1.key }) {
            if let record = trees[name] {
                guard record.hasIntegerKeys != role.hasIntegerKeys else { continue }
                incompleteTrees.insert(name)
                add(Breach(106, 0, "the tree has keys of the wrong kind"), name, "")
            } else {
                incompleteTrees.insert(name)
                if catalogIsComplete {
                    add(Breach(106, 0, "the model requires the tree, but it does not exist"), name, "")
                }
            }
        }
        for name in trees.keys.sorted() where roles[name] == nil && ObjectSchema.isNameOfModel(name) {
            add(Breach(106, 0, "the model does not require the tree"), name, "")
        }
    }

    private func add(_ breach: Breach, _ tree: String, _ key: @autoclosure () -> String) {
        findings.add(breach.rule, .tree(tree, key: key()), breach.text)
    }

    private func leaveOut(_ what: String) {
        guard report.uncompared.count < Self.uncomparedCountMax else { return }
        report.uncompared.append(what)
    }

    // MARK: Entries

    private func takeCounter(_ key: UInt64, _ value: [UInt8]) {
        let (kind, number) = (key >> 32, key & 0xFFFF_FFFF)
        guard value.count == 8, (1...4).contains(kind),
            kind == 3 || (number > 0 && number < UInt64(rows?.schema.entities.count ?? 0))
        else {
            return add(
                Breach(107, 0, "a counter of kind \(kind) for number \(number) has \(value.count) bytes"),
                ObjectSchema.countersName, "\(key)")
        }
        counters[key] = value.u64(0)
    }

    private func takeMetadata(_ name: [UInt8], _ value: [UInt8]) {
        guard !Text.isValid(name, 0..<name.count) || !TaggedBytes.isValue(value, 0..<value.count) else { return }
        add(
            Breach(111, 0, "the name is not UTF-8, or the value cannot be decoded"), ObjectSchema.metadataName,
            name.hexadecimal)
    }

    private func takeRow(_ key: UInt64, _ value: [UInt8], _ tree: String, _ root: Int) {
        rows?.hierarchies[root]?.greatestKey = key
        do throws(Breach) {
            guard let row = try rows?.row(value, key: key, root: root) else { return }
            rows?.note(row, key: key) { [unowned self] in add($0, tree, "\(key)") }
            rows?.noteEntries(of: row, key: key) { [unowned self] in
                groupSketches[$0].add(ContentHash($1))
            }
            rows?.forEachLink(of: row, key: key) { [unowned self] list, _, hash in
                listSketches[list].add(hash)
            }
        } catch {
            rows?.hierarchies[root]?.isWhole = false
            add(error, tree, "\(key)")
        }
    }

    private func takeEntry(_ key: [UInt8], _ value: [UInt8], _ tree: String, _ group: Int) {
        report.entryCount += 1
        guard rows?.schema.groups[group].isComparable != false else {
            if key.count <= 8 || value.count != 3 {
                add(Breach(121, 0, "the entry is not the key of a row"), tree, key.hexadecimal)
            }
            return
        }
        groupSketches[group].subtract(ContentHash(key + value))
        guard let rows, rows.schema.groups[group].isUnique, key.count > 8 else { return }
        let row = key.u64(key.count - 8).byteSwapped
        let codes = key.dropLast(8)
        // Rule 122 checks cut codes in their whole length, with the rows.
        guard value.u8(2) == 0 else {
            lastEntry = nil
            return
        }
        if let last = lastEntry, last.codes == codes, KeyCode.hasNull(codes, rows.schema.groups[group]) == false {
            let text = "rows \(last.key) and \(row) share values that must be unique"
            add(Breach(122, 0, text), tree, key.hexadecimal)
        }
        lastEntry = (codes, row)
    }

    private func takeLink(_ key: [UInt8], _ value: [UInt8], _ tree: String, _ list: Int, isOwnerTree: Bool) {
        if !isOwnerTree { report.linkCount += 1 }
        guard let rows else { return }
        do throws(Breach) {
            let link = try linkCheck?.link(key, value, rows) { [unowned self] in add($0, tree, key.hexadecimal) }
            guard let link else { return }
            LinkShare.forEach(of: link, list, isOwnerTree: isOwnerTree, rows.schema) { [unowned self] share in
                if share.isFirst {
                    listSketches[share.list].add(share.hash)
                } else {
                    listSketches[share.list].subtract(share.hash)
                }
            }
        } catch {
            add(error, tree, key.hexadecimal)
        }
    }

    // MARK: The end

    /// Compares the trees with each other.
    ///
    /// - Parameter scan: reads a tree again and calls the closure with each entry.
    func finish(
        _ scan: (CatalogRecord, @escaping (Key, [UInt8]) -> Void) throws(AuditFailure) -> Void
    ) throws(AuditFailure) {
        guard let rows else { return }
        for (index, entity) in rows.schema.model.entities.enumerated() where !entity.description.isAbstract {
            report.rowCounts.append((entity.name, rows.counts[rows.schema.numbers[index]] ?? 0))
        }
        checkCounters(rows)
        checkCutValues(rows)
        if rows.mustReadAgain { try findDangling(scan) }
        var differing: [ComparisonID: Set<Int>] = [:]
        let ids = rows.schema.groups.indices.map(ComparisonID.group) + rows.schema.lists.indices.map(ComparisonID.list)
        for id in ids {
            let comparison = Comparison(id, rows.schema)
            guard canCompare(comparison, rows) else {
                leaveOut(comparison.title)
                continue
            }
            let sketch =
                switch id {
                case .group(let index): groupSketches[index]
                case .list(let index): listSketches[index]
                }
            guard !sketch.isBalanced else { continue }
            differing[id] = sketch.differing(atMost: Differences.bucketCountMax)
        }
        guard !differing.isEmpty else { return }
        let differences = Differences(rows, differing)
        for tree in differences.trees.sorted(by: { $0.rank < $1.rank }) {
            guard let record = trees[tree.name] else { continue }
            try scan(record, differences.visitor(of: tree))
        }
        differences.report { [unowned self] tree, key, breach in add(breach, tree, key) }
    }

    private func canCompare(_ comparison: Comparison, _ rows: RowCheck) -> Bool {
        comparison.trees.allSatisfy { !incompleteTrees.contains($0) }
            && comparison.roots.allSatisfy { rows.hierarchies[$0]?.isWhole == true }
    }

    /// Rules 108 to 110.
    private func checkCounters(_ rows: RowCheck) {
        guard !incompleteTrees.contains(ObjectSchema.countersName) else { return leaveOut("counters") }
        let (schema, tree) = (rows.schema, ObjectSchema.countersName)
        func check(_ rule: Int, _ key: UInt64, _ what: String, _ found: UInt64, _ isRight: (UInt64, UInt64) -> Bool) {
            let counted = counters[key] ?? 0
            guard !isRight(counted, found) else { return }
            add(Breach(rule, 0, "\(what) is stored as \(counted), but is \(found)"), tree, "\(key)")
        }
        for number in 1..<UInt64(schema.entities.count) {
            let entity = schema.entities[Int(number)]
            let name = entity.map { schema.model.entities[$0].name } ?? "a removed entity"
            if let entity, rows.hierarchies[schema.model.entities[entity].root]?.isWhole != true { continue }
            let found = rows.counts[UInt16(number)] ?? 0
            check(108, 1 << 32 | number, "the number of rows of \(name)", found, ==)
            guard let entity, let state = rows.hierarchies[entity] else { continue }
            check(109, 2 << 32 | number, "the last primary key of \(name)", state.greatestKey, >=)
        }
        for (index, group) in schema.groups.enumerated() where group.isComparable {
            guard let record = trees[group.tree], canCompare(Comparison(.group(index), schema), rows) else { continue }
            let found = rows.cutCounts[index] ?? 0
            check(110, 3 << 32 | UInt64(record.tree), "the number of cut entries of \(group.tree)", found, ==)
        }
    }

    /// Rule 122 for values that are too long for a key and were cut.
    private func checkCutValues(_ rows: RowCheck) {
        for group in rows.cutValues.keys.sorted() {
            for pair in rows.sharedCutValues(of: group) {
                let text = "rows \(pair.other) and \(pair.key) share long values that must be unique"
                add(Breach(122, 0, text), rows.schema.groups[group].tree, "\(pair.key)")
            }
        }
    }

    private func findDangling(
        _ scan: (CatalogRecord, @escaping (Key, [UInt8]) -> Void) throws(AuditFailure) -> Void
    ) throws(AuditFailure) {
        for (name, role) in roles.sorted(by: { $0.key < $1.key }) {
            guard case .rows(let root) = role, let record = trees[name], record.hasIntegerKeys else { continue }
            try scan(record) { [unowned self] key, value in
                guard let row = try? rows?.row(value, key: key.integer, root: root) else { return }
                rows?.reportDangling(row) { [unowned self] in add($0, name, "\(key.integer)") }
            }
        }
    }
}

extension Key {
    /// The key of a bytes tree; empty for an integer tree.
    var bytes: [UInt8] {
        guard case .bytes(let bytes) = self else { return [] }
        return bytes
    }

    /// The key of an integer tree; 0 for a bytes tree.
    var integer: UInt64 {
        guard case .integer(let number) = self else { return 0 }
        return number
    }
}

extension [UInt8] {
    /// The bytes as hexadecimal digits for a message; only the first 64 bytes are shown.
    var hexadecimal: String {
        let text = prefix(64).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return count > 64 ? text + "…" : text
    }
}
