// Recovery: brings a store that was not closed cleanly up to the newest commit in its log.
//
// A commit is *certain* if a later one states that it was durable. Later commits may be in the system's memory only:
// their writer was killed before, or during, a sync. A failed sync may even have marked their bytes as clean, so that
// another sync proves nothing (rule F5). Recovery must not write pages of such commits to the store file on the
// strength of their old frames: after a power loss both the old page and the new frame might be missing.
//
// Each step is durable before the next; after a crash at any point recovery starts again at step 1:
//   1. walk the log from the slot on (`LogScan`), which may find it damaged: `logCorrupt`
//   2. move the certain commits into the store file; write a slot, even if there are none
//   3. log the page versions of the rest once more, as one transaction in new segments; write a slot that begins there
//   4. move them into the store file; write a slot that says "clean"; truncate the file to its pages; remove the log
//
// Invariants
//   1. Every page version that is written to the store file is durable in the log that the newest slot names (F1).
//   2. No byte of the log that an earlier slot needs is overwritten before the next slot is durable (F3).

import Synchronization

extension Engine {
    /// How many pages are logged again at a time.
    private static let batchCount = 64

    /// Brings the store file up to the newest commit in the log, and marks it clean.
    func recover() throws(StorageError) {
        let (file, header) = try openLogForRecovery()
        var scan = try LogScan(file: file, header: header, slot: slot, storeSeed: superblock.hashSeed)
        try scan.advance()
        guard try scan.holdsCheckpoint(of: slot) else { throw .opening(.logCorrupt(lsn: slot.checkpointLSN)) }
        files.log = file
        // A failed checkpoint may have written to the store file; all those pages are in the log, too.
        try renewLength()
        try syncs.sync(files.store)
        try checkpointLock.withLock { () throws(StorageError) in
            try moveCertain(scan.certainState, index: scan.index, header: header)
            var final = scan.state
            if final.commitLSN > scan.certainState.commitLSN {
                final = try moveRest(final, index: scan.index, log: try makeLog(file, header, &scan))
            }
            try writeSlot(
                final, logIdentifier: header.logIdentifier, logStartSegment: slot.logStartSegment, isClean: true)
            try cutStore(to: final.pageCount)
            checkpointLSN.store(final.commitLSN, ordering: .releasing)
            appended = (final, LogIndex(capacity: 64))
            board.follow(final, index: appended.index)
        }
        assert(slot.isClean && slot.checkpointLSN == appended.state.commitLSN, "the store is not whole without its log")
        queue.reset(to: appended.state.commitLSN)
        files.log = nil
        // The store is whole without the log, and recovery may have grown the log to twice its cap.
        try removeLog(file)
        try file.close()
    }

    /// Extends the store file by one page, until recovery is done.
    ///
    /// A failed sync may have marked the length of the file as clean and lost it (F5). A reservation of space that
    /// seems to exist changes nothing, so no later sync would write the length; a change of the length makes it do so.
    /// The extension uses no disk space. No page is written for it, because a page write may be torn.
    private func renewLength() throws(StorageError) {
        try files.store.truncate(to: files.store.size() + UInt64(pool.pageSize))
    }

    private func openLogForRecovery() throws(StorageError) -> (any StorageFile, LogHeader) {
        guard let file = try entry.log.openIfPresent(role: .log, mode: .readWrite) else { throw .opening(.logMissing) }
        guard let header = try Self.readLogHeader(of: file) else { throw .corrupt(.logHeader, page: 0, file: .log) }
        guard header.logIdentifier == slot.logIdentifier, header.storeIdentifier == superblock.storeIdentifier,
            header.pageSize == superblock.pageSize
        else { throw .corrupt(.logForeign, page: 0, file: .log) }
        return (file, header)
    }

    /// Step 2: moves the certain commits into the store file.
    private func moveCertain(_ state: StoreState, index: LogIndex, header: LogHeader) throws(StorageError) {
        assert(state.commitLSN >= slot.checkpointLSN, "the certain state is older than the checkpoint")
        var logStart = slot.logStartSegment
        if state.commitLSN > slot.checkpointLSN {
            try writePages(
                newestVersions(in: index, from: slot.checkpointLSN, target: state), pageCount: state.pageCount)
            logStart = state.commitLSN / UInt64(header.segmentByteCount)
        }
        // Write a slot even if nothing was moved: the slot that was read may be in the system's memory only, and the
        // next step overwrites the log that the slot before it needs.
        try writeSlot(state, logIdentifier: header.logIdentifier, logStartSegment: logStart, isClean: false)
    }

    /// Makes a log that continues in segments that no slot names.
    private func makeLog(
        _ file: any StorageFile, _ header: LogHeader, _ scan: inout LogScan
    ) throws(StorageError) -> Log {
        let used = try scan.findSequenceMax()
        let stride = UInt64(header.segmentByteCount)
        return Log(
            file: file, header: header, storeSeed: superblock.hashSeed, fileSystem: fileSystem, syncs: syncs,
            segmentCount: try wholeSegments(of: file, header: header),
            firstSequence: max(scan.position / stride, used) + 1, chain: fileSystem.random(),
            baseLSN: scan.state.commitLSN,
            inUse: scan.placesInUse(from: slot.checkpointLSN))
    }

    /// Steps 3 and 4 without the last slot; returns the state with its new log position.
    private func moveRest(_ state: StoreState, index: LogIndex, log: Log) throws(StorageError) -> StoreState {
        let certain = StoreState(slot)
        assert(state.commitLSN > certain.commitLSN, "no commits follow \(certain.commitLSN)")
        let (chain, start) = (log.ring.chain, log.ring.nextSequence)
        let versions = newestVersions(in: index, from: certain.commitLSN, target: state)
        let buffer = ScratchBytes(byteCount: min(Self.batchCount, max(versions.count, 1)) * pool.pageSize)
        var logged: [(page: PageNumber, place: LogPlace)] = []
        for first in stride(from: 0, to: versions.count, by: Self.batchCount) {
            let batch = versions[first..<min(first + Self.batchCount, versions.count)]
            var pages: [LoggedPage] = []
            for (number, version) in batch.enumerated() {
                let view = buffer.view(at: number * pool.pageSize, byteCount: pool.pageSize)
                try copy(version, to: view)
                pages.append(LoggedPage(number: version.page, view: view))
            }
            _ = try log.reserve(
                pages.reduce(0) { $0 + $1.frameByteCount }, byteCountMax: .max, fillingWithZeros: false)
            for (page, place) in zip(pages, try log.append(pages)) { logged.append((page.number, place)) }
        }
        let record = CommitRecord(
            transactionID: state.transactionID, commitLSN: 0, durableLSN: certain.commitLSN,
            pageCount: state.pageCount, freeCount: state.freeCount, catalogRoot: state.catalogRoot, frameCount: 0,
            wallClock: fileSystem.now(), userTag: 0, nextTreeID: state.nextTreeID)
        _ = try log.reserve(Log.commitByteCount, byteCountMax: .max, fillingWithZeros: false)
        assert(logged.count == versions.count, "\(logged.count) of \(versions.count) versions")
        let result = try log.appendCommit([], after: logged, record: record, forgettingBefore: 0)
        try syncs.sync(log.file)
        var beginning = certain
        beginning.chain = chain
        try writeSlot(beginning, logIdentifier: log.identifier, logStartSegment: start, isClean: false)
        try writePages(
            newestVersions(in: result.index, from: certain.commitLSN, target: result.state),
            pageCount: result.state.pageCount)
        return result.state
    }
}
