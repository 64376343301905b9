// Snapshots that hold the log back: the application is told, and at the cap the oldest snapshots expire.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct LogPressureTests {
    /// A store in memory that reports pressure at 256 KiB of live log and whose log has a cap of 1 MiB.
    private func makeStore(_ tell: (@Sendable (LogPressure) -> Void)? = nil) throws -> (Database, Tree<UInt64>) {
        var options = DatabaseOptions()
        options.logSegmentByteCount = 64 << 10
        options.checkpointThreshold = 64 << 10
        options.logSoftCap = 256 << 10
        options.logByteCountMax = 1 << 20
        options.onLogPressure = tell
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        return (database, tree)
    }

    /// Commits a transaction that takes about 20 KiB of log.
    private func commit(_ round: UInt64, in database: Database, _ tree: Tree<UInt64>) throws {
        var write = try database.beginWrite()
        let value = [UInt8](repeating: UInt8(round % 251), count: 400)
        for key in 0..<UInt64(40) { try write.put(value, for: key, in: tree) }
        try write.commit(.ordered)
    }

    @Test func `who holds the log beyond its soft cap is named, with label, commit, age and sizes`() throws {
        let told = Shared(Mutex<[LogPressure]>([]))
        let (database, tree) = try makeStore { pressure in told.value.withLock { $0.append(pressure) } }
        try commit(1, in: database, tree)
        let old = try database.beginRead(label: "an export")
        let seen = old.transactionID
        var round: UInt64 = 2
        while database.statistics.logLiveByteCount <= 256 << 10 {
            let isSilent = told.value.withLock(\.isEmpty)
            #expect(isSilent)
            try commit(round, in: database, tree)
            round += 1
        }
        let newer = try database.beginRead()
        for _ in 0..<8 { try commit(round, in: database, tree) }

        let reports = told.value.withLock(\.self)
        #expect((1...8).contains(reports.count))
        for report in reports {
            #expect(report.oldestReader.label == "an export" && report.oldestReader.transactionID == seen)
            #expect(report.liveByteCount > 256 << 10 && report.byteCount >= report.liveByteCount)
            #expect(report.byteCountMax == 1 << 20)
        }
        #expect(reports.last?.outdatedReaderCount == 2)
        let ages = reports.map(\.oldestReader.outdatedNanoseconds)
        #expect(ages == ages.sorted() && ages.allSatisfy { $0 > 0 && $0 < 600_000_000_000 })
        #expect(try old.count(of: tree) == 40 && newer.count(of: tree) == 40)
    }

    @Test func `without an old snapshot nobody is told, however much is written`() throws {
        let count = Shared(Atomic(0))
        let (database, tree) = try makeStore { _ in count.value.add(1, ordering: .relaxed) }
        for round in 0..<UInt64(200) { try commit(round, in: database, tree) }
        #expect(count.value.load(ordering: .relaxed) == 0)
    }

    @Test func `who ends its old snapshots when it is told has none given up`() throws {
        let isTold = Shared(Atomic(false))
        let known = Shared(Mutex<(Database, Tree<UInt64>)?>(nil))
        let (database, tree) = try makeStore { _ in
            // The engine holds no lock here: reads, writes and statistics work.
            if let (database, tree) = known.value.withLock({ $0 }) {
                #expect((try? database.beginRead().count(of: tree)) == 40)
                #expect(throws: Never.self) { try database.beginWrite().rollback() }
                #expect(database.statistics.snapshotCount == 1)
            }
            isTold.value.store(true, ordering: .relaxed)
        }
        known.value.withLock { $0 = (database, tree) }
        try commit(0, in: database, tree)
        for _ in 0..<3 {
            let held = try database.beginRead()
            isTold.value.store(false, ordering: .relaxed)
            var round: UInt64 = 0
            while !isTold.value.load(ordering: .relaxed) {
                try commit(round, in: database, tree)
                round += 1
                #expect(database.statistics.logByteCount <= 512 << 10)
            }
            #expect(try held.count(of: tree) == 40)
        }
        known.value.withLock { $0 = nil }
    }

    @Test func `at the cap only as many of the oldest snapshots are given up as hold what is needed`() throws {
        let (database, tree) = try makeStore()
        try commit(1, in: database, tree)
        let oldest = try database.beginRead()
        let sibling = try database.beginRead(label: "as old")
        for round in 0..<UInt64(20) { try commit(round, in: database, tree) }
        let middle = try database.beginRead()
        for round in 0..<UInt64(20) { try commit(round, in: database, tree) }
        let newest = try database.beginRead()

        var expiries: [(middle: Bool, newest: Bool)] = []
        var round: UInt64 = 0
        while round < 400, expiries.last?.newest != true {
            try commit(round, in: database, tree)
            round += 1
            #expect(database.statistics.logByteCount <= 1 << 20)
            let isGone = { (read: borrowing ReadTransaction) in
                do throws(StorageError) {
                    _ = try read.count(of: tree)
                    return false
                } catch {
                    #expect(error == .transaction(.snapshotExpired))
                    return true
                }
            }
            let (first, second) = (isGone(oldest), isGone(sibling))
            #expect(first == second)
            let later = (isGone(middle), isGone(newest))
            if first, expiries.last.map({ $0 != later }) ?? true { expiries.append(later) }
        }
        // The snapshots expire one after another, the oldest first.
        #expect(expiries.map(\.middle) == [false, true, true])
        #expect(expiries.map(\.newest) == [false, false, true])
        #expect(try database.check().isOK)
    }
}
