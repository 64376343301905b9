// A chain of model versions and the steps between them: it migrates a store of any version to the last one.
//
// Invariants
//   1. After every commit the store has exactly one version, completely. A step commits up to three times: the save of
//      its first closure, the migration, the save of its second closure. If a step fails, the commits before the
//      failure stay, and the error says which version the store has; the next run does not repeat the work after a
//      migration.
// Not here: what a single step does to rows (EspalierStore).

public import EspalierModel
public import EspalierStore

/// The step from one version of a model to the next (Behaviour MG-12).
public struct MigrationStage: Sendable {
    /// Works with the objects of a store; its changes are saved when it returns.
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
    /// - Parameter allowing: the data that the migration itself may lose.
    public static func custom(
        allowing: Set<MigrationLoss> = [], willMigrate: Work? = nil, didMigrate: Work? = nil
    ) -> MigrationStage {
        MigrationStage(allowing: allowing, willMigrate: willMigrate, didMigrate: didMigrate)
    }
}

/// The reasons why a migration did not reach the last version (Behaviour MG-13).
public enum SchemaMigrationError: Error {
    /// The store has none of the versions (134504): its checksum, and those of the versions.
    case unknownVersion(found: String, known: [String])
    /// The step from version number `from` (the first is 0) failed; the store now has version number `reached`.
    case stage(from: Int, reached: Int, underlying: any Error)
    /// The store could not be read.
    case store(StoreError)
}

extension SchemaMigrationError: CustomStringConvertible {
    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .unknownVersion(let found, let known):
            "the store's model has the checksum \(found), but the versions have \(known.joined(separator: ", ")); "
                + "add the version with which the store was made"
        case .stage(let version, let reached, let error):
            "the step from version \(version) to version \(version + 1) failed; the store now has version \(reached): "
                + "\(error)"
        case .store(let error): "\(error)"
        }
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
    /// The plan distinguishes versions by their version hashes. Of versions with equal hashes the last one counts,
    /// because there is nothing to do between them.
    ///
    /// - Parameter progress: shows the progress of the whole plan, and can cancel it: the steps before the present one
    ///   stay done, and the next run continues with the present one.
    /// - Parameter log: gets what each step does (DB-03).
    /// - Returns: what each step did; none if the store has the last version.
    /// - Throws: `SchemaMigrationError`.
    public func migrate(
        storeAt path: String, progress: MigrationProgress? = nil, log: MigrationLog? = nil
    ) throws(SchemaMigrationError) -> [MigrationPlan] {
        let log = log ?? .ofProcess
        let checksums = versions.map { Self.storedChecksum(of: $0) }
        let found = try checksum(ofStoreAt: path)
        guard let start = checksums.lastIndex(of: found) else {
            throw .unknownVersion(found: found, known: checksums)
        }
        var done: [MigrationPlan] = []
        for version in start..<versions.count - 1 {
            var reached = version
            log?.note(.stage(from: version, of: versions.count))
            progress?.beginStage(version - start, of: versions.count - 1 - start)
            do {
                done.append(try migrate(path, from: version, &reached, progress, log))
            } catch {
                throw .stage(from: version, reached: reached, underlying: error)
            }
        }
        return done
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
        _ path: String, from version: Int, _ reached: inout Int, _ progress: MigrationProgress?,
        _ log: MigrationLog?
    ) throws -> MigrationPlan {
        let stage = stages[version]
        if let work = stage.willMigrate { try run(work, path, versions[version]) }
        let options = MigrationOptions(allowing: stage.allowing, progress: progress, log: log)
        let (former, next) = (versions[version], versions[version + 1])
        let plan =
            if let mappings = stage.mappings {
                try mappings.migrate(storeAt: path, from: former, to: next, options)
            } else {
                try BTreeStore.migrate(at: path, to: next, migration: options)
            }
        reached = version + 1
        if let work = stage.didMigrate { try run(work, path, versions[version + 1]) }
        return plan
    }

    /// Runs `work` with the objects of a store, and saves.
    private func run(_ work: MigrationStage.Work, _ path: String, _ model: ManagedObjectModel) throws {
        let container = try PersistentContainer(model: model, stores: [PersistentStoreDescription(path: path)])
        do {
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            try work(context)
            if context.hasChanges { try context.save() }
        } catch {
            // The caller gets the first error.
            try? container.close()
            throw error
        }
        try container.close()
    }
}
