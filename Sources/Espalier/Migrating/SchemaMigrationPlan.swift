// A chain of model versions and the steps between them: it migrates a store of any version to the last one.
//
// Invariants
//   1. Each step is one commit: the saves of its first closure, the migration, and the saves of its second closure.
//      After an error and after a crash the store has the older version without a change of the step, or the newer
//      version with all of them.
//   2. Work runs for every store of an older version, because versions with work between them have different checksums.
// Not here: what a single step does to rows (EspalierStore).

public import EspalierModel
public import EspalierStore

/// The step from one version of a model to the next (Behaviour MG-12), which is one transaction.
public struct MigrationStage: Sendable {
    /// Works with the objects of a store; its changes are saved when it returns.
    ///
    /// It may also save itself. Nothing is committed before the end of the step: an error undoes every save.
    public typealias Work = @Sendable (ManagedObjectContext) throws -> Void

    let allowing: Set<MigrationLoss>
    var mappings: MappingModel?
    let willMigrate: Work?
    let didMigrate: Work?

    /// A step that the library carries out without code of the application.
    ///
    /// - Parameter allowing: the data that the step may lose.
    public static func lightweight(allowing: Set<MigrationLoss> = []) -> MigrationStage {
        MigrationStage(allowing: allowing, willMigrate: nil, didMigrate: nil)
    }

    /// A step in which mappings make objects of the newer version from those of the older one; all other entities are
    /// migrated as in a lightweight step, in the same transaction.
    ///
    /// - Parameter allowing: the data that the step may lose.
    public static func mapped(by mappings: MappingModel, allowing: Set<MigrationLoss> = []) -> MigrationStage {
        var stage = lightweight(allowing: allowing)
        stage.mappings = mappings
        return stage
    }

    /// A step with work of the application before it, on objects of the older version, and after it, on objects of the
    /// newer one.
    ///
    /// The work and the migration are one transaction: each work runs once for each store, or the store is as it was.
    /// The work after may set required values that the migration leaves empty. The two versions must differ in a part
    /// that stores keep.
    ///
    /// - Parameter allowing: the data that the migration itself may lose.
    public static func custom(
        allowing: Set<MigrationLoss> = [], willMigrate: Work? = nil, didMigrate: Work? = nil
    ) -> MigrationStage {
        MigrationStage(allowing: allowing, willMigrate: willMigrate, didMigrate: didMigrate)
    }
}

/// The versions of a model, and the steps between them (Behaviour MG-12).
///
///     let plan = SchemaMigrationPlan(from: first)
///         .then(.lightweight(), to: second)
///         .then(.custom(didMigrate: { context in try splitNames(in: context) }), to: third)
///     let container = try PersistentContainer(plan, at: path)
public struct SchemaMigrationPlan: Sendable {
    /// The versions, oldest first.
    public private(set) var versions: [ManagedObjectModel]
    /// The newest version.
    private(set) var lastVersion: ManagedObjectModel
    private var stages: [MigrationStage] = []

    /// A plan that has one version.
    public init(from first: ManagedObjectModel) { (versions, lastVersion) = ([first], first) }

    /// A plan that has one version.
    ///
    /// - Throws: `ModelError` if the classes of the version make no valid model.
    public init(from first: any VersionedSchema.Type) throws(ModelError) { self.init(from: try first.model) }

    /// The plan with one more version.
    ///
    /// - Throws: `ModelError` if the classes of the version make no valid model.
    public func then(
        _ stage: MigrationStage, to next: any VersionedSchema.Type
    ) throws(ModelError) -> SchemaMigrationPlan {
        then(stage, to: try next.model)
    }

    /// The plan with one more version.
    public func then(_ stage: MigrationStage, to next: ManagedObjectModel) -> SchemaMigrationPlan {
        var plan = self
        plan.versions.append(next)
        plan.lastVersion = next
        plan.stages.append(stage)
        return plan
    }

    /// Migrates the store at `path` from its version to the last one; no other process or store object may have it
    /// open.
    ///
    /// The plan distinguishes versions by their version hashes without hash modifiers, which no store keeps. Of
    /// versions with equal hashes the last one counts; the steps between them must be lightweight.
    ///
    /// - Parameters:
    ///   - backupPath: the path of a backup that is written before the first step that changes the store; `nil` = no
    ///     backup. The file must not exist, so a run after one that has failed needs another path. No backup is written
    ///     if the store has the last version.
    ///   - progress: shows the progress of the whole plan, and can cancel it: the steps before the present one stay
    ///     done, and the next run continues with the present one.
    ///   - log: gets what each step does (DB-03).
    /// - Returns: what each step did; none if the store has the last version.
    /// - Throws: `SchemaMigrationError`; the steps before the one that failed stay done.
    /// - Complexity: that of the migrations and of the work; O(size of the versions) if the store has the last version.
    public func migrate(
        storeAt path: String, backupPath: String? = nil, progress: MigrationProgress? = nil, log: MigrationLog? = nil
    ) throws(SchemaMigrationError) -> [MigrationPlan] {
        let log = log ?? .ofProcess
        let checksums = versions.map { Self.storedChecksum(of: $0) }
        try checkWork(checksums)
        let found = try checksum(ofStoreAt: path)
        guard let start = checksums.lastIndex(of: found) else {
            throw .unknownVersion(path: path, found: found, known: checksums)
        }
        var (done, backupPath): ([MigrationPlan], String?) = ([], backupPath)
        for version in start..<versions.count - 1 {
            log?.note(.stage(from: version, of: versions.count))
            progress?.beginStage(version - start, of: versions.count - 1 - start)
            let options = MigrationOptions(
                allowing: stages[version].allowing, backupPath: backupPath, progress: progress, log: log)
            do {
                let plan = try migrate(path, from: version, options)
                // Work may change rows where versions do not differ. A step without code and difference does nothing.
                if stages[version].hasCode || !plan.difference.isEmpty { backupPath = nil }
                done.append(plan)
            } catch {
                // Closing the file may have failed after the commit.
                let present = try? BTreeStore.metadata(ofStoreAt: path).model?.versionChecksum
                let reached = present == checksums[version + 1] ? version + 1 : version
                throw .stage(path: path, from: version, reached: reached, underlying: error)
            }
        }
        return done
    }

    /// Requires that no store of a version before work has the checksum of a version after it.
    private func checkWork(_ checksums: [String]) throws(SchemaMigrationError) {
        for (version, checksum) in checksums.enumerated() {
            guard let last = checksums.lastIndex(of: checksum), stages[version..<last].contains(where: \.hasCode) else {
                continue
            }
            throw .equalVersions(version, last)
        }
    }

    /// The checksum of a model after a store has saved it, which is without hash modifiers.
    private static func storedChecksum(of model: ManagedObjectModel) -> String {
        // A valid model stays valid without the parts that a store does not save.
        (try? ManagedObjectModel(entities: model.storedDescriptions))?.versionChecksum ?? model.versionChecksum
    }

    private func checksum(ofStoreAt path: String) throws(SchemaMigrationError) -> String {
        do throws(StoreError) {
            let store = try BTreeStore.openWithStoredModel(path: path)
            let checksum = store.model.versionChecksum
            try store.close()
            return checksum
        } catch {
            throw .store(error)
        }
    }

    private func migrate(
        _ path: String, from version: Int, _ options: MigrationOptions
    ) throws -> MigrationPlan {
        let (stage, former, next) = (stages[version], versions[version], versions[version + 1])
        if let mappings = stage.mappings { return try mappings.migrate(storeAt: path, from: former, to: next, options) }
        guard stage.hasCode else { return try BTreeStore.migrate(at: path, to: next, migration: options) }
        return try stage.migrate(try StagedMigration.begin(at: path, from: former, to: next, options))
    }
}

extension MigrationStage {
    /// Whether the step is more than what the library infers.
    fileprivate var hasCode: Bool { mappings != nil || willMigrate != nil || didMigrate != nil }

    /// Carries out a step with work in a migration that has begun, and ends it.
    ///
    /// - Throws: the errors of the work and of the migration; then the file is as it was.
    package func migrate(_ open: StagedMigration) throws -> MigrationPlan {
        do {
            if let willMigrate { try Self.run(willMigrate, open.former, try open.beginWork()) }
            try open.migrate()
            if let didMigrate { try Self.run(didMigrate, open.model, try open.continueWork()) }
            return try open.finish()
        } catch {
            open.cancel("\(error)")
            throw error
        }
    }

    /// Runs `work` with the objects of `store`, and saves.
    private static func run(_ work: Work, _ model: ManagedObjectModel, _ store: BTreeStore) throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let context = ManagedObjectContext(coordinator)
        try work(context)
        if context.hasChanges { try context.save() }
    }
}
