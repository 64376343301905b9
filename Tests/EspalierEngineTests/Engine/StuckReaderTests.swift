// A reader that never ends beside a writer that never stops: the log stays below its cap all the time.
//
// `ESPALIER_STUCK_SECONDS` makes it longer. The test asks the operating system for the log's size after each commit.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct StuckReaderTests {
    private let seconds = campaignCount("ESPALIER_STUCK_SECONDS", default: 1)

    @Test(arguments: [Checkpointing.inCommit, .background])
    func `the log never exceeds its cap, however long a reader is stuck`(checkpointing: Checkpointing) throws {
        try withStorePath { path in
            let warnings = Shared(Atomic(0))
            var options = DatabaseOptions()
            options.checkpointing = checkpointing
            options.logSegmentByteCount = 128 << 10
            options.checkpointThreshold = 128 << 10
            options.logSoftCap = 512 << 10
            options.logByteCountMax = 2 << 20
            options.cacheByteCount = 1 << 20
            options.onLogPressure = { _ in warnings.value.add(1, ordering: .relaxed) }
            let database = try Database.open(path, options: options)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<UInt64(4000) { try write.put([UInt8](repeating: 0, count: 200), for: key, in: tree) }
            try write.commit()

            let expiries = Shared(Atomic(0))
            let commits = Shared(Atomic<UInt64>(0))
            let logByteCountMax = Shared(Atomic<UInt64>(0))
            let isDone = Shared(Atomic(false))
            try onThreads(2) { number in
                if number == 0 {
                    defer { isDone.value.store(true, ordering: .relaxed) }
                    let end = Date(timeIntervalSinceNow: Double(seconds))
                    var chance = SeededGenerator(seed: testSeed(default: 1))
                    var count: UInt64 = 0
                    repeat {
                        var write = try database.beginWrite()
                        for _ in 0..<20 {
                            let key = UInt64.random(in: 0..<4000, using: &chance)
                            try write.put([UInt8](repeating: UInt8(key % 251), count: 200), for: key, in: tree)
                        }
                        count = commits.value.add(1, ordering: .relaxed).newValue
                        try write.commit(count % 50 == 0 ? .durable : .ordered)
                        let size = try Self.byteCount(of: path + "-wal")
                        logByteCountMax.value.store(
                            max(size, logByteCountMax.value.load(ordering: .relaxed)), ordering: .relaxed)
                        try #require(size <= 2 << 20, "after \(count) commits")
                        // A slow machine gets more time to reach the cap.
                    } while Date() < end || (expiries.value.load(ordering: .relaxed) == 0 && count < 5000)
                    return
                }
                // The stuck reader keeps its snapshot until it expires, and then begins the next.
                while !isDone.value.load(ordering: .relaxed) {
                    do {
                        let read = try database.beginRead(label: "stuck")
                        while !isDone.value.load(ordering: .relaxed) {
                            #expect(try read.count(of: tree) == 4000)
                            Thread.sleep(forTimeInterval: 0.001)
                        }
                    } catch StorageError.transaction(.snapshotExpired) {
                        expiries.value.add(1, ordering: .relaxed)
                    }
                }
            }

            let (expired, warned) = (expiries.value.load(ordering: .relaxed), warnings.value.load(ordering: .relaxed))
            print(
                """
                stuck reader, \(checkpointing), \(seconds) s: \(commits.value.load(ordering: .relaxed)) commits, \
                largest log \(logByteCountMax.value.load(ordering: .relaxed)) of \(2 << 20) bytes, \
                \(expired) snapshots given up, \(warned) warnings
                """)
            #expect(expired > 0 && warned > 0)
            #expect(try database.check().isOK)
            try database.close()
        }
    }

    private static func byteCount(of path: String) throws -> UInt64 {
        var status: Platform.FileStatus?
        let code = Platform.status(of: path, in: Platform.workingDirectory, into: &status)
        return try #require(status, "error \(code)").byteCount
    }
}
