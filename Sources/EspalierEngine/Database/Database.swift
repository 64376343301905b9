// An open store: the entry point of the engine.
//
// Invariants
//   1. There is one writer at a time and any number of readers; readers never wait and never make another thread wait.
//   2. All handles of one file within a process share one engine; the last `close` closes the store.

import Synchronization

/// An open store: an embedded, transactional, ordered key-value store in one file and its log.
///
/// A database stays with the file that was opened. Opening follows symbolic links and keeps the folder open, so neither
/// `chdir` nor a renamed or moved folder leads the database to another file. If the store file itself is renamed or
/// moved, commits still go into it and into its log, which keeps its old name and folder until the database is closed.
/// An operation that needs the name again, such as the first write after opening, throws `storeReplaced`. After the
/// store file or the log was removed, commits throw `removed`.
///
/// A database belongs to the process that opened it. In a child process of `fork` that runs no other program,
/// beginning a transaction, commit, checkpoint and close throw `forked` and change nothing; the child must not use
/// transactions that were open at the fork. Dropping the handle in the child leaves file and lock as they are.
public final class Database: Sendable {
    let engine: Engine
    private let closed = Atomic(false)

    /// The path the store was opened with, as it was given; empty for a store in memory.
    public let path: String
    /// Whether nothing can be written through this database.
    public let isReadOnly: Bool

    private init(_ engine: Engine, path: String, isReadOnly: Bool) {
        assert(isReadOnly || !engine.isReadOnly, "a store that may not be written")
        self.engine = engine
        self.path = path
        self.isReadOnly = isReadOnly
    }

    deinit {
        guard !closed.load(ordering: .relaxed) else { return }
        // `deinit` cannot throw, so it ignores the errors of `close`; the next open recovers the store.
        do throws(StorageError) {
            try Registry.close(engine, closing: closed)
        } catch .database(.transactionsOpen) {
            Registry.abandon(engine)
        } catch {}
    }

    // MARK: Opening and closing

    /// Opens the store at `path`, creating it if the options allow.
    ///
    /// A store that was not closed cleanly is recovered first: it then holds every commit that was acknowledged as
    /// durable.
    ///
    /// A file with several names (hard links) can only be read, because each name would have a log of its own.
    ///
    /// - Throws: `noSuchStore`, `path`, `notAStore`, `superblockDamaged` (only for writing: reading uses the copy),
    ///   `storeBusy`, `unsupportedFormat`, `unsupportedFeatures`, `logMissing`, `logCorrupt`, `notClean`,
    ///   `corruption`, `invalidOption`, `diskFull`, `io`.
    /// - Complexity: O(1) for a store that was closed cleanly, else O(log bytes).
    public static func open(_ path: String, options: DatabaseOptions = .init()) throws(StorageError) -> Database {
        try open(path, in: PosixFileSystem.shared, options: options)
    }

    /// Makes an empty store in memory, on the same engine.
    public static func inMemory(options: DatabaseOptions = .init()) throws(StorageError) -> Database {
        var options = options
        options.access = .readWrite
        let files = MemoryFileSystem()
        let engine = try Registry.open(try files.entry(at: "memory"), in: files, options: options)
        return Database(engine, path: "", isReadOnly: false)
    }

    /// Rewrites the superblock of a closed store from its copy, or the copy from the superblock, whichever is damaged.
    ///
    /// - Returns: whether one of them was damaged.
    /// - Throws: `noSuchStore`; `notAStore` if both are damaged; `corruption` if no slot is valid; `storeBusy`; `io`.
    public static func repair(_ path: String) throws(StorageError) -> Bool {
        try repair(path, in: PosixFileSystem.shared)
    }

    /// Repairs within any file system.
    package static func repair(_ path: String, in fileSystem: any FileSystem) throws(StorageError) -> Bool {
        try Registry.checkNotWriting(try fileSystem.entry(at: path))
        return try Engine.repair(path, in: fileSystem)
    }

    /// Opens the store at `path` of any file system.
    package static func open(
        _ path: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Database {
        let engine = try Registry.open(try fileSystem.entry(at: path), in: fileSystem, options: options)
        return Database(engine, path: path, isReadOnly: engine.isReadOnly || options.access != .readWrite)
    }

    /// Opens a store whose path is already resolved.
    static func open(
        _ entry: DirectoryEntry, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Database {
        let engine = try Registry.open(entry, in: fileSystem, options: options)
        return Database(engine, path: entry.name, isReadOnly: engine.isReadOnly || options.access != .readWrite)
    }

    /// Moves all commits into the store file, marks it as cleanly closed and releases it.
    ///
    /// If other databases of this process have the same file open, only this handle is closed.
    ///
    /// - Throws: `transactionsOpen` (then the database stays open), `closed`, `removed`, `forked`, `poisoned`,
    ///   `diskFull`, `io`.
    public func close() throws(StorageError) {
        try Registry.close(engine, closing: closed)
    }

    func checkOpen() throws(StorageError) {
        if closed.load(ordering: .relaxed) { throw .database(.closed) }
    }

    // MARK: Transactions

    /// Begins a read transaction on the newest commit.
    ///
    /// Never waits.
    ///
    /// - Parameter label: the name that `LogPressure` reports if the transaction holds the log for too long.
    /// - Throws: `closed`, `forked`; for a store that another process writes also any error of reading its log, and
    ///   `snapshotExpired` if its checkpoints are faster than this process can read the log.
    /// - Complexity: O(1); without a label, and without a commit since this thread's last read transaction ended, it
    ///   allocates no object and acquires no lock.
    public func beginRead(label: String? = nil) throws(StorageError) -> ReadTransaction {
        try checkOpen()
        return ReadTransaction(try engine.beginRead(label: label))
    }

    /// Makes all later read transactions see the newest commit that this process has read so far, whatever another
    /// process commits: several transactions then share one view.
    ///
    /// The other process may overwrite pages that only this view needs; reads then throw `snapshotExpired`, and the
    /// database must be opened again. The call affects all databases that share this process's view of the file.
    package func stopFollowing() { engine.follower?.isHeld.store(true, ordering: .relaxed) }

    /// Begins the write transaction; waits until the one before it has ended.
    ///
    /// - Throws: `alreadyWriting`, at once, if this thread began the open write transaction, even if another thread is
    ///   to end it; `readOnly`, `closed`, `forked`, `storeReplaced`, `path`, `poisoned`, `diskFull`, `io`.
    public func beginWrite() throws(StorageError) -> WriteTransaction {
        try checkOpen()
        guard !isReadOnly else { throw .database(.readOnly) }
        assert(!engine.isReadOnly, "a store that may not be written")
        return WriteTransaction(try engine.beginWrite())
    }

    /// Runs `body` after the open write transaction, and before the next one begins.
    ///
    /// It leaves a file as it is that nobody has written, which even an empty write transaction would not.
    ///
    /// - Throws: `alreadyWriting`, at once, if this thread began the open write transaction; `closed`, `forked`.
    package func betweenWriters(_ body: () -> Void = {}) throws(StorageError) {
        try checkOpen()
        assert(!isReadOnly, "a handle that cannot write waits for writers")
        try engine.betweenWriters(body)
    }

    /// Waits until every commit that was made so far is visible to new read transactions.
    ///
    /// A write transaction sees commits whose sync still runs, and a read transaction does not. A caller that decides
    /// by what a write transaction has read, and then reads it again in a read transaction, waits here in between.
    ///
    /// - Throws: `closed`; the error of the sync: `poisoned`, `io`, `diskFull`.
    package func waitForCommits() throws(StorageError) {
        try checkOpen()
        try engine.waitForCommits()
    }

    // MARK: Care

    /// Moves committed pages from the log into the store file.
    ///
    /// A checkpoint that is not passive waits for the open write transaction.
    ///
    /// - Throws: `logFull` if the mode is not passive and an older snapshot keeps part of the log; `alreadyWriting` if
    ///   it is not passive and this thread began the open write transaction; `readOnly`, `closed`,
    ///   `removed`, `forked`, `poisoned`, `diskFull`, `corruption`, `io`.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) throws(StorageError) -> CheckpointResult {
        try checkOpen()
        return try engine.checkpoint(mode)
    }

    /// Checks the whole store, as of the newest commit, and reports all problems.
    ///
    /// - Parameter progress: called after each page; returning `false` ends the check.
    /// - Throws: `closed`, `snapshotExpired`, `io`. Damage is reported, not thrown.
    public func check(progress: ((CheckProgress) -> Bool)? = nil) throws(StorageError) -> CheckReport {
        try checkOpen()
        var check = try IntegrityCheck(engine)
        defer { check.end() }
        while try check.step() {
            let report = check.report
            guard progress?(CheckProgress(pagesChecked: report.checkedPageCount, pageCount: report.pageCount)) ?? true
            else { break }
        }
        return check.report
    }

    /// Begins a check of the newest commit that the caller runs in slices.
    ///
    /// - Throws: `closed`, `io`.
    public func beginCheck() throws(StorageError) -> CheckSession {
        try checkOpen()
        return try CheckSession(engine)
    }

    /// 16 random bytes that name this store.
    public var storeIdentifier: [UInt8] { engine.superblock.storeIdentifier }
    /// Bytes per page.
    public var pageSize: Int { engine.superblock.pageSize }
    /// The application's file type, as it was given on creation.
    public var applicationID: UInt32 { engine.superblock.applicationID }
    /// The application's schema version, as it was given on creation.
    public var applicationVersion: UInt32 { engine.superblock.applicationVersion }
    /// Numbers about the open store.
    public var statistics: DatabaseStatistics { engine.statistics() }
}
