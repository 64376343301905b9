// The options for opening a store whose file was created with another model.

internal import EspalierEngine
public import EspalierModel

/// How a store adopts another model (Behaviour MG-03 to MG-05).
public struct MigrationOptions: Sendable, Hashable {
    /// Whether opening migrates; if not, a file whose rows belong to another model is refused.
    public var isAutomatic: Bool
    /// The losses that are allowed; any other is refused, and leaves the file unchanged.
    public var allowing: Set<MigrationLoss>
    /// The path of a backup that is written before the store is changed; `nil` = no backup.
    ///
    /// No other file may be at the path. No backup is written if the model needs no migration, and a migration that is
    /// not committed removes the backup that it has written. A process that is killed leaves it: the next migration
    /// uses a backup at the path if the store was not changed since, and never removes it.
    public var backupPath: String?

    /// The progress, which can also cancel the migration.
    public var progress: MigrationProgress?
    /// The log of what the migration does (DB-03); `nil` = the one that the process asks for, if it does.
    public var log: MigrationLog?

    /// Creates options for a migration.
    public init(
        isAutomatic: Bool = true, allowing: Set<MigrationLoss> = [], backupPath: String? = nil,
        progress: MigrationProgress? = nil, log: MigrationLog? = nil
    ) {
        (self.isAutomatic, self.allowing, self.backupPath) = (isAutomatic, allowing, backupPath)
        (self.progress, self.log) = (progress, log)
    }

    /// Migrates only if no data is lost: the default.
    public static let automatic = MigrationOptions()
    /// Refuses files whose rows belong to another model.
    public static let off = MigrationOptions(isAutomatic: false)

    /// A name in a folder, whatever the spelling of its path.
    private struct Place: Hashable {
        let folder: FileIdentity
        let name: String

        /// The place at `path`; `nil` if it leads to no folder.
        init?(_ path: String) {
            do throws(StorageError) {
                let entry = try PosixFileSystem.shared.entry(at: path)
                guard let folder = try entry.directory.identity(of: ".", role: .directory) else { return nil }
                (self.folder, name) = (folder, entry.name)
            } catch {
                return nil
            }
        }
    }

    /// Refuses migrations of several stores of which two would write one backup, whatever the spelling of its path.
    ///
    /// A path that leads to no folder is an error of the migration that writes the backup.
    ///
    /// - Throws: `StoreError.invalidOption` with the kind of the later of the two stores, and the way out.
    package static func requireOwnBackups(
        _ stores: [(type: StoreType, migration: MigrationOptions)]
    ) throws(StoreError) {
        var places: Set<Place> = []
        for (type, migration) in stores {
            guard let path = migration.backupPath, let place = Place(path), !places.insert(place).inserted else {
                continue
            }
            throw .invalidOption(
                "backupPath", store: type.rawValue,
                reason: "two stores that are migrated have the backup \(path); give each a path of its own")
        }
    }
}
