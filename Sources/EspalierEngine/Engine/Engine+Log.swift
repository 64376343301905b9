// Setup of the log before the first write of a session, and removal of the log at the end.
//
// Invariants
//   1. A store whose newest slot says "clean" needs no log: a log file beside it is removed, or renamed if it belongs
//      to another store. It is never used again: if a sync of it failed, the system shows content or a name that the
//      disk does not have (F5).
//   2. Before the first commit of a session is visible, a durable slot says "not clean", and names the log and its
//      first segment. It is written only after the log, with the frames of that commit, and the names of store and log
//      are durable (F4). Before that the log does not count: a crash leaves the store as it was.
//   3. The removal of the log is not synced, because nothing depends on it: a log that a power loss brings back is
//      beside a clean slot.
//   4. The first sequence number is above all of former sessions that count, and chain seed and salts are random: no
//      frame of an earlier session can be mistaken for one of this session.

import Synchronization

extension Engine {
    /// Makes the store ready for writing, if it is not yet.
    ///
    /// The caller holds the writer gate.
    func armLog() throws(StorageError) {
        guard log == nil else { return }
        try checkpointLock.withLock { () throws(StorageError) in
            // Only a forged file has such numbers: the store can be read, but no numbers are left for writing.
            guard max(slot.sequence, slot.transactionID, slot.checkpointLSN) < CheckpointSlotLayout.counterEnd / 2
            else { throw StorageError.diskFull }
            // Otherwise the log would belong to another store, or to none, as soon as this process ends.
            guard try entry.identity(role: .store) == files.store.identity else {
                throw StorageError.database(.storeReplaced)
            }
            if try entry.log.identity(role: .log) != nil { try renewCleanSlot() }
            let (file, header) = try openLogForWriting()
            let stride = UInt64(header.segmentByteCount)
            let start = slot.logStartSegment.multipliedReportingOverflow(by: stride)
            guard !start.overflow, start.partialValue < CheckpointSlotLayout.counterEnd / 2 else {
                throw StorageError.diskFull
            }
            let first = slot.checkpointLSN / stride + 1
            assert(first * stride > slot.checkpointLSN, "invariant 4: positions begin before the checkpoint")
            let chain = fileSystem.random()
            let log = Log(
                file: file, header: header, storeSeed: superblock.hashSeed, fileSystem: fileSystem, syncs: syncs,
                segmentCount: try wholeSegments(of: file, header: header), firstSequence: first, chain: chain,
                baseLSN: slot.checkpointLSN)
            var state = StoreState(slot)
            state.chain = chain
            appended = (state, log.currentIndex)
            files.log = file
            board.publish(state, index: log.currentIndex, at: fileSystem.now())
            self.log = log
            if options.checkpointing == .background { startCheckpointThread() }
        }
    }

    /// Writes the slot once more, before a log that was left beside it is removed.
    ///
    /// The slot may be in the system's memory only, because its sync failed in an earlier process: then an older slot
    /// on the disk needs the log (F3).
    private func renewCleanSlot() throws(StorageError) {
        assert(slot.isClean, "a store that was not closed cleanly is not recovered")
        try writeSlot(
            StoreState(slot), logIdentifier: slot.logIdentifier, logStartSegment: slot.logStartSegment, isClean: true)
    }

    /// Appends a commit; the first one of a session makes the log count.
    ///
    /// The caller holds the writer gate.
    ///
    /// - Returns: what `Log.appendCommit` returns, and whether the commit is durable already.
    /// - Throws: `commitOutcomeUnknown` if this is the first commit of a session, and one of the syncs failed that make
    ///   its log, the log's name and the slot durable: the next process finds the commit if it finds the slot that
    ///   names the log, and nothing of it otherwise. Later commits are not synced here. After any error the log of this
    ///   process ends as before.
    func appendCommit(
        _ pages: [LoggedPage], after earlier: [(page: PageNumber, place: LogPlace)], record: CommitRecord, to log: Log
    ) throws(StorageError) -> (appended: Log.AppendedCommit, isDurable: Bool) {
        let checkpoint = checkpointLSN.load(ordering: .acquiring)
        if isLogNamed {
            return (try log.appendCommit(pages, after: earlier, record: record, forgettingBefore: checkpoint), false)
        }
        return try checkpointLock.withLock { () throws(StorageError) in
            let appended = try log.appendCommit(pages, after: earlier, record: record, forgettingBefore: checkpoint) {
                () throws(StorageError) in
                do throws(StorageError) {
                    try nameLog(log)
                } catch .database(.poisoned) {
                    throw .transaction(.commitOutcomeUnknown)
                }
            }
            return (appended, true)
        }
    }

    /// Writes the slot that says "not clean" and names the log, after everything on which it depends (invariant 2).
    ///
    /// The caller holds the writer gate and the checkpoint lock.
    private func nameLog(_ log: Log) throws(StorageError) {
        try syncs.sync(log.file)
        // Sync even if the names exist: the process that made them may have ended before its sync.
        try syncs.sync(entry.directory)
        var (state, start) = (StoreState(slot), slot.logStartSegment)
        if slot.checkpointLSN == log.session.baseLSN {
            (state.chain, start) = (log.session.chain, log.session.firstSequence)
        }
        try writeSlot(state, logIdentifier: log.identifier, logStartSegment: start, isClean: false)
        isLogNamed = true
    }

    private func startCheckpointThread() {
        checkpointThread.withLock { thread in
            if thread == nil { thread = CheckpointThread { self.makeDueCheckpoint() } }
        }
    }

    /// How many whole segments a log file has.
    func wholeSegments(of file: any StorageFile, header: LogHeader) throws(StorageError) -> Int {
        let size = try file.size()
        assert(header.segmentByteCount > 0, "segments of \(header.segmentByteCount) bytes")
        return Int((size - UInt64(LogHeaderLayout.byteCount)) / UInt64(header.segmentByteCount))
    }

    /// A new log file, after one that was left has been removed or set aside (invariant 1).
    private func openLogForWriting() throws(StorageError) -> (any StorageFile, LogHeader) {
        if let file = try entry.log.openIfPresent(role: .log, mode: .readWrite) {
            try lock(log: file)
            if let header = try Self.readLogHeader(of: file), header.storeIdentifier != superblock.storeIdentifier {
                try setAside(header, file)
            } else {
                try removeLog(file)
            }
            try file.close()
        }
        // The commits are for those who may use the store, also if the superuser makes them.
        let rights = try entry.rights(role: .store)
        let file = try entry.log.create(role: .log, permissions: rights?.permissions)
        if let rights { try file.setRights(rights) }
        try lock(log: file)
        return (file, try writeLogHeader(to: file))
    }

    /// Acquires the lock of a log file.
    ///
    /// A store that was renamed while it was open still uses its log under the old name, and another store may have
    /// been created under that name meanwhile.
    private func lock(log file: any StorageFile) throws(StorageError) {
        do throws(StorageError) {
            try file.lockForWriting()
        } catch .opening(.storeBusy) {
            throw .path(.logInUse)
        }
    }

    /// Renames the log of another store, which may hold the only copy of commits, so that its name identifies the
    /// store.
    private func setAside(_ header: LogHeader, _ file: any StorageFile) throws(StorageError) {
        assert(header.storeIdentifier != superblock.storeIdentifier, "the log is of this store")
        let digits = header.storeIdentifier.prefix(8).map { byte in
            String(UInt16(byte) | 0x100, radix: 16).dropFirst()
        }
        let name = entry.log.name + "-of-" + digits.joined()
        var place = DirectoryEntry(entry.directory, name)
        var number = 1
        while try !entry.log.renameExclusively(to: place, role: .log) {
            // A crash during an earlier attempt can have left the file with both names.
            if try place.identity(role: .log) == file.identity { return try entry.log.remove(role: .log) }
            // The log of another copy of that store has this name already.
            number += 1
            place = DirectoryEntry(entry.directory, "\(name)-\(number)")
        }
        // Otherwise the file could lose both names, when a new log takes the former one.
        try entry.directory.sync()
    }

    /// Throws `removed` if a commit would write to a file that no process can open any more.
    ///
    /// A durable commit always checks. Other commits check at most once per millisecond: a check needs three system
    /// calls, a commit that is not synced little more than one. The caller holds the writer gate.
    func checkFilesAreLinked(_ log: Log, at now: UInt64, durability: Durability) throws(StorageError) {
        // If the clock was set back, the difference wraps to a large number, and the check runs.
        guard durability == .durable || now &- namesChecked >= 1_000_000 else { return }
        try owner.check()
        guard try files.store.linkCount() > 0 else { throw .database(.removed(.store)) }
        guard try log.file.linkCount() > 0 else { throw .database(.removed(.log)) }
        namesChecked = now
    }

    /// Removes the log file, unless its name belongs to another file by now; the slot is clean (invariant 3).
    func removeLog(_ file: any StorageFile) throws(StorageError) {
        guard try entry.log.identity(role: .log) == file.identity else { return }
        try entry.log.remove(role: .log)
    }

    private func writeLogHeader(to file: any StorageFile) throws(StorageError) -> LogHeader {
        var identifier: [UInt8] = []
        for _ in 0..<2 {
            var word = fileSystem.random()
            for _ in 0..<8 {
                identifier.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        assert(identifier.count == 16, "an identifier of \(identifier.count) bytes")
        let header = LogHeader(
            pageSize: superblock.pageSize, storeIdentifier: superblock.storeIdentifier, logIdentifier: identifier,
            segmentByteCount: max(options.logSegmentByteCount, 8 * superblock.pageSize))
        let bytes = ScratchBytes(byteCount: LogHeaderLayout.byteCount)
        bytes.store(header.encoded(), at: 0)
        try bytes.write(0..<bytes.byteCount, to: file, at: 0)
        return header
    }

    /// The header of a log file; `nil` if there is no valid one.
    static func readLogHeader(of file: any StorageFile) throws(StorageError) -> LogHeader? {
        let bytes = ScratchBytes(byteCount: LogHeaderLayout.byteCount)
        let count = try bytes.read(0..<bytes.byteCount, from: file, at: 0)
        guard count == LogHeaderLayout.byteCount else { return nil }
        return bytes.with(0..<count) { LogHeader(decoding: $0) }
    }

    /// Writes a clean slot, unless the last checkpoint did, and removes the log.
    ///
    /// A checkpoint has moved all commits into the store file, and no writer can begin: the caller holds the writer
    /// gate, or the board is closed.
    func disarmLog() throws(StorageError) {
        guard let log else { return }
        try checkpointLock.withLock { () throws(StorageError) in
            assert(slot.checkpointLSN == appended.state.commitLSN, "the store file lacks the newest commit")
            if mayNeedLog {
                isLogNamed = false
                try writeSlot(
                    appended.state, logIdentifier: log.identifier, logStartSegment: slot.logStartSegment, isClean: true)
            }
            self.log = nil
            files.log = nil
            // The log file is not closed here, because a reader may still be reading a version from it. Its last user
            // closes it; an error of that close does not matter for a log that is no longer needed.
            try removeLog(log.file)
        }
    }
}
