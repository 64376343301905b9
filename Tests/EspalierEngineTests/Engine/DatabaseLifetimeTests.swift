// Handles, transactions and their engine: which of them keep a store open, and which of their parts are reused.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct DatabaseLifetimeTests {
    /// The store at `path`, opened as by another process: with other descriptors and locks.
    private func openElsewhere(_ path: String) throws -> Database {
        try Database.open(path, in: DisguisedFileSystem(device: 1 << 40), options: DatabaseOptions())
    }

    private func makeStore(_ path: String) throws -> (Database, Tree<UInt64>) {
        let database = try Database.open(path)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        return (database, tree)
    }

    @Test func `nothing that a closed store had in its cache gets into the file of the next`() throws {
        let secret = bytes("what only the first store may know")
        for _ in 0..<3 {
            try withStorePath { path in
                let (database, tree) = try makeStore(path)
                var write = try database.beginWrite()
                for key in 0..<5000 as Range<UInt64> { try write.put(secret, for: key, in: tree) }
                try write.commit()
                try database.close()
            }
            try withStorePath { path in
                let (database, tree) = try makeStore(path)
                var write = try database.beginWrite()
                // Half-full pages, emptied pages and values in overflow pages have many bytes that no entry covers.
                for key in 0..<900 as Range<UInt64> { try write.put([7, 7], for: key * 3, in: tree) }
                for key in 0..<40 as Range<UInt64> {
                    try write.put([UInt8](repeating: 7, count: 5000), for: key * 50, in: tree)
                }
                try write.removeAll(300...600, from: tree)
                try write.commit()
                let log = try Data(contentsOf: URL(filePath: path + "-wal"))
                try database.close()
                for content in [try Data(contentsOf: URL(filePath: path)), log] {
                    #expect(content.range(of: Data(secret.prefix(8))) == nil)
                }
            }
        }
    }

    @Test func `stores that several threads open and close at once do not share memory`() throws {
        let problems = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                for round in 0..<12 {
                    try withStorePath { path in
                        let (database, tree) = try makeStore(path)
                        let value = [UInt8](repeating: UInt8(thread * 16 + round), count: 300)
                        var write = try database.beginWrite()
                        for key in 0..<300 as Range<UInt64> { try write.put(value, for: key, in: tree) }
                        try write.commit()
                        let read = try database.beginRead()
                        for key in 0..<300 as Range<UInt64> where try read.get(key, from: tree) != value {
                            problems.withLock { $0.append("thread \(thread), round \(round), key \(key)") }
                        }
                        _ = consume read
                        try database.close()
                    }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 } == [])
    }

    @Test func `a store whose last handle was dropped closes cleanly with the last transaction`() throws {
        try withStorePath { path in
            var handle: Database?
            let tree: Tree<UInt64>
            (handle, tree) = try makeStore(path)
            let read = try #require(handle).beginRead()
            var write = try #require(handle).beginWrite()
            try write.put([2], for: 2, in: tree)
            handle = nil
            #expect(throws: StorageError.opening(.storeBusy(pid: getpid()))) { _ = try openElsewhere(path) }
            #expect(try read.get(1, from: tree) == [1])
            try write.commit()
            #expect(try read.get(2, from: tree) == nil)
            _ = consume read

            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
            let elsewhere = try openElsewhere(path)
            #expect(try elsewhere.beginRead().get(2, from: tree) == [2])
            try elsewhere.close()
        }
    }

    /// Duplicates of this process's descriptors of the file at `path`, like those of a child that was just forked.
    private func copyDescriptors(of path: String) -> [Int32] {
        var (wanted, found) = (stat(), stat())
        // SAFETY: both structures live while they are filled.
        guard unsafe stat(path, &wanted) == 0 else { return [] }
        let descriptors = (0..<getdtablesize()).filter { descriptor in
            unsafe fstat(descriptor, &found) == 0 && found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino
        }
        return descriptors.map { dup($0) }
    }

    @Test func `a closed store is free for others while a child process is just being started`() throws {
        try withStorePath { path in
            let (database, tree) = try makeStore(path)
            let copies = copyDescriptors(of: path)
            defer { for copy in copies { close(copy) } }
            #expect(copies.count == 1)
            try database.close()

            let elsewhere = try openElsewhere(path)
            #expect(try elsewhere.beginRead().get(1, from: tree) == [1])
            try elsewhere.close()
        }
    }

    @Test func `a store that is opened again before its last transaction ended stays open`() throws {
        try withStorePath { path in
            var handle: Database?
            let tree: Tree<UInt64>
            (handle, tree) = try makeStore(path)
            var cursor = try #require(handle).beginRead().cursor(over: tree)
            let read = try #require(handle).beginRead()
            handle = nil
            let again = try Database.open(path)
            #expect(again.statistics.snapshotCount == 1)
            _ = consume read
            #expect(throws: StorageError.transaction(.ended)) { _ = try cursor.first() }
            #expect(try again.beginRead().get(1, from: tree) == [1])
            try again.close()
            try openElsewhere(path).close()
        }
    }

    @Test func `handles dropped while threads end their transactions leave nothing open`() throws {
        try withStorePath { path in
            try makeStore(path).0.close()
            for _ in 0..<30 {
                let handle = Shared(Mutex<Database?>(try Database.open(path)))
                try onThreads(4) { number in
                    if number == 0 {
                        Thread.sleep(forTimeInterval: 0.0005)
                        handle.value.withLock { $0 = nil }
                    }
                    while let database = handle.value.withLock({ $0 }) {
                        if number == 1 {
                            let write = try database.beginWrite()
                            write.rollback()
                        } else {
                            _ = try database.beginRead()
                        }
                    }
                }
                try openElsewhere(path).close()
            }
        }
    }

    @Test func `a transaction sees the newest commit also when it uses again what another left`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        for round in UInt8(1)...20 {
            var write = try database.beginWrite()
            try write.put([round], for: 1, in: tree)
            try write.commit()
            for _ in 0..<3 {
                let one = try database.beginRead()
                let two = try database.beginRead()
                #expect(try one.get(1, from: tree) == [round] && two.get(1, from: tree) == [round])
                // A cursor that ends before its transaction does not prevent the reuse of the transaction, either.
                var cursor = try two.cursor(over: tree)
                #expect(try cursor.first() && cursor.value() == [round])
                #expect(database.statistics.snapshotCount == 2)
            }
            #expect(database.statistics.snapshotCount == 0)
            #expect(try database.checkpoint(.full).isComplete)
        }
    }

    @Test func `a cursor does not come to life again with the next transaction`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        var cursor = try database.beginRead().cursor(over: tree)
        let next = try database.beginRead()
        #expect(throws: StorageError.transaction(.ended)) { _ = try cursor.next() }
        #expect(try next.get(1, from: tree) == [1])
    }

    /// A lookup that is the last owner of its store's pages.
    private func lastLookup(_ path: String) throws -> Lookup<UInt64> {
        let (database, tree) = try makeStore(path)
        let read = try database.beginRead()
        var lookup = try read.lookup(in: tree)
        #expect(try lookup.withValue(of: 1) { _ in })
        return lookup
    }

    /// A cursor that is the last owner of its store's pages.
    private func lastCursor(_ path: String) throws -> Cursor<UInt64> {
        let (database, tree) = try makeStore(path)
        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        #expect(try cursor.first())
        return cursor
    }

    @Test func `what is left of a store lets its page go before the memory of all pages`() throws {
        // The pool asserts in `deinit` that no page is pinned.
        try withStorePath { path in _ = try lastCursor(path) }
        try withStorePath { path in _ = try lastLookup(path) }
    }

    @Test func `short transactions on many threads each see one whole commit, not older than their begin`() throws {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 << 10
        options.logSegmentByteCount = 64 << 10
        options.checkpointThreshold = 64 << 10
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<UInt64(200) { try write.put(Self.stamp(write.transactionID), for: key, in: tree) }
        try write.commit()
        let rounds = campaignCount("ESPALIER_THREAD_COMMITS", default: 80) * 5
        let isDone = Shared(Atomic(false))
        let newest = Shared(Atomic<UInt64>(1))
        try onThreads(5) { number in
            if number == 0 {
                defer { isDone.value.store(true, ordering: .relaxed) }
                for round in 0..<rounds {
                    var write = try database.beginWrite()
                    let stamp = Self.stamp(write.transactionID)
                    for key in 0..<UInt64(10) { try write.put(stamp, for: key * 20, in: tree) }
                    newest.value.store(try write.commit(.ordered).transactionID, ordering: .releasing)
                    // Pause, so that readers reuse ended transactions of the same commit.
                    if round % 8 == 0 { Thread.sleep(forTimeInterval: 0.001) }
                }
                return
            }
            var chance = SeededGenerator(seed: UInt64(number))
            while !isDone.value.load(ordering: .relaxed) {
                if number == 1 {
                    try database.checkpoint(.passive)
                    Thread.sleep(forTimeInterval: 0.0005)
                    continue
                }
                let floor = newest.value.load(ordering: .acquiring)
                let read = try database.beginRead()
                #expect(read.transactionID >= floor)
                let expected = Self.stamp(read.transactionID)
                for _ in 0..<3 {
                    let key = UInt64.random(in: 0..<10, using: &chance) * 20
                    #expect(try read.get(key, from: tree) == expected)
                }
            }
        }
        #expect(database.statistics.snapshotCount == 0)
        #expect(database.statistics.checkpointCount > 0)
        #expect(try database.check().isOK)
        try database.close()
    }

    private static func stamp(_ transaction: UInt64) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: transaction &* 37), count: 300)
    }
}
