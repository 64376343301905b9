// Real threads over one store: the guarantees of the engine's protocols to concurrent readers, writers and checkpoints.
//
// Every test runs a fixed number of transactions (`ESPALIER_THREAD_COMMITS` raises it) with a tiny cache and tiny log
// segments, so that pages are evicted and read from the log, and segments recycled, all the time. The tests must also
// pass under `-sanitize=thread`.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct DatabaseConcurrencyTests {
    private let commitCount = campaignCount("ESPALIER_THREAD_COMMITS", default: 80)
    private let seed = testSeed(default: 20)

    /// A cache of 16 pages and segments of 64 KiB.
    private var tiny: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 << 10
        options.logSegmentByteCount = 64 << 10
        options.checkpointThreshold = 128 << 10
        return options
    }

    private func chance(_ number: Int) -> SeededGenerator { SeededGenerator(seed: seed &* 100 &+ UInt64(number)) }

    @Test(arguments: [4096, 16384])
    func `readers see only whole commits and snapshots never change`(pageSize: Int) throws {
        try withStorePath { path in
            var options = tiny
            options.pageSize = pageSize
            options.cacheByteCount = 16 * pageSize
            let ledger = try Ledger(filling: try Database.open(path, options: options))
            let database = ledger.database
            let isDone = Shared(Atomic(false))
            try onThreads(5) { number in
                var chance = chance(number)
                switch number {
                case 0:
                    defer { isDone.value.store(true, ordering: .relaxed) }
                    for round in 0..<commitCount { try ledger.commit(&chance, round % 10 == 0 ? .durable : .ordered) }
                case 1:
                    while !isDone.value.load(ordering: .relaxed) {
                        let mode: CheckpointMode = [.passive, .full, .truncate].randomElement(using: &chance) ?? .full
                        // An older snapshot may prevent completion.
                        do { try database.checkpoint(mode) } catch StorageError.transaction(.logFull) {}
                        Thread.sleep(forTimeInterval: 0.003)
                    }
                default:
                    var newest: UInt64 = 0
                    while !isDone.value.load(ordering: .relaxed) {
                        let read = try database.beginRead()
                        #expect(read.transactionID >= newest)
                        newest = read.transactionID
                        let digest = try ledger.verify(read)
                        if number == 2 { continue }
                        let patience = newest + UInt64.random(in: 2...25, using: &chance)
                        while !isDone.value.load(ordering: .relaxed), database.statistics.transactionID < patience {
                            Thread.sleep(forTimeInterval: 0.001)
                        }
                        #expect(try ledger.verify(read) == digest, "seed \(seed)")
                    }
                }
            }
            #expect(database.statistics.checkpointCount > 0)
            #expect(database.statistics.snapshotCount == 0)
            #expect(try database.check().isOK)
            try database.close()
        }
    }

    @Test func `at the log's cap old snapshots expire, and never show another commit`() throws {
        try withStorePath { path in
            var options = tiny
            options.logSoftCap = 256 << 10
            options.logByteCountMax = 512 << 10
            let ledger = try Ledger(filling: try Database.open(path, options: options))
            let database = ledger.database
            let isDone = Shared(Atomic(false))
            let expired = Shared(Atomic(0))
            try onThreads(4) { number in
                var chance = chance(number)
                if number == 0 {
                    defer { isDone.value.store(true, ordering: .relaxed) }
                    for _ in 0..<commitCount {
                        try ledger.commit(&chance)
                        #expect(database.statistics.logByteCount <= 512 << 10)
                    }
                    return
                }
                while !isDone.value.load(ordering: .relaxed) {
                    do {
                        let read = try database.beginRead()
                        let digest = try ledger.verify(read)
                        while !isDone.value.load(ordering: .relaxed) {
                            #expect(try ledger.verify(read) == digest, "seed \(seed)")
                        }
                    } catch StorageError.transaction(.snapshotExpired) {
                        expired.value.add(1, ordering: .relaxed)
                    }
                }
            }
            #expect(expired.value.load(ordering: .relaxed) > 0)
            #expect(database.statistics.snapshotCount == 0)
            #expect(try database.check().isOK)
        }
    }

    /// The page above the leaves is read again at each crossing, to find the leaves to be read ahead; its frame may get
    /// another page as soon as it is not pinned.
    @Test func `walks in both directions give each entry once and whole while pages are evicted and replaced`() throws {
        try withStorePath { path in
            var options = tiny
            // Enough frames for reading ahead, and far fewer than a walk needs.
            options.cacheByteCount = 32 * 4096
            let walked = try WalkedTrees(filling: try Database.open(path, options: options))
            let database = walked.database
            let walkCount = campaignCount("ESPALIER_THREAD_WALKS", default: 12)
            let running = Shared(Atomic(4))
            try onThreads(7) { number in
                var chance = chance(number)
                if number < 4 {
                    defer { running.value.subtract(1, ordering: .relaxed) }
                    for round in 0..<walkCount {
                        let read = try database.beginRead()
                        let count = try walked.soundEntryCount(read, ofWords: number < 2, isForward: round % 2 == 0)
                        #expect(count == WalkedTrees.rowCount, "walk \(round) of thread \(number), seed \(seed)")
                    }
                }
                while running.value.load(ordering: .relaxed) > 0 {
                    if number == 4 { try walked.commit(&chance) } else { try walked.read(&chance) }
                }
            }
            #expect(try database.check().isOK)
        }
    }

    @Test func `a second writer waits until the first has ended, readers do not`() throws {
        let ledger = try Ledger(filling: try Database.inMemory())
        let (database, tree) = (ledger.database, ledger.accounts)
        var first = try database.beginWrite()
        let began = DispatchSemaphore(value: 0)
        let thread = Thread {
            do {
                var second = try database.beginWrite()
                began.signal()
                #expect(try second.get(7, from: tree) == [1])
                try second.put([2], for: 7, in: tree)
                try second.commit()
            } catch {
                Issue.record(error)
            }
            began.signal()
        }
        thread.start()
        #expect(began.wait(timeout: .now() + 0.2) == .timedOut)
        try first.put([1], for: 7, in: tree)
        #expect(try database.beginRead().get(7, from: tree) != [1])
        #expect(began.wait(timeout: .now() + 0.05) == .timedOut)
        try first.commit()
        #expect(began.wait(timeout: .now() + 20) == .success)
        #expect(began.wait(timeout: .now() + 20) == .success)
        #expect(try database.beginRead().get(7, from: tree) == [2])
    }

    @Test func `committing threads share syncs, and what was acknowledged is there after reopening`() throws {
        try withStorePath { path in
            let system = DisguisedFileSystem(syncDelay: 0.002)
            let perThread = max(commitCount / 5, 10)
            let database = try Database.open(path, in: system, options: DatabaseOptions())
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit()
            let before = database.statistics.syncCount
            try onThreads(6) { number in
                for round in 0..<perThread {
                    var write = try database.beginWrite()
                    let id = write.transactionID
                    try write.put([UInt8](repeating: UInt8(number), count: 100), for: id, in: tree)
                    #expect(try write.commit(.durable).transactionID == id)
                    let read = try database.beginRead()
                    #expect(try read.get(id, from: tree)?.first == UInt8(number), "round \(round)")
                }
            }
            let syncs = database.statistics.syncCount - before
            #expect(syncs < UInt64(6 * perThread), "\(syncs) syncs")
            try database.close()

            let reopened = try Database.open(path)
            #expect(try reopened.beginRead().count(of: tree) == UInt64(6 * perThread))
            #expect(try reopened.check().isOK)
        }
    }

    @Test func `checkpoints of every mode complete beside commits when no snapshot is open`() throws {
        try withStorePath { path in
            let ledger = try Ledger(filling: try Database.open(path, options: tiny))
            let database = ledger.database
            let running = Shared(Atomic(2))
            try onThreads(4) { number in
                var chance = chance(number)
                if number < 2 {
                    defer { running.value.subtract(1, ordering: .relaxed) }
                    for round in 0..<commitCount / 4 {
                        try ledger.commit(&chance, round % 3 == 0 ? .ordered : .durable)
                    }
                }
                while running.value.load(ordering: .relaxed) > 0 {
                    // Neither may fail on a log that the other has removed, or on commits that wait for a sync.
                    if number == 2 {
                        try database.checkpoint(.passive)
                    } else {
                        #expect(try database.checkpoint(number == 3 ? .truncate : .full).isComplete)
                    }
                    Thread.sleep(forTimeInterval: 0.001)
                }
            }
            let newest = database.statistics.transactionID
            #expect(newest == UInt64(1 + 2 * (commitCount / 4)))
            try database.close()

            let reopened = Ledger(ledger, in: try Database.open(path))
            let read = try reopened.database.beginRead()
            #expect(read.transactionID == newest)
            _ = try reopened.verify(read)
        }
    }

    @Test func `a database closes once, when no transaction is open, and lets none begin afterwards`() throws {
        var allRefusals = 0
        for round in 0..<20 {
            let ledger = try Ledger(filling: try Database.inMemory())
            let database = ledger.database
            let (closes, refusals) = (Shared(Atomic(0)), Shared(Atomic(0)))
            try onThreads(4) { number in
                var chance = chance(round * 10 + number)
                do {
                    // Writer and reader pause and then end, so that at some moment no transaction is open.
                    for _ in 0..<(number < 2 ? 5 : .max) {
                        switch number {
                        case 0: try ledger.commit(&chance)
                        case 1: _ = try ledger.verify(try database.beginRead())
                        default:
                            do {
                                try database.close()
                                closes.value.add(1, ordering: .relaxed)
                                return
                            } catch StorageError.database(.transactionsOpen) {
                                refusals.value.add(1, ordering: .relaxed)
                            }
                        }
                        Thread.sleep(forTimeInterval: 0.001)
                    }
                } catch StorageError.database(.closed) {
                    #expect(throws: StorageError.database(.closed)) { _ = try database.beginRead() }
                }
            }
            #expect(closes.value.load(ordering: .relaxed) == 1, "round \(round)")
            allRefusals += refusals.value.load(ordering: .relaxed)
        }
        #expect(allRefusals > 0)
    }

    @Test func `two threads that close one database leave another of the same file open`() throws {
        try withStorePath { path in
            let other = try Ledger(filling: try Database.open(path))
            for _ in 0..<30 {
                let database = try Database.open(path)
                let closes = Shared(Atomic(0))
                try onThreads(3) { _ in
                    do {
                        try database.close()
                        closes.value.add(1, ordering: .relaxed)
                    } catch StorageError.database(.closed) {}
                }
                #expect(closes.value.load(ordering: .relaxed) == 1)
                _ = try other.verify(try other.database.beginRead())
            }
            try other.database.close()
        }
    }

    @Test func `snapshots that come and go leave nothing behind`() throws {
        let ledger = try Ledger(filling: try Database.inMemory(options: tiny))
        let database = ledger.database
        try onThreads(4) { number in
            var chance = chance(number)
            for round in 0..<commitCount * 10 {
                let older = try database.beginRead()
                let newer = try database.beginRead()
                #expect(newer.transactionID >= older.transactionID)
                _ = consume older
                if number == 0, round % 40 == 0 { try ledger.commit(&chance) }
                #expect(try newer.count(of: ledger.accounts) == Ledger.accountCount)
            }
        }
        #expect(database.statistics.snapshotCount == 0)
        #expect(try database.checkpoint(.full).isComplete)
    }

    @Test func `who only reads reads a page anew that the writer's checkpoint wrote over`() throws {
        try withStorePath { path in
            let writing = try Database.open(path, options: tiny)
            var options = tiny
            options.access = .readOnly
            var write = try writing.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.put([0], for: 7, in: tree)
            try write.commit()
            try writing.checkpoint(.truncate)
            let reading = try Database.open(path, in: DisguisedFileSystem(device: 1 << 40), options: options)
            #expect(try reading.beginRead().get(7, from: tree) == [0])

            for round in 1...5 as ClosedRange<UInt8> {
                var write = try writing.beginWrite()
                try write.put([round], for: 7, in: tree)
                try write.commit()
                try writing.checkpoint(.truncate)
                #expect(try reading.beginRead().get(7, from: tree) == [round])
            }
        }
    }

    @Test func `who only reads follows a store that is written, and sees only whole commits`() throws {
        try withStorePath { path in
            let ledger = try Ledger(filling: try Database.open(path, options: tiny))
            var options = tiny
            options.access = .readOnly
            let reading = try Database.open(path, in: DisguisedFileSystem(device: 1 << 40), options: options)
            let follower = Ledger(ledger, in: reading)
            let isDone = Shared(Atomic(false))
            let successes = Shared(Atomic(0))
            try onThreads(3) { number in
                var chance = chance(number)
                if number == 0 {
                    defer { isDone.value.store(true, ordering: .relaxed) }
                    for _ in 0..<commitCount {
                        try ledger.commit(&chance)
                        Thread.sleep(forTimeInterval: 0.002)
                    }
                    return
                }
                var newest: UInt64 = 0
                while !isDone.value.load(ordering: .relaxed) {
                    do {
                        let read = try reading.beginRead()
                        #expect(read.transactionID >= newest)
                        newest = read.transactionID
                        let digest = try follower.verify(read)
                        #expect(try follower.verify(read) == digest)
                        successes.value.add(1, ordering: .relaxed)
                    } catch StorageError.transaction(.snapshotExpired) {
                        // The writer's checkpoint has passed the snapshot: begin again on the newest commit.
                    }
                }
            }
            #expect(successes.value.load(ordering: .relaxed) > 0)
            let last = ledger.database.statistics.transactionID
            #expect(try reading.beginRead().transactionID == last)
            _ = try follower.verify(try reading.beginRead())
            #expect(throws: StorageError.database(.readOnly)) { _ = try reading.beginWrite() }
        }
    }
}

/// Two trees with known entries, one for each kind of keys, and a third one that is written.
private struct WalkedTrees {
    static let rowCount = 4_000

    let database: Database
    private let numbers: Tree<UInt64>
    private let words: Tree<[UInt8]>
    private let written: Tree<UInt64>

    init(filling database: Database) throws {
        self.database = database
        var write = try database.beginWrite()
        numbers = try write.createTree(named: "numbers", keys: UInt64.self)
        words = try write.createTree(named: "words", keys: [UInt8].self)
        written = try write.createTree(named: "written", keys: UInt64.self)
        try write.load((0..<Self.rowCount).map { (UInt64($0), Self.value($0)) }, into: numbers)
        try write.load((0..<Self.rowCount).map { (Self.word($0), Self.value($0)) }, into: words)
        try write.commit()
        try database.checkpoint(.full)
    }

    private static func word(_ number: Int) -> [UInt8] { bytes("word \(1_000_000 + number)") }

    private static func value(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251), count: 180) }

    /// Walks a whole tree; returns the number of entries before the first that is not the expected one.
    func soundEntryCount(_ read: borrowing ReadTransaction, ofWords: Bool, isForward: Bool) throws -> Int {
        func isSound(_ count: Int, _ hasKey: (Int) -> Bool, _ value: [UInt8]) -> Bool {
            let number = isForward ? count : Self.rowCount - 1 - count
            return hasKey(number) && value == Self.value(number)
        }
        var count = 0
        if ofWords {
            var cursor = try read.cursor(over: words)
            var isOnEntry = isForward ? try cursor.first() : try cursor.last()
            while isOnEntry {
                let key = try cursor.key
                guard isSound(count, { Self.word($0) == key }, try cursor.value()) else { break }
                count += 1
                isOnEntry = isForward ? try cursor.next() : try cursor.previous()
            }
        } else {
            var cursor = try read.cursor(over: numbers)
            var isOnEntry = isForward ? try cursor.first() : try cursor.last()
            while isOnEntry {
                let key = try cursor.key
                guard isSound(count, { UInt64($0) == key }, try cursor.value()) else { break }
                count += 1
                isOnEntry = isForward ? try cursor.next() : try cursor.previous()
            }
        }
        return count
    }

    /// Commits changes of the third tree.
    func commit(_ chance: inout SeededGenerator) throws {
        var write = try database.beginWrite()
        for _ in 0..<20 {
            let place = Int.random(in: 0..<3_000, using: &chance)
            try write.put(Self.value(place), for: UInt64(place), in: written)
        }
        try write.commit(.ordered)
    }

    /// Reads entries here and there, so that pages which walks use are evicted.
    func read(_ chance: inout SeededGenerator) throws {
        let read = try database.beginRead()
        for _ in 0..<20 {
            let place = Int.random(in: 0..<Self.rowCount, using: &chance)
            #expect(try read.get(UInt64(place), from: numbers) == Self.value(place))
            #expect(try read.get(Self.word(place), from: words) == Self.value(place))
        }
    }
}
