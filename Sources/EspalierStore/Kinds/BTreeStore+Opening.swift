// B-tree files as descriptions have them: with options by key, and waiting for a process that writes.
//
// Invariants
//   1. Each use of a described file applies all options of the description, so that a wrong one is refused before
//      anything is changed.

internal import EspalierEngine
package import EspalierModel
internal import FoundationEssentials

extension BTreeStore {
    /// Opens a described file; waits for another process that writes it as long as the option `timeout` says.
    static func open(_ opening: StoreOpening) throws(StoreError) -> BTreeStore {
        let place = try place(of: opening)
        let store = try waiting(for: opening) { () throws(StoreError) -> BTreeStore in
            try open(
                path: place.path, model: opening.model, migration: opening.migration, options: place.options)
        }
        if let byteCount = place.sortByteCountMax { store.sortByteCountMax = byteCount }
        return store
    }

    /// The model in a described file, which must exist.
    ///
    /// - Throws: the errors of opening the file for writing, unless the description is for reading only.
    static func storedModel(ofDescribed opening: StoreOpening) throws(StoreError) -> ManagedObjectModel {
        let place = try place(of: opening)
        let store = try waiting(for: opening) { () throws(StoreError) -> BTreeStore in
            try openWithStoredModel(path: place.path, options: place.options)
        }
        try store.close()
        return store.model
    }

    /// Migrates a described file to the model of the description, without opening it for use.
    ///
    /// - Throws: as `migrate(at:to:migration:options:)`.
    package static func migrate(_ opening: StoreOpening) throws(StoreError) -> MigrationPlan {
        let place = try place(of: opening)
        assert(place.options.access == .readWrite, "a store that is open for reading only is migrated")
        return try waiting(for: opening) { () throws(StoreError) -> MigrationPlan in
            try migrate(
                at: place.path, to: opening.model, migration: opening.migration, options: place.options)
        }
    }

    /// The effect of opening a described file for writing, and the reasons against it (SD-30).
    package static func migrationPlan(
        _ opening: StoreOpening, checkingRows: Bool
    ) throws(StoreError) -> MigrationPlan {
        var writing = opening
        writing.isReadOnly = false
        let place = try place(of: writing)
        assert(place.options.access == .readWrite, "rows cannot be tried in a database that is only read")
        return try waiting(for: opening) { () throws(StoreError) -> MigrationPlan in
            try migrationPlan(
                at: place.path, to: opening.model, migration: opening.migration, checkingRows: checkingRows,
                options: place.options)
        }
    }

    // MARK: Trials

    /// Whether opening a described file changes the model in it; reads no row.
    ///
    /// - Throws: the errors of opening the file; `.incompatibleModel` if it is no object store, or may not be migrated.
    static func changesModel(_ opening: StoreOpening) throws(StoreError) -> Bool {
        guard !opening.isReadOnly else { return false }
        do throws(StoreError) {
            return try withDatabase(of: opening) { database throws(StoreError) -> Bool in
                try requireObjectStore(database)
                guard let stored = try storedModel(database) else { return false }
                let isReadOnly = database.isReadOnly
                let adaptation = try adaptation(
                    of: stored.model, to: opening.model, isReadOnly: isReadOnly, opening.migration)
                return adaptation != .unneeded && !isReadOnly
            }
        } catch {
            // Opening makes the file.
            guard error.isMissingFile else { throw error }
            return false
        }
    }

    /// Does what opening a described file would do to its rows and indexes, and rolls it back.
    ///
    /// Rows of an older format are converted, as opening does whatever follows.
    ///
    /// - Throws: what opening would throw.
    /// - Complexity: that of opening.
    static func tryOpening(_ opening: StoreOpening) throws(StoreError) {
        try withDatabase(of: opening) { database throws(StoreError) in try tryContent(of: database, opening) }
    }

    private static func tryContent(of database: Database, _ opening: StoreOpening) throws(StoreError) {
        guard let stored = try storedModel(database) else { return }
        let (model, migration) = (opening.model, opening.migration)
        let tag = Interned.stores.tag(of: UUID(bytes: database.storeIdentifier))
        assert(!database.isReadOnly, "a trial cannot write")
        switch try adaptation(of: stored.model, to: model, isReadOnly: false, migration) {
        case .unneeded: break
        case .adoption:
            try upgradeIfNeeded(database, stored, storeTag: tag)
            // Never committed: it rolls back at the end of this method.
            var transaction = try StoreTransaction(writing: database)
            _ = try StoreCatalog.adopt(
                StoreSchema(model: model), replacing: stored.model, storeTag: tag, MigrationNotes(nil),
                in: &transaction)
        case .migration:
            try upgradeIfNeeded(database, stored, storeTag: tag)
            try MigrationBackup.check(database, at: migration.backupPath)
            let plan = try plan(database, model, migration, checkingRows: true)
            if let refusal = plan.refusal { throw .migrationRefused(path: nil, refusal) }
        }
    }

    // MARK: Descriptions

    /// The path of a description, and what its options say but for the wait.
    fileprivate static func place(
        of opening: StoreOpening
    ) throws(StoreError) -> (path: String, options: DatabaseOptions, sortByteCountMax: Int?) {
        try opening.requireOptions(among: [
            .timeout, .cacheByteCount, .pageSize, .logByteCountMax, .sortByteCountMax,
        ])
        guard let path = opening.path else {
            throw .invalidRequest(reason: "a store of kind \(opening.type.rawValue) needs a path")
        }
        var options = DatabaseOptions()
        if opening.isReadOnly { options.access = .readOnly }
        if let count = try opening.count(of: .cacheByteCount) { options.cacheByteCount = count }
        if let count = try opening.count(of: .pageSize) { options.pageSize = count }
        if let count = try opening.count(of: .logByteCountMax) { options.logByteCountMax = count }
        return (path, options, try opening.count(of: .sortByteCountMax))
    }

    /// Runs `body` with the database of a described file, which is not created.
    ///
    /// The database is open for writing, as it will be: while it were open for reading only, another thread could not
    /// open it for writing.
    fileprivate static func withDatabase<Answer>(
        of opening: StoreOpening, _ body: (Database) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let place = try place(of: opening)
        var options = place.options
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        return try waiting(for: opening) { () throws(StoreError) -> Answer in
            try StoreError.withPath(place.path) { () throws(StoreError) -> Answer in
                let database = try withStoreErrors(try Database.open(place.path, options: options))
                return try closing(database) { () throws(StoreError) -> Answer in try body(database) }
            }
        }
    }

    /// Repeats `body` while another process writes the file, as long as the option `timeout` says.
    fileprivate static func waiting<Answer>(
        for opening: StoreOpening, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let start = ContinuousClock.now
        let timeout = try opening.number(of: .timeout) ?? 0
        assert(timeout >= 0, "a wait of \(timeout) seconds")
        while true {
            do throws(StoreError) { return try body() } catch {
                guard error.isBusy, start.duration(to: .now) < .seconds(timeout) else { throw error }
                Platform.pause(milliseconds: 20)
            }
        }
    }
}

extension StagedMigration {
    /// Begins the migration of a described file to the model of the description.
    ///
    /// - Throws: as `begin(at:from:to:_:options:)`.
    package static func begin(
        _ opening: StoreOpening, from former: ManagedObjectModel
    ) throws(StoreError) -> StagedMigration {
        let place = try BTreeStore.place(of: opening)
        assert(place.options.access == .readWrite, "a store that is open for reading only is migrated")
        let open = try BTreeStore.waiting(for: opening) { () throws(StoreError) -> StagedMigration in
            try begin(at: place.path, from: former, to: opening.model, opening.migration, options: place.options)
        }
        open.sortByteCountMax = place.sortByteCountMax
        return open
    }
}

extension MappedMigration {
    /// Begins the migration of a described file to the model of the description.
    ///
    /// - Throws: as `begin(at:from:to:_:_:isTrial:options:)`.
    package static func begin(
        _ opening: StoreOpening, from former: ManagedObjectModel, _ mapped: Mapped, isTrial: Bool
    ) throws(StoreError) -> MappedMigration {
        let place = try BTreeStore.place(of: opening)
        assert(place.options.access == .readWrite, "a store that is open for reading only is migrated")
        let open = try BTreeStore.waiting(for: opening) { () throws(StoreError) -> MappedMigration in
            try begin(
                at: place.path, from: former, to: opening.model, mapped, opening.migration, isTrial: isTrial,
                options: place.options)
        }
        if let byteCount = place.sortByteCountMax {
            (open.source.sortByteCountMax, open.destination.sortByteCountMax) = (byteCount, byteCount)
        }
        return open
    }

    /// The plan of a migration that is refused before it can be tried.
    ///
    /// - Throws: as `begin`, but for the refusal.
    package static func plan(
        _ opening: StoreOpening, _ mapped: Mapped, refusedFor refusal: MigrationRefusal
    ) throws(StoreError) -> MigrationPlan {
        assert(!refusal.isEmpty, "a migration is refused for no reason")
        return try BTreeStore.withDatabase(of: opening) { database throws(StoreError) -> MigrationPlan in
            let stored = try BTreeStore.presentModel(database)
            let tag = Interned.stores.tag(of: UUID(bytes: database.storeIdentifier))
            let difference = ModelDifference(
                ModelMatch(from: stored, to: opening.model).setting(apart: mapped.sources, mapped.destinations))
            let steps = try BTreeStore.steps(
                of: difference, stored, tag, in: try StoreTransaction(reading: database))
            return MigrationPlan(difference: difference, steps: steps, refusal: refusal, outcome: nil)
        }
    }
}

extension StoreOpening {
    fileprivate func count(of option: StoreOption) throws(StoreError) -> Int? {
        guard let number = try number(of: option) else { return nil }
        guard let count = Int(exactly: number) else {
            throw .invalidOption(option.rawValue, store: type.rawValue, reason: "\(number) is no number of bytes")
        }
        return count
    }
}

extension StoreError {
    /// Whether another process has the file open for writing.
    fileprivate var isBusy: Bool {
        if case .storage(.opening(.storeBusy), _) = self { true } else { false }
    }
}
