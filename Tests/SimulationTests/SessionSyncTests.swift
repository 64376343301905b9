// The syncs of one session of a store: how many there are, in which order, and what they leave after a failure.

import EspalierEngine
import Synchronization
import TestSupport
import Testing

@Suite struct SessionSyncTests {
    /// A file system with a store of one row, closed, and a list of the files that are synced from now on.
    private func makeStore(seed: UInt64 = 1) throws -> (SimulatedFileSystem, synced: Synced) {
        let system = SimulatedFileSystem(seed: seed)
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        try put(1, 100, in: database)
        try database.close()
        let synced = Synced()
        system.beforeEachCall { operation, role in
            if operation == .sync { synced.roles.withLock { $0.append(role) } }
        }
        return (system, synced)
    }

    private final class Synced: Sendable {
        let roles = Mutex<[FileRole]>([])
    }

    private func put(_ key: UInt64, _ byteCount: Int, in database: Database) throws {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([UInt8](repeating: UInt8(key), count: byteCount), for: key, in: tree)
        try write.commit()
    }

    private func keys(_ system: SimulatedFileSystem) throws -> [UInt64] {
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        #expect(try database.check().findings == [])
        let read = try database.beginRead()
        let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
        var keys: [UInt64] = []
        var cursor = try read.cursor(over: tree)
        while try cursor.next() { keys.append(try cursor.key) }
        return keys
    }

    @Test func `a session of one commit syncs the log, its name, the slot, and at the end pages and slot`() throws {
        let (system, synced) = try makeStore()

        let database = try Database.open("store", in: system, options: DatabaseOptions())
        try put(2, 100, in: database)
        #expect(synced.roles.withLock { $0 } == [.log, .directory, .store])
        try database.close()

        #expect(synced.roles.withLock { $0 } == [.log, .directory, .store, .store, .store])
        #expect(try keys(system) == [1, 2])
        #expect(system.violations == [])
    }

    @Test func `a session without a commit syncs nothing, and leaves the store as it was`() throws {
        let (system, synced) = try makeStore()
        let before = system.contents(of: "store")

        let database = try Database.open("store", in: system, options: DatabaseOptions())
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([7], for: 7, in: tree)
        write.rollback()
        // A process that ends now leaves a store that needs no log.
        #expect(try keys(system.afterKill()) == [1])
        try database.close()

        #expect(synced.roles.withLock { $0 } == [])
        #expect(system.contents(of: "store") == before)
        #expect(system.contents(of: "store-wal") == nil)
    }

    @Test func `a slot whose write failed and was done does not name a log that is removed`() throws {
        let (system, synced) = try makeStore()
        let database = try Database.open("store", in: system, options: DatabaseOptions())
        system.beforeEachCall { operation, role in
            guard operation == .write, role == .store, synced.roles.withLock({ $0.isEmpty }) else { return }
            synced.roles.withLock { $0.append(role) }
            system.arm(SimulatedFault(operation: system.operationCount, kind: .doneButFailed))
        }
        #expect(throws: StorageError.self) { try put(2, 100, in: database) }
        system.arm(nil)
        try database.close()

        #expect(try keys(system.afterKill()) == [1])
        #expect(try keys(system.afterPowerLoss(seed: 1)) == [1])
        #expect(system.violations == [])
    }

    @Test func `a log beside a slot whose sync failed is not written over before another slot is durable`() throws {
        for round in UInt64(0)..<4 {
            let (system, synced) = try makeStore(seed: round)
            let database = try Database.open("store", in: system, options: DatabaseOptions())
            for key in UInt64(2)..<4 { try put(key, 3000, in: database) }
            synced.roles.withLock { $0 = [] }
            // The second sync of a close is that of the slot which says "clean": the system has it in memory only.
            system.beforeEachCall { operation, _ in
                guard operation == .sync else { return }
                let count = synced.roles.withLock { roles in
                    roles.append(.store)
                    return roles.count
                }
                if count == 2 { system.arm(SimulatedFault(operation: system.operationCount, kind: .syncForgets)) }
            }
            #expect(throws: StorageError.database(.poisoned(errno: Platform.ioError))) { try database.close() }
            let next = system.afterKill()
            let images = Mutex<[SimulatedFileSystem]>([])
            next.beforeEachChange { number in
                for seed in UInt64(0)..<4 {
                    let image = next.afterPowerLoss(seed: UInt64(number) * 100 + seed)
                    images.withLock { $0.append(image) }
                }
            }
            let again = try Database.open("store", in: next, options: DatabaseOptions())
            try put(4, 30_000, in: again)
            next.beforeEachChange(nil)

            for image in images.withLock({ $0 }) {
                let found = try keys(image)
                #expect(found == [1, 2, 3] || found == [1, 2, 3, 4], "round \(round)")
            }
            #expect(try keys(next.afterPowerLoss(seed: 9)) == [1, 2, 3, 4])
        }
    }

    @Test func `a log whose sync failed is not used by the next process`() throws {
        for round in UInt64(0)..<4 {
            let (system, synced) = try makeStore(seed: round)
            let database = try Database.open("store", in: system, options: DatabaseOptions())
            system.beforeEachCall { operation, role in
                guard operation == .sync, role == .log, synced.roles.withLock({ $0.isEmpty }) else { return }
                synced.roles.withLock { $0.append(role) }
                system.arm(SimulatedFault(operation: system.operationCount, kind: .syncForgets))
            }
            #expect(throws: StorageError.self) { try put(2, 100, in: database) }
            system.arm(nil)
            let next = system.afterKill()
            let again = try Database.open("store", in: next, options: DatabaseOptions())
            try put(3, 100, in: again)

            #expect(try keys(next.afterPowerLoss(seed: round)) == [1, 3], "round \(round)")
            #expect(next.violations == [])
        }
    }
}
