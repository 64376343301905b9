// A chain of model versions and the steps between them: it migrates a store of any version to the last one.
//
// Invariants
//   1. Each step is one commit: the saves of its first closure, the migration, and the saves of its second closure.
//      After an error and after a crash the store has the older version without a change of the step, or the newer
//      version with all of them. For a binary file all steps of a run are one change (+Binary).
//   2. Work runs for every store of an older version, because versions with work between them have different checksums.
// Not here: the version that a store has (+Course), trials (+Trial), binary files (+Binary), several stores
// (PersistentContainer+Plan), and what a single step does to rows (EspalierStore).

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
    private(set) var stages: [MigrationStage] = []

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

    /// Migrates the store at `path`, a B-tree file or a binary file, from its version to the last one; no other process
    /// or store object may have it open.
    ///
    /// The plan distinguishes versions by their version hashes without hash modifiers, which no store keeps. Versions
    /// with equal hashes may still differ in what the hashes do not cover: rules of derived attributes, abstract
    /// entities and former names. Of these the last one with the store's rows counts; the steps between them must be
    /// lightweight. A store that has the hashes of a version, and other rows than each version with them, is brought to
    /// the last of these versions before the first step, in a commit of its own, if that loses nothing.
    ///
    /// A binary file is replaced once, after the last step: the steps are carried out on a B-tree file beside it, which
    /// a process that is killed leaves. After an error and after a cancellation the binary file is as it was, without a
    /// backup of this run, and the next run begins with the first step.
    ///
    /// - Parameters:
    ///   - backupPath: the path of a backup that is written before the first step that changes the store; `nil` = no
    ///     backup. No other file may be there. If the step fails, its backup is removed; if a later one fails, the
    ///     backup stays, and the next run keeps it unless the store has changed since. No backup is written if the
    ///     store has the last version.
    ///   - progress: shows the progress of the whole plan, and can cancel it: the steps before the present one stay
    ///     done, and the next run continues with the present one.
    ///   - log: gets what each step does (DB-03).
    /// - Returns: what each step did; none if the store has the last version.
    /// - Throws: `SchemaMigrationError`; the steps before the one that failed stay done, except in a binary file.
    /// - Complexity: that of the migrations and of the work; O(size of the versions) if the store has the last version,
    ///   and for a binary file O(bytes). A binary file is in memory twice.
    public func migrate(
        storeAt path: String, backupPath: String? = nil, progress: MigrationProgress? = nil, log: MigrationLog? = nil
    ) throws(SchemaMigrationError) -> [MigrationPlan] {
        let migration = MigrationOptions(backupPath: backupPath, progress: progress, log: log)
        return try migrate(opening(at: path, migration))
    }

    /// Migrates a described store, with its options; the losses that its description allows do not count.
    func migrate(_ opening: StoreOpening) throws(SchemaMigrationError) -> [MigrationPlan] {
        guard opening.type != .binary else {
            return try course(of: opening).steps.isEmpty ? [] : migrateBinary(opening)
        }
        let (path, migration) = (opening.path ?? "", opening.migration)
        let course = try course(of: opening)
        let isBackedUp = migration.backupPath.map { hasBackup(ofStoreAt: path, at: $0, course) } ?? false
        var opening = opening
        opening.migration = MigrationOptions(progress: migration.progress, log: migration.log).logged
        opening.migration.backupPath = isBackedUp ? nil : migration.backupPath
        var done: [MigrationPlan] = []
        for (position, step) in course.steps.enumerated() {
            if !step.isAdoption { opening.migration.log?.note(.stage(from: step.from, of: versions.count)) }
            migration.progress?.beginStage(position, of: course.steps.count)
            do {
                let plan = try carryOut(step, opening)
                if changesStore(step, plan.difference) { opening.migration.backupPath = nil }
                done.append(plan)
            } catch {
                throw failure(of: step, path, reached: reached(path, step), error)
            }
        }
        return done
    }

    /// The store at `path`, described without options.
    func opening(at path: String, _ migration: MigrationOptions) -> StoreOpening {
        StoreOpening(StoreType.ofMigratedFile(at: path), model: lastVersion, path: path, migration: migration)
    }

    /// Whether a step commits anything: one without work and without a difference of the versions does nothing.
    func changesStore(_ step: SchemaCourse.Step, _ difference: ModelDifference) -> Bool {
        !difference.isEmpty || !step.isAdoption && stages[step.from].hasCode
    }

    /// Carries out one step on a described B-tree file, whose description has the options of the migration too.
    func carryOut(_ step: SchemaCourse.Step, _ opening: StoreOpening) throws -> MigrationPlan {
        var opening = opening
        opening.model = versions[step.to]
        guard !step.isAdoption else { return try BTreeStore.migrate(opening) }
        let (stage, former) = (stages[step.from], versions[step.from])
        opening.migration.allowing = stage.allowing
        if let mappings = stage.mappings { return try mappings.migrate(opening, from: former) }
        guard stage.hasCode else { return try BTreeStore.migrate(opening) }
        return try stage.migrate(try StagedMigration.begin(opening, from: former))
    }

    /// The error of a step, after which the store at `path` has version number `reached`.
    func failure(
        of step: SchemaCourse.Step, _ path: String, reached: Int, _ error: any Error
    ) -> SchemaMigrationError {
        if step.isAdoption, let cause = error as? StoreError { return .store(cause) }
        return .stage(path: path, from: step.from, reached: reached, underlying: error)
    }
}

extension MigrationStage {
    /// Whether the step is more than what the library infers.
    var hasCode: Bool { mappings != nil || willMigrate != nil || didMigrate != nil }

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
