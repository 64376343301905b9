// A container whose stores are brought to the last version of a plan before they are opened (SD-13).

import EspalierModel
public import EspalierStore

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

    /// Migrates described stores by `plan`, and opens them with the plan's last version; creates those that do not
    /// exist with that version.
    ///
    /// The plan migrates the B-tree files whose descriptions allow it, with their backup, progress and log; the plan
    /// alone says what a step may lose. A file of another kind is opened if it has the last version.
    ///
    /// No store is changed if another one is refused: where several have steps left, the plan first tries them on
    /// copies, as `SchemaMigrationPlan.migrationPlan(storeAt:)` does, with the work of the steps. A trial shows no
    /// progress, but can be cancelled by it.
    ///
    /// - Throws: `SchemaMigrationError` of the plan; `ContextError` if a store cannot be opened.
    /// - Complexity: as of the plan's stages, twice for several stores; O(stores) for stores of the last version.
    public convenience init(_ plan: SchemaMigrationPlan, stores: [PersistentStoreDescription]) throws {
        try plan.migrate(stores)
        let stores = stores.map { description in
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
        try self.init(model: plan.lastVersion, stores: stores)
    }
}

extension SchemaMigrationPlan {
    /// Migrates the stores that exist and may be migrated.
    fileprivate func migrate(_ descriptions: [PersistentStoreDescription]) throws(SchemaMigrationError) {
        var waiting: [(path: String, course: SchemaCourse, options: MigrationOptions)] = []
        for description in descriptions {
            guard description.type == .btree, let path = description.path, !description.isReadOnly,
                description.migration.isAutomatic
            else { continue }
            do throws(SchemaMigrationError) {
                let course = try course(ofStoreAt: path)
                if !course.steps.isEmpty { waiting.append((path, course, description.migration)) }
            } catch {
                guard case .store(let cause) = error, cause.isMissingFile else { throw error }
            }
        }
        if waiting.count > 1 {
            do throws(StoreError) { try MigrationOptions.requireOwnBackups(waiting.map(\.options)) } catch {
                throw .store(error)
            }
            for (path, course, options) in waiting { try tryMigration(ofStoreAt: path, course, options) }
        }
        for (path, _, options) in waiting {
            _ = try migrate(
                storeAt: path, backupPath: options.backupPath, progress: options.progress, log: options.log)
        }
    }

    /// Tries the migration of one of several stores, and its backup.
    private func tryMigration(
        ofStoreAt path: String, _ course: SchemaCourse, _ options: MigrationOptions
    ) throws(SchemaMigrationError) {
        if let backupPath = options.backupPath, !hasBackup(ofStoreAt: path, at: backupPath, course) {
            do throws(StoreError) { try BTreeStore.checkBackup(ofStoreAt: path, at: backupPath) } catch {
                throw .store(error)
            }
        }
        var tried = options.logged
        tried.progress = options.progress.map { MigrationProgress(cancelledWith: $0) }
        (tried.backupPath, tried.allowing) = (nil, [])
        let trial = try trial(ofStoreAt: path, tried)
        guard let step = trial.refused, let refusal = trial.plans.last?.refusal else { return }
        throw failure(
            of: step, path, reached: trial.start, StoreError.migrationRefused(path: path, refusal))
    }
}
