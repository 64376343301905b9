// Compaction: loads every tree again in the order of its keys, with full leaves, into a file without free pages.
//
// Invariants
//   1. Names, numbers, kinds and contents of trees stay, as do the numbers of transactions and of the next tree.
//   2. All pages are new, and they get a hash seed of their own: no page, frame or increment of the old file can be
//      mistaken for one of the new file.

/// Loads the trees of a snapshot into a new file.
struct Compaction {
    let pages: ReadPages
    let watcher: CopyWatcher?

    /// Writes the whole new store, with `superblock`.
    func write(to file: any StorageFile, superblock: Superblock) throws(StorageError) -> CopyReceipt {
        let source = pages.versions.state
        let target = try FreshPages(
            file: file, pageSize: superblock.pageSize, storeSeed: superblock.hashSeed)
        let report = CopyReport(watcher: watcher, pageCount: UInt64(source.pageCount - source.freeCount))
        let catalog = TreeRecord(
            treeID: FixedPlace.catalogTreeID, root: FixedPlace.catalogRoot, kind: .bytes)
        var load = BulkLoad(target, catalog, name: "")
        for tree in try Catalog(pages, root: source.catalogRoot).list() {
            let record = try copy(tree.record, name: tree.name, to: target, report)
            let key = OwnedKey([UInt8](tree.name.utf8))
            let value = OwnedKey(record.encoded())
            guard try load.append(key.key, value.key.bytes) else {
                throw .corrupt(.keyOrder, page: source.catalogRoot, tree: FixedPlace.catalogTreeID)
            }
        }
        _ = try load.finish()
        try target.finish()
        assert(target.pageCount >= FixedPlace.initialPageCount, "a store of \(target.pageCount) pages")
        var state = source
        (state.pageCount, state.freeCount, state.catalogRoot) = (target.pageCount, 0, FixedPlace.catalogRoot)
        // The origin is zero, because the file is not a copy of another store: it cannot be the base of increments.
        let head = CopyHead(superblock: superblock, state: state, origin: [UInt8](repeating: 0, count: 16))
        try head.write(to: file)
        return CopyReceipt(
            transactionID: state.transactionID, lsn: state.commitLSN, pagesWritten: UInt64(state.pageCount),
            byteCount: UInt64(state.pageCount) * UInt64(superblock.pageSize))
    }

    private func copy(
        _ record: TreeRecord, name: String, to target: FreshPages, _ report: CopyReport
    ) throws(StorageError) -> TreeRecord {
        let root = try target.allocate(near: 0, count: 1).first
        let empty = TreeRecord(
            treeID: record.treeID, root: root, kind: record.kind, createdTransaction: record.createdTransaction)
        var load = BulkLoad(target, empty, name: name)
        let cursor = TreeCursor(pages, record)
        var isOnEntry = try cursor.first()
        var reported: UInt32 = 0
        while isOnEntry {
            let owned = OwnedKey(record.kind == .bytes ? cursor.bytesKey : [])
            let key = record.kind == .integer ? TreeKey(cursor.integerKey) : owned.key
            let outcome = try cursor.withValue { value -> Result<Bool, StorageError> in
                // SAFETY: the bytes are used only within the closure.
                unsafe value.withUnsafeBytes { bytes in
                    do throws(StorageError) {
                        return .success(try load.append(key, unsafe ByteString(bytes)))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            guard try outcome?.get() == true else {
                throw .corrupt(.keyOrder, page: record.root, tree: record.treeID)
            }
            isOnEntry = try cursor.next()
            if target.pageCount - reported >= 256 {
                reported = target.pageCount
                try report.advance(to: UInt64(reported))
            }
        }
        let copied = try load.finish()
        assert(
            copied.treeID == record.treeID && copied.kind == record.kind,
            "tree \(record.treeID) gets another number or kind")
        return copied
    }
}

extension Database {
    /// Writes the newest commit to a new, compact store at `path`, while readers and the writer continue.
    ///
    /// Trees are stored in the order of their keys with full leaves, long values in one piece each, and no page is
    /// free. The new store has an identifier of its own, and its increments begin with a backup of its own.
    ///
    /// - Parameter progress: called now and then; returning `false` ends the work with `cancelled`.
    /// - Throws: `destinationExists`, `cancelled`, `snapshotExpired`, `corruption`, `closed`, `diskFull`, `io`.
    /// - Complexity: O(entries).
    @discardableResult
    public func compact(to path: String, progress: CopyWatcher? = nil) throws(StorageError) -> CopyReceipt {
        try checkOpen()
        let pages = try engine.beginRead(label: "compaction")
        defer { pages.end() }
        let superblock = engine.superblock.copied(in: engine.fileSystem)
        let rights = try engine.rightsToCopies()
        return try WholeFile.write(path, rights: rights, in: engine.copyFileSystem) {
            file throws(StorageError) in
            try Self.compact(pages, to: file, as: superblock, progress: progress)
        }
    }

    /// Replaces the store at `path`, which no process may have open for writing, by a compact one.
    ///
    /// The new file replaces the old one in one step: whatever happens, one of them is there, whole. The store keeps
    /// its identifier; backups made before cannot be continued with increments. A reader that has the old file open can
    /// use it until its next transaction, which throws `storeReplaced`.
    ///
    /// - Parameter progress: called now and then; returning `false` ends the work with `cancelled`.
    /// - Throws: `storeBusy`, `noSuchStore`, `cancelled`, `corruption`, `diskFull`, `io`, and what `open` throws.
    /// - Complexity: O(entries); space for both files.
    @discardableResult
    public static func compact(at path: String, progress: CopyWatcher? = nil) throws(StorageError) -> CopyReceipt {
        try compact(at: path, in: PosixFileSystem.shared, options: DatabaseOptions(), progress: progress)
    }

    /// Compacts the store at `path` of any file system.
    @discardableResult
    package static func compact(
        at path: String, in fileSystem: any FileSystem, options: DatabaseOptions, progress: CopyWatcher? = nil
    ) throws(StorageError) -> CopyReceipt {
        var options = options
        (options.access, options.createIfMissing) = (.readWrite, false)
        // The engine holds the lock of the old file until the new one has its name. Opening recovers the store, so no
        // log with commits is left.
        let entry = try fileSystem.entry(at: path)
        try Registry.checkNotWriting(entry)
        let engine = try Engine.open(entry, in: fileSystem, options: options)
        let receipt: CopyReceipt
        do throws(StorageError) {
            let pages = try engine.beginRead(label: "compaction")
            defer { pages.end() }
            receipt = try WholeFile.write(
                engine.entry, replacing: engine.files.store.identity, in: fileSystem
            ) { file throws(StorageError) in
                try compact(pages, to: file, as: engine.superblock, progress: progress)
            }
        } catch {
            do throws(StorageError) { try engine.close() } catch {}
            throw error
        }
        try engine.close()
        return receipt
    }

    private static func compact(
        _ pages: ReadPages, to file: any StorageFile, as superblock: Superblock, progress: CopyWatcher?
    ) throws(StorageError) -> CopyReceipt {
        var superblock = superblock
        superblock.hashSeed = pages.versions.engine.fileSystem.random()
        return try Compaction(pages: pages, watcher: progress).write(to: file, superblock: superblock)
    }
}
