// A container whose stores are brought to the last version of a plan before they are opened (SD-13).

import EspalierModel
public import EspalierStore
public import FoundationEssentials

extension PersistentContainer {
    /// Migrates the store at `path` by `plan`, and opens it with the plan's last version; creates it with that version
    /// if it does not exist.
    ///
    /// - Parameters:
    ///   - backupPath: the path of a backup, as of `SchemaMigrationPlan.migrate`; `nil` = no backup.
    ///   - progress: shows the progress of the whole plan, and can cancel it.
    /// - Throws: `SchemaMigrationError` of the plan, as of `SchemaMigrationPlan.migrate`;
    ///   `ContextError` if the file cannot be opened.
    /// - Complexity: as of the plan's stages; O(1) for a store of the last version.
    public convenience init(
        _ plan: SchemaMigrationPlan, at path: String, backupPath: String? = nil, progress: MigrationProgress? = nil
    ) throws {
        let migration = MigrationOptions(backupPath: backupPath, progress: progress)
        try self.init(plan, stores: [PersistentStoreDescription(path: path, migration: migration)])
    }

    /// Migrates the store at `url` by `plan`, and opens it, as the initializer with a path does.
    ///
    /// - Throws: as the initializer with a path.
    /// - Complexity: that of the initializer with a path.
    public convenience init(
        _ plan: SchemaMigrationPlan, at url: URL, backupPath: String? = nil, progress: MigrationProgress? = nil
    ) throws {
        try self.init(plan, at: url.path, backupPath: backupPath, progress: progress)
    }

    /// Migrates described stores by `plan`, and opens them with the plan's last version; creates those that do not
    /// exist with that version.
    ///
    /// The plan migrates the B-tree files and binary files whose descriptions allow it, with their backup, progress and
    /// log; the plan alone says what a step may lose. A file of another kind is opened if it has the last version.
    ///
    /// No store is changed if another one is refused. Stores without a step of the plan are opened first. Where several
    /// have steps left, the plan then tries them on copies, as `SchemaMigrationPlan.migrationPlan(storeAt:)` does, with
    /// the work of the steps. A trial shows no progress, but can be cancelled by it.
    ///
    /// - Throws: `SchemaMigrationError` of the plan; `ContextError` if a store cannot be opened.
    /// - Complexity: as of the plan's stages, twice for several stores; O(stores) for stores of the last version.
    public convenience init(_ plan: SchemaMigrationPlan, stores: [PersistentStoreDescription]) throws {
        let described = stores.map { description in
            var description = description
            if description.type == .btree {
                // Backup and progress are those of the plan, which has ended. What is left to opening loses nothing,
                // such as a new index, and must not fail on the backup that the plan has left.
                (description.migration.backupPath, description.migration.progress) = (nil, nil)
            } else {
                // Opening alone would go past the steps of the plan.
                description.migration.isAutomatic = false
            }
            return description
        }
        let coordinator = PersistentStoreCoordinator(managedObjectModel: plan.lastVersion)
        var opening = try JointOpening(described, in: coordinator)
        let waiting = try plan.waiting(zip(opening.openings, stores).map { $0.migrating(as: $1) })
        try opening.openUnchanged(except: Set(waiting.map(\.position))) { _ in }
        do { try plan.migrate(waiting) } catch {
            opening.cancel()
            throw error
        }
        self.init(coordinator, described, opened: try opening.finish { _ in })
    }

    // MARK: Beside other work

    /// Migrates the store at `path` by `plan`, and opens it, on a thread of its own, so that neither the caller's actor
    /// nor the threads of tasks wait for the migration.
    ///
    /// - Parameters:
    ///   - backupPath: as of the initializer.
    ///   - progress: as of the initializer; it is told on that thread.
    /// - Throws: as the initializer.
    /// - Complexity: that of the initializer.
    public static func open(
        _ plan: SchemaMigrationPlan, at path: String, backupPath: String? = nil, progress: MigrationProgress? = nil
    ) async throws -> PersistentContainer {
        try await openOnThread { () throws -> PersistentContainer in
            try PersistentContainer(plan, at: path, backupPath: backupPath, progress: progress)
        }
    }

    /// Migrates the store at `url` by `plan`, and opens it, as the method with a path does.
    ///
    /// - Throws: as the initializer.
    /// - Complexity: that of the initializer.
    public static func open(
        _ plan: SchemaMigrationPlan, at url: URL, backupPath: String? = nil, progress: MigrationProgress? = nil
    ) async throws -> PersistentContainer {
        try await open(plan, at: url.path, backupPath: backupPath, progress: progress)
    }

    /// Migrates described stores by `plan`, and opens them, as `init(_:stores:)` does, on a thread of their own.
    ///
    /// - Throws: as the initializer.
    /// - Complexity: that of the initializer.
    public static func open(
        _ plan: SchemaMigrationPlan, stores: [PersistentStoreDescription]
    ) async throws -> PersistentContainer {
        try await openOnThread { () throws -> PersistentContainer in try PersistentContainer(plan, stores: stores) }
    }
}

extension StoreOpening {
    /// The same store, with all options of a migration that its description had for a plan.
    fileprivate func migrating(as description: PersistentStoreDescription) -> StoreOpening {
        var opening = self
        opening.migration = description.migration
        return opening
    }
}

extension SchemaMigrationPlan {
    /// A store that has steps of the plan left.
    fileprivate struct Waiting {
        /// The number of its description.
        let position: Int
        let opening: StoreOpening
        let course: SchemaCourse
    }

    /// The stores that exist, may be migrated, and have steps left.
    fileprivate func waiting(_ openings: [StoreOpening]) throws(SchemaMigrationError) -> [Waiting] {
        var waiting: [Waiting] = []
        for (position, opening) in openings.enumerated() {
            guard opening.type == .btree || opening.type == .binary, !opening.isReadOnly,
                opening.migration.isAutomatic
            else { continue }
            do throws(SchemaMigrationError) {
                let course = try course(of: opening)
                guard !course.steps.isEmpty else { continue }
                waiting.append(Waiting(position: position, opening: opening, course: course))
            } catch {
                guard case .store(let cause) = error, cause.isMissingFile else { throw error }
            }
        }
        return waiting
    }

    /// Migrates stores that have steps left, none before all others are known to pass them.
    fileprivate func migrate(_ waiting: [Waiting]) throws(SchemaMigrationError) {
        if waiting.count > 1 {
            let stores = waiting.map { (type: $0.opening.type, migration: $0.opening.migration) }
            do throws(StoreError) { try MigrationOptions.requireOwnBackups(stores) } catch { throw .store(error) }
            for store in waiting { try tryMigration(store) }
        }
        for store in waiting {
            // A binary file is not read again to find its course.
            _ = try store.opening.type == .binary ? migrateBinary(store.opening) : migrate(store.opening)
        }
    }

    /// Tries the migration of one of several stores, and its backup.
    private func tryMigration(_ store: Waiting) throws(SchemaMigrationError) {
        let (path, options) = (store.opening.path ?? "", store.opening.migration)
        // The trial of a binary file tries its backup.
        if store.opening.type == .btree, let backupPath = options.backupPath,
            !hasBackup(ofStoreAt: path, at: backupPath, store.course)
        {
            do throws(StoreError) { try BTreeStore.checkBackup(ofStoreAt: path, at: backupPath) } catch {
                throw .store(error)
            }
        }
        var tried = store.opening
        tried.migration = options.logged
        tried.migration.progress = options.progress.map { MigrationProgress(cancelledWith: $0) }
        tried.migration.allowing = []
        let trial = try trial(of: tried)
        guard let step = trial.refused, let refusal = trial.plans.last?.refusal else { return }
        throw failure(
            of: step, path, reached: trial.start, StoreError.migrationRefused(path: path, refusal))
    }
}
