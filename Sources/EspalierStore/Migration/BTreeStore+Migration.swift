// Plans, tries and executes the migration of a file from its model to another one.
//
// Invariants
//   1. A refusal, a failure and a dry run leave the file unchanged.
//   2. A loss is refused by name unless it is allowed by that name, however many rows it concerns: a store without rows
//      gets the same answer as one with millions of them.
// Not here: the backup (MigrationBackup).

public import EspalierEngine
public import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Migrates an open database, in one durable transaction, unless the migration is refused.
    ///
    /// - Throws: `.migrationRefused`; the errors of the backup and of the engine.
    @discardableResult
    static func migrate(
        _ database: Database, from stored: ManagedObjectModel, to schema: StoreSchema, storeTag: UInt32,
        _ options: MigrationOptions
    ) throws(StoreError) -> MigrationPlan {
        let match = ModelMatch(from: stored, to: schema.model)
        let notes = MigrationNotes(options.log)
        notes.begin(database.path, match, .inferred)
        return try notes.noting { () throws(StoreError) in
            let difference = ModelDifference(from: stored, to: schema.model)
            try refuse(difference.losses.filter { !options.allowing.contains($0) }, match)
            var (backup, isCommitting): (MigrationBackup?, Bool) = (nil, false)
            do throws(StoreError) {
                var transaction = try StoreTransaction(writing: database)
                try requireModel(stored.descriptions, in: transaction)
                backup = try MigrationBackup.write(database, to: options.backupPath)
                if backup != nil { notes.part("backup") }
                let steps = try steps(of: difference, stored, storeTag, in: transaction)
                notes.note(steps)
                let outcome = try MigrationRun.run(
                    match, schema, storeTag: storeTag, options.progress, notes, in: &transaction)
                isCommitting = true
                try transaction.commit(.durable)
                notes.part("commit")
                options.progress?.finishStage()
                notes.end(outcome)
                return MigrationPlan(difference: difference, steps: steps, refusal: nil, outcome: outcome)
            } catch {
                if !isCommitting { backup?.remove() }
                throw error
            }
        }
    }

    static func refuse(_ losses: [MigrationLoss], _ match: ModelMatch) throws(StoreError) {
        let refusal = MigrationRefusal(losses: losses, obstacles: PairOrigins(match).obstacles)
        guard refusal.isEmpty else { throw .migrationRefused(path: nil, refusal) }
    }

    /// The steps of a difference, with the numbers of their rows.
    static func steps<Base: TreeReading & ~Copyable>(
        of difference: ModelDifference, _ stored: ManagedObjectModel, _ storeTag: UInt32,
        in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> [MigrationPlan.Step] {
        let catalog = try StoreCatalog.load(StoreSchema(model: stored), storeTag: storeTag, from: transaction)
        var steps: [MigrationPlan.Step] = []
        for change in difference.changes {
            var rowCount = 0
            for name in change.rows {
                guard let entity = stored.entity(named: name) else { continue }
                let counter = Counter.rows(entityNumber: catalog.numbering.entityNumbers[entity.index])
                rowCount.add(clamping: try transaction.counter(counter, catalog))
            }
            steps.append(MigrationPlan.Step(change: change, rowCount: rowCount))
        }
        return steps
    }

    // MARK: For tools and applications

    /// The effect of opening the store at `path` with `model`, and the reasons against it.
    ///
    /// With `checkingRows` the whole migration is executed in a transaction that rolls back in the end: the plan then
    /// has the numbers of its writes, and all rows that the model forbids. The store must not be open for writing
    /// elsewhere then. Otherwise only models and counters are read, and the store is opened for reading only.
    ///
    /// - Throws: the errors of opening; `.otherFormat` for a store with an older format of rows, which opening
    ///   converts.
    /// - Complexity: O(properties); with `checkingRows` that of the migration.
    public static func migrationPlan(
        at path: String, to model: ManagedObjectModel, migration: MigrationOptions = .automatic,
        checkingRows: Bool = false, options: DatabaseOptions = .init()
    ) throws(StoreError) -> MigrationPlan {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        if !checkingRows { options.access = .readOnly }
        return try StoreError.withPath(path) { () throws(StoreError) in
            let database = try withStoreErrors(try Database.open(path, options: options))
            return try closing(database) { () throws(StoreError) in
                try plan(database, model, migration, checkingRows: checkingRows)
            }
        }
    }

    /// Migrates the store at `path` to `model` without opening it for use.
    ///
    /// - Returns: the plan and its outcome; a plan without steps if the models are alike.
    /// - Throws: the errors of `open(path:model:migration:options:)`.
    public static func migrate(
        at path: String, to model: ManagedObjectModel, migration: MigrationOptions = .automatic,
        options: DatabaseOptions = .init()
    ) throws(StoreError) -> MigrationPlan {
        let plan = try migrationPlan(at: path, to: model, migration: migration, options: options)
        guard !plan.difference.isEmpty else { return plan }
        var options = options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        return try StoreError.withPath(path) { () throws(StoreError) in
            let database = try withStoreErrors(try Database.open(path, options: options))
            return try closing(database) { () throws(StoreError) in
                try migrateContent(of: database, to: model, migration)
            }
        }
    }

    /// Migrates an open database.
    package static func migrateContent(
        of database: Database, to model: ManagedObjectModel, _ migration: MigrationOptions
    ) throws(StoreError) -> MigrationPlan {
        let stored = try presentModel(database)
        let tag = Interned.stores.tag(of: UUID(bytes: database.storeIdentifier))
        return try migrate(database, from: stored, to: StoreSchema(model: model), storeTag: tag, migration)
    }

    /// Runs `body` and closes the database, after an error too.
    static func closing<Answer>(
        _ database: Database, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let answer: Answer
        do { answer = try body() } catch {
            // Report the first error.
            try? database.close()
            throw error
        }
        try withStoreErrors(try database.close())
        return answer
    }

    /// The model of a store whose rows are in the present format.
    static func presentModel(_ database: Database) throws(StoreError) -> ManagedObjectModel {
        guard database.applicationID == applicationID, let stored = try storedModel(database) else {
            throw .incompatibleModel(path: nil, reason: "it contains no objects, so there is nothing to migrate")
        }
        guard stored.format == StoreFormat.newest else { throw .otherFormat(path: nil, format: stored.format) }
        return stored.model
    }

    /// The effect of a migration of an open database, and the reasons against it.
    static func plan(
        _ database: Database, _ model: ManagedObjectModel, _ migration: MigrationOptions, checkingRows: Bool
    ) throws(StoreError) -> MigrationPlan {
        let stored = try presentModel(database)
        let (match, tag) = (
            ModelMatch(from: stored, to: model), Interned.stores.tag(of: UUID(bytes: database.storeIdentifier))
        )
        let difference = ModelDifference(from: stored, to: model)
        let losses = difference.losses.filter { !migration.allowing.contains($0) }
        let known = MigrationRefusal(losses: losses, obstacles: PairOrigins(match).obstacles)
        guard checkingRows, known.obstacles.isEmpty else {
            let steps = try steps(of: difference, stored, tag, in: try StoreTransaction(reading: database))
            return MigrationPlan(
                difference: difference, steps: steps, refusal: known.isEmpty ? nil : known, outcome: nil)
        }
        let notes = MigrationNotes(migration.log)
        notes.begin(database.path, match, .inferred, isTrial: true)
        // Never committed: it rolls back at the end of this method.
        var transaction = try StoreTransaction(writing: database)
        let steps = try steps(of: difference, stored, tag, in: transaction)
        notes.note(steps)
        var (failures, outcome): ([MigrationFailure], MigrationPlan.Outcome?) = ([], nil)
        do throws(StoreError) {
            outcome = try MigrationRun.run(
                match, StoreSchema(model: model), storeTag: tag, migration.progress, notes, in: &transaction)
        } catch {
            notes.fail("\(error)")
            guard case .migrationRefused(_, let refusal) = error else { throw error }
            failures = refusal.failures
        }
        if let outcome { notes.end(outcome) }
        assert((outcome == nil) == !failures.isEmpty, "a trial without an outcome has \(failures.count) failures")
        let refusal = MigrationRefusal(losses: losses, obstacles: known.obstacles, failures: failures)
        return MigrationPlan(
            difference: difference, steps: steps, refusal: refusal.isEmpty ? nil : refusal, outcome: outcome)
    }
}
