// A thread that would wait for its own write transaction gets an error at once; other threads wait.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

// SAFETY: @unchecked Sendable, because one thread stores the transaction before the next one starts.
/// A write transaction on its way to the thread that ends it.
private final class Carried: @unchecked Sendable {
    private var transaction: WriteTransaction?

    init(_ transaction: consuming WriteTransaction) { self.transaction = consume transaction }

    func commit() throws(StorageError) {
        guard let transaction = transaction.take() else { return }
        try transaction.commit()
    }
}

@Suite struct WriterGateTests {
    private func failure(_ body: () throws(StorageError) -> Void) -> StorageError? {
        do throws(StorageError) { try body() } catch { return error }
        return nil
    }

    @Test(.timeLimit(.minutes(30)))
    func `a thread that writes cannot begin to write again, nor make a full checkpoint, and is told at once`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            let same = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)

            #expect(
                failure { () throws(StorageError) in _ = try database.beginWrite() } == .transaction(.alreadyWriting))
            #expect(failure { () throws(StorageError) in _ = try same.beginWrite() } == .transaction(.alreadyWriting))
            #expect(
                failure { () throws(StorageError) in try database.checkpoint(.full) } == .transaction(.alreadyWriting))
            #expect(
                failure { () throws(StorageError) in try same.checkpoint(.truncate) } == .transaction(.alreadyWriting))
            try database.checkpoint(.passive)
            try same.close()
            #expect(
                failure { () throws(StorageError) in try database.close() } == .database(.transactionsOpen(count: 1)))
            try database.backUp(to: path + ".backup")
            #expect(try database.check().isOK)

            // The refused transactions left nothing behind.
            try write.put([1], for: 1, in: tree)
            try write.commit()
            try database.beginWrite().rollback()
            #expect(try database.checkpoint(.full).isComplete)
            try database.close()
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `compacting, repairing or replacing a store that this process has open is refused at once`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            let write = try database.beginWrite()

            let ofCompact = failure { () throws(StorageError) in try Database.compact(at: path) }
            let ofRepair = failure { () throws(StorageError) in _ = try Database.repair(path) }
            for error in [ofCompact, ofRepair] {
                #expect(error == .opening(.storeBusy(pid: Platform.processID)))
                #expect(error?.description.contains("This process has the store open") ?? false)
            }
            write.rollback()
            try database.close()
        }
        // The same holds if the file system does not report the holder of a lock.
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        let ofCompact = failure { () throws(StorageError) in
            try Database.compact(at: "store", in: system, options: DatabaseOptions())
        }
        #expect(ofCompact == .opening(.storeBusy(pid: Platform.processID)))
        try database.close()
    }

    @Test(.timeLimit(.minutes(30)))
    func `another thread waits for the writer, and the thread it began on may write once it has ended elsewhere`()
        throws
    {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        let carried = Carried(consume write)
        let waited = Atomic(false)

        let waiting = try #require(
            PlatformThread.start {
                do throws(StorageError) {
                    var next = try database.beginWrite()
                    try next.put([2], for: 2, in: tree)
                    try next.commit()
                    waited.store(true, ordering: .sequentiallyConsistent)
                } catch {
                    Issue.record("\(error)")
                }
            })
        Platform.pause(milliseconds: 20)
        let hasWaited = waited.load(ordering: .sequentiallyConsistent)
        #expect(!hasWaited)
        #expect(failure { () throws(StorageError) in _ = try database.beginWrite() } == .transaction(.alreadyWriting))
        let ending = try #require(
            PlatformThread.start {
                do throws(StorageError) { try carried.commit() } catch { Issue.record("\(error)") }
            })
        ending.join()
        waiting.join()

        try database.beginWrite().rollback()
        let hasWritten = waited.load(ordering: .sequentiallyConsistent)
        #expect(hasWritten)
        #expect(try database.beginRead().count(of: tree) == 1)
    }

    @Test(.timeLimit(.minutes(30)))
    func `what runs between writers is refused to the one that writes, and needs no log`() throws {
        try withStorePath { path in
            try Database.open(path).close()
            let database = try Database.open(path)
            var callCount = 0

            try database.betweenWriters { callCount += 1 }

            #expect(callCount == 1 && database.statistics.logByteCount == 0)
            let write = try database.beginWrite()
            #expect(database.statistics.logByteCount > 0)
            #expect(
                failure { () throws(StorageError) in try database.betweenWriters { callCount += 1 } }
                    == .transaction(.alreadyWriting))
            write.rollback()
            try database.betweenWriters { callCount += 1 }
            #expect(callCount == 2)
            try database.close()
            #expect(
                failure { () throws(StorageError) in try database.betweenWriters { callCount += 1 } }
                    == .database(.closed))
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a new thread is not taken for the ended one whose transaction is still open`() throws {
        let database = try Database.inMemory()
        let slot = Mutex<Carried?>(nil)
        let first = try #require(
            PlatformThread.start {
                do throws(StorageError) {
                    let carried = Carried(try database.beginWrite())
                    slot.withLock { $0 = carried }
                } catch {
                    Issue.record("\(error)")
                }
            })
        first.join()
        let errors = Mutex<[StorageError]>([])

        // The system is likely to give the handle of the ended thread to the next one.
        let second = try #require(
            PlatformThread.start {
                do throws(StorageError) { try database.beginWrite().rollback() } catch {
                    errors.withLock { $0.append(error) }
                }
            })
        Platform.pause(milliseconds: 20)
        try slot.withLock { $0 }?.commit()
        second.join()

        #expect(errors.withLock { $0 } == [])
    }
}
