// A migration with work of the application before it and after it, all in one transaction.
//
// Order: what the models alone refuse; backup; the work before, with the older model; the inferred migration; the work
// after, with the newer model; checks; commit.
//
// Invariants
//   1. Nothing is committed before `finish`: an error, a crash and `cancel` leave the file as it was.
//   2. The migration sees what the work before has saved, and the work after sees what the migration has written: each
//      phase takes the transaction over from the one before.
//   3. Values that are missing are refused after the work after, which may set them; rows that do not fit the newer
//      model otherwise are refused before it.
// Not here: the objects of the work (Espalier).

package import EspalierEngine
package import EspalierModel
internal import FoundationEssentials

/// A migration that is open for work before and after it (Behaviour MG-12).
///
/// Use it from one thread.
package final class StagedMigration {
    /// The older model, with the classes of its objects.
    package let former: ManagedObjectModel
    /// The newer model.
    package let model: ManagedObjectModel
    private let database: Database
    private let path: String?
    private let migration: MigrationOptions
    private let notes: MigrationNotes
    private let backup: MigrationBackup?
    private let identifier: UUID
    private let tag: UInt32
    /// The number of the newest commit.
    private let number: UInt64
    private var migrationTransaction: MigrationTransaction
    /// The store of the present phase, if it has work.
    private var store: BTreeStore?
    /// The model in the transaction before the migration.
    private var stored: ManagedObjectModel
    private var done: (run: MigrationRun, difference: ModelDifference, steps: [MigrationPlan.Step])?
    /// The memory of the sorts of the work; `nil` = as in every store.
    var sortByteCountMax: Int?
    private var isOpen = true
    /// Whether the commit has begun; if it fails, it may have been made.
    private var isCommitting = false

    private init(
        _ database: Database, _ path: String?, _ former: ManagedObjectModel, _ model: ManagedObjectModel,
        _ migration: MigrationOptions, _ notes: MigrationNotes, _ stored: ManagedObjectModel,
        _ transaction: consuming StoreTransaction<WriteTransaction>, after number: UInt64, _ backup: MigrationBackup?
    ) {
        (self.database, self.path, self.former, self.model) = (database, path, former, model)
        (self.migration, self.notes, self.stored, self.backup) = (migration, notes, stored, backup)
        identifier = UUID(bytes: database.storeIdentifier)
        tag = Interned.stores.tag(of: identifier)
        self.number = number
        migrationTransaction = MigrationTransaction(transaction, after: number, servesWork: true)
    }

    deinit { cancel("the migration was left") }

    // MARK: Phases

    /// Opens the store at `path`, refuses what the models alone forbid, and writes the backup.
    ///
    /// - Throws: `.migrationRefused`; the errors of opening and of the backup.
    package static func begin(
        at path: String, from former: ManagedObjectModel, to model: ManagedObjectModel, _ migration: MigrationOptions,
        options: DatabaseOptions = .init()
    ) throws(StoreError) -> StagedMigration {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, BTreeStore.applicationID)
        return try StoreError.withPath(path) { () throws(StoreError) in
            let database = try withStoreErrors(try Database.open(path, options: options))
            return try begin(in: database, path, from: former, to: model, migration)
        }
    }

    /// The same for an open database, which the migration closes in the end, and after an error.
    package static func begin(
        in database: Database, _ path: String?, from former: ManagedObjectModel, to model: ManagedObjectModel,
        _ migration: MigrationOptions
    ) throws(StoreError) -> StagedMigration {
        let notes = MigrationNotes(migration.log)
        do throws(StoreError) {
            let stored = try BTreeStore.presentModel(database)
            let match = ModelMatch(from: stored, to: model)
            notes.begin(path, match, .inferred)
            return try notes.noting { () throws(StoreError) in
                let losses = ModelDifference(match).losses.filter { !migration.allowing.contains($0) }
                try BTreeStore.refuse(losses, match)
                let transaction = try StoreTransaction(writing: database)
                try BTreeStore.requireModel(stored.descriptions, in: transaction)
                let number = try StoreTransaction(reading: database).number
                let backup = try MigrationBackup.write(database, to: migration.backupPath)
                if backup != nil { notes.part("backup") }
                return StagedMigration(
                    database, path, former, model, migration, notes, stored, transaction, after: number, backup)
            }
        } catch {
            // Report the first error.
            try? database.close()
            throw error
        }
    }

    /// The store for the work before the migration.
    package func beginWork() throws(StoreError) -> BTreeStore {
        try StoreError.withPath(path) { () throws(StoreError) in
            var transaction = try migrationTransaction.end()
            try adoptFormer(in: &transaction)
            stored = try BTreeStore.storedModel(in: transaction)?.model ?? stored
            return try open(former, transaction)
        }
    }

    /// Ends the work before, and migrates.
    ///
    /// - Throws: `.migrationCancelled`; `.migrationRefused` if rows do not fit the newer model.
    package func migrate() throws(StoreError) {
        try StoreError.withPath(path) { () throws(StoreError) in
            assert(done == nil, "the rows of \(path ?? "a store in memory") are migrated twice")
            var transaction = try endWork("work before the migration")
            let match = ModelMatch(from: stored, to: model)
            let difference = ModelDifference(match)
            let steps = try BTreeStore.steps(of: difference, stored, tag, in: transaction)
            notes.note(steps)
            let run = try MigrationRun.begin(
                match, StoreSchema(model: model), storeTag: tag, MigrationUnits(migration.progress), notes,
                in: &transaction)
            if !run.failures.isEmpty { try run.finish(in: transaction) }
            done = (run, difference, steps)
            migrationTransaction = MigrationTransaction(transaction, after: number, servesWork: true)
        }
    }

    /// The store for the work after the migration.
    package func continueWork() throws(StoreError) -> BTreeStore {
        try StoreError.withPath(path) { () throws(StoreError) in try open(model, try migrationTransaction.end()) }
    }

    /// Ends the work after, checks the rows, commits and closes the database.
    ///
    /// - Throws: `.migrationRefused`, `.migrationCancelled`; then the file is as it was.
    package func finish() throws(StoreError) -> MigrationPlan {
        try StoreError.withPath(path) { () throws(StoreError) in
            let transaction = try endWork("work after the migration")
            guard let done else { throw .closed }
            try done.run.finish(in: transaction)
            isCommitting = true
            try transaction.commit(.durable)
            isOpen = false
            notes.part("commit")
            migration.progress?.finishStage()
            notes.end(done.run.outcome)
            try withStoreErrors(try database.close())
            return MigrationPlan(
                difference: done.difference, steps: done.steps, refusal: nil, outcome: done.run.outcome)
        }
    }

    /// Rolls everything back and closes the database, if that was not done before.
    package func cancel(_ reason: @autoclosure () -> String) {
        guard isOpen else { return }
        isOpen = false
        notes.fail(reason())
        try? store?.close()
        migrationTransaction.rollBack()
        if !isCommitting { backup?.remove() }
        try? database.close()
    }

    // MARK: The transaction

    /// Brings the transaction to the older model of the plan, if the file has another one.
    private func adoptFormer(in transaction: inout StoreTransaction<WriteTransaction>) throws(StoreError) {
        guard !StoredModel.isSame(stored.descriptions, former.storedDescriptions) else { return }
        let (schema, silent) = (StoreSchema(model: former), MigrationNotes(nil))
        if BTreeStore.needsMigration(from: stored, to: former) {
            let match = ModelMatch(from: stored, to: former)
            try BTreeStore.refuse(ModelDifference(match).losses, match)
            _ = try MigrationRun.run(match, schema, storeTag: tag, nil, silent, in: &transaction)
        } else {
            _ = try StoreCatalog.adopt(schema, replacing: stored, storeTag: tag, silent, in: &transaction)
        }
    }

    /// A store of `model` that reads and writes the transaction.
    private func open(
        _ model: ManagedObjectModel, _ transaction: consuming StoreTransaction<WriteTransaction>
    ) throws(StoreError) -> BTreeStore {
        assert(self.store == nil, "a phase of work begins while another one is open")
        let catalog = try StoreCatalog.load(StoreSchema(model: model), storeTag: tag, from: transaction)
        migrationTransaction = MigrationTransaction(transaction, after: number, servesWork: true)
        let store = BTreeStore(
            database: database, catalog: catalog, identifier: identifier, path: path,
            transactionUse: .migrationTransaction(migrationTransaction))
        if let sortByteCountMax { store.sortByteCountMax = sortByteCountMax }
        self.store = store
        return store
    }

    /// Closes the store of the work, if there was work, and takes its transaction.
    private func endWork(_ part: String) throws(StoreError) -> StoreTransaction<WriteTransaction> {
        if let store {
            self.store = nil
            do throws(StoreError) { try store.close() } catch {
                // The work may have closed it.
                guard case .closed = error else { throw error }
            }
            notes.part(part)
        }
        return try migrationTransaction.end()
    }
}
