// Increments: the pages that changed since a backup, and the restoration of a store from a backup and increments.

extension Database {
    /// Writes the pages that changed since `point` to an increment at `path`, while readers and the writer continue.
    ///
    /// `point` is the end of the last backup or increment (`BackupPoint(of:)`). Only the pages themselves tell whether
    /// they changed, so all pages in use are read; only the changed ones are written.
    ///
    /// - Parameter progress: called now and then; returning `false` ends the backup with `cancelled`.
    /// - Throws: `backup(.otherStore)`, `backup(.otherBase)`, and what ``backUp(to:progress:)`` throws.
    /// - Complexity: O(pages of the store).
    @discardableResult
    public func backUpChanges(
        since point: BackupPoint, to path: String, progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        try checkOpen()
        let pages = try engine.beginDurableRead()
        defer { pages.end() }
        let state = pages.versions.state
        let here = BackupPoint(
            engine.superblock, origin: engine.superblock.storeIdentifier, state, increments: point.increments)
        guard point.isOfSameStore(as: here) else { throw .backup(.otherStore) }
        guard point.lsn <= here.lsn, point.transactionID <= here.transactionID,
            point.lsn < here.lsn || point.transactionID == here.transactionID, point.increments < .max - 1
        else { throw .backup(.otherBase) }
        let report = CopyReport(watcher: progress, pageCount: UInt64(state.pageCount))
        let rights = try engine.rightsToCopies()
        return try WholeFile.write(path, rights: rights, in: engine.copyFileSystem) {
            file throws(StorageError) in
            let writer = IncrementWriter(file, IncrementHeader(base: point, state: state))
            let sweep = PageSweep(pages)
            try sweep.run { first, isInUse throws(StorageError) in
                for index in isInUse.indices where isInUse[index] && sweep.view(index).lsn >= point.lsn {
                    try writer.append(sweep.view(index))
                }
                try report.advance(to: UInt64(first) + UInt64(isInUse.count))
            }
            let header = try writer.finish()
            assert(header.changedCount <= state.pageCount, "\(header.changedCount) of \(state.pageCount) pages")
            return CopyReceipt(
                transactionID: state.transactionID, lsn: state.commitLSN, pagesWritten: UInt64(header.changedCount),
                byteCount: header.fileByteCount)
        }
    }

    /// Makes a store at `path` from a full backup and increments of it, oldest first.
    ///
    /// Neither the backup nor the increments are changed. The result is itself a backup, which further increments can
    /// continue.
    ///
    /// - Parameter backup: the path of a store that was closed cleanly; with increments, one that `backUp` made.
    /// - Parameter keepsIdentifier: whether the new store has the identifier of the original, so that references to the
    ///   original elsewhere in the application stay valid. Then the original must no longer exist, and backups of it
    ///   that are newer than this one must not be continued with increments of the new store: no check would find the
    ///   mistake.
    /// - Parameter progress: called now and then; returning `false` ends the work with `cancelled`.
    /// - Throws: `backup`, `destinationExists`, `cancelled`, `corruption`, `noSuchStore`, `diskFull`, `io`.
    /// - Complexity: O(pages of the backup and of the increments).
    @discardableResult
    public static func restore(
        _ backup: String, increments: [String] = [], to path: String, keepsIdentifier: Bool = false,
        progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        try restore(
            backup, increments: increments, to: path, keepsIdentifier: keepsIdentifier, in: PosixFileSystem.shared,
            progress: progress)
    }

    /// Makes a store from a backup and increments in any file system.
    @discardableResult
    package static func restore(
        _ backup: String, increments: [String], to path: String, keepsIdentifier: Bool = false,
        in fileSystem: any FileSystem, progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        var options = DatabaseOptions()
        options.access = .immutable
        let engine: Engine
        do throws(StorageError) {
            engine = try Engine.open(try fileSystem.entry(at: backup), in: fileSystem, options: options)
        } catch .opening(.notClean) {
            throw .backup(.notClosed)
        }
        defer { do throws(StorageError) { try engine.close() } catch {} }
        guard engine.slot.isUntouchedCopy || increments.isEmpty && !keepsIdentifier else { throw .backup(.notABackup) }
        let files = try follow(increments, engine, in: fileSystem)
        var head = CopyHead(
            superblock: engine.superblock.copied(in: fileSystem),
            state: files.last?.header.state ?? StoreState(engine.slot),
            origin: engine.slot.logIdentifier)
        if keepsIdentifier { head.superblock.storeIdentifier = engine.slot.logIdentifier }
        let rights = try engine.rightsToCopies()
        return try WholeFile.write(path, rights: rights, in: fileSystem) { file throws(StorageError) in
            let pages = try engine.beginRead()
            defer { pages.end() }
            var written = try pages.writeCopy(to: file, head: head, watcher: progress)
            for increment in files {
                try increment.write(to: file)
                try increment.close()
                written += UInt64(increment.header.changedCount)
            }
            // Truncates the pages that the last increment no longer has.
            try head.write(to: file)
            return CopyReceipt(
                transactionID: head.state.transactionID, lsn: head.state.commitLSN, pagesWritten: written,
                byteCount: UInt64(head.state.pageCount) * UInt64(head.superblock.pageSize))
        }
    }

    /// Opens and checks increments, each of which must begin where the one before ends.
    private static func follow(
        _ paths: [String], _ engine: Engine, in fileSystem: any FileSystem
    ) throws(StorageError) -> [IncrementFile] {
        var files: [IncrementFile] = []
        var end = BackupPoint(
            engine.superblock, origin: engine.slot.logIdentifier, StoreState(engine.slot), increments: 0)
        for path in paths {
            let file = try IncrementFile.open(path, in: fileSystem)
            try file.header.base.checkContinues(end)
            try file.check()
            end = file.header.end
            files.append(file)
        }
        assert(files.count == paths.count, "\(files.count) of \(paths.count) increments")
        return files
    }

    /// Brings the full backup at `path`, which no process may have open for writing, forward by an increment.
    ///
    /// A reader that has the copy open sees the new state from its next transaction on. A transaction that is open
    /// during the update throws `snapshotExpired`, and one that begins during the update throws `backup(.unfinished)`.
    /// After a power loss the copy opens again when the same increment, or a later one with the same base, was applied.
    ///
    /// - Throws: `backup`, `storeBusy`, `corruption`, `noSuchStore`, `diskFull`, `io`.
    /// - Complexity: O(pages of the increment).
    public static func bringForward(_ path: String, by increment: String) throws(StorageError) {
        try bringForward(path, by: increment, in: PosixFileSystem.shared)
    }

    /// Brings a backup of any file system forward.
    package static func bringForward(
        _ path: String, by increment: String, in fileSystem: any FileSystem
    ) throws(StorageError) {
        let file = try IncrementFile.open(increment, in: fileSystem)
        try file.check()
        let update = CopyUpdate(base: file.header.base, state: file.header.state)
        try update.apply(to: path, in: fileSystem) { store throws(StorageError) in try file.write(to: store) }
        try file.close()
    }
}
