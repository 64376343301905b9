// Writes and syncs that fail while the process continues: its next steps must not rely on the failed ones.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct FailedWriteTests {
    private var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.checkpointThreshold = 64 << 20
        options.cacheByteCount = 0
        return options
    }

    /// Commits `byteCount` bytes under `key`; returns the error if that fails.
    @discardableResult
    private func commit(
        _ database: Database, _ key: UInt64, _ byteCount: Int, _ durability: Durability = .durable
    ) -> StorageError? {
        do throws(StorageError) {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([UInt8](repeating: UInt8(key), count: byteCount), for: key, in: tree)
            try write.commit(durability)
        } catch {
            return error
        }
        return nil
    }

    /// The keys of a store, after a check that their values are whole.
    private func keys(_ system: SimulatedFileSystem) throws -> [UInt64] {
        let database = try Database.open("store", in: system, options: options)
        let read = try database.beginRead()
        guard let tree = try read.tree(named: "t", keys: UInt64.self) else { return [] }
        var keys: [UInt64] = []
        var cursor = try read.cursor(over: tree)
        while try cursor.next() {
            let key = try cursor.key
            #expect(try cursor.value().allSatisfy { $0 == UInt8(key) })
            keys.append(key)
        }
        #expect(try database.check().findings == [])
        return keys
    }

    @Test func `a store that was made is there after a power loss`() throws {
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: options)

        for seed in UInt64(0)..<20 {
            #expect(try keys(system.afterPowerLoss(seed: seed)) == [], "seed \(seed)")
            #expect(system.afterPowerLoss(seed: seed).contents(of: "store") != nil, "seed \(seed)")
        }
        try database.close()
    }

    @Test(arguments: [1000, 100_000])
    func `after an append that failed the next commit follows the last good one`(byteCount: Int) throws {
        for call in 1..<12 {
            let system = SimulatedFileSystem(seed: UInt64(call))
            let database = try Database.open("store", in: system, options: options)
            #expect(commit(database, 1, byteCount) == nil)
            system.arm(SimulatedFault(operation: system.operationCount + call, kind: .inputOutput))
            let failure = commit(database, 2, byteCount)
            system.arm(nil)
            // Skip failed syncs: other tests cover them.
            guard failure != .transaction(.commitOutcomeUnknown),
                failure != .database(.poisoned(errno: Platform.ioError)), failure != nil
            else {
                continue
            }
            #expect(commit(database, 3, byteCount) == nil, "after \(String(describing: failure))")

            for seed in UInt64(0)..<3 {
                #expect(try keys(system.afterPowerLoss(seed: seed)) == [1, 3], "call \(call), seed \(seed)")
            }
        }
    }

    @Test func `a commit that needs more segments than are vacant gets them`() throws {
        let system = SimulatedFileSystem(seed: 1)
        var options = options
        // All pages wait in memory for the commit, so that it needs several segments at once; evictions before it would
        // need them one by one.
        options.cacheByteCount = 4 << 20
        let database = try Database.open("store", in: system, options: options)
        #expect(commit(database, 1, 200_000) == nil)
        try database.checkpoint()
        #expect(commit(database, 2, 600_000) == nil)

        #expect(try keys(system.afterPowerLoss(seed: 1)) == [1, 2])
        #expect(system.violations == [])
    }

    @Test func `segments are used again only after a durable checkpoint, whatever fails`() throws {
        for call in 0..<24 {
            let system = SimulatedFileSystem(seed: UInt64(call))
            let database = try Database.open("store", in: system, options: options)
            for key in UInt64(1)..<6 { #expect(commit(database, key, 30_000) == nil) }
            // One call of the checkpoint fails, of those for the pages and for the slot; 0: none.
            if call > 0 { system.arm(SimulatedFault(operation: system.operationCount + call, kind: .inputOutput)) }
            do throws(StorageError) { try database.checkpoint() } catch {}
            system.arm(nil)
            var committed = Array(UInt64(1)..<6)
            for key in UInt64(6)..<12 where commit(database, key, 30_000) == nil { committed.append(key) }

            #expect(system.violations == [], "call \(call)")
            #expect(try keys(system.afterPowerLoss(seed: 5)) == committed, "call \(call)")
        }
    }

    @Test func `the segment in which a snapshot holds the checkpoint back is not used again`() throws {
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: options)
        for key in UInt64(1)..<6 { #expect(commit(database, key, 30_000) == nil) }
        let read = try database.beginRead()
        for key in UInt64(6)..<13 { #expect(commit(database, key, 30_000) == nil) }
        #expect(try !database.checkpoint().isComplete)
        for key in UInt64(13)..<20 { #expect(commit(database, key, 30_000) == nil) }

        #expect(system.violations == [])
        #expect(try keys(system.afterPowerLoss(seed: 5)) == Array(1..<20))
        #expect(read.transactionID == 5)
    }

    @Test func `ordered commits reach the store file only after a sync of the log`() throws {
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: options)
        for key in UInt64(1)..<6 {
            #expect(commit(database, key, 5000, .ordered) == nil)
            try database.checkpoint()
        }

        #expect(system.violations == [])
    }

    @Test
    func `a power loss while commits of a failed sync are recovered loses nothing that was acknowledged`() throws {
        // The system has the frames whose sync failed in memory only, marked as clean. The next process finds them
        // there, and the power fails at any moment of its recovery.
        for round in UInt64(0)..<4 {
            let system = SimulatedFileSystem(seed: round)
            let database = try Database.open("store", in: system, options: options)
            for key in UInt64(1)..<4 { #expect(commit(database, key, 3000) == nil) }
            var isUnknown = false
            // The sync is the second call of a commit, or the third if its frames are in two segments.
            for attempt in 0..<12 where !isUnknown {
                // After a checkpoint only the lost frames could repair a torn page.
                if round % 2 == 1 { try database.checkpoint() }
                system.arm(SimulatedFault(operation: system.operationCount + 2 + attempt % 2, kind: .syncForgets))
                // Write the same keys again, so that recovery overwrites pages with acknowledged content.
                isUnknown = commit(database, 3, 4000 + attempt) == .transaction(.commitOutcomeUnknown)
                system.arm(nil)
            }
            #expect(isUnknown)
            // Continue in another process: this one's engine would keep its state and recover nothing.
            let next = system.afterKill()
            let images = Mutex<[SimulatedFileSystem]>([])
            next.beforeEachChange { number in
                for seed in UInt64(0)..<6 {
                    let image = next.afterPowerLoss(seed: UInt64(number) * 100 + seed)
                    images.withLock { $0.append(image) }
                }
            }
            #expect(try keys(next) == [1, 2, 3])
            next.beforeEachChange(nil)
            #expect(next.contents(of: "store-wal") == nil, "it was recovered")
            for image in images.withLock({ $0 }) { #expect(try keys(image) == [1, 2, 3], "round \(round)") }
            #expect(try keys(next.afterPowerLoss(seed: 9)) == [1, 2, 3])
        }
    }

    @Test func `recovery makes the length of the store durable that a failed sync lost`() throws {
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: options)
        #expect(commit(database, 1, 3000) == nil)
        // Lengthen the store by pages that no frame of the log holds: one transaction allocates and frees them.
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([UInt8](repeating: 2, count: 100_000), for: 2, in: tree)
        try write.remove(2, from: tree)
        try write.commit()
        system.beforeEachCall { operation, role in
            guard operation == .sync, role == .store else { return }
            system.arm(SimulatedFault(operation: system.operationCount, kind: .syncForgets))
        }
        #expect(throws: StorageError.database(.poisoned(errno: Platform.ioError))) { try database.checkpoint() }
        system.beforeEachCall(nil)
        system.arm(nil)

        let next = system.afterKill()
        #expect(try keys(next) == [1])
        #expect(try keys(next.afterPowerLoss(seed: 1)) == [1])
    }

    @Test func `recovery keeps the log of the slot before one whose sync failed until another is durable`() throws {
        let system = SimulatedFileSystem(seed: 1)
        let database = try Database.open("store", in: system, options: options)
        for key in UInt64(1)..<8 { #expect(commit(database, key, 30_000) == nil) }
        let read = try database.beginRead()
        // The checkpoint stops at the snapshot, and no later record says that this commit was durable.
        #expect(commit(database, 8, 30_000) == nil)
        let syncs = Mutex(0)
        system.beforeEachCall { operation, role in
            guard operation == .sync, role == .store else { return }
            // The first sync is for the pages, the second for the slot.
            if syncs.withLock({ count in
                count += 1; return count == 2
            }) {
                system.arm(SimulatedFault(operation: system.operationCount, kind: .syncForgets))
            }
        }
        #expect(throws: StorageError.database(.poisoned(errno: Platform.ioError))) { try database.checkpoint() }
        system.beforeEachCall(nil)
        system.arm(nil)
        #expect(read.transactionID == 7)

        let next = system.afterKill()
        let images = Mutex<[SimulatedFileSystem]>([])
        next.beforeEachChange { number in
            for seed in UInt64(0)..<4 {
                let image = next.afterPowerLoss(seed: UInt64(number) * 100 + seed)
                images.withLock { $0.append(image) }
            }
        }
        #expect(try keys(next) == Array(1..<9))
        next.beforeEachChange(nil)
        for image in images.withLock({ $0 }) { #expect(try keys(image) == Array(1..<9)) }
    }

    @Test func `a store of a full disk opens again in less room than a segment of the log takes`() throws {
        let system = SimulatedFileSystem(seed: 9)
        var options = DatabaseOptions()
        options.checkpointThreshold = 64 << 20
        let database = try Database.open("store", in: system, options: options)
        for _ in 0..<10 { #expect(commit(database, 1, 100_000) == nil) }
        let killed = system.afterKill()

        killed.limitSpace(to: 600_000)
        let reopened = try Database.open("store", in: killed, options: options)

        let read = try reopened.beginRead()
        let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
        #expect(try read.get(1, from: tree) == [UInt8](repeating: 1, count: 100_000))
        #expect(try reopened.check().isOK)
        #expect(killed.violations == [])
    }

    @Test func `a write that is reported as failed, and was done, is whole after the process ends`() throws {
        let system = SimulatedFileSystem(seed: 10)
        let database = try Database.open("store", in: system, options: options)
        // The second commit fills a piece of the log with zeros.
        for _ in 0..<2 { #expect(commit(database, 1, 100) == nil) }
        // `commit` documents for the error `io`: this process does not see the commit, and the next one may find it.
        system.arm(SimulatedFault(operation: system.operationCount + 1, kind: .doneButFailed))
        let error = commit(database, 2, 100)
        system.arm(nil)
        guard case .io = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try database.beginRead().count(of: try #require(try database.beginRead().tree(named: "t"))) == 1)
        #expect(try keys(system.afterKill()) == [1, 2])
        // After this process has committed again, the next one does not find it.
        #expect(commit(database, 3, 100) == nil)
        #expect(try keys(system.afterKill()) == [1, 3])
        for seed in UInt64(0)..<10 { #expect(try keys(system.afterPowerLoss(seed: seed)) == [1, 3], "seed \(seed)") }
        try database.close()
    }
}
