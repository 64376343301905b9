// A read-only process beside a real process that writes all the time. The reader meets checkpoints, recycled segments,
// logs that are truncated and removed, stores that are closed and opened, and writers that are killed and recovered.
//
// The writing child is this test runner again (an exit test). `ESPALIER_FOLLOW_SECONDS` says how long children write.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct FollowerProcessTests {
    private static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 << 10
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 256 << 10
        options.logByteCountMax = 512 << 10
        options.checkpointThreshold = 128 << 10
        return options
    }

    /// Commits for `seconds`, with checkpoints of all kinds; closes and opens the store after 1 to 40 commits each.
    static func write(to path: String, seconds: Double, seed: UInt64) throws {
        var chance = SeededGenerator(seed: seed)
        let end = Date(timeIntervalSinceNow: seconds)
        while Date() < end {
            let ledger = try Ledger(opening: try Database.open(path, options: options))
            for _ in 0..<Int.random(in: 1...40, using: &chance) {
                try ledger.commit(&chance, Bool.random(using: &chance) ? .durable : .ordered)
                let modes: [CheckpointMode?] = [nil, nil, nil, nil, .passive, .full, .truncate]
                if let mode = modes.randomElement(using: &chance) ?? nil { try ledger.database.checkpoint(mode) }
            }
            try ledger.database.close()
        }
    }

    /// Writes until SIGKILL ends this process, `delay` microseconds from now.
    static func writeUntilKilled(_ path: String, after delay: UInt32, seed: UInt64) throws {
        Thread.detachNewThread {
            usleep(delay)
            kill(getpid(), SIGKILL)
        }
        try write(to: path, seconds: 600, seed: seed)
    }

    /// The events that a follower counts, and the newest transaction that it saw.
    private final class Counts: Sendable {
        let snapshots = Atomic(0)
        let expired = Atomic(0)
        let openings = Atomic(0)
        let newest = Atomic<UInt64>(0)
    }

    /// Follows the store at `path` until `isDone`, through one database after another.
    private static func follow(_ path: String, _ isDone: Shared<Atomic<Bool>>, _ counts: Counts) throws {
        var readOnly = options
        readOnly.access = .readOnly
        var newest: UInt64 = 0
        while !isDone.value.load(ordering: .relaxed) {
            do {
                let follower = try Ledger(opening: try Database.open(path, options: readOnly))
                counts.openings.add(1, ordering: .relaxed)
                var verified: UInt64?
                for _ in 0..<50 where !isDone.value.load(ordering: .relaxed) {
                    let read = try follower.database.beginRead()
                    #expect(read.transactionID >= newest)
                    // Nothing changes until the next child runs. That can take as long as all other tests, if they have
                    // the threads that this test needs to go on: leave them the time.
                    if read.transactionID == verified {
                        usleep(10_000)
                        continue
                    }
                    newest = read.transactionID
                    verified = newest
                    let digest = try follower.verify(read)
                    #expect(try follower.verify(read) == digest)
                    counts.snapshots.add(1, ordering: .relaxed)
                }
            } catch StorageError.transaction(.snapshotExpired) {
                counts.expired.add(1, ordering: .relaxed)
            }
        }
        counts.newest.max(newest, ordering: .relaxed)
    }

    @Test func `a reader beside writers that close or are killed sees whole commits, never damage`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("followed.espalier").path
        try Ledger(filling: try Database.open(path, options: Self.options)).database.close()
        let seconds = Double(campaignCount("ESPALIER_FOLLOW_SECONDS", default: 2))
        let seed = testSeed(default: 77)
        let isDone = Shared(Atomic(false))
        let counts = Counts()
        let ended = Shared(Mutex<(any Error)?>(nil))
        let following = DispatchGroup()
        following.enter()
        let thread = Thread {
            do { try Self.follow(path, isDone, counts) } catch { ended.value.withLock { $0 = error } }
            following.leave()
        }
        thread.stackSize = 4 << 20
        thread.start()

        var chance = SeededGenerator(seed: seed)
        let endOfKills = Date(timeIntervalSinceNow: seconds / 2)
        var kills = 0
        repeat {
            let delay = UInt32.random(in: 10_000...500_000, using: &chance)
            let seed = chance.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, delay = delay as UInt32, seed = seed as UInt64] in
                try FollowerProcessTests.writeUntilKilled(path, after: delay, seed: seed)
            }
            kills += 1
        } while Date() < endOfKills
        await #expect(processExitsWith: .success) {
            [path = path as String, seconds = seconds as Double, seed = seed as UInt64] in
            try FollowerProcessTests.write(to: path, seconds: seconds / 2, seed: seed)
        }
        isDone.value.store(true, ordering: .relaxed)
        await withCheckedContinuation { done in following.notify(queue: .global()) { done.resume() } }

        let snapshots = counts.snapshots.load(ordering: .relaxed)
        let expired = counts.expired.load(ordering: .relaxed)
        let openings = counts.openings.load(ordering: .relaxed)
        print("\(kills) kills, \(snapshots) snapshots, \(expired) expired, \(openings) openings")
        #expect(ended.value.withLock { $0 } == nil, "seed \(seed)")
        #expect(snapshots > 0 && counts.newest.load(ordering: .relaxed) > 1)
        let database = try Database.open(path)
        #expect(try database.check().isOK)
        #expect(database.statistics.transactionID >= counts.newest.load(ordering: .relaxed))
    }
}
