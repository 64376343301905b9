// Reading beside a process that writes: the index of the log is kept in this process, and brought up to date whenever a
// snapshot begins. Nothing is written and nothing is locked.
//
// Invariants
//   1. A snapshot consists of commits that were whole in the log (or in the store file) when it began.
//   2. When the writer's checkpoint moved on, cached pages of the store file are forgotten; what an older snapshot then
//      finds overwritten tells so by its LSN, and the snapshot has expired.
//   3. What looks like damage may be half of a write that is going on: it is believed only when it stays so
//      (`Patience`).

import Synchronization

// SAFETY: @unchecked Sendable, because the variables are touched only while `lock` is held.
/// Brings a read-only engine up to the newest commit of the process that writes.
package final class LogFollower: @unchecked Sendable {
    private let path: String
    private let lock = Monitor()
    private var scan: LogScan?
    private var slot: CheckpointSlot?

    /// Whether transactions go on seeing the commit that was the newest one, whatever is committed meanwhile.
    let isHeld = Atomic(false)

    init(path: String) { self.path = path }

    /// Shows the newest commit on the engine's board.
    func follow(_ engine: Engine) throws(StorageError) {
        try lock.withLock { () throws(StorageError) in
            var patience = Patience(engine.files.store)
            while true {
                do throws(StorageError) {
                    return try refresh(engine)
                } catch {
                    scan = nil
                    slot = nil
                    guard Self.mayPass(error), patience.readsAgain() else { throw error }
                }
            }
        }
    }

    /// Whether an error may come from a write that is going on (invariant 3).
    private static func mayPass(_ error: StorageError) -> Bool {
        switch error {
        case .corruption, .logCorrupt: true
        default: false
        }
    }

    private func refresh(_ engine: Engine) throws(StorageError) {
        guard try engine.fileSystem.identity(of: engine.path) == engine.files.store.identity else {
            throw .storeReplaced
        }
        let (superblock, newest) = try Engine.readSuperblock(of: engine.files.store)
        guard superblock.storeIdentifier == engine.superblock.storeIdentifier else {
            throw .corrupt(.superblockField, page: 0, byteOffset: SuperblockLayout.storeIdentifier)
        }
        if slot != newest {
            scan = nil
            try begin(engine, at: newest)
        } else if scan == nil {
            return
        }
        try scan?.advance()
        if let state = scan?.state, let index = scan?.index {
            // A checkpoint during the walk may have recycled what the walk read: then it is repeated.
            let (_, now) = try Engine.readSuperblock(of: engine.files.store)
            guard now == newest else { throw .corrupt(.logSegment, page: 0, file: .log) }
            engine.board.follow(state, index: index)
        } else {
            engine.board.follow(StoreState(newest), index: LogIndex(capacity: 64))
        }
        slot = newest
    }

    private func begin(_ engine: Engine, at newest: CheckpointSlot) throws(StorageError) {
        engine.pool.forgetStorePages()
        engine.checkpointLSN.store(newest.checkpointLSN, ordering: .releasing)
        engine.files.log = nil
        if newest.isClean { return try engine.checkNothingNewer(than: newest) }
        guard let file = try Engine.openIfPresent(path, role: .log, mode: .readOnly, in: engine.fileSystem),
            let header = try Engine.readLogHeader(of: file)
        else { throw .corrupt(.logHeader, page: 0, file: .log) }
        guard header.logIdentifier == newest.logIdentifier, header.pageSize == engine.superblock.pageSize,
            header.storeIdentifier == engine.superblock.storeIdentifier
        else {
            throw .corrupt(.logForeign, page: 0, file: .log)
        }
        engine.files.log = file
        scan = try LogScan(file: file, header: header, slot: newest, storeSeed: engine.superblock.hashSeed)
    }
}
