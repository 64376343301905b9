// The course of one store through the versions of a plan: the version that it has, and the steps that are left.
//
// Invariants
//   1. Of the versions with the checksum of the store, the last one whose rows are those of the store counts.
//   2. A store that has no such rows, such as one with another rule of a derived attribute, is first brought to the
//      last version with its checksum. So the code of a step always gets the objects of its version.

import EspalierModel
import EspalierStore

/// The steps of a plan that are left for one store.
struct SchemaCourse {
    /// A step from one version to the next.
    struct Step {
        /// The number of the older version; the first is 0.
        let from: Int
        /// The number of the newer version; the same if a store only has the checksum of the version so far.
        let to: Int

        /// Whether the step makes a store with the checksum of a version one of the version.
        var isAdoption: Bool { from == to }
    }

    /// The number of the version that the store has.
    let start: Int
    /// The steps in their order.
    let steps: [Step]
}

extension SchemaMigrationPlan {
    /// A version with the checksum of a store.
    private struct Found {
        let number: Int
        /// Whether the version has the rows of the store.
        let isExact: Bool
    }

    /// The course of a described store.
    ///
    /// - Parameter original: the path of the store for errors, if the described one is its copy.
    func course(
        of opening: StoreOpening, copiedFrom original: String? = nil
    ) throws(SchemaMigrationError) -> SchemaCourse {
        let checksums = checksums
        try checkWork(checksums)
        let stored: ManagedObjectModel
        do throws(StoreError) { stored = try StoreType.storedModel(of: opening) } catch { throw .store(error) }
        guard let found = version(of: stored, checksums) else {
            throw .unknownVersion(
                path: original ?? opening.path ?? "", found: stored.versionChecksum, known: checksums)
        }
        let adoption = found.isExact ? [] : [SchemaCourse.Step(from: found.number, to: found.number)]
        let steps = (found.number..<versions.count - 1).map { SchemaCourse.Step(from: $0, to: $0 + 1) }
        return SchemaCourse(start: found.number, steps: adoption + steps)
    }

    /// The version that the store at `path` has after a step has failed.
    ///
    /// Closing the file may have failed after the commit.
    func reached(_ path: String, _ step: SchemaCourse.Step) -> Int {
        guard let stored = try? BTreeStore.metadata(ofStoreAt: path).model,
            let found = version(of: stored, checksums), found.number > step.from
        else { return step.from }
        return step.to
    }

    /// The number of the version that a described store has now; `nil` if it cannot be read, or has none.
    func version(ofDescribed opening: StoreOpening) -> Int? {
        guard let stored = try? StoreType.storedModel(of: opening) else { return nil }
        return version(of: stored, checksums)?.number
    }

    /// Whether the file at `backupPath` is a backup that an earlier run of the plan has written, of which a later step
    /// has failed: since then the store has only the commits of the plan's steps.
    func hasBackup(ofStoreAt path: String, at backupPath: String, _ course: SchemaCourse) -> Bool {
        let checksums = checksums
        // A file that cannot be read is an error of the step that writes the backup.
        guard let history = try? BTreeStore.history(ofStoreAt: path, sinceBackupAt: backupPath),
            let first = version(of: history.former, checksums), first.number <= course.start
        else { return false }
        let steps = (first.number..<course.start).count { number in
            let difference = ModelDifference(from: versions[number], to: versions[number + 1])
            return changesStore(SchemaCourse.Step(from: number, to: number + 1), difference)
        }
        return history.commitCount == UInt64(first.isExact ? steps : steps + 1)
    }

    // MARK: Versions

    /// The checksums of the versions in stores.
    private var checksums: [String] { versions.map { Self.storedChecksum(of: $0) } }

    /// The version of a store with the model `stored`; `nil` if none has its checksum.
    private func version(of stored: ManagedObjectModel, _ checksums: [String]) -> Found? {
        let checksum = stored.versionChecksum
        let candidates = versions.indices.filter { checksums[$0] == checksum }
        let exact = candidates.last { ModelComparison.differences(stored: stored, given: versions[$0]).isEmpty }
        return (exact ?? candidates.last).map { Found(number: $0, isExact: exact != nil) }
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
}
