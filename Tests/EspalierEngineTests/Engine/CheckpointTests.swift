// Checkpoints in steps and in the background: they block neither readers nor commits, and end as defined when the store
// is closed, when a sync fails and when the disk is full.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct CheckpointTests {
    private let path = "store"

    private func options(_ checkpointing: Checkpointing) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.checkpointing = checkpointing
        options.logSegmentByteCount = 64 << 10
        options.checkpointThreshold = 128 << 10
        return options
    }

    /// Commits values for `keys` that only round `round` writes.
    private func commit(
        _ round: UInt8, _ keys: Range<UInt64>, in database: Database, _ durability: Durability = .ordered
    ) throws {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        for key in keys { try write.put([UInt8](repeating: round, count: 400), for: key, in: tree) }
        try write.commit(durability)
    }

    private func value(of key: UInt64, in database: Database) throws -> UInt8? {
        let read = try database.beginRead()
        guard let tree = try read.tree(named: "t", keys: UInt64.self) else { return nil }
        return try read.get(key, from: tree)?.first
    }

    /// Waits until `condition` holds, at most 20 seconds.
    private func wait(until condition: () -> Bool) {
        let deadline = Date(timeIntervalSinceNow: 20)
        while !condition(), Date() < deadline { Thread.sleep(forTimeInterval: 0.001) }
        #expect(condition())
    }

    @Test func `a commit waits for no step of a checkpoint that another thread makes`() throws {
        let system = HookedFileSystem()
        var options = options(.inCommit)
        options.checkpointThreshold = 1 << 30
        let database = try Database.open(path, in: system, options: options)
        try commit(1, 0..<500, in: database)
        let (reached, goOn, done) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        system.arm { call, role in
            guard call == .sync, role == .store else { return }
            reached.signal()
            goOn.wait()
        }
        Thread.detachNewThread {
            do { try database.checkpoint() } catch { Issue.record(error) }
            done.signal()
        }

        // The checkpoint waits at the sync of the pages, then at the sync of the slot.
        for stage in UInt8(2)...3 {
            #expect(reached.wait(timeout: .now() + 20) == .success)
            try commit(stage, 0..<500, in: database, .durable)
            #expect(try value(of: 7, in: database) == stage)
            #expect(database.statistics.checkpointCount == 0)
            goOn.signal()
        }
        #expect(done.wait(timeout: .now() + 20) == .success)
        system.arm(nil)
        #expect(database.statistics.checkpointCount == 1)
        #expect(database.statistics.logLiveByteCount > 0)
        #expect(try database.check().isOK)
        try database.close()
    }

    @Test(arguments: [Checkpointing.inCommit, .background])
    func `in the background a checkpoint syncs each MiB of pages, else all at once`(mode: Checkpointing) throws {
        let system = HookedFileSystem()
        var options = options(mode)
        options.checkpointThreshold = 1 << 30
        let database = try Database.open(path, in: system, options: options)
        try commit(1, 0..<20_000, in: database)
        let syncs = Shared(Atomic(0))
        system.arm { call, role in if call == .sync, role == .store { syncs.value.add(1, ordering: .relaxed) } }
        let result = try database.checkpoint()
        system.arm(nil)

        #expect(result.isComplete && result.pageCount > 2000)
        let steps = mode == .background ? (result.pageCount + 255) / 256 : 1
        // The last sync is for the slot.
        #expect(syncs.value.load(ordering: .relaxed) == steps + 1)
        try database.close()
    }

    @Test func `in the background checkpoints are made while commits go on`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: options(.background))
            for round in 0..<200 { try commit(UInt8(round), 0..<100, in: database) }
            wait { database.statistics.checkpointCount > 0 }
            try database.close()

            var immutable = DatabaseOptions()
            immutable.access = .immutable
            let reopened = try Database.open(path, options: immutable)
            #expect(try value(of: 99, in: reopened) == 199)
            #expect(try reopened.check().isOK)
        }
    }

    @Test func `closing waits for the background checkpoint, and leaves a clean store`() throws {
        let system = HookedFileSystem()
        let database = try Database.open(path, in: system, options: options(.background))
        let isWorking = Shared(Atomic(false))
        system.arm { call, role in
            guard call == .sync, role == .store else { return }
            isWorking.value.store(true, ordering: .relaxed)
            Thread.sleep(forTimeInterval: 0.02)
        }
        for round in 0..<20 { try commit(UInt8(round), 0..<200, in: database) }
        wait { isWorking.value.load(ordering: .relaxed) }
        try database.close()
        system.arm(nil)

        var immutable = DatabaseOptions()
        immutable.access = .immutable
        let reopened = try Database.open(path, in: system, options: immutable)
        #expect(try value(of: 199, in: reopened) == 19)
        #expect(try reopened.check().isOK)
    }

    @Test func `a sync that fails in the background poisons the store, which keeps what was acknowledged`() throws {
        let system = HookedFileSystem()
        let database = try Database.open(path, in: system, options: options(.background))
        try commit(1, 0..<200, in: database)
        system.arm { call, role throws(StorageError) in
            guard call == .sync, role == .store else { return }
            throw .io(IOFailure(operation: .sync, file: role, errno: Platform.ioError))
        }
        var last: UInt8 = 1
        let deadline = Date(timeIntervalSinceNow: 20)
        let poisoned = StorageError.database(.poisoned(errno: Platform.ioError))
        do {
            while Date() < deadline {
                try commit(last + 1, 0..<200, in: database, .durable)
                last = min(last + 1, 250)
            }
            Issue.record("nothing was poisoned")
        } catch let error as StorageError {
            // Either the poisoned store refused the commit, or the commit's own sync failed.
            #expect(error == poisoned || error == .transaction(.commitOutcomeUnknown))
        }
        #expect(throws: poisoned) { _ = try database.beginWrite() }
        #expect(try value(of: 5, in: database) ?? 0 >= last)
        #expect(throws: poisoned) { try database.close() }

        system.arm(nil)
        let reopened = try Database.open(path, in: system, options: options(.inCommit))
        #expect(try value(of: 5, in: reopened) ?? 0 >= last)
        #expect(try reopened.check().isOK)
        try reopened.close()
    }

    @Test func `a disk that is full in the background costs nothing, and is tried again`() throws {
        let system = HookedFileSystem()
        let database = try Database.open(path, in: system, options: options(.background))
        let refusals = Shared(Atomic(0))
        system.arm { call, role throws(StorageError) in
            guard call == .allocate, role == .store else { return }
            refusals.value.add(1, ordering: .relaxed)
            throw .diskFull
        }
        for round in UInt8(1)...60 {
            try commit(round, 0..<200, in: database)
            if round % 20 == 0 { wait { refusals.value.load(ordering: .relaxed) >= Int(round) / 20 } }
        }
        #expect(database.statistics.checkpointCount == 0)
        #expect(try value(of: 5, in: database) == 60)

        system.arm(nil)
        for round in UInt8(61)...90 { try commit(round, 0..<200, in: database) }
        wait { database.statistics.checkpointCount > 0 }
        try database.close()
        let reopened = try Database.open(path, in: system, options: options(.inCommit))
        #expect(try value(of: 5, in: reopened) == 90)
        #expect(try reopened.check().isOK)
    }
}
