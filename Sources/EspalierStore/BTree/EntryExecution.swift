// Reads the values of a request from the entries of one index, and the row of an entry only if the entry does not have
// its values exactly: because its codes were cut, or because other values have the same code.
//
// Invariants
//   1. The result is that of reading all rows that match, also of a damaged index: unless it has as many entries as
//      there are rows, rows are read, and an entry whose row is read and does not exist is an error. An index that
//      lacks an entry and has another one without a row, or one with a condition, passes; a check of the store finds
//      these.
//   2. A plan that replaces a scan of all rows gives up after too many rows: in the order of an index they cost more.

internal import EspalierEngine
internal import EspalierModel

/// The execution of an `EntryPlan`.
struct EntryExecution {
    /// So many rows are read in any case, and one more for `entriesPerRow` entries.
    private static let rowCountMin = 64
    private static let entriesPerRow = 8

    private let plan: EntryPlan
    private let session: ReadSession
    private let entity: Entity
    private let isWanted: [Bool]
    private let excluded: Set<ObjectID>
    private let limit: Int
    private var reader: ColumnReader
    private var decoder: EntryDecoder
    /// The number of rows in the result.
    private var count = 0
    /// The number of entries of wanted rows that were read.
    private var entryCount = 0
    /// The number of rows that were read.
    private var rowCount = 0
    /// Whether entries have led to too many rows (invariant 2).
    private var hasGivenUp = false
    private var steps: FetchSteps

    init(_ plan: EntryPlan, _ fetch: StoreValueFetch, _ session: ReadSession) {
        let group = session.catalog.schema.groups[plan.group]
        (self.plan, self.session) = (plan, session)
        (entity, excluded, limit) = (fetch.rows.entity, fetch.excluded, fetch.rows.limit ?? .max)
        isWanted = session.catalog.numbering.isWanted(entity, includesSubentities: fetch.rows.includesSubentities)
        reader = ColumnReader(fetch.values, session, entriesOf: group)
        decoder = EntryDecoder(group, session.catalog.numbering)
        steps = fetch.rows.steps
        assert(limit > 0, "entries are read for no rows")
    }

    /// The values of all rows that match; `nil` if too many of the entries do not have them exactly, or if there are
    /// not as many entries as rows.
    ///
    /// - Complexity: O(entries in the ranges), or up to the limit.
    mutating func run() throws(StoreError) -> ValueCollector? {
        let (plan, session, entity) = (plan, session, entity)
        guard try session.hasEntryForEachRow(plan.group) else { return nil }
        defer { session.forgetRows() }
        var rows = try session.transaction.lookup(in: session.catalog.rowTree(of: entity))
        for range in plan.ranges where !hasGivenUp && count < limit {
            let walk = IndexWalk(session: session, group: plan.group, range: range, entity: entity)
            try walk.forEachEntry(isReversed: plan.isReversed, skipping: { _ in false }) {
                candidate, codes, isCut throws(StoreError) in
                try visit(candidate, codes, isCut: isCut, in: &rows)
            }
        }
        if hasGivenUp { return nil }
        assert(count <= limit && rowCount <= entryCount, "\(count) rows of \(limit), \(rowCount) of \(entryCount) read")
        var collector = reader.collector
        collector.isInOrder = plan.isInOrder
        return collector
    }

    /// Adds the row of an entry, if it is wanted; returns whether more entries are wanted.
    private mutating func visit(
        _ candidate: Candidate, _ codes: RawSpan, isCut: Bool, in rows: inout Lookup<UInt64>
    ) throws(StoreError) -> Bool {
        assert(count < limit, "\(count) rows of \(limit) are found, and another entry is read")
        try steps.count()
        let numbering = session.catalog.numbering
        guard isWanted[Int(candidate.entityNumber)], let entity = numbering.entity(candidate.entityNumber),
            let id = numbering.id(entityNumber: candidate.entityNumber, key: candidate.key),
            excluded.isEmpty || !excluded.contains(id)
        else { return true }
        entryCount += 1
        if !isCut, try isRead(codes, id, entity) { return count < limit }
        rowCount += 1
        if plan.replacesScan, rowCount > Self.rowCountMin + entryCount / Self.entriesPerRow {
            hasGivenUp = true
            return false
        }
        guard try readRow(id, entity, in: &rows) else { throw session.catalog.missingRow(of: candidate) }
        return count < limit
    }

    /// Adds the row of an entry if it passes the conditions; returns `false` if only the row can tell its values.
    private mutating func isRead(_ codes: RawSpan, _ id: ObjectID, _ entity: Entity) throws(StoreError) -> Bool {
        try decoder.decode(codes)
        guard plan.faithfulPlaces.allSatisfy({ decoder.isFaithful[$0] }) else { return false }
        for test in plan.tests {
            let row = IndexedRow(objectID: id, entity: entity, entry: decoder)
            guard try ResolvedPredicate.evaluate(test, on: row) else { return true }
        }
        guard try reader.add(id, of: entity, decoder) else { return false }
        count += 1
        return true
    }

    /// Adds the row with this ID if it passes the conditions; returns whether there is such a row.
    private mutating func readRow(
        _ id: ObjectID, _ entity: Entity, in rows: inout Lookup<UInt64>
    ) throws(StoreError) -> Bool {
        assert(StepCount.note(rows: 1))
        assert(entity.root == self.entity.root, "\(id) is in another hierarchy than \(self.entity.name)")
        let (catalog, session, root) = (session.catalog, session, self.entity)
        return try rows.withBeginning(of: id.key) { row, byteCount throws(StoreError) in
            let isWhole = row.byteCount == byteCount
            if let number = try catalog.check(row, of: byteCount, in: root, key: id.key) {
                guard number == catalog.numbering.entityNumbers[entity.index] else { return }
                if isWhole || session.reader.isWithin(row, slots: reader.slots) {
                    return try add(row, isWhole: isWhole, id, entity)
                }
            }
            let whole = try session.wholeRow(id.key, in: root)
            try whole.withRawSpan { row throws(StoreError) in
                guard session.reader.entityNumber(of: row) == catalog.numbering.entityNumbers[entity.index] else {
                    return
                }
                try add(row, isWhole: true, id, entity)
            }
        }
    }

    /// Adds a checked row, or the beginning of one that has the attributes of the columns, if it passes the conditions.
    private mutating func add(
        _ row: RawSpan, isWhole: Bool, _ id: ObjectID, _ entity: Entity
    ) throws(StoreError) {
        if !plan.tests.isEmpty {
            let bytes = SharedBytes()
            bytes.set(row, isWhole: isWhole)
            let subject = EvaluatedRow(objectID: id, entity: entity, row: bytes, session: session)
            for test in plan.tests {
                guard try ResolvedPredicate.evaluate(test, on: subject, memo: session.memo) else { return }
            }
        }
        if !reader.add(id, row), let failure = reader.failure { throw failure }
        count += 1
    }
}
