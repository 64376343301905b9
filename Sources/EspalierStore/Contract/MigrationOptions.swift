// What opening a store may do to a file that was made with another model.

public import EspalierModel

/// How a store takes over another model (Behaviour MG-03 to MG-05).
public struct MigrationOptions: Sendable, Hashable {
    /// Whether opening migrates: without it a file whose rows another model stores is refused.
    public var isAutomatic: Bool
    /// The losses that are allowed; any other is refused, and the file stays as it is.
    public var allowing: Set<MigrationLoss>
    /// Where a backup of the store goes before it is changed; `nil` = none is made.
    ///
    /// The file must not exist. A model that asks for no migration makes no backup.
    public var backupPath: String?

    /// Says how to migrate.
    public init(isAutomatic: Bool = true, allowing: Set<MigrationLoss> = [], backupPath: String? = nil) {
        (self.isAutomatic, self.allowing, self.backupPath) = (isAutomatic, allowing, backupPath)
    }

    /// Migrates if nothing is lost: the default.
    public static let automatic = MigrationOptions()
    /// Refuses files whose rows another model stores.
    public static let off = MigrationOptions(isAutomatic: false)
}
