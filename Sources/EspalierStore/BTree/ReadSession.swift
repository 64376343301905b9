// One read transaction, the planner for its commit, and the rows that predicates and sort keys have read across
// relationships.
//
// Invariants
//   1. One thread uses it at a time: the one that made it, or the one that holds the lock of its snapshot.
//   2. At most `cachedRowCountMax` rows are kept. Between two calls of a snapshot there are none, and no `isCancelled`.

internal import EspalierEngine
internal import EspalierModel

/// The bytes of a checked row.
final class SharedBytes {
    var bytes: [UInt8]

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }
}

// SAFETY: @unchecked Sendable, because one thread uses it at a time (invariant 1).
final class ReadSession: @unchecked Sendable {
    private static let cachedRowCountMax = 4096

    let transaction: StoreTransaction<ReadSource>
    let catalog: StoreCatalog
    let reader: RowReader
    /// The memory of sorts, and files for what exceeds it.
    let sortSpace: SortSpace
    /// Results of predicates on these rows.
    let memo = PredicateMemo()
    private var rows: [ObjectID: EvaluatedRow?] = [:]
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
        if let row = rows[id] { return row }
        let row = try readRow(id)
        if rows.count == Self.cachedRowCountMax { rows.removeAll(keepingCapacity: true) }
        rows[id] = .some(row)
        assert(rows.count <= Self.cachedRowCountMax, "invariant 2: \(rows.count) rows are kept")
        return row
    }

    /// Whether no row is kept, as between two calls of a snapshot (invariant 2).
    var isFresh: Bool { rows.isEmpty && memo.isEmpty && isCancelled == nil }

    /// Forgets the rows that were looked at.
    func forgetRows() {
        if !rows.isEmpty { rows.removeAll() }
        if !memo.isEmpty { memo.removeAll() }
    }

    private func readRow(_ id: ObjectID) throws(StoreError) -> EvaluatedRow? {
        assert(StepCount.note(rows: 1))
        try steps.count()
        guard let entity = catalog.schema.entity(of: id) else { return nil }
        let number = catalog.numbering.entityNumbers[entity.index]
        let found = try transaction.withValue(of: id.key, in: catalog.rowTree(of: entity)) {
            row throws(StoreError) -> [UInt8]? in
            try catalog.check(row, in: entity, key: id.key) == number ? row.copy(0..<row.byteCount) : nil
        }
        guard let bytes = found ?? nil else { return nil }
        return EvaluatedRow(objectID: id, entity: entity, row: SharedBytes(bytes), session: self)
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

/// A row as predicates and sort keys see it.
struct EvaluatedRow: PredicateSubject {
    let objectID: ObjectID
    let entity: Entity
    let row: SharedBytes
    /// Unowned, because the session keeps its rows and outlives them: a strong reference would be a cycle.
    unowned let session: ReadSession

    func value(at slot: Int) throws(StoreError) -> AttributeValue {
        row.bytes.withRawSpan { session.reader.value(at: slot, $0) }
    }

    func destination(at slot: Int) throws(StoreError) -> EvaluatedRow? {
        guard let id = try destinationID(at: slot) else { return nil }
        return try session.row(id)
    }

    func destinations(at slot: Int) throws(StoreError) -> [EvaluatedRow] {
        var rows: [EvaluatedRow] = []
        for id in try destinationIDs(at: slot) {
            if let row = try session.row(id) { rows.append(row) }
        }
        return rows
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.bytes.withRawSpan { session.reader.destination(at: slot, $0) }
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return try session.transaction.links(of: objectID.key, entity.relationships[slot], session.catalog)
    }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }
}
