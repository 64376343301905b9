// Plans, tries and makes the step from the model of a file to another one.
//
// Invariants
//   1. A refusal, a failure and a dry run leave the file as it was.
//   2. What would be lost is refused by name unless it is allowed by that name, however many rows it is about: a store
//      without rows answers as one with millions does.

public import EspalierEngine
public import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Whether rows of a store with `stored` have to be read in another way, or written anew, for `model`.
    static func needsMigration(from stored: ManagedObjectModel, to model: ManagedObjectModel) -> Bool {
        guard stored.descriptions != model.storedDescriptions else { return false }
        let differences = ModelComparison.differences(stored: stored.descriptions, given: model.descriptions)
        guard differences.isEmpty else { return true }
        // Names may have been exchanged, and rows may lack what has a default value now.
        return ModelDifference(from: stored, to: model).changes.contains { change in
            switch change.kind {
            case .entityRenamed, .propertyRenamed: true
            default: change.cost == .rewrite
            }
        }
    }

    /// Migrates an open database, in one durable transaction, if nothing keeps it from that.
    ///
    /// - Throws: `.migrationRefused`; what the backup and the engine report.
    @discardableResult
    static func migrate(
        _ database: Database, from stored: ManagedObjectModel, to schema: StoreSchema, storeTag: UInt32,
        _ options: MigrationOptions
    ) throws(StoreError) -> MigrationPlan {
        let match = ModelMatch(from: stored, to: schema.model)
        let difference = ModelDifference(from: stored, to: schema.model)
        try refuse(difference.losses.filter { !options.allowing.contains($0) }, match)
        if let backupPath = options.backupPath { _ = try calling(try database.backUp(to: backupPath)) }
        var transaction = try StoreTransaction(writing: database)
        let steps = try steps(of: difference, stored, storeTag, in: transaction)
        let outcome = try MigrationRun.run(match, schema, storeTag: storeTag, in: &transaction)
        try transaction.commit(.durable)
        return MigrationPlan(difference: difference, steps: steps, refusal: nil, outcome: outcome)
    }

    private static func refuse(_ losses: [MigrationLoss], _ match: ModelMatch) throws(StoreError) {
        let refusal = MigrationRefusal(losses: losses, obstacles: PairOrigins(match).obstacles)
        guard refusal.isEmpty else { throw .migrationRefused(path: nil, refusal) }
    }

    /// The steps of a difference with the numbers of rows they are about.
    private static func steps<Base: TreeReading & ~Copyable>(
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
                rowCount += Int(clamping: try transaction.counter(counter, catalog))
            }
            steps.append(MigrationPlan.Step(change: change, rowCount: rowCount))
        }
        return steps
    }

    // MARK: For tools and applications

    /// What opening the store at `path` with `model` would do, and whether anything keeps it from being done.
    ///
    /// With `checkingRows` the whole migration is done in a transaction that is given up in the end: the plan then has
    /// the numbers of what it would write, and all rows that the model forbids. Nobody may have the store open for
    /// writing then. Otherwise only models and counters are read, and the store is opened for reading only.
    ///
    /// - Throws: what opening throws; `.otherFormat` for a store of an older format of rows, which opening upgrades.
    /// - Complexity: O(properties); with `checkingRows` as the migration.
    public static func migrationPlan(
        at path: String, to model: ManagedObjectModel, migration: MigrationOptions = .automatic,
        checkingRows: Bool = false, options: DatabaseOptions = .init()
    ) throws(StoreError) -> MigrationPlan {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        if !checkingRows { options.access = .readOnly }
        return try StoreError.naming(path) { () throws(StoreError) in
            let database = try calling(try Database.open(path, options: options))
            return try closing(database) { () throws(StoreError) in
                try plan(database, model, migration, checkingRows: checkingRows)
            }
        }
    }

    /// Migrates the store at `path` to `model` without opening it for use.
    ///
    /// - Returns: what was done; a plan without steps if the models are alike.
    /// - Throws: as `open(path:model:migration:options:)`.
    public static func migrate(
        at path: String, to model: ManagedObjectModel, migration: MigrationOptions = .automatic,
        options: DatabaseOptions = .init()
    ) throws(StoreError) -> MigrationPlan {
        let plan = try migrationPlan(at: path, to: model, migration: migration, options: options)
        guard !plan.difference.isEmpty else { return plan }
        var options = options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        return try StoreError.naming(path) { () throws(StoreError) in
            let database = try calling(try Database.open(path, options: options))
            return try closing(database) { () throws(StoreError) in
                try migrateContent(of: database, to: model, migration)
            }
        }
    }

    /// The same for a database that is open.
    package static func migrateContent(
        of database: Database, to model: ManagedObjectModel, _ migration: MigrationOptions
    ) throws(StoreError) -> MigrationPlan {
        let stored = try presentModel(database)
        let tag = Interned.stores.tag(of: UUID(bytes: database.storeIdentifier))
        return try migrate(database, from: stored, to: StoreSchema(model: model), storeTag: tag, migration)
    }

    /// Runs `body` and closes the database, whatever happens.
    private static func closing<Answer>(
        _ database: Database, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let answer: Answer
        do { answer = try body() } catch {
            // The first error is the one to tell.
            try? database.close()
            throw error
        }
        try calling(try database.close())
        return answer
    }

    /// The model of a store whose rows are in the present format.
    private static func presentModel(_ database: Database) throws(StoreError) -> ManagedObjectModel {
        guard database.applicationID == applicationID, let stored = try storedModel(database) else {
            throw .incompatibleModel(path: nil, reason: "the file holds no objects: there is nothing to migrate")
        }
        guard stored.format == StoreFormat.newest else { throw .otherFormat(path: nil, format: stored.format) }
        return stored.model
    }

    private static func plan(
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
        // Given up at the end of this function: it is not committed.
        var transaction = try StoreTransaction(writing: database)
        let steps = try steps(of: difference, stored, tag, in: transaction)
        var (failures, outcome): ([MigrationFailure], MigrationPlan.Outcome?) = ([], nil)
        do throws(StoreError) {
            outcome = try MigrationRun.run(match, StoreSchema(model: model), storeTag: tag, in: &transaction)
        } catch {
            guard case .migrationRefused(_, let refusal) = error else { throw error }
            failures = refusal.failures
        }
        let refusal = MigrationRefusal(losses: losses, obstacles: known.obstacles, failures: failures)
        return MigrationPlan(
            difference: difference, steps: steps, refusal: refusal.isEmpty ? nil : refusal, outcome: outcome)
    }
}
