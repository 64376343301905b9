// The update of a full backup in place: by an increment, or by commits that the stream of changes delivered.
//
// Order of writing, each step durable before the next begins:
//   slot "not clean, on the way to position L" -> pages -> slot "clean, at L" -> the file is truncated to its pages
//
// Invariants
//   1. A copy whose update was interrupted does not open (`backup(.unfinished)`). Any update from the same base to L or
//      beyond finishes it, because it holds all pages that the interrupted update may have written.

/// An update of a backup.
struct CopyUpdate {
    /// The commit at which the update begins.
    let base: BackupPoint
    /// The state of the store after it.
    let state: StoreState

    /// Updates the copy at `path`.
    ///
    /// - Parameter writePages: writes the pages to their places.
    func apply(
        to path: String, in fileSystem: any FileSystem,
        _ writePages: (any StorageFile) throws(StorageError) -> Void
    ) throws(StorageError) {
        let entry = try fileSystem.entry(at: path)
        try Registry.checkNotWriting(entry)
        let file = try entry.open(role: .copy, mode: .readWrite)
        do throws(StorageError) {
            try file.lockForWriting()
            try entry.requireSingleName(of: file)
            try apply(to: file, writePages)
        } catch {
            do throws(StorageError) { try file.close() } catch {}
            throw error
        }
        try file.close()
    }

    private func apply(
        to file: any StorageFile, _ writePages: (any StorageFile) throws(StorageError) -> Void
    ) throws(StorageError) {
        let (superblock, slot) = try Engine.readPage0(of: file)
        guard slot.isUntouchedCopy || slot.isUnfinishedCopy else { throw .backup(.notABackup) }
        try base.checkContinues(
            BackupPoint(superblock, origin: slot.logIdentifier, StoreState(slot), increments: base.increments))
        guard slot.isClean || state.commitLSN >= slot.logStartSegment else { throw .backup(.unfinished) }
        var begun = CheckpointSlot(StoreState(slot), sequence: slot.sequence + 1, origin: slot.logIdentifier)
        (begun.isClean, begun.logStartSegment) = (false, state.commitLSN)
        assert(
            begun.sequence == slot.sequence + 1 && begun.isUnfinishedCopy,
            "the copy does not say that it is unfinished")
        try write(begun, to: file)
        let byteCount = UInt64(state.pageCount) * UInt64(superblock.pageSize)
        let size = try file.size()
        if size < byteCount { try file.truncate(to: byteCount) }
        try writePages(file)
        try file.sync(.durable)
        try write(CheckpointSlot(state, sequence: slot.sequence + 2, origin: slot.logIdentifier), to: file)
        if size > byteCount { try file.truncate(to: byteCount) }
    }

    private func write(_ slot: CheckpointSlot, to file: any StorageFile) throws(StorageError) {
        let bytes = ScratchBytes(byteCount: CheckpointSlotLayout.byteCount)
        bytes.store(slot.encoded(), at: 0)
        try bytes.write(0..<bytes.byteCount, to: file, at: UInt64(slot.byteOffset))
        try file.sync(.durable)
    }
}
