// The backup of a store that is in use: copies one snapshot, while the writer continues.

extension Database {
    /// Copies the newest commit to a new store file at `path`, while readers and the writer continue.
    ///
    /// The copy is one snapshot, and copying never starts again. The copy is a store like any other: closed cleanly,
    /// with an identifier of its own. It gets its name when it is whole and durable. Until it is first opened for
    /// writing it can be the base of increments (``backUpChanges(since:to:progress:)``). A store in memory is copied to
    /// the disk.
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

    /// Copies the newest commit to a file with the name `entry`.
    ///
    /// - Parameter former: the file that has the name and is replaced; `nil` if no file may have it.
    func copy(
        to entry: DirectoryEntry, replacing former: FileIdentity?, in fileSystem: any FileSystem,
        progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        try checkOpen()
        let pages = try engine.beginDurableRead()
        defer { pages.end() }
        let state = pages.versions.state
        let head = CopyHead(
            superblock: engine.superblock.copied(in: engine.fileSystem), state: state,
            origin: engine.superblock.storeIdentifier)
        let written = try WholeFile.write(entry, replacing: former, in: fileSystem) {
            file throws(StorageError) in
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

    /// The file system for copies: the store's own, or the disk if the store is in memory.
    var copyFileSystem: any FileSystem { fileSystem is MemoryFileSystem ? PosixFileSystem.shared : fileSystem }
}
