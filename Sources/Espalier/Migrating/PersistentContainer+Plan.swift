// A container whose store is brought to the last version of a plan before it is opened (SD-13).

import EspalierModel
import EspalierStore

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
        let description = PersistentStoreDescription(path: path)
        if description.type == .btree { try plan.migrate(storeIfAnyAt: path, backupPath, progress) }
        try self.init(model: plan.lastVersion, stores: [description])
    }
}

extension SchemaMigrationPlan {
    /// Migrates the store at `path`; does nothing if there is none.
    fileprivate func migrate(
        storeIfAnyAt path: String, _ backupPath: String?, _ progress: MigrationProgress?
    ) throws(SchemaMigrationError) {
        do {
            _ = try migrate(storeAt: path, backupPath: backupPath, progress: progress)
        } catch {
            guard case .store(let cause) = error, cause.isMissingFile else { throw error }
        }
    }
}
