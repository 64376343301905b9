// The check in slices: all slices together are one check of one snapshot.

import EspalierEngine
import TestSupport
import Testing

@Suite struct CheckSessionTests {
    private func options() -> DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 512 << 10
        return options
    }

    /// A store with interior pages and chains of overflow pages.
    private func fill(_ database: Database) throws {
        var write = try database.beginWrite()
        let numbers = try write.createTree(named: "numbers", keys: UInt64.self)
        for key in 0..<UInt64(2000) { try write.put([UInt8](repeating: 1, count: 30), for: key, in: numbers) }
        let words = try write.createTree(named: "words", keys: [UInt8].self)
        for key in 0..<6 {
            try write.put([UInt8](repeating: 2, count: 10_000 * key), for: bytes("word \(key)"), in: words)
        }
        try write.commit()
    }

    private func whole(_ session: CheckSession, pages: Int) throws -> (report: CheckReport, sliceCount: Int) {
        var (report, sliceCount) = (try session.resume(pages: pages), 1)
        while !session.isOver {
            let before = report.checkedPageCount
            report = try session.resume(pages: pages)
            #expect(report.checkedPageCount >= before)
            #expect(report.checkedPageCount - before <= UInt64(pages))
            sliceCount += 1
        }
        return (report, sliceCount)
    }

    @Test(arguments: [1, 7, 50, .max])
    func `slices of any size find and count what one check does`(pages: Int) throws {
        let system = SimulatedFileSystem(seed: 2)
        let made = try Database.open("store", in: system, options: options())
        try fill(made)
        try made.close()
        for damage in [nil, 4 * 4096 + 100, 9 * 4096 + 40, 20 * 4096 + 2000] {
            let copy = SimulatedFileSystem(seed: 2)
            var store = system.contents(of: "store") ?? []
            if let damage { store[damage] ^= 1 }
            copy.replaceContents(of: "store", with: store)
            let database = try Database.open("store", in: copy, options: options())
            let once = try database.check()
            let (report, sliceCount) = try whole(try database.beginCheck(), pages: pages)

            #expect(once.isOK == (damage == nil))
            #expect(report.findings == once.findings)
            #expect(report.trees == once.trees)
            #expect(report.freePageCount == once.freePageCount)
            #expect(report.isComplete && once.isComplete)
            if damage == nil { #expect(report.checkedPageCount == report.pageCount - 1) }
            if pages < 60 { #expect(sliceCount >= Int(report.checkedPageCount) / pages) }
            try database.close()
        }
    }

    @Test func `a slice ends when its time is over`() throws {
        let database = try Database.open("store", in: SimulatedFileSystem(seed: 2), options: options())
        try fill(database)
        let session = try database.beginCheck()
        let report = try session.resume(milliseconds: 0)

        #expect(!report.isComplete)
        #expect(report.checkedPageCount <= 2)
        #expect(try session.resume().isOK)
        // A finished session stays finished.
        #expect(try session.resume().isOK)
        try database.close()
    }

    @Test func `a session that is over or was ended holds no snapshot`() throws {
        let database = try Database.open("store", in: SimulatedFileSystem(seed: 2), options: options())
        try fill(database)
        let (complete, ended) = (try database.beginCheck(), try database.beginCheck())
        #expect(database.statistics.snapshotCount == 2)
        #expect(try complete.resume().isOK)
        #expect(database.statistics.snapshotCount == 1)
        #expect(try !ended.resume(pages: 5).isComplete)
        ended.end()
        #expect(database.statistics.snapshotCount == 0)
        #expect(throws: StorageError.transaction(.ended)) { try ended.resume() }
        withExtendedLifetime((complete, ended)) {}
        try database.close()
    }

    @Test func `changes between slices are not of its snapshot, and when that is given up the report says so`() throws {
        let database = try Database.open("store", in: SimulatedFileSystem(seed: 2), options: options())
        try fill(database)
        let session = try database.beginCheck()
        let first = try session.resume(pages: 10)
        #expect(!first.isComplete)
        var write = try database.beginWrite()
        let numbers = try #require(try write.tree(named: "numbers", keys: UInt64.self))
        for key in 0..<UInt64(1500) { try write.remove(key, from: numbers) }
        try write.commit()
        let second = try session.resume(pages: 10)
        #expect(second.findings.isEmpty)
        #expect(!second.isSnapshotExpired)

        // Write more than the log may hold, so that the snapshot expires.
        for round in 0..<UInt64(60) {
            var write = try database.beginWrite()
            for key in 0..<UInt64(40) {
                try write.put([UInt8](repeating: 1, count: 900), for: 10_000 * (round + 1) + key, in: numbers)
            }
            try write.commit()
        }
        let last = try session.resume()
        #expect(last.isSnapshotExpired)
        #expect(!last.isComplete && !last.isOK)
        #expect(last.checkedPageCount >= 15)
        #expect(last.findings.isEmpty)
        #expect(try session.resume().isSnapshotExpired)
        #expect(try database.check().isOK)
        try database.close()
    }
}
