// One read transaction, the planner for its commit, and the rows that predicates and sort keys have read across
// relationships.
//
// Invariants
//   1. One thread uses it at a time: the one that made it, or the one that holds the lock of its snapshot.
//   2. No row is kept between two calls of a snapshot, and no `isCancelled`.
//   3. Of a row that has pages of its own, one page is read, unless a value behind that page is asked for.
// Not here: how many rows are kept during a call (ReadRows).

internal import EspalierEngine
internal import EspalierModel

// SAFETY: @unchecked Sendable, because one thread uses it at a time (invariant 1).
final class ReadSession: @unchecked Sendable {
    let transaction: StoreTransaction<ReadSource>
    let catalog: StoreCatalog
    let reader: RowReader
    /// The memory of sorts, and files for what exceeds it.
    let sortSpace: SortSpace
    /// Results of predicates on these rows.
    let memo = PredicateMemo()
    private(set) var readRows = ReadRows()
    /// Whether the answer of the present call is no longer wanted; `nil` if the call cannot be cancelled.
    var isCancelled: (@Sendable () -> Bool)? { didSet { steps = FetchSteps(isCancelled) } }
    /// The rows that were read across relationships.
    private var steps = FetchSteps(nil)
    /// Created by the first fetch whose plan is not known.
    private var planner: FetchPlanner?
    /// Created with the planner.
    private var samples: SessionSamples?

    init(_ transaction: consuming StoreTransaction<ReadSource>, _ catalog: StoreCatalog, _ sortSpace: SortSpace) {
        self.transaction = transaction
        self.catalog = catalog
        self.sortSpace = sortSpace
        reader = RowReader(numbering: catalog.numbering)
    }

    /// The planner with the statistics of the commit.
    func planner(_ store: BTreeStore) throws(StoreError) -> FetchPlanner {
        if let planner { return planner }
        let made = try store.planner(self)
        planner = made
        return made
    }

    /// The samples for the planner.
    func samples(_ store: BTreeStore) -> SessionSamples {
        if let samples { return samples }
        let made = SessionSamples(store, self)
        samples = made
        return made
    }

    /// The row with this ID, read once; `nil` if there is none.
    func row(_ id: ObjectID) throws(StoreError) -> EvaluatedRow? {
        if let row = readRows[id] { return row }
        let row = try readRow(id)
        readRows.keep(row, id)
        return row
    }

    /// Whether no row is kept, as between two calls of a snapshot (invariant 2).
    var isFresh: Bool { readRows.isEmpty && memo.isEmpty && isCancelled == nil }

    /// Forgets the rows that were looked at.
    func forgetRows() {
        if !readRows.isEmpty { readRows.removeAll() }
        if !memo.isEmpty { memo.removeAll() }
    }
}

// MARK: Reading rows

extension ReadSession {
    private func readRow(_ id: ObjectID) throws(StoreError) -> EvaluatedRow? {
        try steps.count()
        guard let entity = catalog.schema.entity(of: id) else { return nil }
        let bytes = SharedBytes()
        guard try readBeginning(of: id.key, entity, into: bytes) else { return nil }
        return EvaluatedRow(objectID: id, entity: entity, row: bytes, session: self)
    }

    /// Reads the bytes of a row again that it has given back.
    func reload(_ row: EvaluatedRow) throws(StoreError) {
        assert(row.row.isEvicted, "\(row.objectID) is in memory, and is read again")
        guard try readBeginning(of: row.objectID.key, row.entity, into: row.row) else {
            throw lostRow(row.objectID.key, row.entity)
        }
        readRows.keep(row, row.objectID)
    }

    /// Reads a row, or its beginning if it has pages of its own; returns `false` if there is no row of exactly this
    /// entity.
    private func readBeginning(
        of key: UInt64, _ entity: Entity, into bytes: SharedBytes
    ) throws(StoreError) -> Bool {
        assert(StepCount.note(rows: 1))
        let number = catalog.numbering.entityNumbers[entity.index]
        var found: UInt16?
        var lookup = try transaction.lookup(in: catalog.rowTree(of: entity))
        let isThere = try lookup.withBeginning(of: key) { row, byteCount throws(StoreError) in
            found = try catalog.check(row, of: byteCount, in: entity, key: key)
            if found == number { bytes.set(row, isWhole: row.byteCount == byteCount) }
        }
        if isThere, found == nil {
            let whole = try wholeRow(key, in: entity)
            found = whole.withRawSpan { reader.entityNumber(of: $0) }
            if found == number { whole.withRawSpan { bytes.set($0, isWhole: true) } }
        }
        return found == number
    }

    /// The bytes of a row that has pages of its own, whole and checked.
    ///
    /// - Parameter entity: any entity of the hierarchy.
    func wholeRow(_ key: UInt64, in entity: Entity) throws(StoreError) -> [UInt8] {
        if let last = readRows.lastWhole, last.root == entity.root, last.key == key { return last.bytes }
        // Freed before the next one is read: only one such row is in memory.
        readRows.lastWhole = nil
        guard let bytes = try transaction.get(key, from: catalog.rowTree(of: entity)) else {
            throw lostRow(key, entity)
        }
        try bytes.withRawSpan { row throws(StoreError) in _ = try catalog.check(row, in: entity, key: key) }
        readRows.lastWhole = ReadRows.WholeRow(root: entity.root, key: key, bytes: bytes)
        return bytes
    }

    /// The value of an attribute of a row of which only the beginning is in memory.
    ///
    /// - Complexity: O(1) if the beginning has the value, or if it was asked for before and is kept; otherwise O(bytes
    ///   of the row).
    func value(at slot: Int, of row: EvaluatedRow) throws(StoreError) -> AttributeValue {
        assert(!row.row.isWhole && !row.row.isEvicted, "\(row.objectID) is whole, or not in memory")
        if let value = row.row.others[slot] { return value }
        let near = row.row.bytes.withRawSpan { beginning -> AttributeValue? in
            let shape = reader.shape(of: beginning)
            let offsets = reader.offsets(of: beginning, shape)
            return reader.isWithin(beginning, slot: slot, shape, offsets) ? reader.value(at: slot, beginning) : nil
        }
        if let near { return near }
        let whole = try wholeRow(row.objectID.key, in: row.entity)
        let number = catalog.numbering.entityNumbers[row.entity.index]
        let value = whole.withRawSpan { row -> AttributeValue? in
            reader.entityNumber(of: row) == number ? reader.value(at: slot, row) : nil
        }
        guard let value else { throw lostRow(row.objectID.key, row.entity) }
        readRows.keep(value, at: slot, of: row.row)
        return value
    }

    /// The error for a row that is not found again.
    private func lostRow(_ key: UInt64, _ entity: Entity) -> StoreError {
        .damaged(entity: entity.name, key: key, reason: "the row was read before, and is not found again")
    }
}

extension ReadSession {
    /// Whether an index has as many entries as there are rows that have one; `true` for an index with a condition, of
    /// which only its rows tell.
    ///
    /// An answer from entries alone would hide the damage that another number is.
    ///
    /// - Complexity: O(entities of the index).
    func hasEntryForEachRow(_ position: Int) throws(StoreError) -> Bool {
        let group = catalog.schema.groups[position]
        guard group.condition == nil else { return true }
        let entity = catalog.model.entities[group.entity]
        let entryCount = try transaction.count(of: catalog.groupTrees[position])
        if entity.root == entity.index { return try transaction.count(of: catalog.rowTree(of: entity)) == entryCount }
        var rowCount = 0
        for index in entity.family {
            let number = catalog.numbering.entityNumbers[index]
            rowCount.add(clamping: try transaction.counter(Counter.rows(entityNumber: number), catalog))
        }
        return UInt64(rowCount) == entryCount
    }
}
