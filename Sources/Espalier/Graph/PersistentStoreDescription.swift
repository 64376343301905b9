// What a container shall open: which kind of store, where, for which entities, and whether it may be migrated.

public import EspalierStore

/// A store to be opened (PS-26).
public struct PersistentStoreDescription: Sendable {
    /// What kind of store.
    public var type: StoreType
    /// The file; `nil` for a store in memory.
    public var path: String?
    /// Whether saving is refused.
    public var isReadOnly: Bool
    /// The entities whose objects the store takes; `nil` = all.
    ///
    /// An entity comes with its whole hierarchy.
    public var entityNames: Set<String>?
    /// What opening may do to a file that was made with another model: by default everything that loses nothing.
    public var migration: MigrationOptions

    /// A B-tree file, made if it does not exist.
    public init(
        path: String, isReadOnly: Bool = false, entityNames: Set<String>? = nil,
        migration: MigrationOptions = .automatic
    ) {
        (type, self.path, self.isReadOnly, self.entityNames) = (.btree, path, isReadOnly, entityNames)
        self.migration = migration
    }

    private init(type: StoreType, entityNames: Set<String>?) {
        (self.type, path, isReadOnly, self.entityNames) = (type, nil, false, entityNames)
        migration = .automatic
    }

    /// A store in memory, gone when it is closed.
    public static var inMemory: PersistentStoreDescription { .init(type: .inMemory, entityNames: nil) }

    /// A store in memory for some entities.
    public static func inMemory(entityNames: Set<String>) -> PersistentStoreDescription {
        .init(type: .inMemory, entityNames: entityNames)
    }
}
