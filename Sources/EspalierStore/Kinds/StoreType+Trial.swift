// The effect of opening described stores, found out before anything is changed.
//
// Not here: the trials of each kind of store (BTreeStore+Opening, GraphFileMigration).

package import EspalierModel

extension StoreType {
    /// The effect of opening a described store for writing, and the reasons against it (SD-30); `nil` for a kind whose
    /// data are never migrated.
    ///
    /// - Parameter checkingRows: whether to try the migration, which changes nothing.
    /// - Throws: the errors of opening.
    package static func migrationPlan(
        _ opening: StoreOpening, checkingRows: Bool
    ) throws(StoreError) -> MigrationPlan? {
        switch opening.type {
        case .btree: try BTreeStore.migrationPlan(opening, checkingRows: checkingRows)
        case .binary: try WholeGraphStore.binaryPlan(opening, checkingRows: checkingRows)
        default: nil
        }
    }

    /// The model in a described file, which must exist, of a kind whose data are migrated.
    ///
    /// - Throws: the errors of reading; `.invalidRequest` for another kind.
    package static func storedModel(of opening: StoreOpening) throws(StoreError) -> ManagedObjectModel {
        switch opening.type {
        case .btree: return try BTreeStore.storedModel(ofDescribed: opening)
        case .binary: return try WholeGraphStore.storedModel(ofBinary: opening)
        default: throw .invalidRequest(reason: "stores of kind \(opening.type.rawValue) are not migrated")
        }
    }

    /// The kind of the migrated file at a path: a B-tree file if it does not begin as a binary one.
    package static func ofMigratedFile(at path: String) -> StoreType {
        // A file that cannot be read has the error of the kind that opens it.
        let count = BinaryGraphFormat.headerByteCount
        let beginning = (try? GraphFile.bytes(ofFileAt: path, atMost: count)) ?? []
        assert(beginning.count <= count, "\(beginning.count) bytes were read")
        return BinaryGraphFormat.isBeginning(beginning) ? .binary : .btree
    }

    /// Tries what opening several stores would do to their data, so that none of them is migrated before another one is
    /// refused.
    ///
    /// The first store that opening changes is not tried: nothing is committed before its own migration. The trials
    /// show no progress, but can be cancelled by it.
    ///
    /// - Returns: the positions of the stores whose data opening changes, in ascending order: to be opened last.
    /// - Throws: `.migrationRefused` and all that opening would throw; `.invalidOption` if two migrations would write
    ///   one backup.
    /// - Complexity: O(size of the models); for further stores that opening changes that of their migrations.
    package static func tryOpening(_ openings: [StoreOpening]) throws(StoreError) -> [Int] {
        var changed: [Int] = []
        for (position, opening) in openings.enumerated() {
            if try changesData(opening) { changed.append(position) }
        }
        assert(changed.allSatisfy { !openings[$0].isReadOnly }, "a store that is opened for reading only is migrated")
        try MigrationOptions.requireOwnBackups(
            changed.map { (type: openings[$0].type, migration: openings[$0].migration) })
        for position in changed.dropFirst() {
            var trial = openings[position]
            trial.migration.progress = trial.migration.progress.map { MigrationProgress(cancelledWith: $0) }
            switch trial.type {
            case .btree: try BTreeStore.tryOpening(trial)
            case .binary: try WholeGraphStore.tryOpeningBinary(trial)
            default: assertionFailure("a store of kind \(trial.type.rawValue) is migrated")
            }
        }
        return changed
    }

    private static func changesData(_ opening: StoreOpening) throws(StoreError) -> Bool {
        switch opening.type {
        case .btree: try BTreeStore.changesModel(opening)
        case .binary: try WholeGraphStore.changesBinary(opening)
        default: false
        }
    }
}
