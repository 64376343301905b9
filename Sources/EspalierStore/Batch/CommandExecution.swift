// One command on a B-tree store: many saves, chunk by chunk, in one write transaction.
//
// The steps of `run`: find the rows; update those whose updates need nothing but the row itself, without a save
// (`BatchPatch`); then for each chunk of the others read the rows, make a `SaveRequest` and carry it out as a save
// does; check unique values; commit. Deletions are one save, which reads its rows chunk by chunk itself
// (`DeleteRules`).
//
// Invariants
//   1. The transaction begins before the rows are found: no other writer can come between.
//   2. `transaction` is `nil` while an execution of a save has it. After an error it stays `nil`, and has rolled back.
//   3. Whether a chunk is correct does not depend on later chunks: unique values that later chunks may give up are
//      checked after the last one (`DeferredConstraints`), and a destination that a command sets is a row before it.

internal import EspalierEngine
internal import EspalierModel

struct CommandExecution: ~Copyable {
    /// The number of rows that are found at a time, if there is no condition.
    private static let pageCount = 1 << 16

    private let command: StoreCommand
    private let store: BTreeStore
    private var transaction: StoreTransaction<WriteTransaction>?
    private var result = CommandResult()
    /// The constraints that are checked after the last chunk; `nil` if each save checks its own.
    private var deferred: DeferredConstraints?

    /// Begins the transaction.
    init(_ command: StoreCommand, _ store: BTreeStore) throws(StoreError) {
        (self.command, self.store) = (command, store)
        let schema = store.catalog.schema
        deferred =
            switch command.change {
            case .insert: DeferredConstraints(schema.lateConstraints, outlastsSave: true)
            case .update: DeferredConstraints(schema.constraints, outlastsSave: true)
            case .delete: nil
            }
        transaction = try store.beginWrite()
    }

    private var catalog: StoreCatalog { store.catalog }

    /// Carries the command out and commits.
    consuming func run() throws(StoreError) -> CommandResult {
        switch command.change {
        case .insert(let entity, let next): try insert(entity, next)
        case .update(let rows, let assignments): try update(rows, assignments)
        case .delete(let rows): try delete(rows)
        }
        try checkDeferredConstraints()
        guard let open = transaction.take() else { throw .closed }
        if result.count > 0 { result.generation = try open.commit() }
        return result
    }

    // MARK: Changes

    private mutating func insert(
        _ entity: Entity, _ next: @escaping () throws(StoreError) -> StoreCommand.NewRow?
    ) throws(StoreError) {
        var rows = try BatchInsertions(entity, of: command, store.model, next)
        while let insertions = try rows.insertions() {
            var request = SaveRequest()
            (request.insertions, request.constraintActions) = (insertions, command.constraintActions)
            let saved = try carryOut(request)
            assert(saved.inserted.count == insertions.count, "\(saved.inserted.count) rows of \(insertions.count)")
            result.note(insertions, saved, catalog.schema, returnsIDs: command.returnsIDs)
            try command.progress?.advance(by: insertions.count)
        }
    }

    private mutating func update(
        _ rows: StoreCommand.Rows, _ assignments: [ResolvedAssignment]
    ) throws(StoreError) {
        guard !assignments.isEmpty else { return }
        let selected = try rows.found(command.progress) { rows throws(StoreError) in try select(rows) }
        command.progress?.expect(selected.count)
        let store = store
        let former = FormerRows(store.model) { () throws(StoreError) in try store.snapshot() }
        var updates = BatchUpdates(assignments, of: command, store.model, former)
        var chunks = IDChunks(try patch(selected, assignments), countMax: command.chunkCountMax)
        while let ids = chunks.next() {
            let rows = try stored(ids)
            chunks.note(rows)
            var request = SaveRequest()
            request.updates = try updates.updates(of: rows)
            let saved = try carryOut(request)
            result.note(request.updates, of: rows, saved, catalog.schema)
            try command.progress?.advance(by: rows.count)
        }
        assert(result.count == selected.count, "\(result.count) of \(selected.count) rows were updated")
        if command.returnsIDs { result.ids += selected }
    }

    /// Updates the rows that need nothing but themselves; returns the others, which the caller updates.
    private mutating func patch(
        _ selected: RowSet, _ assignments: [ResolvedAssignment]
    ) throws(StoreError) -> RowSet {
        guard var patch = BatchPatch(assignments, of: command, catalog) else { return selected }
        var rest = RowSet()
        var ids: [ObjectID] = []
        let next = selected.makeIterator()
        repeat {
            ids.removeAll(keepingCapacity: true)
            while ids.count < command.chunkCountMax, let id = next.next() { ids.append(id) }
            guard var open = transaction.take() else { throw .closed }
            let others = try patch.update(ids, in: &open)
            transaction = consume open
            for id in others { rest.insert(id) }
            try command.progress?.advance(by: ids.count - others.count)
        } while !ids.isEmpty
        // All of them change, or the command fails.
        result.updated = selected
        result.count = selected.count - rest.count
        return rest
    }

    private mutating func delete(_ rows: StoreCommand.Rows) throws(StoreError) {
        let selected = try rows.found(command.progress) { rows throws(StoreError) in try select(rows) }
        guard !selected.isEmpty else { return }
        command.progress?.expect(selected.count)
        let saved = try carryOut(
            SaveRequest(),
            deleting: SelectedRows(
                rows: selected, chunkCountMax: command.chunkCountMax, progress: command.progress))
        assert(saved.deleted.count >= selected.count, "\(saved.deleted.count) of \(selected.count) rows were deleted")
        result.note(selected, saved, returnsIDs: command.returnsIDs)
    }

    // MARK: Rows

    /// The rows of a command that exist.
    private func select(_ rows: StoreCommand.Rows) throws(StoreError) -> RowSet {
        // Nothing is written yet, so the newest commit is the state before the command.
        let snapshot = try store.snapshot()
        var selected = RowSet()
        switch rows {
        case .ids(let ids):
            for start in stride(from: 0, to: ids.count, by: 256) {
                try command.progress?.advance(by: 0)
                for case let row? in try snapshot.snapshots(of: Array(ids[start..<min(start + 256, ids.count)])) {
                    selected.insert(row.id)
                }
            }
        case .matching(let fetch)
        where fetch.predicate == nil && fetch.sort.isEmpty && fetch.limit == nil
            && fetch.offset == 0:
            var page = fetch
            page.limit = Self.pageCount
            while true {
                let ids = try snapshot.fetchIDs(page)
                assert(ids.count <= Self.pageCount, "\(ids.count) rows in a page of \(Self.pageCount)")
                assert(
                    ids.isEmpty || page.keys.contains(ids[0].key) && ids[0].key <= ids[ids.count - 1].key,
                    "\(ids.count) rows from \(ids[0]) on are no page from key \(page.keys.lowerBound) on")
                for id in ids { selected.insert(id) }
                guard ids.count == Self.pageCount, let last = ids.last?.key, last < page.keys.upperBound else { break }
                page.keys = last + 1...page.keys.upperBound
            }
        case .matching(let fetch): for id in try snapshot.fetchIDs(fetch) { selected.insert(id) }
        }
        return selected
    }

    /// The rows with these IDs as the transaction has them; all of them exist.
    private mutating func stored(_ ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot] {
        guard let open = transaction.take() else { throw .closed }
        let rows = try open.snapshots(of: ids, catalog).compactMap(\.self)
        transaction = consume open
        assert(rows.count == ids.count, "\(ids.count - rows.count) selected rows are gone")
        return rows
    }

    // MARK: Saves

    private mutating func carryOut(
        _ request: SaveRequest, deleting selected: SelectedRows = .none
    ) throws(StoreError) -> SaveResult {
        guard let open = transaction.take() else { throw .closed }
        var execution = SaveExecution(open, catalog, deferring: deferred.take())
        let saved = try execution.carryOut(request, deleting: selected)
        deferred = execution.deferred
        transaction = execution.handBack()
        return saved
    }

    /// Checks unique values that chunks have changed.
    private mutating func checkDeferredConstraints() throws(StoreError) {
        guard let deferred = deferred.take(), deferred.outlastsSave else { return }
        guard let open = transaction.take() else { throw .closed }
        let progress = command.progress
        var execution = SaveExecution(open, catalog, deferring: deferred)
        try execution.checkDeferredConstraints { () throws(StoreError) in try progress?.advance(by: 0) }
        try execution.throwConflicts()
        transaction = execution.handBack()
    }
}
