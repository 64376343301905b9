// Opening a store on a new file, a file whose model stores the same rows, a file that needs migration, or any store
// file with its own model.

public import EspalierEngine
public import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Opens the store at `path` with `model`; creates the file if it does not exist and `options` allow that.
    ///
    /// If the model differs from the file's in anything that a store keeps, opening to write migrates the file as
    /// `migration` says, in one durable transaction: by default only if no data is lost. New optional properties,
    /// renamed entities and properties, new defaults, delete rules and wider counts take the same time for any number
    /// of rows; new indexes and constraints are built, and rows that need other values are rewritten.
    ///
    /// A file that may not be migrated, and one that is opened for reading only, still opens with a model that stores
    /// the same rows: one that differs in the order of entities and properties, in indexes and uniqueness constraints,
    /// in defaults, delete rules and counts, and in which values are optional. Opening to write builds and drops
    /// indexes then; a store that is opened for reading only works without those that the file lacks.
    ///
    /// - Throws: `StoreError.migrationRefused` with the data that would be lost, or the rows that the model forbids;
    ///   `.migrationCancelled`; `.incompatibleModel` with a reason for each entity if the file was not created by this
    ///   library, or if it is not migrated, and the model stores other rows, or rows have no value for a property that
    ///   requires one now, or a number of destinations that is forbidden now; `.constraint` if it is not migrated, and
    ///   rows share values that must be unique now; `.otherFormat` if a newer library created the file, or an older one
    ///   and the file is opened read-only; `.storage` for all errors of the engine. An error leaves the file unchanged.
    /// - Complexity: O(trees) if the model is the file's; O(rows) for newly required properties and tighter counts,
    ///   O(rows log rows) for each new index and for steps that rewrite rows. The memory does not depend on the number
    ///   of rows.
    public static func open(
        path: String, model: ManagedObjectModel, migration: MigrationOptions = .automatic,
        options: DatabaseOptions = .init()
    ) throws(StoreError) -> BTreeStore {
        try open(try database(path, options), path: path, model: model, migration: migration)
    }

    /// Opens the store at `path` without engine options, for callers that do not import the engine.
    ///
    /// - Throws: as `open(path:model:migration:options:)`.
    public static func open(
        path: String, model: ManagedObjectModel, isReadOnly: Bool, migration: MigrationOptions = .automatic
    ) throws(StoreError) -> BTreeStore {
        var options = DatabaseOptions()
        if isReadOnly { options.access = .readOnly }
        return try open(path: path, model: model, migration: migration, options: options)
    }

    /// Opens a store on a database in memory; closing the store discards the data.
    public static func inMemory(
        model: ManagedObjectModel, options: DatabaseOptions = .init()
    ) throws(StoreError) -> BTreeStore {
        var options = options
        options.applicationID = applicationID
        return try open(try withStoreErrors(try Database.inMemory(options: options)), path: nil, model: model)
    }

    /// Opens an existing store with the model in its file, as tools do.
    public static func openWithStoredModel(
        path: String, options: DatabaseOptions = .init()
    ) throws(StoreError) -> BTreeStore {
        var options = options
        options.createIfMissing = false
        return try open(try database(path, options), path: path, model: nil)
    }

    /// Opens a store on an open database; closes the database on an error.
    package static func open(
        _ database: Database, path: String?, model: ManagedObjectModel?, migration: MigrationOptions = .automatic
    ) throws(StoreError) -> BTreeStore {
        try StoreError.withPath(path) { () throws(StoreError) in
            do throws(StoreError) {
                return try openContent(database, path: path, model: model, migration)
            } catch {
                // Report the first error: an error of closing has the same cause, or one that is not ours.
                try? database.close()
                throw error
            }
        }
    }

    private static func database(_ path: String, _ options: DatabaseOptions) throws(StoreError) -> Database {
        var options = options
        options.applicationID = applicationID
        return try StoreError.withPath(path) { () throws(StoreError) in
            try withStoreErrors(try Database.open(path, options: options))
        }
    }

    /// The way in which a file gets the model with which it is opened.
    enum Adaptation {
        /// The file has the model.
        case unneeded
        /// The rows stay: indexes, constraints and records are adapted, without a migration.
        case adoption
        /// The file is migrated.
        case migration
    }

    /// The way in which a file with the model `stored` gets `model`.
    ///
    /// - Throws: `.incompatibleModel` if the file may not be migrated, and `model` stores other rows.
    static func adaptation(
        of stored: ManagedObjectModel, to model: ManagedObjectModel, isReadOnly: Bool, _ migration: MigrationOptions
    ) throws(StoreError) -> Adaptation {
        guard !StoredModel.isSame(stored.descriptions, model.storedDescriptions) else { return .unneeded }
        if migration.isAutomatic, !isReadOnly, needsMigration(from: stored, to: model) { return .migration }
        let differences = ModelComparison.differences(stored: stored, given: model)
        guard differences.isEmpty else {
            let remedy =
                switch (isReadOnly, migration.isAutomatic) {
                case (true, true): "open it for writing once, which migrates it"
                case (true, false): "open it once for writing, with options that allow its migration"
                case (false, _): "allow its migration, which the options turn off"
                }
            throw .incompatibleModel(
                path: nil,
                reason: "the model differs: \(differences.joined(separator: "; ")); \(remedy), or use the model that "
                    + "it has")
        }
        return .adoption
    }

    /// Whether a store keeps parts in which its model `stored` and `model` differ, other than the order of parts and
    /// the identifiers of former names.
    static func needsMigration(from stored: ManagedObjectModel, to model: ManagedObjectModel) -> Bool {
        !ModelDifference(from: stored, to: model).isEmpty
            || !ModelComparison.differences(stored: stored, given: model).isEmpty
    }

    /// Refuses a database that is no object store.
    ///
    /// - Throws: `.incompatibleModel`.
    static func requireObjectStore(_ database: Database) throws(StoreError) {
        guard database.applicationID == applicationID else {
            throw .incompatibleModel(
                path: nil,
                reason:
                    "it is not an object store: its application ID is \(database.applicationID), not \(applicationID)")
        }
    }

    private static func openContent(
        _ database: Database, path: String?, model: ManagedObjectModel?, _ migration: MigrationOptions
    ) throws(StoreError) -> BTreeStore {
        try requireObjectStore(database)
        let identifier = UUID(bytes: database.storeIdentifier)
        let (stored, stamp) = try stampedModel(database)
        guard let model = model ?? stored?.model else {
            throw .incompatibleModel(path: nil, reason: "it contains no model, because nothing was ever stored in it")
        }
        var schema = StoreSchema(model: model)
        let storeTag = Interned.stores.tag(of: identifier)
        var fileModel: ManagedObjectModel?
        if let stored {
            let isReadOnly = database.isReadOnly
            let adaptation = try adaptation(of: stored.model, to: model, isReadOnly: isReadOnly, migration)
            try upgradeIfNeeded(database, stored, storeTag: storeTag)
            switch adaptation {
            case .unneeded: break
            case .adoption:
                schema = try adopt(schema, replacing: stored.model, in: database, storeTag: storeTag, migration.log)
                if isReadOnly { fileModel = stored.model }
            case .migration:
                assert(!isReadOnly, "a file that is open for reading only is migrated")
                try migrate(database, from: stored.model, to: schema, storeTag: storeTag, migration)
            }
        } else {
            var transaction = try StoreTransaction(writing: database)
            try StoreCatalog.create(schema, in: &transaction)
            try transaction.commit()
        }
        let transaction = try StoreTransaction(reading: database)
        // Another thread may have changed the model since it was read.
        if transaction.treeStamp != stamp {
            try requireModel(fileModel?.descriptions ?? model.storedDescriptions, in: transaction)
        }
        let catalog = try StoreCatalog.load(schema, storeTag: storeTag, from: transaction)
        return BTreeStore(
            database: database, catalog: catalog, identifier: identifier, path: path, treeStamp: transaction.treeStamp,
            fileModel: fileModel)
    }

    /// Adapts a file to a model that stores the same rows as the file's own.
    ///
    /// - Returns: the schema that the store uses: without the new indexes if the file is open for reading only.
    private static func adopt(
        _ schema: StoreSchema, replacing stored: ManagedObjectModel, in database: Database, storeTag: UInt32,
        _ log: MigrationLog?
    ) throws(StoreError) -> StoreSchema {
        guard database.isReadOnly else {
            let notes = MigrationNotes(log)
            notes.begin(database.path, ModelMatch(from: stored, to: schema.model), .sameRows)
            try notes.noting { () throws(StoreError) in
                var transaction = try StoreTransaction(writing: database)
                try requireModel(stored.descriptions, in: transaction)
                if notes.isKept {
                    let difference = ModelDifference(from: stored, to: schema.model)
                    notes.note(try steps(of: difference, stored, storeTag, in: transaction))
                }
                let outcome = try StoreCatalog.adopt(
                    schema, replacing: stored, storeTag: storeTag, notes, in: &transaction)
                try transaction.commit(.durable)
                notes.part("commit")
                notes.end(outcome)
            }
            return schema
        }
        let changes = GroupChanges(from: StoreSchema(model: stored), to: schema)
        let readable = StoreSchema(
            model: schema.model, withoutGroups: Set(changes.made), unusedTreeNames: changes.dropped)
        let transaction = try StoreTransaction(reading: database)
        let catalog = try StoreCatalog.load(readable, storeTag: storeTag, from: transaction)
        try catalog.checkRequired(
            ModelComparison.newlyRequired(stored: stored.descriptions, given: schema.model.descriptions),
            in: transaction)
        return readable
    }

    /// The model in the file, and the format of its rows; `nil` if the file is new.
    static func storedModel(
        _ database: Database
    ) throws(StoreError) -> (model: ManagedObjectModel, format: UInt16)? {
        try storedModel(in: try StoreTransaction(reading: database))
    }

    /// The model that a transaction sees, and the format of its rows; `nil` if the file is new.
    static func storedModel<Base: TreeReading & ~Copyable>(
        in transaction: borrowing StoreTransaction<Base>
    ) throws(StoreError) -> (model: ManagedObjectModel, format: UInt16)? {
        guard let records = try transaction.tree(named: StoreName.schema, keys: [UInt8].self) else { return nil }
        guard let format = try transaction.get(StoreName.format, from: records), format.count == 2 else {
            throw .damaged(reason: "schema: the format version is missing")
        }
        let version: UInt16 = format.number(at: 0)
        guard (StoreFormat.first...StoreFormat.newest).contains(version) else {
            throw .otherFormat(path: nil, format: version)
        }
        guard let bytes = try transaction.get(StoreName.model, from: records) else {
            throw .damaged(reason: "schema: the model is missing")
        }
        return (try StoredModel.decode(bytes), version)
    }

    /// Converts rows of an older format to the present one.
    static func upgradeIfNeeded(
        _ database: Database, _ stored: (model: ManagedObjectModel, format: UInt16), storeTag: UInt32
    ) throws(StoreError) {
        guard stored.format == StoreFormat.first else { return }
        guard !database.isReadOnly else { throw .otherFormat(path: nil, format: StoreFormat.first) }
        var transaction = try StoreTransaction(writing: database)
        let catalog = try StoreCatalog.load(StoreSchema(model: stored.model), storeTag: storeTag, from: transaction)
        try catalog.upgradeRows(in: &transaction)
        try transaction.commit()
    }
}
