// The order in which commits are appended, synced and visible, with actions during a sync.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

/// A file in memory that calls a closure when it is synced.
private final class ObservedFile: StorageFile {
    let role = FileRole.log
    let identity = FileIdentity(device: 1 << 41, inode: 1)
    private let hook = Mutex<(@Sendable () -> Void)?>(nil)

    func setHook(_ body: (@Sendable () -> Void)?) { hook.withLock { $0 = body } }
    func size() throws(StorageError) -> UInt64 { 0 }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int { 0 }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int { buffer.count }
    func sync(_ level: SyncLevel) throws(StorageError) { hook.withLock { $0 }?() }
    func truncate(to byteCount: UInt64) throws(StorageError) {}
    func allocate(to byteCount: UInt64) throws(StorageError) {}
    func lockForWriting() throws(StorageError) {}
    func close() throws(StorageError) {}
}

@Suite struct CommitQueueTests {
    @Test func `a commit that is appended while a sync runs is not made durable by it`() throws {
        let (file, syncs, index) = (ObservedFile(), SyncGuard(), LogIndex(capacity: 64))
        let board = SnapshotBoard(state: StoreState(commit: 0), index: index)
        let queue = CommitQueue(board: board, syncs: syncs)
        let header = LogHeader(
            pageSize: 4096, storeIdentifier: [UInt8](repeating: 0, count: 16),
            logIdentifier: [UInt8](repeating: 0, count: 16), segmentByteCount: 64 << 10)
        let log = Log(
            file: file, header: header, storeSeed: 0, fileSystem: MemoryFileSystem(), syncs: syncs, segmentCount: 0,
            firstSequence: 1, chain: 0, baseLSN: 0)
        let (first, second) = (StoreState(commit: 1), StoreState(commit: 2))
        queue.enqueue(first, index: index, wallClock: 1, needsSync: true)
        file.setHook { queue.enqueue(second, index: index, wallClock: 1, needsSync: true) }

        try queue.waitUntilVisible(first.commitLSN, log: log)

        #expect(board.state.transactionID == 1)
        #expect(queue.durablePosition == first.commitLSN)
        file.setHook(nil)
        try queue.waitUntilVisible(second.commitLSN, log: log)
        #expect(board.state.transactionID == 2)
        #expect(queue.durablePosition == second.commitLSN)
    }

    @Test func `an ordered commit waits for the durable one before it`() throws {
        let (syncs, index) = (SyncGuard(), LogIndex(capacity: 64))
        let board = SnapshotBoard(state: StoreState(commit: 0), index: index)
        let queue = CommitQueue(board: board, syncs: syncs)
        queue.enqueue(StoreState(commit: 1), index: index, wallClock: 1, needsSync: true)
        queue.enqueue(StoreState(commit: 2), index: index, wallClock: 1, needsSync: false)

        #expect(board.state.transactionID == 0)
        #expect(queue.appendedPosition == 2000)
    }

    @Test func `a commit that is durable when it is queued is visible at once`() throws {
        let index = LogIndex(capacity: 64)
        let board = SnapshotBoard(state: StoreState(commit: 0), index: index)
        let queue = CommitQueue(board: board, syncs: SyncGuard())

        queue.enqueue(StoreState(commit: 1), index: index, wallClock: 1, needsSync: true, isDurable: true)

        #expect(board.state.transactionID == 1)
        #expect(queue.durablePosition == queue.appendedPosition)
    }
}
