// The mappings between two versions of a model, and the migration by them.

public import EspalierModel
public import EspalierStore

/// The rules by which a store of an older model becomes one of a newer model where inference does not suffice: entities
/// are split, united, or made from others by code (Behaviour MG-06).
///
///     let mappings = MappingModel([
///         EntityMapping("Person", to: "Employee", where: try FetchPredicate(format: "salary > 0")),
///         EntityMapping("Person", to: "Customer", where: try FetchPredicate(format: "salary <= 0 OR salary == nil")),
///     ])
///     try mappings.migrate(storeAt: path, from: first, to: second)
///
/// All other entities are migrated as without mappings; an empty mapping model infers everything. Relationships from
/// them to objects of mapped entities lead to the successors of these objects.
///
/// Objects of mapped entities get new IDs. They are in memory until the end, both the older and the newer ones; objects
/// of other entities are not. Everything is one transaction.
public struct MappingModel: Sendable {
    /// The mappings, in the order in which they are carried out.
    public var entityMappings: [EntityMapping]

    /// A model with these mappings.
    public init(_ entityMappings: [EntityMapping] = []) { self.entityMappings = entityMappings }

    /// The mappings by name.
    public var entityMappingsByName: [String: EntityMapping] {
        Dictionary(entityMappings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Migrates the store at `path`, a B-tree file or a binary file; no other process or store object may have it open.
    ///
    /// A binary file is replaced once, at the end: the mappings are carried out on a B-tree file beside it, which a
    /// process that is killed leaves.
    ///
    /// - Parameters:
    ///   - former: the model of the store.
    ///   - migration: the losses that are allowed, a backup, and the progress. A property of a mapped entity that no
    ///     mapping reads is a loss, and so is a value that none of the mappings reads which take its object
    ///     (`removal(of: "Person.pay")`, of an element `removal(of: "Person.home.town")`), an order that none of them
    ///     keeps (`order(of: "Person.tasks")`), and an object that no mapping takes (`removal(of: "Person")`).
    /// - Returns: the plan, with the numbers of the mappings.
    /// - Throws: `MappingError`; the file is then as it was.
    /// - Complexity: O(rows log rows); the memory grows with the number of objects of mapped entities. A binary file is
    ///   in memory twice.
    @discardableResult
    public func migrate(
        storeAt path: String, from former: ManagedObjectModel, to model: ManagedObjectModel,
        _ migration: MigrationOptions = .automatic
    ) throws(MappingError) -> MigrationPlan {
        try migrate(Self.opening(at: path, model, migration), from: former)
    }

    /// Migrates a described store, with its options, to the model of the description.
    func migrate(
        _ opening: StoreOpening, from former: ManagedObjectModel
    ) throws(MappingError) -> MigrationPlan {
        try run(opening, former, isTrial: false)
    }

    /// Tries the migration and rolls it back: what it would do, and all reasons against it.
    ///
    /// - Throws: `MappingError` for rules that do not fit the models, and for hooks that fail.
    /// - Complexity: that of the migration.
    public func migrationPlan(
        storeAt path: String, from former: ManagedObjectModel, to model: ManagedObjectModel,
        _ migration: MigrationOptions = .automatic
    ) throws(MappingError) -> MigrationPlan {
        try migrationPlan(Self.opening(at: path, model, migration), from: former)
    }

    /// Tries the migration of a described store, with its options, to the model of the description.
    func migrationPlan(
        _ opening: StoreOpening, from former: ManagedObjectModel
    ) throws(MappingError) -> MigrationPlan {
        try run(opening, former, isTrial: true)
    }

    private static func opening(
        at path: String, _ model: ManagedObjectModel, _ migration: MigrationOptions
    ) -> StoreOpening {
        StoreOpening(StoreType.ofMigratedFile(at: path), model: model, path: path, migration: migration)
    }

    private func run(
        _ opening: StoreOpening, _ former: ManagedObjectModel, isTrial: Bool
    ) throws(MappingError) -> MigrationPlan {
        guard opening.type != .binary else { return try runBinary(opening, former, isTrial: isTrial) }
        let rules = try MappingRules(self, from: former, to: opening.model)
        var logged = opening
        logged.migration = opening.migration.logged
        let open: MappedMigration
        do throws(StoreError) {
            open = try MappedMigration.begin(logged, from: former, rules.mapped, isTrial: isTrial)
        } catch {
            // A trial begins whatever is lost, but not if relationships cannot become inverses of one another.
            guard isTrial, case .migrationRefused(_, let refusal) = error else { throw .store(error) }
            return try Self.plan(opening, rules, refusedFor: refusal)
        }
        return try run(open, rules, opening.migration, isTrial: isTrial)
    }

    /// Carries the mappings out on a B-tree file with the content of a binary file; the result then replaces that.
    private func runBinary(
        _ opening: StoreOpening, _ former: ManagedObjectModel, isTrial: Bool
    ) throws(MappingError) -> MigrationPlan {
        let (path, progress) = (opening.path, opening.migration.progress)
        var described = opening
        if isTrial { described.migration.backupPath = nil }
        let tree: GraphFileTree
        do throws(StoreError) { tree = try GraphFileTree(of: described) } catch { throw .store(error) }
        defer { tree.remove() }
        (described.type, described.path, described.migration.backupPath) = (.btree, tree.path, nil)
        if !isTrial { progress?.beginStage(0, of: 2) }
        let plan: MigrationPlan
        do throws(MappingError) { plan = try run(described, former, isTrial: isTrial) } catch {
            guard case .store(let cause) = error else { throw error }
            throw .store(cause.replacing(path: tree.path, by: path))
        }
        guard !isTrial else { return plan }
        progress?.beginStage(1, of: 2)
        do throws(StoreError) {
            // Afterwards the migration cannot be cancelled any more.
            try progress?.advance(to: 0)
            try tree.replaceFile(opening.model, backupPath: opening.migration.backupPath)
        } catch {
            throw .store(error.replacing(path: nil, by: path))
        }
        progress?.finishStage()
        return plan
    }

    private static func plan(
        _ opening: StoreOpening, _ rules: MappingRules, refusedFor refusal: MigrationRefusal
    ) throws(MappingError) -> MigrationPlan {
        do throws(StoreError) {
            return try MappedMigration.plan(opening, rules.mapped, refusedFor: refusal)
        } catch {
            throw .store(error)
        }
    }

    /// Carries the mappings out in a migration that has begun.
    package func run(
        _ open: MappedMigration, _ former: ManagedObjectModel, _ model: ManagedObjectModel,
        _ migration: MigrationOptions
    ) throws(MappingError) -> MigrationPlan {
        try run(open, try MappingRules(self, from: former, to: model), migration, isTrial: false)
    }

    /// The entities that the mappings concern, and the data that none of them reads.
    package func mapped(
        from former: ManagedObjectModel, to model: ManagedObjectModel
    ) throws(MappingError) -> MappedMigration.Mapped {
        try MappingRules(self, from: former, to: model).mapped
    }

    private func run(
        _ open: MappedMigration, _ rules: MappingRules, _ migration: MigrationOptions, isTrial: Bool
    ) throws(MappingError) -> MigrationPlan {
        defer { open.cancel() }
        let session = MigrationSession(open, rules, migration)
        let (numbers, refusal) = try session.run()
        do throws(StoreError) {
            return isTrial ? try open.finishTrial(numbers, refusal) : try open.finish(numbers, refusal)
        } catch {
            throw .store(error)
        }
    }
}
