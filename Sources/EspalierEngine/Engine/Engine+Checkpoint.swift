// The checkpoint: moves page versions from the log into the store file, and records that in a slot.
//
// Order of writing (rules F1, F2, F3), each step durable before the next begins:
//   log up to the target -> pages in the store file -> slot -> (segments may be reused, old versions are forgotten, the
//   store file is truncated)
//
// A commit does not wait for a running checkpoint, unless it finds the log at its cap; only another checkpoint waits
// for the checkpoint lock. Pages are written in steps of 1 MiB; in the background each step is synced, so that the sync
// of a commit has at most one step before it in the disk's queue. Memory: one step, and 24 bytes for each page version
// in the log.
//
// Invariants
//   1. The target is a commit that every live snapshot sees, so no page that one still needs is overwritten.
//   2. A checkpoint that fails before its slot is durable has no effect: all pages that it wrote are in the log, too.
//   3. Three slots are written in turn, so that one older slot is on the disk even if the newest is in the system's
//      memory only (its sync failed in an earlier process) and the write of the next one is torn.
//   4. The store file is truncated to the pages of the target only after this process has made the slot that counts
//      them durable. No live snapshot needs the removed pages: each sees the target, so a page beyond the target's end
//      belongs to a later commit and is in the log. An expired snapshot, or a reader in another process, gets
//      `snapshotExpired`.

import Synchronization

extension Engine {
    /// Bytes of pages that are written in one step.
    private static let stepByteCount = 1 << 20

    /// A page version that is to be moved.
    struct Version {
        let page: PageNumber
        let place: LogPlace
    }

    /// Makes a checkpoint as `Database.checkpoint` specifies it.
    func checkpoint(_ mode: CheckpointMode) throws(StorageError) -> CheckpointResult {
        try owner.check()
        guard !isReadOnly else { throw .database(.readOnly) }
        try syncs.check()
        if log != nil { guard try files.store.linkCount() > 0 else { throw .database(.removed(.store)) } }
        switch mode {
        case .passive:
            return try runCheckpoint()
        case .full, .truncate:
            try enterGate()
            defer {
                gate.leave()
                board.endWriter()
            }
            let result = try runCheckpoint(isLast: mode == .truncate)
            guard result.isComplete else { throw .transaction(.logFull) }
            if mode == .truncate { try disarmLog() }
            return result
        }
    }

    /// Makes a passive checkpoint, or wakes the thread for it, if enough log has accumulated; called after a commit.
    func checkpointIfDue(_ log: Log) {
        let position = log.position
        let due = UInt64(max(options.checkpointThreshold, 1))
        let tried = checkpointTried.load(ordering: .relaxed)
        let last = max(checkpointLSN.load(ordering: .acquiring), tried)
        guard position > last, position - last >= due, !isCheckpointing.load(ordering: .relaxed) else { return }
        // If several commits get here at the same time, one of them makes the checkpoint.
        let claim = checkpointTried.compareExchange(expected: tried, desired: position, ordering: .relaxed)
        guard claim.exchanged else { return }
        if let thread = checkpointThread.withLock({ $0 }) { thread.wake() } else { makeDueCheckpoint() }
    }

    /// Makes a passive checkpoint, and calls `onLogPressure` if old snapshots keep too much of the log.
    ///
    /// An error does not fail the commit that made the checkpoint due. The caller holds no lock.
    func makeDueCheckpoint() {
        do throws(StorageError) {
            try runCheckpoint()
        } catch {
            // `syncs` remembers a failed sync; after any other error the next try follows after as much new log.
        }
        guard let tell = options.onLogPressure, let log, let (mark, count) = board.oldestOutdated() else { return }
        let live = log.position - min(checkpointLSN.load(ordering: .acquiring), log.position)
        guard live > UInt64(max(options.logSoftCap, 0)) else { return }
        let now = fileSystem.now()
        let reader = LogPressure.Reader(
            label: mark.label, transactionID: mark.state.transactionID,
            outdatedNanoseconds: now - min(mark.outdatedSince, now))
        tell(
            LogPressure(
                liveByteCount: live, byteCount: log.byteCount, byteCountMax: options.logByteCountMax,
                outdatedReaderCount: count, oldestReader: reader))
    }

    /// Moves the page versions that every snapshot sees into the store file.
    ///
    /// - Parameter isLast: whether the log will be removed; then the slot says "clean" if nothing is left in the log.
    ///   The caller holds the writer gate, or the board is closed.
    @discardableResult
    func runCheckpoint(isLast: Bool = false) throws(StorageError) -> CheckpointResult {
        try checkpointLock.withLock { () throws(StorageError) in
            // Read under the lock: another thread may have removed the log since the caller decided to make a
            // checkpoint.
            guard let log else { return CheckpointResult(pageCount: 0, isComplete: true) }
            isCheckpointing.store(true, ordering: .relaxed)
            defer { isCheckpointing.store(false, ordering: .relaxed) }
            try syncs.check()
            let from = checkpointLSN.load(ordering: .acquiring)
            let target = try claimTarget(log)
            guard target.commitLSN > from else {
                return CheckpointResult(pageCount: 0, isComplete: queue.appendedPosition <= from)
            }
            let versions = newestVersions(in: log.currentIndex, from: from, target: target)
            try writePages(
                versions, pageCount: target.pageCount, syncsEachStep: options.checkpointing == .background)
            let logStart = target.commitLSN / UInt64(log.segmentByteCount)
            let isClean = isLast && queue.appendedPosition == target.commitLSN
            // From here on it is not sure what the newest slot on the disk says; a next commit would name the log anew.
            if isClean { isLogNamed = false }
            try writeSlot(target, logIdentifier: log.identifier, logStartSegment: logStart, isClean: isClean)
            takeOver(versions, target)
            recycle(log, before: target)
            try cutStore(to: target.pageCount)
            assert(slot.checkpointLSN == checkpointLSN.load(ordering: .acquiring), "the newest slot is not this one's")
            return CheckpointResult(
                pageCount: versions.count, isComplete: queue.appendedPosition <= target.commitLSN)
        }
    }

    /// The commit up to which all versions are to be moved; the log up to it is durable.
    private func claimTarget(_ log: Log) throws(StorageError) -> StoreState {
        // A commit that waits for a sync is invisible, and would hold the target back although no snapshot does.
        try queue.makeDurable(log)
        let target = board.checkpointTarget()
        // The target may be an `.ordered` commit that was published after the sync above (F1).
        try queue.makeDurable(log)
        assert(target.commitLSN <= queue.durablePosition, "F1: some of the log before the target is not durable")
        return target
    }

    /// Makes readers use the store file for the moved versions; the slot is durable.
    private func takeOver(_ versions: [Version], _ target: StoreState) {
        assert(target.commitLSN > checkpointLSN.load(ordering: .acquiring), "a checkpoint does not advance")
        assert(slot.checkpointLSN == target.commitLSN, "F2: the slot is not durable")
        for version in versions { pool.rename(version.page, version: version.place.lsn) }
        assert(pool.checkInvariants())
        checkpointLSN.store(target.commitLSN, ordering: .releasing)
        checkpointCount.add(1, ordering: .relaxed)
    }

    /// Truncates the store file after the last page of a durable slot (invariant 4).
    ///
    /// If that fails, the file stays longer than it must be, and the next checkpoint tries again.
    func cutStore(to pageCount: UInt32) throws(StorageError) {
        let byteCount = UInt64(pageCount) * UInt64(pool.pageSize)
        if try files.store.size() > byteCount { try files.store.truncate(to: byteCount) }
    }

    /// Releases segments, and forgets versions, that no reader looks up in the log any more.
    private func recycle(_ log: Log, before target: StoreState) {
        let index = log.release(
            before: target.commitLSN,
            keepingFrom: feeds.keptPosition(before: log.position, byteCount: options.logSoftCap))
        board.replaceIndex(index.old, by: index.new)
        // Resting transactions would keep the old index in memory.
        idleReads.empty { $0.endSnapshot() }
    }

    /// The newest version before the target of each page that has one from position `from` on, in page order.
    func newestVersions(in index: LogIndex, from: UInt64, target: StoreState) -> [Version] {
        var versions: [Version] = []
        index.forEach { page, place in
            if place.lsn >= from, place.lsn < target.commitLSN, page < target.pageCount {
                versions.append(Version(page: page, place: place))
            }
        }
        versions.sort { ($0.page, $0.place.lsn) < ($1.page, $1.place.lsn) }
        var newest: [Version] = []
        newest.reserveCapacity(versions.count)
        for version in versions {
            if newest.last?.page == version.page { newest.removeLast() }
            newest.append(version)
        }
        assert(zip(newest, newest.dropFirst()).allSatisfy { $0.page < $1.page }, "two versions of one page")
        return newest
    }

    /// Writes page versions to the store file, adjacent pages together, and syncs it.
    func writePages(
        _ versions: [Version], pageCount: UInt32, syncsEachStep: Bool = false
    ) throws(StorageError) {
        let pageSize = pool.pageSize
        assert(versions.allSatisfy { $0.page > 0 && $0.page < pageCount }, "pages of a store of \(pageCount)")
        try files.store.allocate(to: UInt64(pageCount) * UInt64(pageSize))
        let stepCount = max(Self.stepByteCount / pageSize, 1)
        let buffer = ScratchBytes(byteCount: min(stepCount, versions.count) * pageSize)
        for start in stride(from: 0, to: versions.count, by: stepCount) {
            try writeStep(versions[start..<min(start + stepCount, versions.count)], by: buffer)
            if syncsEachStep { try syncs.sync(files.store) }
            Platform.yield()
        }
        // Sync even if there is no page: the reserved space must be durable.
        if !syncsEachStep || versions.isEmpty { try syncs.sync(files.store) }
    }

    /// Writes at most 1 MiB of pages, adjacent pages with one call.
    private func writeStep(_ versions: ArraySlice<Version>, by buffer: borrowing ScratchBytes) throws(StorageError) {
        let pageSize = pool.pageSize
        assert(versions.count * pageSize <= buffer.byteCount, "\(versions.count) pages in \(buffer.byteCount) bytes")
        for (number, version) in versions.enumerated() {
            try copy(version, to: buffer.view(at: number * pageSize, byteCount: pageSize))
        }
        var start = versions.startIndex
        while start < versions.endIndex {
            var end = start + 1
            while end < versions.endIndex, versions[end].page == versions[end - 1].page + 1 { end += 1 }
            let bytes = (start - versions.startIndex) * pageSize..<(end - versions.startIndex) * pageSize
            try buffer.write(bytes, to: files.store, at: UInt64(versions[start].page) * UInt64(pageSize))
            start = end
        }
    }

    /// Copies a page version from the cache or the log, verified.
    func copy(_ version: Version, to target: PageView) throws(StorageError) {
        if let pin = pool.pinIfPresent(version.page, version: version.place.lsn) {
            target.copy(from: pin.view, at: 0, to: 0, count: target.byteCount)
            return
        }
        guard try files.readFrame(of: version.page, at: version.place, to: target) else {
            throw .corrupt(
                .logFrame, page: version.page, byteOffset: Int(truncatingIfNeeded: version.place.fileOffset), file: .log
            )
        }
    }

    // MARK: Slots

    /// Writes the next slot, and makes it durable.
    ///
    /// The caller holds the checkpoint lock.
    func writeSlot(
        _ state: StoreState, logIdentifier: [UInt8], logStartSegment: UInt64, isClean: Bool
    ) throws(StorageError) {
        let next = CheckpointSlot(
            sequence: slot.sequence + 1, checkpointLSN: state.commitLSN, transactionID: state.transactionID,
            pageCount: state.pageCount, freeCount: state.freeCount, catalogRoot: state.catalogRoot, isClean: isClean,
            logIdentifier: logIdentifier, logStartSegment: logStartSegment, chainSeed: state.chain,
            nextTreeID: state.nextTreeID)
        assert(next.checkpointLSN >= slot.checkpointLSN, "a checkpoint goes back")
        assert(next.transactionID >= slot.transactionID, "a checkpoint goes back")
        assert(next.freeCount < next.pageCount && next.catalogRoot < next.pageCount, "rule 12: the page count")
        assert(next.byteOffset != slot.byteOffset, "invariant 3: the newest slot is overwritten")
        if !isClean { mayNeedLog = true }
        try put(next)
        slot = next
        mayNeedLog = !isClean
    }

    private func put(_ slot: CheckpointSlot) throws(StorageError) {
        let bytes = ScratchBytes(byteCount: CheckpointSlotLayout.byteCount)
        bytes.store(slot.encoded(), at: 0)
        try bytes.write(0..<bytes.byteCount, to: files.store, at: UInt64(slot.byteOffset))
        try syncs.sync(files.store)
    }
}
