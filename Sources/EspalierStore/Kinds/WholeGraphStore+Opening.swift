// Binary files as descriptions have them: migrated first, if the model asks for it and the description allows it.

package import EspalierEngine
internal import EspalierModel

extension WholeGraphStore {
    /// Opens a described binary file, which is read once; one that is migrated is read again afterwards.
    ///
    /// - Complexity: O(n log n) in rows and destinations; that of the migration, if there is one.
    package static func openBinary(
        _ opening: StoreOpening, in fileSystem: any FileSystem = PosixFileSystem.shared
    ) throws(StoreError) -> WholeGraphStore {
        let path = try binaryPath(of: opening)
        let file = try GraphFile(path, BinaryGraphFormat(), isReadOnly: opening.isReadOnly, in: fileSystem)
        let graph = try StoreError.withPath(path) { () throws(StoreError) -> StoredGraph? in
            guard var content = try Self.content(of: file) else { return nil }
            if try isMigrated(content, opening) {
                assert(!file.isReadOnly, "a file that is open for reading only is migrated")
                try GraphFileMigration.migrate(file, content, to: opening.model, opening.migration)
                guard let migrated = try Self.content(of: file) else { return nil }
                content = migrated
            }
            return try content.graph(opening.model)
        }
        return try WholeGraphStore(file, holding: graph, type: .binary, model: opening.model)
    }

    /// The effect of opening a described binary file for writing, and the reasons against it (SD-30).
    static func binaryPlan(
        _ opening: StoreOpening, checkingRows: Bool, checkingBackup: Bool = false
    ) throws(StoreError) -> MigrationPlan {
        let file = try GraphFile(try binaryPath(of: opening), BinaryGraphFormat(), isReadOnly: true)
        assert(file.isReadOnly, "a trial may write the file")
        return try GraphFileMigration.plan(
            file, to: opening.model, opening.migration, checkingRows: checkingRows, checkingBackup: checkingBackup)
    }

    /// Whether opening a described binary file migrates it: by the rule of B-tree files, which the plan and the trial
    /// of a binary file follow too.
    ///
    /// - Complexity: O(bytes), because the checksum of the file is compared.
    static func changesBinary(_ opening: StoreOpening) throws(StoreError) -> Bool {
        let path = try binaryPath(of: opening)
        guard mayMigrate(opening) else { return false }
        let file = try GraphFile(path, BinaryGraphFormat())
        return try StoreError.withPath(path) { () throws(StoreError) -> Bool in
            guard let content = try Self.content(of: file) else { return false }
            return try isMigrated(content, opening)
        }
    }

    /// The model in a described binary file, which must exist.
    ///
    /// - Complexity: O(bytes), because the checksum of the file is compared.
    static func storedModel(ofBinary opening: StoreOpening) throws(StoreError) -> ManagedObjectModel {
        let path = try binaryPath(of: opening)
        return try StoreError.withPath(path) { () throws(StoreError) -> ManagedObjectModel in
            try BinaryGraphFormat().model(in: try GraphFile.bytes(ofFileAt: path))
        }
    }

    private static func mayMigrate(_ opening: StoreOpening) -> Bool {
        opening.migration.isAutomatic && !opening.isReadOnly
    }

    /// Whether opening migrates a file with this content.
    private static func isMigrated(_ content: GraphReader, _ opening: StoreOpening) throws(StoreError) -> Bool {
        guard mayMigrate(opening) else { return false }
        var content = content
        let stored = try content.storedModel()
        let adaptation = try BTreeStore.adaptation(
            of: stored, to: opening.model, isReadOnly: opening.isReadOnly, opening.migration)
        return adaptation == .migration
    }

    /// The content of a file behind its header and checksum; `nil` if there is no file.
    fileprivate static func content(of file: GraphFile) throws(StoreError) -> GraphReader? {
        guard let bytes = try file.bytes() else { return nil }
        return try BinaryGraphFormat().content(of: bytes)
    }

    /// Tries the migration of a described binary file, which is read once, and stays as it is.
    ///
    /// - Throws: what opening would throw.
    static func tryOpeningBinary(_ opening: StoreOpening) throws(StoreError) {
        let plan = try binaryPlan(opening, checkingRows: true, checkingBackup: true)
        assert(plan.outcome != nil || plan.refusal != nil, "a trial has neither an outcome nor a refusal")
        if let refusal = plan.refusal { throw .migrationRefused(path: opening.path, refusal) }
    }

    fileprivate static func binaryPath(of opening: StoreOpening) throws(StoreError) -> String {
        try opening.requireOptions(among: [])
        guard let path = opening.path else {
            throw .invalidRequest(reason: "a store of kind \(opening.type.rawValue) needs a path")
        }
        return path
    }
}

extension GraphFileTree {
    /// Writes the content of a described binary file, which must exist, to a new tree beside it.
    ///
    /// - Throws: as `init(_:at:_:backupPath:)`, for the backup of the description.
    package init(
        of opening: StoreOpening, in fileSystem: any FileSystem = PosixFileSystem.shared
    ) throws(StoreError) {
        let path = try WholeGraphStore.binaryPath(of: opening)
        let file = try GraphFile(path, BinaryGraphFormat(), in: fileSystem)
        self = try StoreError.withPath(path) { () throws(StoreError) -> GraphFileTree in
            guard let content = try WholeGraphStore.content(of: file) else {
                throw .storage(.opening(.noSuchStore), path: path)
            }
            return try GraphFileTree(file, at: path, content, backupPath: opening.migration.backupPath)
        }
    }
}
