// Migrates a binary file by way of a B-tree store in memory, so that everything that a B-tree file can do is done.
//
// Invariants
//   1. The file is replaced as a whole and at the end only: an error, a refusal, a cancellation and a crash leave it as
//      it was, and a backup has its name before.
//   2. Rows keep their keys where rows of a B-tree file do, and keys that were given out are not given out again. The
//      versions of rows begin anew.
// Not here: whether the file needs a migration (WholeGraphStore+Opening); plans of versions (GraphFileTree).

internal import EspalierEngine
internal import EspalierModel
internal import FoundationEssentials

enum GraphFileMigration {
    /// Migrates the store in a binary file to `model`.
    ///
    /// - Parameter content: the content of the file as it was read last.
    /// - Throws: `StoreError.migrationRefused` with the data that would be lost, or the rows that the model forbids;
    ///   `.storage` with `destinationExists` if another file has the path of the backup; the errors of reading and
    ///   writing.
    /// - Complexity: O(n log n) in rows and destinations, all of which are in memory twice.
    static func migrate(
        _ file: GraphFile, _ content: GraphReader, to model: ManagedObjectModel, _ migration: MigrationOptions
    ) throws(StoreError) {
        try withErrors(of: file) {
            if let path = migration.backupPath { try GraphFileBackup.check(content.bytes, of: file, at: path) }
            let (graph, stored) = try parts(of: content)
            // The file is half of the work.
            migration.progress?.beginStage(0, of: 2)
            let migrated = try migrate(graph, from: stored, to: model, migration)
            migration.progress?.beginStage(1, of: 2)
            try replace(file, content, by: migrated, model, backupPath: migration.backupPath)
            migration.progress?.finishStage()
        }
    }

    /// Replaces a binary file, after its backup was written.
    ///
    /// - Parameter content: the content of the file as it was read last.
    static func replace(
        _ file: GraphFile, _ content: GraphReader, by graph: StoredGraph, _ model: ManagedObjectModel,
        backupPath: String?
    ) throws {
        let backup = try GraphFileBackup.write(content.bytes, of: file, to: backupPath)
        do { try file.save(graph, model) } catch {
            backup?.remove()
            throw error
        }
    }

    /// The effect of that migration, and the reasons against it.
    ///
    /// - Parameters:
    ///   - checkingRows: whether to try it; nothing is written in either case.
    ///   - checkingBackup: whether to require that the backup can be written.
    /// - Throws: the errors of reading, also if there is no file; `.storage` with `destinationExists` if another file
    ///   has the path of the backup, if that is checked.
    /// - Complexity: that of the migration.
    static func plan(
        _ file: GraphFile, to model: ManagedObjectModel, _ migration: MigrationOptions, checkingRows: Bool,
        checkingBackup: Bool = false
    ) throws(StoreError) -> MigrationPlan {
        try withErrors(of: file) {
            guard let bytes = try file.bytes() else {
                throw StoreError.incompatibleModel(
                    path: nil, reason: "there is no file, so there is nothing to migrate")
            }
            if checkingBackup, let path = migration.backupPath {
                try GraphFileBackup.check(bytes, of: file, at: path)
            }
            let (graph, stored) = try parts(of: try BinaryGraphFormat().content(of: bytes))
            let tree = try tree(of: graph, stored)
            let plan = try BTreeStore.plan(tree.database, model, migration, checkingRows: checkingRows)
            try tree.close()
            assert(plan.outcome == nil || checkingRows, "rows were tried that were not to be read")
            return plan.with(plan.outcome, plan.mappings, plan.refusal?.naming(rowsOf: graph.identifier))
        }
    }

    /// Runs `body`; its errors have the path of the file, and those of others are `.outside`.
    static func withErrors<Answer>(
        of file: GraphFile, _ body: () throws -> Answer
    ) throws(StoreError) -> Answer {
        try StoreError.withPath(file.path) { () throws(StoreError) -> Answer in
            do { return try body() } catch let error as StoreError { throw error } catch {
                throw .outside(path: file.path, underlying: error)
            }
        }
    }

    /// The store in the content of a file, and its model.
    static func parts(
        of content: GraphReader
    ) throws(StoreError) -> (graph: StoredGraph, stored: ManagedObjectModel) {
        var (models, graphs) = (content, content)
        let stored = try models.storedModel()
        let graph = try graphs.graph(stored)
        assert(graphs.offset > models.offset, "the rows begin at byte \(models.offset), and end at \(graphs.offset)")
        return (graph, stored)
    }

    /// The graph as a B-tree store in memory.
    static func tree(of graph: StoredGraph, _ stored: ManagedObjectModel) throws(StoreError) -> BTreeStore {
        let schema = StoreSchema(model: stored)
        let source = InMemoryStore(
            schema, try MemoryState(graph, schema: schema), identifier: graph.identifier, hasSharedKeys: false)
        let tree = try BTreeStore.inMemory(model: stored)
        try source.copy(to: tree)
        for root in stored.entities where root.root == root.index {
            let last = graph.counters[root.name]?.lastKey ?? 0
            if last > 0 { try tree.reserveKeys(upTo: last, for: root) }
        }
        return tree
    }

    /// The graph as rows of another model, with the UUID that it has.
    private static func migrate(
        _ graph: StoredGraph, from stored: ManagedObjectModel, to model: ManagedObjectModel,
        _ migration: MigrationOptions
    ) throws(StoreError) -> StoredGraph {
        let tree = try tree(of: graph, stored)
        var migration = migration
        // The backup is one of the file, and not of the tree.
        migration.backupPath = nil
        do throws(StoreError) {
            _ = try BTreeStore.migrateContent(of: tree.database, to: model, migration)
        } catch {
            guard case .migrationRefused(let path, let refusal) = error else { throw error }
            throw .migrationRefused(path: path, refusal.naming(rowsOf: graph.identifier))
        }
        let migrated = try BTreeStore.open(tree.database, path: nil, model: model, migration: .off)
        let moved = try Self.graph(of: migrated, graph.identifier)
        try migrated.close()
        return moved
    }

    /// The rows and lists of a tree as the graph of a binary file, with the UUID that the file has.
    static func graph(of tree: BTreeStore, _ identifier: UUID) throws(StoreError) -> StoredGraph {
        let all = try StoredGraph(try tree.snapshot(), of: tree)
        let home = InMemoryStore(model: tree.model, identifier: identifier)
        var moved = all.moved(to: home, hasSharedKeys: false).graph
        assert(moved.identifier == identifier, "\(identifier) becomes \(moved.identifier)")
        moved.counters = try counters(of: tree)
        return moved
    }

    private static func counters(of store: BTreeStore) throws(StoreError) -> [String: StoredGraph.Counters] {
        let transaction = try store.beginRead()
        var counters: [String: StoredGraph.Counters] = [:]
        for root in store.model.entities where root.root == root.index {
            let number = store.catalog.numbering.entityNumbers[root.index]
            let last = try transaction.counter(Counter.lastKey(rootNumber: number), store.catalog)
            counters[root.name] = StoredGraph.Counters(lastKey: last)
        }
        return counters
    }
}

extension MigrationRefusal {
    /// The same reasons, with the IDs that the rows have in the store with this UUID: the rows of the tree in memory
    /// have the same keys.
    fileprivate func naming(rowsOf identifier: UUID) -> MigrationRefusal {
        let tag = Interned.stores.tag(of: identifier)
        let named = failures.map { failure in
            MigrationFailure(
                subject: failure.subject, reason: failure.reason, rowCount: failure.rowCount,
                objects: failure.objects.map { ObjectID(storeTag: tag, entityTag: $0.entityTag, key: $0.key) })
        }
        return MigrationRefusal(losses: losses, obstacles: obstacles, failures: named)
    }
}
