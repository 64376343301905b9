// Carries a plan out on one read transaction.
//
// Invariants
//   1. Every row's structure is checked before anything of it is used.
//   2. A row is tested and sorted where it lies, and copied once, into the result; conditions and sort keys that need
//      more than its own attributes (`RowTest`) get a copy in one reused buffer.

internal import EspalierEngine
internal import EspalierModel

struct FetchExecution: ~Copyable {
    /// With a limit, so many candidates are read before it is asked whether there are more than that.
    private static let firstCountMax = 512

    private let plan: FetchPlan
    private let session: ReadSession
    private let catalog: StoreCatalog
    private let reader: RowReader
    private let storeTag: UInt32
    private var residual: [ResolvedPredicate.Node] { didSet { chooseTests() } }
    /// Tests of conditions in `residual` that a row alone answers, and the conditions that are left.
    private var tests: [RowTest] = []
    private var untested: [ResolvedPredicate.Node] = []
    /// Whether the order needs nothing but attributes of the row itself.
    private var sortsByOwnValues = false
    private var foldedText: [UInt8] = []
    private var sortKey: [UInt8] = []
    private var sink: FetchSink
    private var sortBuffer: SortBuffer?
    private lazy var scratch = SharedBytes()
    /// That of the last row.
    private var lastAlike: RowsAlike?
    /// Whether a row that is found is one that is wanted, in the order it comes.
    private var takesUntested: Bool
    /// The primary keys of the rows that are wanted and were not looked at yet.
    private var keys: ClosedRange<UInt64>
    /// How many rows more a scan looks at, and where it has stopped if these were all.
    private var rowsToScan = Int.max
    private var next: UInt64?

    init(_ plan: consuming FetchPlan, _ kind: FetchKind, _ session: ReadSession) {
        self.plan = plan
        self.session = session
        catalog = session.catalog
        (reader, storeTag) = (session.reader, session.catalog.numbering.storeTag)
        residual = self.plan.residual
        sink = FetchSink(kind, offset: self.plan.offset, limit: self.plan.limit, numbering: session.catalog.numbering)
        if case .sorted = self.plan.order, kind != .count {
            let offset = self.plan.offset
            let keep = self.plan.limit.map { $0.addingReportingOverflow(offset) }
            sortBuffer = SortBuffer(keep: keep.map { $0.overflow ? Int.max : $0.partialValue })
        }
        takesUntested = residual.isEmpty && sortBuffer == nil
        keys = self.plan.keys
        if case .sorted(let sort) = self.plan.order { sortsByOwnValues = sort.allSatisfy(\.isOfOwnValue) }
        chooseTests()
        assert(self.plan.checkInvariants(catalog.schema))
    }

    private mutating func chooseTests() {
        (tests, untested) = ([], [])
        for node in residual {
            if let test = RowTest.make(node) { tests.append(test) } else { untested.append(node) }
        }
    }

    /// Finds all rows and gives them to the sink.
    consuming func run() throws(StoreError) -> FetchSink {
        let session = session
        defer { session.forgetRows() }
        switch plan.access {
        case .nothing: return sink
        case .rows: try scan()
        case .index(let group, let range, let isReversed): try walk(group, range, isReversed: isReversed)
        case .entries(let group, let prefix): try find(.index(group: group, [.beginning(with: prefix)]))
        case .candidates(let source): try find(source)
        }
        return finish()
    }

    /// The rows that candidates lead to, by primary key.
    ///
    /// - Complexity: with a limit and without an order O(square root of the rows) if there are few candidates, or many;
    ///   else O(candidates).
    private mutating func find(_ source: CandidateSource) throws(StoreError) {
        let isCheap = plan.isExact && sink.kind != .rows
        let countMax = isCheap ? Int.max : plan.candidateCountMax
        guard let limit = plan.limit, case .primaryKey = plan.order, limit < Self.firstCountMax,
            source.isFoundInIndexes
        else {
            return try offer(CandidateCollector(session: session, countMax: countMax).candidates(source))
        }
        if let few = try CandidateCollector(session: session, countMax: Self.firstCountMax).candidates(source) {
            return try offer(few)
        }
        // Where many rows match, the first of all rows hold as many as are wanted.
        let wanted = Double(limit) + Double(plan.offset)
        let count = try session.transaction.count(of: catalog.rowTree(of: plan.entity))
        rowsToScan = max(Self.firstCountMax, Int(4 * (Double(count) * wanted).squareRoot()))
        let asked = (residual, takesUntested)
        try offer(nil)
        guard rowsToScan == 0, let next else { return }
        rowsToScan = Int.max
        (residual, takesUntested) = asked
        (keys, self.next) = (next...max(next, keys.upperBound), nil)
        try offer(CandidateCollector(session: session, countMax: countMax).candidates(source))
    }

    /// Looks at the rows that candidates lead to, or at all rows if there are too many candidates.
    private mutating func offer(_ candidates: [Candidate]?) throws(StoreError) {
        guard let candidates else {
            residual = plan.condition
            takesUntested = residual.isEmpty && sortBuffer == nil
            return try scan()
        }
        assert(
            zip(candidates, candidates.dropFirst()).allSatisfy { $0.key < $1.key }, "candidates come by ascending key")
        if takesUntested { sink.expect(candidates.count) }
        var rows = try rows()
        for candidate in candidates {
            guard try offer(candidate, &rows) else { return }
        }
    }

    private consuming func finish() -> FetchSink {
        assert(
            takesUntested == (residual.isEmpty && sortBuffer == nil), "rows are tested if there is something to test")
        assert(sink.checkInvariants())
        guard let buffer = sortBuffer.take() else { return sink }
        for entry in buffer.sorted() {
            guard entry.row.withRawSpan({ sink.accept(entry.id, $0) }) else { break }
        }
        return sink
    }

    /// All rows of the hierarchy, by primary key.
    private mutating func scan() throws(StoreError) {
        let tree = catalog.rowTree(of: plan.entity)
        if takesUntested { sink.expect(Int(clamping: try session.transaction.count(of: tree))) }
        var cursor = try session.transaction.cursor(over: tree)
        let (least, greatest) = (keys.lowerBound, keys.upperBound)
        guard try least == 0 ? cursor.first() : cursor.seek(least) else { return }
        try cursor.forEachValue { key, row throws(StoreError) in
            guard key <= greatest else { return false }
            guard rowsToScan > 0 else {
                next = key
                return false
            }
            rowsToScan -= 1
            return try goesOn(look(at: row, key: key), key)
        }
    }

    /// The entries of an index in order, those with equal values by ascending primary key.
    private mutating func walk(_ group: Int, _ range: EntryRange, isReversed: Bool) throws(StoreError) {
        let walk = IndexWalk(session: session, group: group, range: range, entity: plan.entity)
        var rows = try rows()
        // What is skipped anyway need not be looked at, if each entry stands for a row of the result.
        let entity = catalog.model.entities[catalog.schema.groups[group].entity]
        let countsAll =
            plan.isExact && takesUntested && keys == StoreFetch.allKeys
            && entity.family.allSatisfy { plan.isWanted[Int(catalog.numbering.entityNumbers[$0])] }
        try walk.forEach(isReversed: isReversed, passing: { countsAll && sink.skip($0) }) {
            candidate throws(StoreError) in
            try offer(candidate, &rows)
        }
    }

    /// Where candidates lead to.
    private func rows() throws(StoreError) -> StoreLookup<UInt64> {
        try session.transaction.lookup(in: catalog.rowTree(of: plan.entity))
    }

    /// Looks at the row a candidate leads to, or takes it unseen if that is enough; returns whether more are wanted.
    private mutating func offer(_ candidate: Candidate, _ rows: inout StoreLookup<UInt64>) throws(StoreError) -> Bool {
        guard plan.isWanted[Int(candidate.entityNumber)], keys.contains(candidate.key) else { return true }
        if plan.isExact, takesUntested, sink.kind != .rows || sink.isSkipping,
            let id = catalog.numbering.id(entityNumber: candidate.entityNumber, key: candidate.key)
        {
            return [UInt8]().withRawSpan { sink.accept(id, $0) }
        }
        var step = Step.more
        _ = try rows.withValue(of: candidate.key) { row throws(StoreError) in
            step = try look(at: row, key: candidate.key)
        }
        return try goesOn(step, candidate.key)
    }

    /// What a look at a row where it lies has told.
    private enum Step {
        /// More rows are wanted, or none; or the row is in `scratch` now, to be evaluated.
        case more, enough, test
    }

    /// Whether more rows are wanted after `look(at:key:)` said `step`.
    private mutating func goesOn(_ step: Step, _ key: UInt64) throws(StoreError) -> Bool {
        switch step {
        case .more: true
        case .enough: false
        case .test: try test(key)
        }
    }

    /// What all rows that begin alike, with the same widths and layout, have in common for this fetch.
    private struct RowsAlike {
        let head: UInt16
        let shape: RowLayout.Shape
        let offsets: RowOffsets
        let entityTag: UInt32
        let isWanted: Bool
    }

    /// Checks a row where it lies and takes it, if nothing is to be tested or sorted.
    @inline(__always)
    private mutating func look(at row: RawSpan, key: UInt64) throws(StoreError) -> Step {
        assert(StepCount.note(rows: 1))
        let kind: RowsAlike
        if let lastAlike, key != 0, row.byteCount >= 2, row.number(at: 0) == lastAlike.head,
            reader.hasSoundFields(row, lastAlike.shape, lastAlike.offsets)
        {
            kind = lastAlike
        } else {
            kind = try self.kind(of: row, key)
        }
        guard kind.isWanted else { return .more }
        if takesUntested {
            let id = ObjectID(storeTag: storeTag, entityTag: kind.entityTag, key: key)
            return sink.accept(id, row) ? .more : .enough
        }
        var isUnknown = !untested.isEmpty
        for test in tests {
            switch reader.verdict(test, row, kind.shape, kind.offsets, &foldedText) {
            case .passes: break
            case .fails: return .more
            case .unknown: isUnknown = true
            }
        }
        if !isUnknown, sortBuffer == nil || sortsByOwnValues {
            return takeTested(row, ObjectID(storeTag: storeTag, entityTag: kind.entityTag, key: key))
        }
        scratch.bytes.removeAll(keepingCapacity: true)
        scratch.bytes.append(copying: row)
        return .test
    }

    /// Takes a row that has passed all tests.
    private mutating func takeTested(_ row: RawSpan, _ id: ObjectID) -> Step {
        guard case .sorted(let keys) = plan.order, sortBuffer != nil else {
            return sink.accept(id, row) ? .more : .enough
        }
        SortBuffer.write(&sortKey, of: row, id, keys, reader)
        if sortBuffer?.isWanted(sortKey) == true {
            let bytes = sink.kind == .rows ? row.copy(0..<row.byteCount) : []
            sortBuffer?.insert(SortBuffer.Entry(key: sortKey, id: id, row: bytes))
        }
        return .more
    }

    /// Checks a row that begins otherwise than the one before, or is damaged.
    @inline(never)
    private mutating func kind(of row: RawSpan, _ key: UInt64) throws(StoreError) -> RowsAlike {
        let number = try catalog.check(row, in: plan.entity, key: key)
        guard let entity = catalog.numbering.entity(number) else {
            preconditionFailure("a checked row is of an entity of the model")
        }
        let shape = reader.shape(of: row)
        let kind = RowsAlike(
            head: row.number(at: 0), shape: shape, offsets: reader.offsets(of: row, shape), entityTag: entity.tag,
            isWanted: plan.isWanted[Int(number)])
        // A layout with a long number is not told by the first two bytes.
        lastAlike = row.byte(at: 1) == RowOffsets.longNumberMark ? nil : kind
        return kind
    }

    /// Tests the row in `scratch` and takes it if it passes; returns whether more are wanted.
    private mutating func test(_ key: UInt64) throws(StoreError) -> Bool {
        let number = scratch.bytes.withRawSpan { reader.entityNumber(of: $0) }
        guard let entity = catalog.numbering.entity(number),
            let id = catalog.numbering.id(entityNumber: number, key: key)
        else { return true }
        let row = EvaluatedRow(objectID: id, entity: entity, row: scratch, session: session)
        for node in residual {
            guard try ResolvedPredicate.evaluate(node, on: row, memo: session.memo) else { return true }
        }
        guard case .sorted(let keys) = plan.order, sortBuffer != nil else {
            return scratch.bytes.withRawSpan { sink.accept(id, $0) }
        }
        let sortKey = try SortBuffer.key(of: row, keys)
        if sortBuffer?.isWanted(sortKey) == true {
            let bytes = sink.kind == .rows ? scratch.bytes : []
            sortBuffer?.insert(SortBuffer.Entry(key: sortKey, id: id, row: bytes))
        }
        return true
    }
}

extension ResolvedSortKey {
    /// Whether it is an attribute of the row that is sorted.
    fileprivate var isOfOwnValue: Bool {
        guard path.base == .evaluatedObject, path.steps.isEmpty, case .attribute(_, _, elements: []) = path.terminal
        else { return false }
        return true
    }
}
