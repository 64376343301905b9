// Binary files as descriptions have them: migrated first, if the model asks for it and the description allows it.

internal import EspalierModel

extension WholeGraphStore {
    /// Opens a described binary file.
    static func openBinary(_ opening: StoreOpening) throws(StoreError) -> WholeGraphStore {
        let path = try binaryPath(of: opening)
        if try changesBinary(opening) {
            assert(!opening.isReadOnly, "a file that is open for reading only is migrated")
            try GraphFileMigration.migrate(
                try GraphFile(path, BinaryGraphFormat()), to: opening.model, opening.migration)
        }
        let file = try GraphFile(path, BinaryGraphFormat(), isReadOnly: opening.isReadOnly)
        return try WholeGraphStore(file, type: .binary, model: opening.model)
    }

    /// The effect of opening a described binary file for writing, and the reasons against it (SD-30).
    static func binaryPlan(_ opening: StoreOpening, checkingRows: Bool) throws(StoreError) -> MigrationPlan {
        let file = try GraphFile(try binaryPath(of: opening), BinaryGraphFormat(), isReadOnly: true)
        assert(file.isReadOnly, "a trial may write the file")
        return try GraphFileMigration.plan(file, to: opening.model, opening.migration, checkingRows: checkingRows)
    }

    /// Whether opening a described binary file migrates it: by the rule of B-tree files, which the plan and the trial
    /// of a binary file follow too.
    ///
    /// - Complexity: O(bytes), because the checksum of the file is compared.
    static func changesBinary(_ opening: StoreOpening) throws(StoreError) -> Bool {
        let path = try binaryPath(of: opening)
        guard opening.migration.isAutomatic, !opening.isReadOnly else { return false }
        let file = try GraphFile(path, BinaryGraphFormat())
        return try StoreError.withPath(path) { () throws(StoreError) -> Bool in
            guard let bytes = try file.bytes() else { return false }
            let stored = try BinaryGraphFormat().model(in: bytes)
            let adaptation = try BTreeStore.adaptation(
                of: stored, to: opening.model, isReadOnly: opening.isReadOnly, opening.migration)
            return adaptation == .migration
        }
    }

    /// Tries the migration of a described binary file, which stays as it is.
    ///
    /// - Throws: what opening would throw.
    static func tryOpeningBinary(_ opening: StoreOpening) throws(StoreError) {
        try GraphFileMigration.requireNoBackup(opening.migration)
        let plan = try binaryPlan(opening, checkingRows: true)
        assert(plan.outcome != nil || plan.refusal != nil, "a trial has neither an outcome nor a refusal")
        if let refusal = plan.refusal { throw .migrationRefused(path: opening.path, refusal) }
    }

    private static func binaryPath(of opening: StoreOpening) throws(StoreError) -> String {
        try opening.requireOptions(among: [])
        guard let path = opening.path else {
            throw .invalidRequest(reason: "a store of kind \(opening.type.rawValue) needs a path")
        }
        return path
    }
}
