// The first pages of a new store: superblock with its slots, the first bitmap page, the root of an empty catalog.

/// The pages of a new, empty store.
struct NewStore {
    let options: DatabaseOptions
    let fileSystem: any FileSystem

    /// Writes all pages to `file` and makes them durable.
    func write(to file: any StorageFile) throws(StorageError) {
        let pageSize = options.pageSize
        let seed = fileSystem.random()
        let superblock = Superblock(
            pageSize: pageSize, storeIdentifier: randomBytes() + randomBytes(), hashSeed: seed,
            creationTime: fileSystem.now(), applicationID: options.applicationID,
            applicationVersion: options.applicationVersion)
        let byteCount = Int(FixedPlace.initialPageCount) * pageSize
        let pages = ScratchBytes(byteCount: byteCount)
        pages.view(at: 0).clear(0..<byteCount)
        pages.store(superblock.encoded(), at: 0)
        pages.store(superblock.encoded(), at: SuperblockLayout.mirror)
        for sequence in UInt64(0)..<UInt64(SuperblockLayout.slots.count) {
            let slot = slot(sequence: sequence)
            pages.store(slot.encoded(), at: slot.byteOffset)
        }
        let bitmap = pages.view(at: pageSize, byteCount: pageSize)
        bitmap.formatBitmap(number: FixedPlace.firstBitmap)
        bitmap.seal(lsn: 0, storeSeed: seed)
        let catalog = pages.view(at: 2 * pageSize, byteCount: pageSize)
        Catalog<WritePages>.formatRoot(catalog)
        catalog.seal(lsn: 0, storeSeed: seed)
        try pages.write(0..<byteCount, to: file, at: 0)
        try SyncGuard().sync(file)
    }

    private func slot(sequence: UInt64) -> CheckpointSlot {
        CheckpointSlot(
            sequence: sequence, checkpointLSN: 0, transactionID: 0, pageCount: FixedPlace.initialPageCount,
            freeCount: 0, catalogRoot: FixedPlace.catalogRoot, isClean: true,
            logIdentifier: [UInt8](repeating: 0, count: 16), logStartSegment: 0, chainSeed: 0,
            nextTreeID: FixedPlace.firstTreeID)
    }

    private func randomBytes() -> [UInt8] {
        let word = fileSystem.random()
        return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
}
