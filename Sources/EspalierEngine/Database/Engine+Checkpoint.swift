// The checkpoint: moves page versions from the log into the store file, and says so in a slot.
//
// Order of writing (rules F1, F2, F3), each step durable before the next begins:
//   log up to the target -> pages in the store file -> slot -> (segments may be reused, old versions are forgotten)
//
// Invariants
//   1. The target is a commit that every live snapshot sees, so no page is overwritten that one still needs.
//   2. A checkpoint that fails before its slot is durable has changed nothing that counts: all it wrote is in the log
//      too.
//   3. Three slots are written in turn, so that one slot of the past is left on the disk even if the newest is in the
//      system's memory only (its sync failed in an earlier process) and the write of the next one is torn.

import Synchronization

extension Engine {
    /// Bytes of neighbouring pages that are written with one call.
    private static let runByteCountMax = 1 << 20

    /// A page version that is to be moved.
    struct Version {
        let page: PageNumber
        let place: LogPlace
    }

    /// Makes a checkpoint as `Database.checkpoint` promises it.
    func checkpoint(_ mode: CheckpointMode) throws(StorageError) -> CheckpointResult {
        guard !isReadOnly else { throw .readOnly }
        try syncs.check()
        switch mode {
        case .passive:
            return try runCheckpoint()
        case .full, .truncate:
            try board.beginWriter()
            gate.enter()
            defer {
                gate.leave()
                board.endWriter()
            }
            let result = try runCheckpoint()
            guard result.isComplete else { throw .logFull }
            if mode == .truncate { try disarmLog() }
            return result
        }
    }

    /// After a commit: makes a passive checkpoint if enough log has come together.
    ///
    /// Its failure is not the commit's.
    func checkpointIfDue(_ log: Log) {
        let position = log.position
        let due = UInt64(max(options.checkpointThreshold, 1))
        let last = max(checkpointLSN.load(ordering: .acquiring), checkpointTried.load(ordering: .relaxed))
        guard position > last, position - last >= due else { return }
        checkpointTried.store(position, ordering: .relaxed)
        do throws(StorageError) {
            try runCheckpoint()
        } catch {
            // A failed sync is remembered by `syncs`; anything else is tried again when as much log has come again.
        }
    }

    /// Moves what every snapshot sees into the store file.
    @discardableResult
    func runCheckpoint() throws(StorageError) -> CheckpointResult {
        try checkpointLock.withLock { () throws(StorageError) in
            // Asked for under the lock: it may have been put away since the caller decided to come here.
            guard let log else { return CheckpointResult(pageCount: 0, isComplete: true) }
            try syncs.check()
            // What waits for a sync is invisible, and would hold the target back although no snapshot does.
            try queue.makeDurable(log)
            let target = board.checkpointTarget()
            let from = checkpointLSN.load(ordering: .acquiring)
            guard target.commitLSN > from else {
                return CheckpointResult(pageCount: 0, isComplete: queue.appendedPosition <= from)
            }
            // The target may be an `.ordered` commit that came after the sync above (F1).
            try queue.makeDurable(log)
            let count = try move(target, from: from, index: log.currentIndex, log: log)
            let index = log.release(before: target.commitLSN)
            board.replaceIndex(index.old, by: index.new)
            return CheckpointResult(pageCount: count, isComplete: queue.appendedPosition <= target.commitLSN)
        }
    }

    /// The writing part: pages, then the slot.
    ///
    /// The checkpoint lock is held.
    private func move(
        _ target: StoreState, from: UInt64, index: LogIndex, log: Log
    ) throws(StorageError) -> Int {
        let versions = newestVersions(in: index, from: from, target: target)
        try writePages(versions, pageCount: target.pageCount)
        let logStart = target.commitLSN / UInt64(log.segmentByteCount)
        try writeSlot(target, logIdentifier: log.identifier, logStartSegment: logStart, isClean: false)
        for version in versions { pool.rename(version.page, version: version.place.lsn) }
        checkpointLSN.store(target.commitLSN, ordering: .releasing)
        checkpointCount.add(1, ordering: .relaxed)
        return versions.count
    }

    /// The newest version before the target of each page that has one, in the order of pages.
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
        return newest
    }

    /// Writes page versions to the store file, neighbours together, and syncs it.
    func writePages(_ versions: [Version], pageCount: UInt32) throws(StorageError) {
        let pageSize = pool.pageSize
        try files.store.allocate(to: UInt64(pageCount) * UInt64(pageSize))
        let runMax = max(Self.runByteCountMax / pageSize, 1)
        let buffer = ScratchBytes(byteCount: min(runMax, max(versions.count, 1)) * pageSize)
        var start = 0
        while start < versions.count {
            var count = 1
            while count < runMax, start + count < versions.count,
                versions[start + count].page == versions[start].page + UInt32(count)
            {
                count += 1
            }
            for number in 0..<count {
                let target = buffer.view(at: number * pageSize, byteCount: pageSize)
                try copy(versions[start + number], to: target)
            }
            let offset = UInt64(versions[start].page) * UInt64(pageSize)
            try buffer.write(0..<count * pageSize, to: files.store, at: offset)
            start += count
        }
        try syncs.sync(files.store)
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
    /// The checkpoint lock is held.
    func writeSlot(
        _ state: StoreState, logIdentifier: [UInt8], logStartSegment: UInt64, isClean: Bool
    ) throws(StorageError) {
        let next = CheckpointSlot(
            sequence: slot.sequence + 1, checkpointLSN: state.commitLSN, transactionID: state.transactionID,
            pageCount: state.pageCount, freeCount: state.freeCount, catalogRoot: state.catalogRoot, isClean: isClean,
            logIdentifier: logIdentifier, logStartSegment: logStartSegment, chainSeed: state.chain,
            nextTreeID: state.nextTreeID)
        try put(next)
        slot = next
    }

    private func put(_ slot: CheckpointSlot) throws(StorageError) {
        let bytes = ScratchBytes(byteCount: CheckpointSlotLayout.byteCount)
        bytes.store(slot.encoded(), at: 0)
        try bytes.write(0..<bytes.byteCount, to: files.store, at: UInt64(slot.byteOffset))
        try syncs.sync(files.store)
    }
}
