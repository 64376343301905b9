// The engine, which one or more `Database` handles share: owns the files, the cache and the log of one open store.
//
// Lock order (a thread may acquire each lock while it holds those before it, never the other way round):
//   registry -> writer gate -> checkpoint lock -> log lock -> commit queue -> snapshot board -> buffer pool
//
// Invariants
//   1. `appended`, `freeCounts`, `trees` and `namesChecked` belong to the thread that holds the writer gate; `slot`
//      belongs to the thread that holds the checkpoint lock.
//   2. `checkpointLSN` is the position of the newest *durable* slot. Versions before it are read from the store file.
//   3. Nothing is written before the first write transaction: a store that was closed cleanly and is only read stays as
//      it was, byte for byte.

import Synchronization

// SAFETY: @unchecked Sendable, because the variables are guarded as invariant 1 says, or by `Mutex`.
/// An open store.
package final class Engine: @unchecked Sendable {
    /// The store file's entry, as it was found when the store was opened.
    let entry: DirectoryEntry
    let fileSystem: any FileSystem
    let options: DatabaseOptions
    let superblock: Superblock
    let isReadOnly: Bool
    /// The process that opened the store: no other may use this engine.
    let owner = ProcessMark()
    let files: StoreFiles
    let pool: BufferPool
    let board: SnapshotBoard
    let syncs = SyncGuard()
    let queue: CommitQueue
    let gate = WriterGate()
    let checkpointLock = Monitor()
    let checkpointLSN: Atomic<UInt64>
    let checkpointCount = Atomic<UInt64>(0)
    /// The position at which the last automatic checkpoint was tried.
    let checkpointTried = Atomic<UInt64>(0)
    /// Follows the log of a store that another process may be writing; read-only engines only.
    let follower: LogFollower?

    /// The state after the newest append, and the index that lists it (invariant 1).
    var appended: (state: StoreState, index: LogIndex)
    /// Free pages per bitmap page after the newest append; `nil` until they are known (invariant 1).
    var freeCounts: [Int]?
    /// The trees that writers have looked up, as of the newest append (invariant 1); empty while a writer is at work.
    private var trees: TreeTable
    /// Computes the marks of this store's tree handles.
    let storeMark: StoreMark
    /// The time when a commit last checked that the files have names, in nanoseconds since 1970 (invariant 1).
    var namesChecked: UInt64 = 0
    /// The newest slot (invariant 1).
    var slot: CheckpointSlot
    /// Ended read transactions that can begin again.
    let idleReads = IdleReads()
    /// The positions that change feeds have reached.
    let feeds = FeedBoard()
    private let armedLog = Mutex<Log?>(nil)
    /// Whether the newest slot surely names the log, so that its commits count; guarded by the writer gate.
    var isLogNamed = false
    /// Whether a slot on the disk may name the log: also after a write that failed, and may have been done; guarded by
    /// the checkpoint lock.
    var mayNeedLog = false
    /// The thread that makes checkpoints, if the options ask for one; from the first write on.
    let checkpointThread = Mutex<CheckpointThread?>(nil)
    /// Whether a checkpoint is running.
    let isCheckpointing = Atomic(false)
    /// How many `Database` handles use this engine; guarded by the registry.
    var handleCount = 0
    /// Whether the last handle was dropped while a transaction was open; the end of the last one then closes the
    /// engine.
    let isAbandoned = Atomic(false)

    init(
        entry: DirectoryEntry, fileSystem: any FileSystem, options: DatabaseOptions, superblock: Superblock,
        store: any StorageFile, slot: CheckpointSlot, follower: LogFollower?
    ) throws(StorageError) {
        self.entry = entry
        self.fileSystem = fileSystem
        self.options = options
        self.superblock = superblock
        self.slot = slot
        self.follower = follower
        isReadOnly = options.access != .readWrite
        files = StoreFiles(
            store: store, geometry: StoreGeometry(pageSize: superblock.pageSize), storeSeed: superblock.hashSeed,
            mayChangeUnderneath: options.access == .readOnly)
        pool = try BufferPool(pageSize: superblock.pageSize, byteCount: options.cacheByteCount)
        let state = StoreState(slot)
        let index = LogIndex(capacity: 64)
        board = SnapshotBoard(state: state, index: index)
        queue = CommitQueue(board: board, syncs: syncs)
        checkpointLSN = Atomic(slot.checkpointLSN)
        appended = (state, index)
        storeMark = StoreMark(identifier: superblock.storeIdentifier)
        trees = TreeTable(storeMark)
        assert(isReadOnly || follower == nil, "an engine that writes follows another process")
    }

    /// The log, once the first write transaction set it up.
    var log: Log? {
        get { armedLog.withLock { $0 } }
        set { armedLog.withLock { $0 = newValue } }
    }

    /// The maximum number of private copies of pages that a write transaction keeps in memory: half of the cache.
    var privateCopyMax: Int { pool.frameCount / 2 }

    // MARK: Transactions

    func beginRead(label: String? = nil) throws(StorageError) -> ReadPages {
        if owner.isForked { throw .database(.forked(from: owner.processID)) }
        if let follower, !follower.isHeld.load(ordering: .relaxed) { try follower.follow(self) }
        if label == nil, let pages = idleReads.take(), pages.resume() { return pages }
        return try ReadPages(self, label: label)
    }

    /// Waits for the other writers; the caller counts as a writer until it calls `gate.leave` and `board.endWriter`.
    ///
    /// - Throws: `closed`; `alreadyWriting` if this thread's own writer would have to end first.
    func enterGate() throws(StorageError) {
        try board.beginWriter()
        do throws(StorageError) {
            try gate.enter()
        } catch {
            board.endWriter()
            throw error
        }
    }

    /// Begins a write transaction; a handle that is read-only never calls this.
    func beginWrite() throws(StorageError) -> WritePages {
        if owner.isForked { throw .database(.forked(from: owner.processID)) }
        try syncs.check()
        try enterGate()
        do throws(StorageError) {
            try syncs.check()
            try armLog()
        } catch {
            gate.leave()
            board.endWriter()
            throw error
        }
        assert(log != nil && checkInvariants())
        let pages = WritePages(self, state: appended.state, index: appended.index)
        pages.writes.freeCounts = freeCounts
        // Hand the table over: one writer at a time uses it. A writer that rolls back does not return it.
        swap(&pages.trees, &trees)
        return pages
    }

    /// Runs `body` after the open write transaction, and before the next one; needs no log.
    func betweenWriters(_ body: () -> Void) throws(StorageError) {
        if owner.isForked { throw .database(.forked(from: owner.processID)) }
        try enterGate()
        body()
        gate.leave()
        board.endWriter()
    }

    /// Ends a write transaction without its changes.
    func rollback(_ pages: WritePages) {
        guard pages.end() else { return }
        discard(pages)
        board.endWriter()
        closeIfAbandoned()
    }

    /// Ends a write transaction and makes its changes visible; with `.durable`, after they were synced.
    func commit(_ pages: WritePages, durability: Durability) throws(StorageError) -> CommitReceipt {
        guard pages.end() else { throw .transaction(.ended) }
        let writes = pages.writes
        defer {
            board.endWriter()
            closeIfAbandoned()
        }
        if owner.isForked {
            discard(pages)
            throw .database(.forked(from: owner.processID))
        }
        guard !writes.isEmpty, let log else {
            discard(pages)
            return CommitReceipt(transactionID: pages.versions.state.transactionID, lsn: pages.versions.state.commitLSN)
        }
        let state: StoreState
        do throws(StorageError) {
            if writes.hasFailed { throw StorageError.transaction(.failed) }
            state = try appendAndEnqueue(pages, to: log, durability: durability)
        } catch {
            discard(pages)
            throw error
        }
        gate.leave()
        try queue.waitUntilVisible(state.commitLSN, log: log)
        checkpointIfDue(log)
        return CommitReceipt(transactionID: state.transactionID, lsn: state.commitLSN)
    }

    /// Waits until every commit that was appended so far is visible.
    ///
    /// - Throws: the error of the sync that they needed.
    func waitForCommits() throws(StorageError) {
        guard let log else { return }
        do throws(StorageError) {
            try queue.waitUntilVisible(queue.appendedPosition, log: log)
        } catch {
            // The caller has no commit among these: report the failed sync itself, and not an unknown outcome.
            try syncs.check()
            throw error
        }
    }

    /// Discards the changes of a writer, and admits the next writer.
    private func discard(_ pages: WritePages) {
        pages.discardWrites()
        assert(pages.writes.state.nextTreeID >= appended.state.nextTreeID, "tree numbers become less")
        // A handle of a tree that was never committed must not name a later tree.
        appended.state.nextTreeID = pages.writes.state.nextTreeID
        gate.leave()
    }

    /// Writes the frames of a transaction to the log and queues its commit; the next writer may build on it from here
    /// on.
    ///
    /// Its private copies become the shared versions of their pages.
    private func appendAndEnqueue(
        _ pages: WritePages, to log: Log, durability: Durability
    ) throws(StorageError) -> StoreState {
        let writes = pages.writes
        try syncs.check()
        let now = fileSystem.now()
        try checkFilesAreLinked(log, at: now, durability: durability)
        let copies = writes.copies.sorted { $0.page < $1.page }
        let logged = copies.map { LoggedPage(number: $0.page, view: $0.view) }
        try reserve(logged.reduce(Log.commitByteCount) { $0 + $1.frameByteCount }, in: log)
        let record = CommitRecord(
            transactionID: pages.versions.state.transactionID + 1, commitLSN: 0, durableLSN: queue.durablePosition,
            pageCount: writes.state.pageCount, freeCount: writes.state.freeCount,
            catalogRoot: writes.state.catalogRoot, frameCount: 0, wallClock: now, userTag: 0,
            nextTreeID: writes.state.nextTreeID)
        let (result, isDurable) = try appendCommit(logged, after: writes.spilled, record: record, to: log)
        assert(result.places.count == copies.count, "\(result.places.count) frames for \(copies.count) pages")
        _ = writes.removeAllCopies()
        writes.forgetSpilled()
        for (copy, place) in zip(copies, result.places) { pages.share(copy, at: place) }
        appended = (result.state, result.index)
        freeCounts = writes.freeCounts
        trees = pages.trees
        assert(checkInvariants())
        queue.enqueue(
            result.state, index: result.index, wallClock: record.wallClock, needsSync: durability == .durable,
            isDurable: isDurable)
        return result.state
    }

    /// Writes pages of an unfinished transaction to the log.
    func spill(_ pages: [LoggedPage]) throws(StorageError) -> [LogPlace] {
        guard let log else { preconditionFailure("a write transaction has no log") }
        try owner.check()
        try syncs.check()
        try reserve(pages.reduce(0) { $0 + $1.frameByteCount }, in: log)
        assert(self.log === log, "the log was replaced while a writer is at work")
        return try log.append(pages)
    }

    /// Reserves space in the log: grows the log up to its cap, then makes a checkpoint, then expires the oldest
    /// snapshots that hold the needed space.
    private func reserve(_ byteCount: Int, in log: Log) throws(StorageError) {
        if try log.reserve(byteCount, byteCountMax: options.logByteCountMax) { return }
        // A change feed must not keep a commit from getting space.
        feeds.removeAll()
        try runCheckpoint()
        if try log.reserve(byteCount, byteCountMax: options.logByteCountMax) { return }
        guard let position = log.positionToRelease(for: byteCount) else { throw .transaction(.logFull) }
        // Make a checkpoint even if no snapshot expired: the one that held the space may have ended in the meantime.
        board.expireSnapshots(before: position)
        try runCheckpoint()
        guard try log.reserve(byteCount, byteCountMax: options.logByteCountMax) else { throw .transaction(.logFull) }
    }

    // MARK: Invariants

    /// Asserts the invariants of the newest state between two writers; to be called in `assert`, with the gate held.
    ///
    /// - Complexity: O(bitmap pages).
    private func checkInvariants() -> Bool {
        let (state, shown) = (appended.state, board.state)
        assert(shown.commitLSN <= state.commitLSN, "\(shown.commitLSN) is published, \(state.commitLSN) was appended")
        assert(
            shown.transactionID <= state.transactionID,
            "transaction \(shown.transactionID) is published, \(state.transactionID) was appended")
        assert(
            checkpointLSN.load(ordering: .acquiring) <= state.commitLSN,
            "invariant 2: the checkpoint is after the newest commit")
        assert(state.freeCount < state.pageCount, "\(state.freeCount) of \(state.pageCount) pages are free")
        assert(state.catalogRoot < state.pageCount && state.nextTreeID >= FixedPlace.firstTreeID, "the catalog")
        if let counts = freeCounts {
            assert(
                counts.reduce(0, +) == Int(state.freeCount), "the free pages of all groups are not \(state.freeCount)")
        }
        return true
    }
}
