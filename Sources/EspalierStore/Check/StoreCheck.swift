// The check of a store's content (level 4): rows, index entries, links and counters against each other.
//
// What it proves, if it finds nothing
//   1. Every row can be decoded, completely, and belongs where it lies; counters count the rows.
//   2. Every row has its entry in every index it belongs to, and there is no other entry.
//   3. No values that must be unique are there twice.
//   4. Every list says what the to-one relationships of its members say; both directions of all other links agree.
// Not here: pages (the engine's check), whether values may be null (validation is the context's business).

internal import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Checks the content of the whole store on one snapshot.
    ///
    /// - Parameter progress: called now and then with the number of rows and entries looked at; `false` ends the check.
    /// - Throws: What the engine reports about pages; content that is wrong is a finding.
    /// - Complexity: O(rows x indexes + links); 16 bytes of memory for each link of the largest relationship.
    public func check(progress: ((Int) -> Bool)? = nil) throws(StoreError) -> StoreCheckReport {
        let session = ReadSession(try beginRead(), catalog, path: path)
        var check = StoreCheck(session: session, progress: progress)
        do throws(StoreCheck.Stop) {
            try check.run()
        } catch {
            if case .failed(let error) = error { throw error }
        }
        return check.report
    }
}

struct StoreCheck {
    /// Why a check ends early.
    enum Stop: Error {
        case cancelled
        case failed(StoreError)
    }

    let session: ReadSession
    private let progress: ((Int) -> Bool)?
    var report = StoreCheckReport()
    /// By position in `schema.groups`: rows that belong to the group, and those whose values are cut.
    private var expectedEntries: [Int]
    private var expectedCuts: [Int]
    /// For each to-one relationship with a to-many inverse, how many rows have a destination.
    var inlineCounts: [RelationshipID: Int] = [:]
    private var step = 0

    init(session: ReadSession, progress: ((Int) -> Bool)?) {
        self.session = session
        self.progress = progress
        expectedEntries = Array(repeating: 0, count: session.catalog.schema.groups.count)
        expectedCuts = expectedEntries
    }

    var catalog: StoreCatalog { session.catalog }
    var model: ManagedObjectModel { session.catalog.model }

    mutating func run() throws(Stop) {
        for entity in model.entities where entity.root == entity.index { try checkRows(entity) }
        for group in catalog.schema.groups.indices { try checkEntries(group) }
        for entity in model.entities {
            for relationship in entity.relationships
            where relationship.declaredBy == entity.index && relationship.isToMany {
                try checkLinks(relationship)
            }
        }
        report.isComplete = true
    }

    mutating func note(_ entity: Entity?, _ tree: Tree, _ key: String, _ problem: String) {
        report.findings.append(StoreFinding(entity: entity?.name ?? "", tree: tree.name, key: key, problem: problem))
    }

    mutating func countStep() throws(Stop) {
        step += 1
        guard step % 1024 == 0, let progress, !progress(step) else { return }
        throw .cancelled
    }

    /// What `body` gives; its error ends the check.
    func reading<R: ~Copyable>(_ body: () throws(StoreError) -> R) throws(Stop) -> R {
        do { return try body() } catch { throw .failed(error) }
    }

    /// Calls `body` with each entry of `tree`.
    func forEachEntry(
        of tree: Tree, _ body: (_ key: [UInt8], _ value: [UInt8]) throws(Stop) -> Void
    ) throws(Stop) {
        var stop: Stop?
        try reading { () throws(StoreError) in
            try session.transaction.forEach(in: tree, from: [], below: nil) { key, value in
                do throws(Stop) { try body(key.copy(0..<key.byteCount), value.copy(0..<value.byteCount)) } catch {
                    stop = error
                }
                return stop == nil
            }
        }
        if let stop { throw stop }
    }

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: Rows

    private mutating func checkRows(_ root: Entity) throws(Stop) {
        let tree = catalog.rowTree(of: root)
        var counts: [UInt16: Int] = [:]
        var lastKey: UInt64 = 0
        var cursor = try reading { () throws(StoreError) -> StoreCursor in try session.transaction.cursor(over: tree) }
        var isOnEntry = try step(&cursor, isFirst: true)
        while isOnEntry {
            try countStep()
            let key = try key(cursor)
            let bytes = try value(cursor)
            if let row = structure(of: bytes, key, root, tree) {
                counts[catalog.context.reference(row.objectID).entity, default: 0] += 1
                try checkContent(of: row, tree)
            }
            lastKey = key
            isOnEntry = try step(&cursor, isFirst: false)
        }
        for index in root.family { try checkCount(of: model.entities[index], counts, tree) }
        let counter = Counter.lastKey(rootNumber: catalog.context.entityNumbers[root.index])
        let given = try reading { () throws(StoreError) in try session.transaction.counter(counter, catalog) }
        if given < lastKey {
            note(root, tree, "", "the last key given out is \(given), but there is a row with key \(lastKey)")
        }
    }

    private func step(_ cursor: inout StoreCursor, isFirst: Bool) throws(Stop) -> Bool {
        do { return try isFirst ? cursor.first() : cursor.next() } catch { throw .failed(error) }
    }

    private func key(_ cursor: borrowing StoreCursor) throws(Stop) -> UInt64 {
        do { return try cursor.integerKey } catch { throw .failed(error) }
    }

    private func value(_ cursor: borrowing StoreCursor) throws(Stop) -> [UInt8] {
        do { return try cursor.value() } catch { throw .failed(error) }
    }

    /// The row, if its structure is sound.
    private mutating func structure(of bytes: [UInt8], _ key: UInt64, _ root: Entity, _ tree: Tree) -> StoredRow? {
        do throws(StoreError) {
            let number = try bytes.withRawSpan { row throws(StoreError) in
                try catalog.check(row, in: root, key: key)
            }
            guard let entity = catalog.context.entity(number),
                let id = catalog.context.id(entityNumber: number, key: key)
            else { return nil }
            return StoredRow(objectID: id, entity: entity, row: RowBytes(bytes), session: session)
        } catch {
            var reason = "the row cannot be read"
            if case .damagedContent(_, _, _, let found) = error { reason = found }
            note(root, tree, "\(key)", reason)
            return nil
        }
    }

    private mutating func checkContent(of row: StoredRow, _ tree: Tree) throws(Stop) {
        report.rowCounts[row.entity.name, default: 0] += 1
        let key = "\(row.objectID.key)"
        if let field = row.row.bytes.withRawSpan({ session.reader.contentProblem($0) }) {
            note(row.entity, tree, key, "the bytes of \(field) are no value of its type")
        }
        for relationship in row.entity.relationships where !relationship.isToMany {
            guard let id = try reading({ () throws(StoreError) in try row.destinationID(at: relationship.slot) })
            else { continue }
            if let inverse = model.inverse(of: relationship), inverse.isToMany {
                inlineCounts[RelationshipID(inverse), default: 0] += 1
            }
            let destination = model.destination(of: relationship)
            if catalog.schema.entity(of: id)?.isKind(of: destination) != true {
                note(
                    row.entity, tree, key, "\(relationship.name) leads to \(id.entityName), not to \(destination.name)")
            } else if try !exists(id) {
                let problem = "\(relationship.name) leads to \(id), which does not exist"
                report.dangling.append(
                    StoreFinding(entity: row.entity.name, tree: tree.name, key: key, problem: problem))
            }
        }
        try checkKeys(of: row)
    }

    private mutating func checkCount(of entity: Entity, _ counts: [UInt16: Int], _ tree: Tree) throws(Stop) {
        let number = catalog.context.entityNumbers[entity.index]
        let (counter, found) = (Counter.rows(entityNumber: number), counts[number] ?? 0)
        let counted = try reading { () throws(StoreError) in try session.transaction.counter(counter, catalog) }
        if counted != UInt64(found) { note(entity, tree, "", "the counter says \(counted) rows, there are \(found)") }
    }

    /// Whether there is a sound row with this ID.
    func exists(_ id: ObjectID) throws(Stop) -> Bool {
        do { return try session.row(id) != nil } catch {
            if case .damagedContent = error { return false }
            throw .failed(error)
        }
    }

    // MARK: Index entries

    /// Every index entry of a row is there.
    ///
    /// With the number of entries, this makes both ways: a key names its row.
    private mutating func checkKeys(of row: StoredRow) throws(Stop) {
        var key = GroupKey()
        let source = RowSource.values(
            try values(of: row),
            destinations: try row.entity.relationships.map { relationship throws(Stop) in
                try reading { () throws(StoreError) in try row.destinationID(at: relationship.slot) }
            })
        for index in catalog.schema.groupsByEntity[row.entity.index] {
            let tree = catalog.groupTrees[index]
            key.encode(catalog.schema.groups[index], source, catalog.context)
            expectedEntries[index] += 1
            if key.isCut { expectedCuts[index] += 1 }
            key.append(key: row.objectID.key)
            let bytes = key.bytes
            let found = try reading { () throws(StoreError) in try session.transaction.get(bytes, from: tree) }
            let number = catalog.context.entityNumbers[row.entity.index]
            let expected = GroupKey.entryValue(entityNumber: number, isCut: key.isCut)
            if found != expected {
                let problem = found == nil ? "the row has no entry" : "the row's entry names another entity or flag"
                note(row.entity, tree, "\(row.objectID.key)", problem)
            }
        }
    }

    private func values(of row: StoredRow) throws(Stop) -> [AttributeValue] {
        try row.entity.attributes.indices.map { slot throws(Stop) in
            try reading { () throws(StoreError) in try row.value(at: slot) }
        }
    }

    private mutating func checkEntries(_ index: Int) throws(Stop) {
        let (group, tree) = (catalog.schema.groups[index], catalog.groupTrees[index])
        let entity = model.entities[group.entity]
        var entryCount = 0
        var last: (values: [UInt8], source: RowSource, id: ObjectID)?
        var problems: [(key: [UInt8], problem: String)] = []
        let counter = Counter.cutEntries(tree)
        try forEachEntry(of: tree) { key, value throws(Stop) in
            entryCount += 1
            guard
                let candidate = key.withRawSpan({ key in
                    value.withRawSpan { try? catalog.candidate(key, $0, tree) }
                }),
                let id = catalog.context.id(entityNumber: candidate.entityNumber, key: candidate.key),
                let row = try sound(id)
            else {
                problems.append((key, "the entry leads to no row"))
                return
            }
            var expected = GroupKey()
            let source = RowSource.values(
                try values(of: row),
                destinations: try row.entity.relationships.map { relationship throws(Stop) in
                    try reading { () throws(StoreError) in try row.destinationID(at: relationship.slot) }
                })
            guard row.entity.isKind(of: entity) else {
                problems.append((key, "the entry leads to a row of \(row.entity.name)"))
                return
            }
            expected.encode(group, source, catalog.context)
            let values = Array(key.dropLast(8))
            if expected.bytes != values {
                problems.append((key, "the entry is not that of its row \(id.key)"))
            } else if group.isUnique, !expected.hasNull, let last, last.values == values,
                group.elements.allSatisfy({ last.source.value(of: $0.property) == source.value(of: $0.property) })
            {
                problems.append((key, "rows \(last.id.key) and \(id.key) share values that must be unique"))
            }
            last = (values, source, id)
        }
        for problem in problems { note(entity, tree, Self.hexadecimal(problem.key), problem.problem) }
        report.indexEntryCount += entryCount
        if entryCount != expectedEntries[index] {
            note(entity, tree, "", "there are \(entryCount) entries for \(expectedEntries[index]) rows")
        }
        let cuts = try reading { () throws(StoreError) in try session.transaction.counter(counter, catalog) }
        if cuts != UInt64(expectedCuts[index]) {
            note(entity, tree, "", "the counter says \(cuts) cut entries, there are \(expectedCuts[index])")
        }
    }

    /// The row with this ID, if there is one that can be read.
    func sound(_ id: ObjectID) throws(Stop) -> StoredRow? {
        do { return try session.row(id) } catch {
            if case .damagedContent = error { return nil }
            throw .failed(error)
        }
    }
}
