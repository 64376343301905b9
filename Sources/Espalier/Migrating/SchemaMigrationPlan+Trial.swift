// A plan of versions that is tried on a temporary copy of a store, with the work and the mappings of its steps.
//
// Invariants
//   1. The store is only read. Its copy (of a binary file, a tree with its content) is removed in the end; a process
//      that is killed leaves it.
//   2. Rows that a version forbids are named by the IDs that they have in the store, because the copy has its UUID.

public import EspalierStore

extension SchemaMigrationPlan {
    /// The steps of a trial.
    struct Trial {
        let start: Int
        /// The plan of each step, up to the one that is refused.
        var plans: [MigrationPlan] = []
        /// The step that is refused, by the last of the plans.
        var refused: SchemaCourse.Step?
    }

    /// The effect of `migrate(storeAt:)` on the store at `path`, which stays as it is: each step is carried out on a
    /// temporary copy beside the store, with its work and its mappings.
    ///
    /// The store may be in use; while it is copied, this process cannot open it for writing. Work and hooks run as they
    /// do in a migration, also with what they do outside of the store.
    ///
    /// - Parameters:
    ///   - progress: shows the progress of the trial, and can cancel it.
    ///   - log: gets what each step does (DB-03).
    /// - Returns: for each step the numbers of its rows and of its writes. A step that would be refused is the last
    ///   one, with the reasons: losses, and the rows that the newer version forbids, by their IDs; a step with work
    ///   that causes a loss is refused before it reads rows. None if the store has the last version.
    /// - Throws: `SchemaMigrationError` for a store of no version, for versions with work between them that a store
    ///   does not tell apart, and for work that throws.
    /// - Complexity: that of a copy of the store and of the migration; space for both.
    public func migrationPlan(
        storeAt path: String, progress: MigrationProgress? = nil, log: MigrationLog? = nil
    ) throws(SchemaMigrationError) -> [MigrationPlan] {
        try trial(of: opening(at: path, MigrationOptions(progress: progress, log: log).logged)).plans
    }

    /// Tries the plan on a copy of a described store, with the options of its description.
    func trial(of opening: StoreOpening) throws(SchemaMigrationError) -> Trial {
        let path = opening.path ?? ""
        let copy: String
        do throws(StoreError) { copy = try Self.makeCopy(of: opening) } catch { throw .store(error) }
        // The caller gets the error of the trial; a copy that stays is only a file too many.
        defer { try? BTreeStore.destroy(at: copy) }
        var opening = opening
        (opening.type, opening.path, opening.migration.backupPath) = (.btree, copy, nil)
        let course = try course(of: opening, copiedFrom: path)
        var trial = Trial(start: course.start)
        for (position, step) in course.steps.enumerated() {
            if !step.isAdoption { opening.migration.log?.note(.stage(from: step.from, of: versions.count)) }
            opening.migration.progress?.beginStage(position, of: course.steps.count)
            do {
                trial.plans.append(try carryOut(step, opening))
            } catch {
                guard let refusal = Self.refusal(in: error) else {
                    throw failure(of: step, path, reached: course.start, error)
                }
                do { trial.plans.append(try plan(of: step, opening, refusal)) } catch {
                    throw failure(of: step, path, reached: course.start, error)
                }
                trial.refused = step
                return trial
            }
        }
        return trial
    }

    /// Makes a B-tree file with the content of a described store beside it, and returns its path.
    private static func makeCopy(of opening: StoreOpening) throws(StoreError) -> String {
        guard opening.type != .binary else { return try GraphFileTree(of: opening).path }
        return try BTreeStore.makeTrialCopy(ofStoreAt: opening.path ?? "")
    }

    private static func refusal(in error: any Error) -> MigrationRefusal? {
        switch error {
        case StoreError.migrationRefused(_, let refusal): refusal
        case MappingError.store(.migrationRefused(_, let refusal)): refusal
        default: nil
        }
    }

    /// The plan of a step that was refused, with all reasons that a trial of the step alone finds.
    ///
    /// - Parameter refusal: the reasons that the step itself has found; those of a step with work are no more.
    private func plan(
        of step: SchemaCourse.Step, _ opening: StoreOpening, _ refusal: MigrationRefusal
    ) throws -> MigrationPlan {
        var opening = opening
        opening.model = versions[step.to]
        guard !step.isAdoption else { return try BTreeStore.migrationPlan(opening, checkingRows: true) }
        let stage = stages[step.from]
        opening.migration.allowing = stage.allowing
        if let mappings = stage.mappings {
            return try mappings.migrationPlan(opening, from: versions[step.from])
        }
        let plan = try BTreeStore.migrationPlan(opening, checkingRows: !stage.hasCode)
        return stage.hasCode ? plan.refused(for: refusal) : plan
    }
}
