// A plan of versions for a binary file: its steps are carried out on a B-tree file with the same content beside it, and
// the result replaces the binary file.
//
// Invariants
//   1. The binary file is replaced once, after the last step: after an error and after a crash it is as it was, or it
//      has the last version with the changes of all steps.
//   2. Errors of the steps have the path of the binary file; those that are within errors of work and of hooks may have
//      that of the tree.
// Not here: the tree and the replacement (EspalierStore, GraphFileTree).

import EspalierStore

extension SchemaMigrationPlan {
    /// Migrates a described binary file that has steps left, with its options; the losses that its description allows
    /// do not count.
    func migrateBinary(_ opening: StoreOpening) throws(SchemaMigrationError) -> [MigrationPlan] {
        let (path, migration) = (opening.path ?? "", opening.migration)
        let tree: GraphFileTree
        do throws(StoreError) { tree = try GraphFileTree(of: opening) } catch { throw .store(error) }
        defer { tree.remove() }
        var described = opening
        (described.type, described.path) = (.btree, tree.path)
        described.migration = MigrationOptions(progress: migration.progress, log: migration.log).logged
        // That of what the tree has: the file may have been replaced since the caller has found its course.
        let remaining = try course(of: described, copiedFrom: path)
        // The replacement is one more stage.
        let stageCount = remaining.steps.count + 1
        var done: [MigrationPlan] = []
        for (position, step) in remaining.steps.enumerated() {
            if !step.isAdoption { described.migration.log?.note(.stage(from: step.from, of: versions.count)) }
            migration.progress?.beginStage(position, of: stageCount)
            do { done.append(try carryOut(step, described)) } catch {
                throw failure(of: step, path, reached: remaining.start, Self.error(error, about: path, not: tree.path))
            }
        }
        guard let last = remaining.steps.last else { return [] }
        migration.progress?.beginStage(remaining.steps.count, of: stageCount)
        do throws(StoreError) {
            // Afterwards the migration cannot be cancelled any more.
            try migration.progress?.advance(to: 0)
            try tree.replaceFile(lastVersion, backupPath: migration.backupPath)
        } catch {
            // The file may have been replaced without its name being durable.
            let reached = version(ofDescribed: opening) ?? remaining.start
            throw failure(of: last, path, reached: reached, error.replacing(path: nil, by: path))
        }
        migration.progress?.finishStage()
        return done
    }

    /// The error of a step about the store, if it is about its tree.
    private static func error(_ error: any Error, about path: String, not treePath: String) -> any Error {
        switch error {
        case let error as StoreError: error.replacing(path: treePath, by: path)
        case MappingError.store(let cause): MappingError.store(cause.replacing(path: treePath, by: path))
        default: error
        }
    }
}
