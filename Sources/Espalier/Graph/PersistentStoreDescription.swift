// The description of a store to open: its kind, file and entities, and whether it may be migrated.

public import EspalierModel
public import EspalierStore
public import FoundationEssentials

/// A store to be opened (PS-26).
public struct PersistentStoreDescription: Sendable {
    /// A name by which a coordinator finds the store (SD-14); `nil` = it has none.
    public var name: String?
    /// The kind of store.
    public var type: StoreType
    /// The path of the file; `nil` for a store in memory.
    public var path: String?
    /// Whether saving is refused.
    public var isReadOnly: Bool
    /// The entities whose new objects the store accepts; `nil` = all.
    ///
    /// Each entity includes its whole hierarchy.
    public var entityNames: Set<String>?
    /// The configuration of the model that names these entities instead; `nil` = `entityNames` does (MD-04).
    public var configurationName: String?
    /// The changes that opening may make to a file of another model; by default everything that loses no data.
    public var migration: MigrationOptions
    /// The options of the store, by key (PS-18).
    public private(set) var options: [StoreOption: AttributeValue] = [:]

    /// A B-tree file; opening creates it if it does not exist.
    ///
    /// The path `/dev/null` describes a store in memory, as it does in Core Data.
    public init(
        path: String, isReadOnly: Bool = false, entityNames: Set<String>? = nil,
        migration: MigrationOptions = .automatic
    ) {
        (type, self.path, self.isReadOnly, self.entityNames) = (.btree, path, isReadOnly, entityNames)
        self.migration = migration
        if path == "/dev/null" { (type, self.path) = (.inMemory, nil) }
    }

    /// A B-tree file at a URL; opening creates it if it does not exist.
    public init(url: URL, isReadOnly: Bool = false, migration: MigrationOptions = .automatic) {
        self.init(path: url.path, isReadOnly: isReadOnly, migration: migration)
    }

    /// A store of any kind that is registered.
    ///
    /// - Parameter path: the place of its data; `nil` if it needs none.
    public init(
        type: StoreType, path: String? = nil, isReadOnly: Bool = false, entityNames: Set<String>? = nil,
        migration: MigrationOptions = .automatic
    ) {
        (self.type, self.path, self.isReadOnly, self.entityNames) = (type, path, isReadOnly, entityNames)
        self.migration = migration
    }

    /// Sets an option, or removes it if `value` is `nil` (PS-27).
    ///
    /// A store refuses options that its kind does not have, when it is opened.
    public mutating func setOption(_ value: AttributeValue?, forKey key: StoreOption) { options[key] = value }

    /// A store in memory, which ends when it is closed.
    public static var inMemory: PersistentStoreDescription { .init(type: .inMemory, entityNames: nil) }

    /// A store in memory for some entities.
    public static func inMemory(entityNames: Set<String>) -> PersistentStoreDescription {
        .init(type: .inMemory, entityNames: entityNames)
    }
}
