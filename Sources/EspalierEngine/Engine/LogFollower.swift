// Reading while another process writes: this process keeps its own index of the log, and updates it whenever a snapshot
// begins. It writes nothing and locks no file.
//
// Invariants
//   1. A snapshot consists of commits that were whole in the log (or in the store file) when it began.
//   2. When the writer's checkpoint advances, this process forgets cached pages of the store file. If an older snapshot
//      then reads an overwritten page, the page's LSN shows it, and the snapshot has expired.
//   3. Apparent damage may be a write in progress: it is reported only if it persists (`TornReadRetry`).
//   4. While the slots change, the writer is alive: a walk that a checkpoint overtook begins again from the newest
//      slot, and no error of that walk is reported as damage.

import Synchronization

// SAFETY: @unchecked Sendable, because the variables are touched only while `lock` is held.
/// Brings a read-only engine up to the newest commit of the process that writes.
package final class LogFollower: @unchecked Sendable {
    /// The number of walks in a row that checkpoints may overtake; each walk reads at most the log between two of them.
    private static let outrunMax = 1000

    private let lock = Monitor()
    private var scan: LogScan?
    private var slot: CheckpointSlot?

    /// Whether later transactions see the commit that is shown now, whatever is committed meanwhile.
    let isHeld = Atomic(false)

    /// Shows the newest commit on the engine's board.
    ///
    /// - Throws: `snapshotExpired` if checkpoints are faster than this process can walk the log; `storeReplaced`;
    ///   errors of damage to page 0 and the log; `io`.
    func follow(_ engine: Engine) throws(StorageError) {
        try lock.withLock { () throws(StorageError) in
            var retry = TornReadRetry(engine.files.store)
            var outrunCount = 0
            while true {
                let newest = try newestSlot(engine)
                if slot == newest, scan == nil { return }
                var failure: StorageError?
                do throws(StorageError) {
                    try walk(engine, from: newest)
                } catch {
                    forget()
                    guard Self.mayPass(error) else { throw error }
                    failure = error
                }
                if try newestSlot(engine) == newest {
                    guard let failure else { return show(newest, on: engine.board) }
                    guard retry.shouldReadAgain() else { throw failure }
                } else {
                    // Invariant 4: start again, and allow all retries again.
                    forget()
                    retry = TornReadRetry(engine.files.store)
                    outrunCount += 1
                    guard outrunCount < Self.outrunMax else { throw .transaction(.snapshotExpired) }
                }
            }
        }
    }

    /// Whether a write in progress may be the cause of an error (invariant 3).
    private static func mayPass(_ error: StorageError) -> Bool {
        switch error {
        case .corruption, .opening(.logCorrupt), .opening(.logMissing): true
        default: false
        }
    }

    /// The newest slot of the store file; throws `storeReplaced` if the store's name leads to another file.
    private func newestSlot(_ engine: Engine) throws(StorageError) -> CheckpointSlot {
        guard try engine.entry.identity(role: .store) == engine.files.store.identity else {
            throw .database(.storeReplaced)
        }
        let (superblock, newest) = try Engine.readSuperblock(of: engine.files.store)
        guard superblock.storeIdentifier == engine.superblock.storeIdentifier else {
            throw .corrupt(.superblockField, page: 0, byteOffset: SuperblockLayout.storeIdentifier)
        }
        return newest
    }

    /// Reads the log up to its current end.
    private func walk(_ engine: Engine, from newest: CheckpointSlot) throws(StorageError) {
        if slot != newest {
            scan = nil
            try begin(engine, at: newest)
        }
        try scan?.advance()
    }

    /// Makes the next walk begin at the checkpoint.
    private func forget() {
        scan = nil
        slot = nil
    }

    /// Shows the commit that the walk reached as the newest one.
    private func show(_ newest: CheckpointSlot, on board: SnapshotBoard) {
        assert(newest.isClean == (scan == nil), "a log is walked that does not count, or one that counts is not")
        if let state = scan?.state, let index = scan?.index {
            board.follow(state, index: index)
        } else {
            board.follow(StoreState(newest), index: LogIndex(capacity: 64))
        }
        slot = newest
    }

    private func begin(_ engine: Engine, at newest: CheckpointSlot) throws(StorageError) {
        engine.pool.forgetStorePages()
        engine.checkpointLSN.store(newest.checkpointLSN, ordering: .releasing)
        engine.files.log = nil
        if newest.isClean { return try engine.checkNothingNewer(than: newest) }
        guard let file = try engine.entry.log.openIfPresent(role: .log, mode: .readOnly) else {
            throw .opening(.logMissing)
        }
        guard let header = try Engine.readLogHeader(of: file) else { throw .corrupt(.logHeader, page: 0, file: .log) }
        guard header.logIdentifier == newest.logIdentifier, header.pageSize == engine.superblock.pageSize,
            header.storeIdentifier == engine.superblock.storeIdentifier
        else {
            throw .corrupt(.logForeign, page: 0, file: .log)
        }
        engine.files.log = file
        scan = try LogScan(file: file, header: header, slot: newest, storeSeed: engine.superblock.hashSeed)
    }
}
