// Executes a plan in one read transaction.
//
// Invariants
//   1. Every row's structure is checked before any part of the row is used.
//   2. A row is tested in place. A fetch of rows copies it once, into the result. If rows must be sorted and their
//      bytes are used, each is first copied into the sort buffer. Conditions that a `ByteCondition` cannot test, and
//      sort keys that are not the row's own attributes, get a copy in one reused buffer.
//   3. Of a row that has pages of its own, only the first page is read, unless a condition, a sort key or a column
//      needs an attribute behind it, or the row itself is a part of the result.
//   4. Each row, entry or sorted row is a step (`FetchSteps`), so a fetch that was cancelled ends soon.
// Not here: the test of such a row (+LongRows), and when the way along an index is left (+Walk).

internal import EspalierEngine
internal import EspalierModel

struct FetchExecution: ~Copyable {
    /// A limit below this number is short: if an index then has more candidates than this, `find` first scans the first
    /// rows, at least this many of them.
    private static let firstScanCount = 512

    /// The plan, which changes if the way along an index is left.
    var plan: FetchPlan
    let session: ReadSession
    let catalog: StoreCatalog
    let reader: RowReader
    let storeTag: UInt32
    var residual: [ResolvedPredicate.Node] { didSet { chooseTests() } }
    /// Those conditions of `residual` that the bytes of a row answer.
    private(set) var tests: [ByteCondition] = []
    /// The other conditions of `residual`: they are evaluated.
    private(set) var evaluated: [ResolvedPredicate.Node] = []
    /// The attributes that are read in the bytes of a row that has pages of its own; `nil` if such rows are read whole.
    private var ownSlots: OwnSlots?
    /// Whether all sort keys are attributes of the row itself.
    var sortsByOwnValues = false
    /// The text of a row without case or accents, as a test compares it; reused for each row.
    var foldedText: [UInt8] = []
    /// The bytes whose order is that of the sort keys; reused for each row.
    var sortBytes: [UInt8] = []
    var sink: FetchSink
    var sortBuffer: SortBuffer?
    lazy var scratch = SharedBytes()
    /// The properties of the last row that rows with the same beginning share.
    private var lastAlike: SharedProperties?
    /// Whether every row that is found belongs to the result, in the order in which it is found.
    var acceptsEveryRow: Bool
    /// The primary keys of the rows that are wanted and not visited yet.
    private var keys: ClosedRange<UInt64>
    /// Rows that are left out.
    let excluded: Set<ObjectID>
    /// The reader of values as it was before the first row.
    let columns: ColumnReader?
    /// The number of rows that a scan may still visit.
    private var rowsToScan = Int.max
    /// The key at which a scan has stopped because `rowsToScan` was 0.
    private var resumeKey: UInt64?
    private var steps: FetchSteps

    init(
        _ plan: consuming FetchPlan, _ kind: FetchKind, _ session: ReadSession, _ values: ColumnReader? = nil,
        excluding excluded: Set<ObjectID> = []
    ) {
        (self.excluded, columns) = (excluded, values)
        self.plan = plan
        self.session = session
        steps = FetchSteps(session.isCancelled)
        catalog = session.catalog
        (reader, storeTag) = (session.reader, session.catalog.numbering.storeTag)
        residual = self.plan.residual
        sink = FetchSink(
            kind, offset: self.plan.offset, limit: self.plan.limit, numbering: session.catalog.numbering, values)
        if case .sorted = self.plan.order, kind != .count { sortBuffer = SortBuffer(for: self.plan, session.sortSpace) }
        acceptsEveryRow = residual.isEmpty && sortBuffer == nil
        keys = self.plan.keys
        if case .sorted(let sortKeys) = self.plan.order { sortsByOwnValues = sortKeys.allSatisfy(\.isOfOwnValue) }
        chooseTests()
        assert(self.plan.checkInvariants(catalog.schema))
    }

    private mutating func chooseTests() {
        (tests, evaluated) = ([], [])
        for node in residual {
            if let test = ByteCondition.make(node) { tests.append(test) } else { evaluated.append(node) }
        }
        assert(tests.count + evaluated.count == residual.count, "\(residual.count) conditions are tested")
        ownSlots = slotsOfLongRows()
    }

    /// Whether entries of an index are all that the result needs.
    var readsNoRow: Bool {
        if case .rows = plan.access { return false }
        return plan.isExact && residual.isEmpty && sortBuffer == nil && !sink.needsRow
    }

    /// Finds all rows and passes them to the sink.
    consuming func run() throws(StoreError) -> FetchSink {
        let session = session
        defer { session.forgetRows() }
        switch plan.access {
        case .nothing: return sink
        case .rows: try scan()
        case .index(let group, let range, let isReversed): try walk(group, range, isReversed: isReversed)
        case .oneValue(let group, let prefix): try find(.index(group: group, [.beginning(with: prefix)]))
        case .candidates(let source): try find(source)
        }
        return try finish()
    }

    /// Visits the rows of the candidates, by primary key.
    ///
    /// - Complexity: with a limit below 512 and by primary key, O(square root of rows x (offset + limit)) if there are
    ///   at most 512 candidates or the scan finds enough; otherwise O(candidates).
    mutating func find(_ source: CandidateSource) throws(StoreError) {
        if case .index(let group, let ranges) = source, sink.kind == .count, plan.isExact, acceptsEveryRow {
            return try countEntries(group, ranges)
        }
        let countMax = isWorthReadingAll ? plan.candidateCountMax : Int.max
        guard let limit = plan.limit, case .primaryKey = plan.order, limit < Self.firstScanCount,
            source.isFoundInIndexes
        else {
            return try visitCandidates(CandidateCollector(session: session, countMax: countMax).candidates(source))
        }
        if let few = try CandidateCollector(session: session, countMax: Self.firstScanCount).candidates(source) {
            return try visitCandidates(few)
        }
        // If many rows match, a scan finds as many as are wanted among the first of all rows.
        let wanted = Double(limit) + Double(plan.offset)
        let count = try session.transaction.count(of: catalog.rowTree(of: plan.entity))
        // No more than a file can have, whatever it states.
        rowsToScan = max(Self.firstScanCount, Int(min(4 * (Double(count) * wanted).squareRoot(), 0x1p62)))
        let saved = (residual, acceptsEveryRow)
        try scanInstead()
        guard rowsToScan == 0, let resumeKey else { return }
        // Too few of the first rows match: the candidates find the rest.
        assert(keys.contains(resumeKey), "a scan of \(keys) stops at \(resumeKey)")
        rowsToScan = Int.max
        (residual, acceptsEveryRow) = saved
        sink.comesFromScan = false
        (keys, self.resumeKey) = (resumeKey...max(resumeKey, keys.upperBound), nil)
        try visitCandidates(CandidateCollector(session: session, countMax: countMax).candidates(source))
    }

    /// Counts the entries in disjoint ranges of an index: each row has one entry, so nothing is collected or sorted.
    private mutating func countEntries(_ group: Int, _ ranges: [EntryRange]) throws(StoreError) {
        let tree = catalog.groupTrees[group]
        var rows = try rowLookup()
        var entries = try session.transaction.lookup(in: tree)
        var wantsMore = true
        for range in ranges where wantsMore {
            try entries.forEach(from: range.lower) { key, value throws(StoreError) in
                if let upper = range.upper, !upper.withRawSpan({ key.precedes($0) }) { return false }
                assert(StepCount.note())
                wantsMore = try visitRow(of: catalog.candidate(key, value, tree), in: &rows)
                return wantsMore
            }
        }
    }

    /// Whether reading all rows can be cheaper than reading many candidates: not if candidates need not be read, nor if
    /// a condition needs more than the bytes of each row, as one across a relationship does.
    private var isWorthReadingAll: Bool {
        if plan.isExact, !sink.needsRow { return false }
        return plan.condition.allSatisfy { ByteCondition.make($0) != nil }
    }

    /// Visits the rows of the candidates, or all rows if there were too many candidates (`nil`).
    private mutating func visitCandidates(_ candidates: [Candidate]?) throws(StoreError) {
        guard let candidates else { return try scanInstead() }
        assert(
            zip(candidates, candidates.dropFirst()).allSatisfy { $0.key < $1.key },
            "candidates do not come by ascending key")
        if acceptsEveryRow { sink.reserveCapacity(candidates.count) }
        var rows = try rowLookup()
        for candidate in candidates {
            guard try visitRow(of: candidate, in: &rows) else { return }
        }
    }

    private consuming func finish() throws(StoreError) -> FetchSink {
        assert(
            acceptsEveryRow == (residual.isEmpty && sortBuffer == nil),
            "rows are tested without need, or not tested")
        assert(sink.checkInvariants())
        guard let buffer = sortBuffer.take() else { return sink }
        var rows = try buffer.rows()
        sink.spilledByteCount = rows.spilledByteCount
        while let entry = try rows.next() {
            try steps.count()
            guard entry.row.withRawSpan({ sink.accept(entry.id, $0) }) else { break }
        }
        return sink
    }

    /// Scans although the plan has candidates: each row is tested for the whole condition.
    private mutating func scanInstead() throws(StoreError) {
        residual = plan.condition
        sink.comesFromScan = true
        acceptsEveryRow = residual.isEmpty && sortBuffer == nil
        try scan()
    }

    /// Visits all rows of the hierarchy, by primary key.
    mutating func scan() throws(StoreError) {
        let tree = catalog.rowTree(of: plan.entity)
        if acceptsEveryRow { sink.reserveCapacity(Int(clamping: try session.transaction.count(of: tree))) }
        var cursor = try session.transaction.cursor(over: tree)
        let (least, greatest) = (keys.lowerBound, keys.upperBound)
        guard try least == 0 ? cursor.first() : cursor.seek(least) else { return }
        guard let ownSlots else {
            return try cursor.forEachValue { key, row throws(StoreError) in
                guard try scansRow(at: key, upTo: greatest) else { return false }
                return try test(row, key: key)
            }
        }
        try cursor.forEachBeginning { key, row, byteCount throws(StoreError) in
            guard try scansRow(at: key, upTo: greatest) else { return false }
            return try test(beginning: row, of: byteCount, key: key, ownSlots)
        }
    }

    /// Counts a row of a scan; `false` if the scan ends before it.
    @inline(__always)
    private mutating func scansRow(at key: UInt64, upTo greatest: UInt64) throws(StoreError) -> Bool {
        try steps.count()
        guard key <= greatest else { return false }
        guard rowsToScan > 0 else {
            resumeKey = key
            return false
        }
        rowsToScan -= 1
        return true
    }

    /// Visits the entries of an index in order, those with equal values by ascending primary key.
    private mutating func walk(_ group: Int, _ range: EntryRange, isReversed: Bool) throws(StoreError) {
        let entries = IndexWalk(session: session, group: group, range: range, entity: plan.entity)
        assert(sortBuffer == nil, "rows that an index has in order are sorted")
        var rows = try rowLookup()
        // Rows that the offset skips need not be visited if each entry of the index has a row in the result.
        let entity = catalog.model.entities[catalog.schema.groups[group].entity]
        let countsAll =
            plan.isExact && acceptsEveryRow && keys == StoreFetch.allKeys && excluded.isEmpty
            && entity.family.allSatisfy { plan.isWanted[Int(catalog.numbering.entityNumbers[$0])] }
        let choice = plan.mayLeaveIndex ? plan.orderChoice : nil
        var (visitedCount, isLeft) = (0, false)
        try entries.forEach(isReversed: isReversed, skipping: { countsAll && sink.skip($0) }) {
            candidate throws(StoreError) in
            guard try visitRow(of: candidate, in: &rows) else { return false }
            visitedCount += 1
            if let choice { isLeft = leavesIndex(choice, after: visitedCount) }
            return !isLeft
        }
        if isLeft, let choice { try sort(insteadOf: choice) }
    }

    /// A lookup for the rows of candidates.
    private func rowLookup() throws(StoreError) -> Lookup<UInt64> {
        try session.transaction.lookup(in: catalog.rowTree(of: plan.entity))
    }

    /// Visits the row of a candidate, or accepts it unread if its ID is enough; returns whether more rows are wanted.
    private mutating func visitRow(of candidate: Candidate, in rows: inout Lookup<UInt64>) throws(StoreError) -> Bool {
        try steps.count()
        guard plan.isWanted[Int(candidate.entityNumber)], keys.contains(candidate.key) else { return true }
        if plan.isExact, acceptsEveryRow, !sink.needsRow || sink.isSkipping,
            let id = catalog.numbering.id(entityNumber: candidate.entityNumber, key: candidate.key)
        {
            if !excluded.isEmpty, excluded.contains(id) { return true }
            return [UInt8]().withRawSpan { sink.accept(id, $0) }
        }
        var wantsMore = true
        let isThere: Bool
        if let ownSlots {
            isThere = try rows.withBeginning(of: candidate.key) { row, byteCount throws(StoreError) in
                wantsMore = try test(beginning: row, of: byteCount, key: candidate.key, ownSlots)
            }
        } else {
            isThere = try rows.withValue(of: candidate.key) { row throws(StoreError) in
                wantsMore = try test(row, key: candidate.key)
            }
        }
        // A row that a fetch names, or to which a list leads, may be missing.
        if !isThere, isOfEntries { throw catalog.missingRow(of: candidate) }
        return wantsMore
    }

    /// Whether all candidates come from entries of indexes, each of which has a row.
    private var isOfEntries: Bool {
        switch plan.access {
        case .index, .oneValue: true
        case .candidates(let source): source.isFoundInIndexes
        case .nothing, .rows: false
        }
    }

    /// The properties that all rows with the same first two bytes share: these determine widths and layout.
    private struct SharedProperties {
        let head: UInt16
        let shape: RowLayout.Shape
        let offsets: RowOffsets
        let entityTag: UInt32
        let isWanted: Bool
    }

    /// Checks and tests a row, and accepts it if it passes; returns whether more rows are wanted.
    @inline(__always)
    mutating func test(_ row: RawSpan, key: UInt64) throws(StoreError) -> Bool {
        assert(StepCount.note(rows: 1))
        let alike: SharedProperties
        // Apart from its head, `catalog.check` looks at the key, which must not be 0, and at the fields.
        if let lastAlike, key != 0, row.byteCount >= 2, row.number(at: 0) == lastAlike.head,
            reader.hasSoundFields(row, lastAlike.shape, lastAlike.offsets)
        {
            alike = lastAlike
        } else {
            alike = try sharedProperties(of: row, key: key)
        }
        assert(reader.shape(of: row).entityNumber == alike.shape.entityNumber, "rows that begin alike have two shapes")
        guard alike.isWanted else { return true }
        let id = ObjectID(storeTag: storeTag, entityTag: alike.entityTag, key: key)
        if !excluded.isEmpty, excluded.contains(id) { return true }
        if acceptsEveryRow { return sink.accept(id, row) }
        switch verdict(on: row, alike.shape, alike.offsets) {
        case .fails: return true
        case .passes: return try accept(row, id)
        case .unknown: return try evaluate(row, id)
        }
    }

    /// Tests a row of which only `row` was read; returns whether more rows are wanted.
    @inline(__always)
    private mutating func test(
        beginning row: RawSpan, of byteCount: Int, key: UInt64, _ slots: OwnSlots
    ) throws(StoreError) -> Bool {
        if row.byteCount == byteCount { return try test(row, key: key) }
        return try testLong(row, of: byteCount, key: key, slots)
    }

    /// The answer of a row by its bytes; `.unknown` if a condition or a sort key needs more.
    @inline(__always)
    private mutating func verdict(
        on row: RawSpan, _ shape: RowLayout.Shape, _ offsets: RowOffsets
    ) -> ByteCondition.Verdict {
        var isKnown = evaluated.isEmpty && (sortBuffer == nil || sortsByOwnValues)
        for test in tests {
            switch reader.verdict(test, row, shape, offsets, &foldedText) {
            case .passes: break
            case .fails: return .fails
            case .unknown: isKnown = false
            }
        }
        return isKnown ? .passes : .unknown
    }

    /// Accepts a row of which the bytes say that it passes.
    private mutating func accept(_ row: RawSpan, _ id: ObjectID) throws(StoreError) -> Bool {
        guard case .sorted(let sortKeys) = plan.order, sortBuffer != nil else { return sink.accept(id, row) }
        SortBuffer.write(&sortBytes, of: row, id, sortKeys, reader)
        try addToSortBuffer(row, id)
        return true
    }

    /// Tests a copy of a row of which the bytes do not say enough, and accepts it if it passes.
    private mutating func evaluate(_ row: RawSpan, _ id: ObjectID) throws(StoreError) -> Bool {
        guard let entity = catalog.schema.entity(of: id) else { return true }
        scratch.set(row, isWhole: true)
        let copy = EvaluatedRow(objectID: id, entity: entity, row: scratch, session: session)
        for node in residual {
            guard try ResolvedPredicate.evaluate(node, on: copy, memo: session.memo) else { return true }
        }
        guard case .sorted(let sortKeys) = plan.order, sortBuffer != nil else { return sink.accept(id, row) }
        sortBytes = try SortBuffer.key(of: copy, sortKeys)
        try addToSortBuffer(row, id)
        return true
    }

    /// Adds a row that has passed to the sort buffer, with the sort key in `sortBytes`.
    mutating func addToSortBuffer(_ row: RawSpan, _ id: ObjectID) throws(StoreError) {
        guard sortBuffer?.isWanted(sortBytes) == true else { return }
        let bytes = sink.needsRow ? row.copy(0..<row.byteCount) : []
        // An exact copy: a shared array would make `sortBytes` a new one for each row, with the room of its longest
        // key.
        let key = sortBytes.withRawSpan { $0.copy(0..<$0.byteCount) }
        try sortBuffer?.insert(SortBuffer.Entry(key: key, id: id, row: bytes))
    }

    /// Checks a row that begins differently from the last one, or is damaged; returns its shared properties.
    @inline(never)
    private mutating func sharedProperties(of row: RawSpan, key: UInt64) throws(StoreError) -> SharedProperties {
        let number = try catalog.check(row, in: plan.entity, key: key)
        guard let entity = catalog.numbering.entity(number) else {
            preconditionFailure("the entity of a checked row is not in the model")
        }
        let shape = reader.shape(of: row)
        assert(shape.entityNumber == number, "the shape of a row of entity \(number)")
        let alike = SharedProperties(
            head: row.number(at: 0), shape: shape, offsets: reader.offsets(of: row, shape), entityTag: entity.tag,
            isWanted: plan.isWanted[Int(number)])
        // The first two bytes do not identify a layout with a long number.
        lastAlike = row.byte(at: 1) == RowOffsets.longNumberMark ? nil : alike
        return alike
    }
}
