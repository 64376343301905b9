// Opening a store: creation, the superblock and the choice of the slot.

extension Engine {
    /// Opens the store at `entry`, creating it if the options allow.
    static func open(
        _ entry: DirectoryEntry, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        try check(options)
        guard options.access == .readWrite else { return try openReadOnly(entry, in: fileSystem, options: options) }
        var store = try openOrCreate(entry, in: fileSystem, options: options)
        try store.lockForWriting()
        // Another process may have replaced the file before the lock was free.
        while try entry.identity(role: .store) != store.identity {
            try store.close()
            store = try openOrCreate(entry, in: fileSystem, options: options)
            try store.lockForWriting()
        }
        try entry.requireSingleName(of: store)
        let (superblock, slot) = try readSuperblock(of: store)
        if try hasDamagedSuperblock(store) { throw .opening(.superblockDamaged) }
        if superblock.isReadOnlyForUs { throw .database(.readOnly) }
        let engine = try Engine(
            entry: entry, fileSystem: fileSystem, options: options, superblock: superblock, store: store, slot: slot,
            follower: nil)
        try engine.checkSize(of: store)
        try engine.checkNothingNewer(than: slot)
        if !slot.isClean { try engine.recover() }
        return engine
    }

    private static func openReadOnly(
        _ entry: DirectoryEntry, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        let store = try entry.open(role: .store, mode: .readOnly)
        let (superblock, slot) = try readSuperblock(of: store)
        if options.access == .immutable, !slot.isClean { throw .opening(.notClean) }
        let follower = options.access == .immutable ? nil : LogFollower()
        let engine = try Engine(
            entry: entry, fileSystem: fileSystem, options: options, superblock: superblock, store: store, slot: slot,
            follower: follower)
        if let follower {
            try follower.follow(engine)
        } else {
            try engine.checkSize(of: store)
            try engine.checkNothingNewer(than: slot)
        }
        return engine
    }

    private static func check(_ options: DatabaseOptions) throws(StorageError) {
        guard StoreGeometry.isValid(pageSize: options.pageSize) else { throw .opening(.invalidOption(.pageSize)) }
        guard 0...Platform.memoryByteCount ~= options.cacheByteCount else {
            throw .opening(.invalidOption(.cacheByteCount))
        }
        let segment = options.logSegmentByteCount
        guard (64 << 10)...(64 << 20) ~= segment, segment % 4096 == 0 else {
            throw .opening(.invalidOption(.logSegmentByteCount))
        }
        guard options.logByteCountMax >= max(options.logSoftCap, 2 * segment + LogHeaderLayout.byteCount) else {
            throw .opening(.invalidOption(.logByteCountMax))
        }
        guard options.checkpointThreshold > 0 else { throw .opening(.invalidOption(.checkpointThreshold)) }
    }

    private static func openOrCreate(
        _ entry: DirectoryEntry, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> any StorageFile {
        if let store = try entry.openIfPresent(role: .store, mode: .readWrite) { return store }
        guard options.createIfMissing else { throw .opening(.noSuchStore) }
        let temporary = entry.temporary(fileSystem.random())
        let store = try temporary.open(role: .store, mode: .createExclusively)
        assert(temporary.name != entry.name, "the store has its name before it is complete")
        do throws(StorageError) {
            try NewStore(options: options, fileSystem: fileSystem).write(to: store)
            guard try temporary.renameExclusively(to: entry, role: .store) else {
                // Another process created the store in the meantime.
                try temporary.remove(role: .store)
                try store.close()
                return try entry.open(role: .store, mode: .readWrite)
            }
            try entry.directory.sync()
        } catch {
            // A temporary file that cannot be removed does no harm: its name is never opened.
            do throws(StorageError) { try temporary.remove(role: .store) } catch {}
            throw error
        }
        return store
    }

    /// Reads page 0: the superblock, and the slot that counts.
    ///
    /// - Throws: also `backup(.unfinished)` for a copy whose update was interrupted.
    static func readSuperblock(of store: any StorageFile) throws(StorageError) -> (Superblock, CheckpointSlot) {
        let (superblock, slot) = try readPage0(of: store)
        if slot.isUnfinishedCopy { throw .backup(.unfinished) }
        return (superblock, slot)
    }

    /// Like `readSuperblock`, for callers that can handle an unfinished copy.
    ///
    /// If the superblock is damaged, its copy is used, which is enough for reading. Writing needs `repair` first,
    /// because the engine repairs nothing without being asked.
    static func readPage0(of store: any StorageFile) throws(StorageError) -> (Superblock, CheckpointSlot) {
        let bytes = ScratchBytes(byteCount: 4096)
        let count = try bytes.read(0..<4096, from: store, at: 0)
        assert(count <= bytes.byteCount, "\(count) bytes of \(bytes.byteCount)")
        return try bytes.withThrowing(0..<count) { span throws(StorageError) in
            do throws(StorageError) {
                return (try Superblock(decoding: span), try CheckpointSlot.newest(in: span))
            } catch .opening(.notAStore(let reason)) {
                guard let copy = try? Superblock(decodingCopyIn: span) else { throw .opening(.notAStore(reason)) }
                return (copy, try CheckpointSlot.newest(in: span))
            }
        }
    }

    /// Whether the superblock is damaged, so that the store can be read only with the copy.
    private static func hasDamagedSuperblock(_ store: any StorageFile) throws(StorageError) -> Bool {
        let bytes = ScratchBytes(byteCount: SuperblockLayout.byteCount)
        let count = try bytes.read(0..<bytes.byteCount, from: store, at: 0)
        return bytes.with(0..<count) { (try? Superblock(decoding: $0)) == nil }
    }

    /// Makes superblock and copy of the store at `path` equal again, from the one that is intact.
    ///
    /// - Returns: whether anything had to be written.
    static func repair(_ path: String, in fileSystem: any FileSystem) throws(StorageError) -> Bool {
        let entry = try fileSystem.entry(at: path)
        let store = try entry.open(role: .store, mode: .readWrite)
        try store.lockForWriting()
        try entry.requireSingleName(of: store)
        let bytes = ScratchBytes(byteCount: 4096)
        let count = try bytes.read(0..<4096, from: store, at: 0)
        let (superblock, _) = try readSuperblock(of: store)
        guard count >= SuperblockLayout.usedByteCount else { throw .opening(.notAStore(.tooShort)) }
        let target = try hasDamagedSuperblock(store) ? 0 : SuperblockLayout.mirror
        let found = bytes.with(0..<count) { $0.loadBytes(at: target, count: SuperblockLayout.byteCount) }
        assert(found.count == SuperblockLayout.byteCount, "a superblock of \(found.count) bytes")
        let isDamaged = found != superblock.encoded()
        if isDamaged {
            bytes.store(superblock.encoded(), at: 0)
            try bytes.write(0..<SuperblockLayout.byteCount, to: store, at: UInt64(target))
            try SyncGuard().sync(store)
        }
        try store.close()
        return isDamaged
    }

    /// Checks that no commit in the log says of a position after a clean slot that it was durable (rule 12).
    ///
    /// If one does, a newer slot is damaged, or an older copy of the store was put under this log: the use of the slot
    /// would silently drop commits that may have been acknowledged. A single commit is not noticed, since no later one
    /// vouches for it.
    func checkNothingNewer(than slot: CheckpointSlot) throws(StorageError) {
        guard slot.isClean,
            let file = try entry.log.openIfPresent(role: .log, mode: .readOnly)
        else { return }
        let header = try Self.readLogHeader(of: file)
        if let header, header.pageSize == superblock.pageSize, header.storeIdentifier == superblock.storeIdentifier {
            var scan = try LogScan(file: file, header: header, slot: slot, storeSeed: superblock.hashSeed)
            if try scan.holdsDurableCommit(after: slot.checkpointLSN) {
                throw .corrupt(.noValidSlot, page: FixedPlace.superblock, byteOffset: slot.byteOffset)
            }
        }
        try file.close()
    }

    /// Checks that the store file has not lost its end, before the file is used.
    private func checkSize(of store: any StorageFile) throws(StorageError) {
        guard slot.isClean else { return }
        let needed = UInt64(slot.pageCount) * UInt64(superblock.pageSize)
        // If another process has just truncated the file, the file has a newer slot by now.
        guard try store.size() < needed, try Self.readSuperblock(of: store).1 == slot else { return }
        throw .corrupt(.pageCountWrong, page: slot.pageCount - 1)
    }
}
