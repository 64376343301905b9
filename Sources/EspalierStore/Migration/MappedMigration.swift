// A migration whose rows are partly made by code of the application, in one transaction with all other rows.
//
// Order: the inferred migration of all entities that are not mapped; the saves of the code; checks; commit.
//
// Invariants
//   1. Nothing is committed before `finish`: an error, a crash and `cancel` leave the file as it was.
//   2. The source shows the file as it was, whatever the destination has saved.
// Not here: the mappings themselves (Espalier).

package import EspalierEngine
package import EspalierModel
internal import FoundationEssentials

/// A migration that is open for the objects of mapped entities (Behaviour MG-06).
///
/// Use it from one thread.
package final class MappedMigration {
    /// The entities that the code maps, and what that loses.
    package struct Mapped: Sendable {
        let sources: Set<String>
        let destinations: Set<String>
        let losses: [MigrationLoss]
        let mappingNames: [String]

        /// - Parameter losses: the data of the sources that no mapping reads.
        package init(
            sources: Set<String>, destinations: Set<String>, losses: [MigrationLoss], mappingNames: [String]
        ) {
            (self.sources, self.destinations, self.losses) = (sources, destinations, losses)
            self.mappingNames = mappingNames
        }
    }

    /// The part of the progress that the inferred migration is.
    package static let inferredShare = 0.3

    /// The store as it was, for reading.
    package let source: BTreeStore
    /// The store as it becomes; its saves are not committed before `finish`.
    package let destination: BTreeStore
    private let database: Database
    private let migrationTransaction: MigrationTransaction
    private let run: MigrationRun
    private let plan: MigrationPlan
    private let path: String?
    private let progress: MigrationProgress?
    private let backup: MigrationBackup?
    private var isOpen = true
    /// Whether the commit has begun; if it fails, it may have been made.
    private var isCommitting = false
    /// Whether the log has the end of a trial.
    private var hasReported = false

    private init(
        _ database: Database, _ path: String?, source: BTreeStore, destination: BTreeStore,
        _ migrationTransaction: MigrationTransaction,
        _ run: MigrationRun, _ match: ModelMatch, _ plan: MigrationPlan, _ progress: MigrationProgress?,
        _ backup: MigrationBackup?
    ) {
        (self.match, self.backup) = (match, backup)
        (self.database, self.path, self.source, self.destination) = (database, path, source, destination)
        (self.migrationTransaction, self.run, self.plan, self.progress) = (migrationTransaction, run, plan, progress)
        assert(source.identifier == destination.identifier, "\(source.identifier) becomes \(destination.identifier)")
        assert(source.database === destination.database, "the stores of a migration are in two databases")
    }

    deinit { cancel() }

    // MARK: Beginning

    /// Opens the store at `path` and migrates the entities that are not mapped, without a commit.
    ///
    /// - Parameters:
    ///   - former: the model of the store, with the classes of its objects.
    ///   - isTrial: whether losses that are not allowed are noted in the plan instead of being refused; no backup is
    ///     written.
    /// - Throws: `.migrationRefused`; `.incompatibleModel` if the store has another model than `former`;
    ///   `.migrationCancelled`; the errors of opening and of the backup.
    package static func begin(
        at path: String, from former: ManagedObjectModel, to model: ManagedObjectModel, _ mapped: Mapped,
        _ migration: MigrationOptions, isTrial: Bool, options: DatabaseOptions
    ) throws(StoreError) -> MappedMigration {
        var options = options
        (options.createIfMissing, options.applicationID) = (false, BTreeStore.applicationID)
        return try StoreError.withPath(path) { () throws(StoreError) in
            let database = try withStoreErrors(try Database.open(path, options: options))
            return try begin(in: database, path, from: former, to: model, mapped, migration, isTrial: isTrial)
        }
    }

    /// The same for an open database, which the migration closes in the end, and after an error.
    package static func begin(
        in database: Database, _ path: String?, from former: ManagedObjectModel, to model: ManagedObjectModel,
        _ mapped: Mapped, _ migration: MigrationOptions, isTrial: Bool
    ) throws(StoreError) -> MappedMigration {
        do throws(StoreError) {
            return try beginOpened(database, path, former, model, mapped, migration, isTrial: isTrial)
        } catch {
            // Report the first error.
            try? database.close()
            throw error
        }
    }

    private static func beginOpened(
        _ database: Database, _ path: String?, _ former: ManagedObjectModel, _ model: ManagedObjectModel,
        _ mapped: Mapped, _ migration: MigrationOptions, isTrial: Bool
    ) throws(StoreError) -> MappedMigration {
        let stored = try BTreeStore.presentModel(database)
        let differences = ModelComparison.differences(stored: stored, given: former)
        guard differences.isEmpty else {
            throw .incompatibleModel(
                path: nil,
                reason: "the mappings are for another version of the model: " + differences.joined(separator: "; "))
        }
        let match = ModelMatch(from: stored, to: model).setting(apart: mapped.sources, mapped.destinations)
        let difference = ModelDifference(match)
        let replaced = Set(mapped.sources.map { MigrationLoss.removal(of: $0) })
        let losses = (difference.losses.filter { !replaced.contains($0) } + mapped.losses)
            .filter { !migration.allowing.contains($0) }
        let refusal = MigrationRefusal(losses: losses, obstacles: PairOrigins(match).obstacles)
        let notes = MigrationNotes(migration.log)
        notes.begin(path, match, .mappings(mapped.mappingNames), isTrial: isTrial)
        if !refusal.isEmpty, !isTrial || !refusal.obstacles.isEmpty {
            notes.fail("\(refusal)")
            throw .migrationRefused(path: nil, refusal)
        }
        var backup: MigrationBackup?
        do throws(StoreError) {
            let identifier = UUID(bytes: database.storeIdentifier)
            let tag = Interned.stores.tag(of: identifier)
            let source = BTreeStore(
                database: database, catalog: try catalog(of: former, stored, tag, database), identifier: identifier,
                path: path, transactionUse: .migrationSource)
            var transaction = try StoreTransaction(writing: database)
            try BTreeStore.requireModel(stored.descriptions, in: transaction)
            backup = try MigrationBackup.write(database, to: isTrial ? nil : migration.backupPath)
            let number = try StoreTransaction(reading: database).number
            let steps = try BTreeStore.steps(of: difference, stored, tag, in: transaction)
            notes.note(steps)
            let schema = StoreSchema(model: model)
            let run = try notes.noting { () throws(StoreError) in
                try MigrationRun.begin(
                    match, schema, storeTag: tag, MigrationUnits(migration.progress, share: inferredShare), notes,
                    in: &transaction)
            }
            let catalog = try StoreCatalog.load(schema, storeTag: tag, from: transaction)
            let migrationTransaction = MigrationTransaction(transaction, after: number)
            let destination = BTreeStore(
                database: database, catalog: catalog, identifier: identifier, path: path,
                transactionUse: .migrationTransaction(migrationTransaction))
            let plan = MigrationPlan(
                difference: difference, steps: steps, refusal: refusal.isEmpty ? nil : refusal, outcome: nil)
            return MappedMigration(
                database, path, source: source, destination: destination, migrationTransaction, run,
                ModelMatch(from: former, to: model).setting(apart: mapped.sources, mapped.destinations), plan,
                migration.progress, backup)
        } catch {
            backup?.remove()
            throw error
        }
    }

    /// The trees of the store as it is, for its model with classes.
    private static func catalog(
        of former: ManagedObjectModel, _ stored: ManagedObjectModel, _ tag: UInt32, _ database: Database
    ) throws(StoreError) -> StoreCatalog {
        let changes = GroupChanges(from: StoreSchema(model: stored), to: StoreSchema(model: former))
        let readable = StoreSchema(
            model: former, withoutGroups: Set(changes.made), unusedTreeNames: changes.dropped)
        return try StoreCatalog.load(readable, storeTag: tag, from: try StoreTransaction(reading: database))
    }

    // MARK: Objects

    /// The ID that a row of an entity that is not mapped has in the destination; `nil` if its entity is mapped or
    /// removed.
    package func successor(of id: ObjectID) -> ObjectID? {
        let numbering = run.oldCatalog.numbering
        guard numbering.isOwn(id), let fate = run.fates[numbering.entityNumber(ofTag: id.entityTag)] else { return nil }
        return ObjectID(
            storeTag: numbering.storeTag, entityTag: fate.entity.tag, key: id.key &+ fate.offset)
    }

    /// The entities that are not mapped and continue one another, in the models that the code knows.
    package let match: ModelMatch

    // MARK: End

    /// Checks the rows, commits and closes the store.
    ///
    /// - Parameters:
    ///   - mappings: the numbers of the mappings, for the plan.
    ///   - refusal: the reasons of the mappings against the migration.
    /// - Throws: `.migrationRefused`, `.migrationCancelled`; then the file is as it was.
    package func finish(
        _ mappings: [MigrationPlan.Mapping], _ refusal: MigrationRefusal
    ) throws(StoreError) -> MigrationPlan {
        defer { cancel() }
        return try StoreError.withPath(path) { () throws(StoreError) in
            run.notes.part("mapped objects")
            guard refusal.isEmpty else { throw .migrationRefused(path: nil, refusal) }
            try endReading()
            let transaction = try migrationTransaction.end()
            try run.finish(in: transaction)
            isCommitting = true
            try transaction.commit(.durable)
            run.notes.part("commit")
            progress?.finishStage()
            run.notes.end(run.outcome, mappings)
            isOpen = false
            try withStoreErrors(try database.close())
            return plan.with(run.outcome, mappings, plan.refusal)
        }
    }

    /// Checks the rows, rolls back and closes the store.
    ///
    /// - Returns: the plan with all reasons against the migration.
    package func finishTrial(
        _ mappings: [MigrationPlan.Mapping], _ refusal: MigrationRefusal
    ) throws(StoreError) -> MigrationPlan {
        defer { cancel() }
        return try StoreError.withPath(path) { () throws(StoreError) in
            try endReading()
            var failures = refusal.failures
            do throws(StoreError) {
                let transaction = try migrationTransaction.end()
                try run.finish(in: transaction)
            } catch {
                guard case .migrationRefused(_, let found) = error else { throw error }
                failures += found.failures
            }
            let losses = (plan.refusal?.losses ?? []) + refusal.losses
            let whole = MigrationRefusal(losses: losses, obstacles: refusal.obstacles, failures: failures)
            if whole.isEmpty { run.notes.end(run.outcome, mappings) } else { run.notes.fail("\(whole)") }
            hasReported = true
            return plan.with(whole.isEmpty ? run.outcome : nil, mappings, whole.isEmpty ? nil : whole)
        }
    }

    /// Rolls everything back and closes the store, if that was not done before.
    package func cancel() {
        guard isOpen else { return }
        isOpen = false
        if !hasReported { run.notes.fail("the mappings ended with an error") }
        try? endReading()
        migrationTransaction.rollBack()
        if !isCommitting { backup?.remove() }
        try? database.close()
    }

    /// Ends all snapshots of both stores.
    private func endReading() throws(StoreError) {
        for store in [source, destination] {
            do throws(StoreError) { try store.close() } catch {
                guard case .closed = error else { throw error }
            }
        }
    }
}
