// The backup of a migration: a copy of the store as it was.
//
// Invariants
//   1. A backup that a migration has written stays only if the migration was committed, or if the commit itself has
//      failed, which may have been made. So the next run can write its backup under the same path.
//   2. A process that is killed leaves its backup. If the store has no later commit, the next run uses that one; any
//      other file under the path is an error, and stays.
//   3. A migration looks for its backup, and removes it, only while nothing else can write the store: no other
//      migration of this process uses a backup that is about to go.
//   4. A migration removes no file that it did not write: it may be a backup that the application has made.

internal import EspalierEngine
package import EspalierModel

/// A backup that a migration has written, or one of the same commit that was there.
struct MigrationBackup {
    private let database: Database
    private let path: String
    private let point: BackupPoint
    /// Whether this migration has written it.
    private let isOwn: Bool

    /// Writes a backup at `path`, unless the newest commit has one there; `nil` if `path` is `nil`.
    ///
    /// The caller has begun the write transaction of the migration, and has written nothing in it.
    ///
    /// - Throws: `.storage` with `destinationExists` for any other file; the errors of the backup.
    static func write(_ database: Database, to path: String?) throws(StoreError) -> MigrationBackup? {
        guard let path else { return nil }
        // The transaction has seen commits that readers do not see before their sync ends.
        try withStoreErrors(try database.waitForCommits())
        if let backup = try existing(of: database, at: path) { return backup }
        _ = try withStoreErrors(try database.backUp(to: path))
        guard let point = try withStoreErrors(try database.point(ofCopyAt: path)) else {
            throw .damaged(reason: "the backup at \(path) is gone, or was changed, since it was written")
        }
        assert(point.storeIdentifier == database.storeIdentifier, "the backup that was written is of another store")
        return MigrationBackup(database: database, path: path, point: point, isOwn: true)
    }

    /// The backup of the newest commit at `path`; `nil` if there is none.
    private static func existing(of database: Database, at path: String) throws(StoreError) -> MigrationBackup? {
        guard let point = try withStoreErrors(try database.point(ofCopyAt: path)) else { return nil }
        let newest = try withStoreErrors(try database.newestPoint())
        assert(newest.storeIdentifier == database.storeIdentifier, "a commit of another store is the newest one")
        return point == newest ? MigrationBackup(database: database, path: path, point: point, isOwn: false) : nil
    }

    /// Requires that a backup can be written at `path`, without writing it.
    ///
    /// - Throws: as `write(_:to:)` for a file that is there.
    static func check(_ database: Database, at path: String?) throws(StoreError) {
        guard let path, try existing(of: database, at: path) == nil else { return }
        try withStoreErrors(try database.requireNoFile(at: path))
    }

    /// Removes the backup of a migration that was not committed, if the migration has written it.
    ///
    /// The caller has ended its write transaction. Another migration may have begun since, and may use the backup: then
    /// this one waits for its end.
    func remove() {
        guard isOwn else { return }
        // The caller reports the error of the migration. A backup that stays is an error of the next run, if the store
        // has a later commit by then.
        do throws(StoreError) {
            try removeUnused(during: try StoreTransaction(writing: database))
        } catch {}
    }

    /// Removes the backup, unless the store has a later commit, which may have been made in reliance on it.
    ///
    /// - Parameter transaction: keeps other migrations away until the file is gone; it writes nothing.
    private func removeUnused(during transaction: borrowing StoreTransaction<WriteTransaction>) throws(StoreError) {
        try withStoreErrors(try database.waitForCommits())
        guard try withStoreErrors(try database.newestPoint()) == point,
            try withStoreErrors(try database.point(ofCopyAt: path)) == point
        else { return }
        try withStoreErrors(try database.removeCopy(at: path))
    }
}

extension BTreeStore {
    /// Requires that a migration of the store at `path` can write its backup at `backupPath`.
    ///
    /// - Throws: `.storage` with `destinationExists` if another file is there; the errors of opening the store.
    package static func checkBackup(ofStoreAt path: String, at backupPath: String) throws(StoreError) {
        try withCommits(ofStoreAt: path) { database throws(StoreError) in
            try MigrationBackup.check(database, at: backupPath)
        }
    }

    /// The model in the backup at `backupPath`, and the number of commits that the store at `path` has made since;
    /// `nil` if the file is no backup of this store, or was written to.
    ///
    /// - Throws: the errors of opening the store and its backup.
    package static func history(
        ofStoreAt path: String, sinceBackupAt backupPath: String
    ) throws(StoreError) -> (former: ManagedObjectModel, commitCount: UInt64)? {
        let commitCount = try withCommits(ofStoreAt: path) { database throws(StoreError) -> UInt64? in
            guard let point = try withStoreErrors(try database.point(ofCopyAt: backupPath)) else { return nil }
            let newest = try withStoreErrors(try database.newestPoint())
            assert(newest.storeIdentifier == point.storeIdentifier, "commits of two stores are compared")
            guard newest.transactionID >= point.transactionID else { return nil }
            return newest.transactionID - point.transactionID
        }
        guard let commitCount, let former = try metadata(ofStoreAt: backupPath).model else { return nil }
        return (former, commitCount)
    }

    /// Runs `body`, which only reads, with the database of the store at `path`, which may be in use.
    ///
    /// The database is open for writing where that is possible: while it were open for reading only, another thread
    /// could not open it for writing. It is open for reading only if another process writes the file, if this process
    /// has it open for reading only, and if it may not be written.
    static func withCommits<Answer>(
        ofStoreAt path: String, _ body: (Database) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        try StoreError.withPath(path) { () throws(StoreError) -> Answer in
            let database = try openBesideOthers(path)
            return try closing(database) { () throws(StoreError) -> Answer in try body(database) }
        }
    }

    private static func openBesideOthers(_ path: String) throws(StoreError) -> Database {
        var options = DatabaseOptions()
        (options.createIfMissing, options.applicationID) = (false, applicationID)
        do throws(StorageError) { return try Database.open(path, options: options) } catch {
            // A fault of the file itself is found again.
            options.access = .readOnly
            return try withStoreErrors(try Database.open(path, options: options))
        }
    }
}
