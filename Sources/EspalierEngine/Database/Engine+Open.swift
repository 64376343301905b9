// Opening a store: creation, the superblock and the choice of the slot.

extension Engine {
    /// Opens the store at `path`, making it if the options allow.
    static func open(
        _ path: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        try check(options)
        guard options.access == .readWrite else { return try openReadOnly(path, in: fileSystem, options: options) }
        let store = try openOrCreate(path, in: fileSystem, options: options)
        try store.lockForWriting()
        let (superblock, slot) = try readSuperblock(of: store)
        if superblock.isReadOnlyForUs { throw .readOnly }
        let engine = Engine(
            path: path, fileSystem: fileSystem, options: options, superblock: superblock, store: store, slot: slot,
            follower: nil)
        try engine.checkSize(of: store)
        if !slot.isClean { try engine.recover() }
        return engine
    }

    private static func openReadOnly(
        _ path: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> Engine {
        let store = try fileSystem.open(path, role: .store, mode: .readOnly)
        let (superblock, slot) = try readSuperblock(of: store)
        if options.access == .immutable, !slot.isClean { throw .notClean }
        let follower = options.access == .immutable ? nil : LogFollower(path: logPath(of: path))
        let engine = Engine(
            path: path, fileSystem: fileSystem, options: options, superblock: superblock, store: store, slot: slot,
            follower: follower)
        if let follower { try follower.follow(engine) } else { try engine.checkSize(of: store) }
        return engine
    }

    private static func check(_ options: DatabaseOptions) throws(StorageError) {
        guard StoreGeometry.isValid(pageSize: options.pageSize) else { throw .invalidOption(.pageSize) }
        guard options.cacheByteCount >= 0 else { throw .invalidOption(.cacheByteCount) }
        let segment = options.logSegmentByteCount
        guard (64 << 10)...(64 << 20) ~= segment, segment % 4096 == 0 else {
            throw .invalidOption(.logSegmentByteCount)
        }
        guard options.logByteCountMax >= max(options.logSoftCap, 2 * segment + LogHeaderLayout.byteCount) else {
            throw .invalidOption(.logByteCountMax)
        }
        guard options.checkpointThreshold > 0 else { throw .invalidOption(.checkpointThreshold) }
    }

    private static func openOrCreate(
        _ path: String, in fileSystem: any FileSystem, options: DatabaseOptions
    ) throws(StorageError) -> any StorageFile {
        if let store = try openIfPresent(path, role: .store, mode: .readWrite, in: fileSystem) { return store }
        guard options.createIfMissing else { throw .noSuchStore }
        let temporary = path + ".tmp-" + String(fileSystem.random(), radix: 36)
        let store = try fileSystem.open(temporary, role: .store, mode: .createExclusively)
        do throws(StorageError) {
            try NewStore(options: options, fileSystem: fileSystem).write(to: store)
            guard try fileSystem.renameExclusively(temporary, to: path) else {
                // Another process made it in the meantime.
                try fileSystem.remove(temporary)
                try store.close()
                return try fileSystem.open(path, role: .store, mode: .readWrite)
            }
            try fileSystem.syncDirectory(of: path)
        } catch {
            // The file has no name that counts; what cannot be removed does no harm.
            do throws(StorageError) { try fileSystem.remove(temporary) } catch {}
            throw error
        }
        return store
    }

    /// Reads page 0: who the store is, and the slot that counts.
    static func readSuperblock(of store: any StorageFile) throws(StorageError) -> (Superblock, CheckpointSlot) {
        let bytes = ScratchBytes(byteCount: 4096)
        let count = try bytes.read(0..<4096, from: store, at: 0)
        return try bytes.withThrowing(0..<count) { span throws(StorageError) in
            (try Superblock(decoding: span), try CheckpointSlot.newest(in: span))
        }
    }

    /// A store file that lost its end is found before it is used.
    private func checkSize(of store: any StorageFile) throws(StorageError) {
        guard slot.isClean else { return }
        let needed = UInt64(slot.pageCount) * UInt64(superblock.pageSize)
        guard try store.size() >= needed else { throw .corrupt(.pageCountWrong, page: slot.pageCount - 1) }
    }
}
