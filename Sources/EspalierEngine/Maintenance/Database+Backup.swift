// The backup of a store that is in use: copies one snapshot, while the writer continues.

extension Database {
    /// Copies the newest commit to a new store file at `path`, while readers and the writer continue.
    ///
    /// The copy is one snapshot, and copying never starts again. The copy is a store like any other: closed cleanly,
    /// with an identifier of its own. It gets its name when it is whole and durable. Until it is first opened for
    /// writing it can be the base of increments (``backUpChanges(since:to:progress:)``). A store in memory is copied to
    /// the disk. The copy has the permissions of the store, but its owner may read and write it; if the
    /// superuser makes it, it also has the owner and the group of the store.
    ///
    /// The snapshot keeps the log from being reused, like every reader's snapshot. If the log reaches its cap
    /// meanwhile, the backup ends with `snapshotExpired`.
    ///
    /// - Parameter progress: called now and then; returning `false` ends the backup with `cancelled`.
    /// - Throws: `destinationExists`, `cancelled`, `snapshotExpired`, `corruption`, `closed`, `poisoned`, `diskFull`,
    ///   `io`.
    /// - Complexity: O(pages); memory for 1 MiB beside the cache.
    @discardableResult
    public func backUp(to path: String, progress: CopyWatcher? = nil) throws(StorageError) -> CopyReceipt {
        try copy(
            to: try engine.copyFileSystem.entry(at: path), replacing: nil, in: engine.copyFileSystem,
            progress: progress)
    }

    /// Copies the newest commit to a new store file at `path` that has the identifier of this store.
    ///
    /// The copy is for a trial, after which it is removed: a store and its copy with one identifier must not be taken
    /// for one another, because both go on with the same log positions.
    ///
    /// - Throws: as `backUp(to:progress:)`.
    /// - Complexity: that of `backUp(to:progress:)`.
    package func copyForTrial(to path: String) throws(StorageError) {
        let fileSystem = engine.copyFileSystem
        try copy(to: try fileSystem.entry(at: path), as: storeIdentifier, rights: nil, in: fileSystem)
    }

    /// Copies the newest commit to a new store file with the name `entry` that has an identifier of the caller's.
    ///
    /// Only one store with the identifier may be used at a time, because all go on with the same log positions.
    ///
    /// - Parameter rights: those to the copy; `nil` = those to this store, but its owner may read and write the copy.
    /// - Throws: as `backUp(to:progress:)`.
    /// - Complexity: that of `backUp(to:progress:)`.
    package func copy(
        to entry: DirectoryEntry, as identifier: [UInt8], rights: FileRights?, in fileSystem: any FileSystem
    ) throws(StorageError) {
        assert(identifier.count == 16, "an identifier of \(identifier.count) bytes")
        let receipt = try copy(
            to: entry, replacing: nil, in: fileSystem, identifier: identifier, rights: rights)
        assert(receipt.pagesWritten > 0, "a copy without pages")
    }

    /// The newest commit, as a backup of it names it.
    ///
    /// - Throws: `closed`; errors of reading the log of another process.
    package func newestPoint() throws(StorageError) -> BackupPoint {
        try checkOpen()
        let pages = try engine.beginRead()
        defer { pages.end() }
        return BackupPoint(
            engine.superblock, origin: engine.superblock.storeIdentifier, pages.versions.state, increments: 0)
    }

    /// The commit of this store that the file at `path` is a whole copy of; `nil` if there is no file, and for a file
    /// that is no such copy or was written to since.
    ///
    /// - Throws: `path`, `io`.
    package func point(ofCopyAt path: String) throws(StorageError) -> BackupPoint? {
        let entry = try engine.copyFileSystem.entry(at: path)
        guard let file = try entry.openIfPresent(role: .copy, mode: .readOnly) else { return nil }
        // A file that was only read has nothing to lose when it is closed.
        defer { do throws(StorageError) { try file.close() } catch {} }
        guard let (superblock, slot) = try? Engine.readPage0(of: file), slot.isUntouchedCopy else { return nil }
        let point = BackupPoint(superblock, origin: slot.logIdentifier, StoreState(slot), increments: 0)
        assert(point.increments == 0, "a full copy follows \(point.increments) increments")
        return point.isOfSameStore(as: try newestPoint()) ? point : nil
    }

    /// Requires that no file is at `path`, where a copy will be made.
    ///
    /// - Throws: `destinationExists`, `path`, `io`.
    package func requireNoFile(at path: String) throws(StorageError) {
        guard try engine.copyFileSystem.entry(at: path).identity(role: .copy) == nil else {
            throw .maintenance(.destinationExists)
        }
    }

    /// Removes the copy of this store at `path`.
    ///
    /// - Throws: as `remove(at:)`.
    package func removeCopy(at path: String) throws(StorageError) {
        try Database.remove(at: path, in: engine.copyFileSystem)
    }

    /// Copies the newest commit to a file with the name `entry`.
    ///
    /// - Parameters:
    ///   - former: the file that has the name and is replaced; `nil` if no file may have it.
    ///   - identifier: the identifier of the copy; `nil` = one of its own.
    ///   - rights: those to the copy; `nil` = those to the file that is replaced, and without one those to this store,
    ///     but its owner may read and write the copy.
    func copy(
        to entry: DirectoryEntry, replacing former: FileIdentity?, in fileSystem: any FileSystem,
        identifier: [UInt8]? = nil, rights: FileRights? = nil, progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        try checkOpen()
        let pages = try engine.beginDurableRead()
        defer { pages.end() }
        let state = pages.versions.state
        var superblock = engine.superblock
        if let identifier {
            superblock.storeIdentifier = identifier
        } else {
            superblock = superblock.copied(in: engine.fileSystem)
        }
        let own = former == nil ? try engine.rightsToCopies() : nil
        let head = CopyHead(superblock: superblock, state: state, origin: engine.superblock.storeIdentifier)
        let written = try WholeFile.write(
            entry, replacing: former, rights: rights ?? own, in: fileSystem
        ) { file throws(StorageError) in
            try pages.writeCopy(to: file, head: head, watcher: progress)
        }
        assert(written > 0 && written <= UInt64(state.pageCount), "\(written) of \(state.pageCount) pages")
        return CopyReceipt(
            transactionID: state.transactionID, lsn: state.commitLSN, pagesWritten: written,
            byteCount: UInt64(state.pageCount) * UInt64(pageSize))
    }
}

extension Engine {
    /// Begins a snapshot whose commits survive a power loss: if a copied commit vanished here, its log positions would
    /// be used a second time.
    func beginDurableRead() throws(StorageError) -> ReadPages {
        let pages = try beginRead(label: "backup")
        if let log {
            try queue.makeDurable(log)
        } else if let log = files.log {
            // The log of another process.
            try log.sync(.durable)
        }
        return pages
    }

    /// The rights to a new file with content of the store: those to the store, but the owner may read and write the
    /// file, because increments are added to a copy of a store that may only be read, too; `nil` if the store has none.
    func rightsToCopies() throws(StorageError) -> FileRights? {
        try entry.rights(role: .store)?.writableByOwner
    }

    /// The file system for copies: the store's own, or the disk if the store is in memory.
    var copyFileSystem: any FileSystem { fileSystem is MemoryFileSystem ? PosixFileSystem.shared : fileSystem }
}
