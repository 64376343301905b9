// Savepoints: the changes that a rollback undoes, the changes that stay, and the state after an error.

import EspalierEngine
import TestSupport
import Testing

@Suite struct SavepointTests {
    struct Refusal: Error {}

    /// A store in memory with a tree of the keys 0..<count.
    private func makeStore(_ count: UInt64 = 100, cacheByteCount: Int = 32 << 20) throws -> (Database, Tree<UInt64>) {
        var options = DatabaseOptions()
        options.cacheByteCount = cacheByteCount
        options.logSegmentByteCount = 64 << 10
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<count { try write.put([UInt8](repeating: UInt8(key % 256), count: 100), for: key, in: tree) }
        try write.commit()
        return (database, tree)
    }

    private func keys(_ tree: Tree<UInt64>, _ write: borrowing WriteTransaction) throws -> [UInt64] {
        var cursor = try write.cursor(over: tree)
        var keys: [UInt64] = []
        while try cursor.next() { keys.append(try cursor.key) }
        return keys
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_SAVEPOINT_SEEDS", default: 5)))
    func `random transactions with savepoints give what copies of the content give`(number: UInt64) throws {
        let seed = testSeed(default: 500) + number
        var run = SavepointRun(seed: seed, options: SavepointRun.options(seed))
        try run.run(campaignCount("ESPALIER_SAVEPOINT_TRANSACTIONS", default: 8))
    }

    @Test(arguments: LargeValues.seeds)
    func `savepoints among values of 1 to 64 MiB that move give what copies of the content give`(number: UInt64) throws
    {
        let seed = testSeed(default: 700) + number
        var run = SavepointRun(seed: seed, options: LargeValues.options(seed: seed), hasLargeValues: true)
        try run.run(campaignCount("ESPALIER_LARGE_TRANSACTIONS", default: 2))
    }

    @Test func `rolling back to a savepoint undoes what came after, and can be done again`() throws {
        let (database, tree) = try makeStore(3)
        var write = try database.beginWrite()
        try write.put([1], for: 10, in: tree)
        let savepoint = try write.savepoint()
        for key in UInt64(20)...22 {
            try write.put([2], for: key, in: tree)
            try write.remove(1, from: tree)
            try write.rollback(to: savepoint)
            #expect(try keys(tree, write) == [0, 1, 2, 10])
            #expect(try write.count(of: tree) == 4)
        }
        try write.put([3], for: 30, in: tree)
        try write.commit()

        #expect(try database.beginRead().count(of: tree) == 5)
        #expect(try database.check().isOK)
    }

    @Test func `a savepoint inside another can be undone alone, and both together`() throws {
        let (database, tree) = try makeStore(1)
        var write = try database.beginWrite()
        let outer = try write.savepoint()
        try write.put([1], for: 1, in: tree)
        let inner = try write.savepoint()
        try write.put([2], for: 2, in: tree)

        try write.rollback(to: inner)
        #expect(try keys(tree, write) == [0, 1])
        try write.put([3], for: 3, in: tree)
        try write.release(inner)
        #expect(try keys(tree, write) == [0, 1, 3])
        try write.rollback(to: outer)
        #expect(try keys(tree, write) == [0])
    }

    @Test func `a savepoint that is not open is an error that changes nothing`() throws {
        let (database, tree) = try makeStore(1)
        var first = try database.beginWrite()
        let foreign = try first.savepoint()
        first.rollback()
        var write = try database.beginWrite()
        let outer = try write.savepoint()
        let inner = try write.savepoint()
        let released = try write.savepoint()
        try write.put([1], for: 1, in: tree)
        try write.release(released)
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.rollback(to: released) }
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.rollback(to: foreign) }
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.release(foreign) }
        #expect(try keys(tree, write) == [0, 1])
        try write.rollback(to: outer)
        #expect(throws: StorageError.transaction(.noSuchSavepoint)) { try write.rollback(to: inner) }
        try write.put([2], for: 2, in: tree)
        try write.commit()

        #expect(try database.beginRead().count(of: tree) == 2)
    }

    @Test func `trees made and dropped since come and go with a savepoint`() throws {
        let (database, tree) = try makeStore(2000)
        var write = try database.beginWrite()
        let savepoint = try write.savepoint()
        try write.dropTree(tree)
        let made = try write.createTree(named: "made", keys: UInt64.self)
        try write.put([1], for: 1, in: made)
        try write.rollback(to: savepoint)

        #expect(try write.trees().map(\.tree) == [.integers(tree)])
        #expect(try keys(tree, write) == Array(0..<2000))
        #expect(throws: StorageError.argument(.noSuchTree(made.id))) { _ = try write.get(1, from: made) }
        // The number of the undone tree is not assigned again, so its handle cannot name another tree.
        let other = try write.createTree(named: "other", keys: UInt64.self)
        #expect(other.id != made.id)
        #expect(throws: StorageError.argument(.noSuchTree(made.id))) { try write.put([1], for: 1, in: made) }
        try write.commit()
        #expect(try database.check().isOK)
    }

    @Test func `a handle of a tree that was never committed names no other tree`() throws {
        let database = try Database.inMemory()
        var first = try database.beginWrite()
        let ghost = try first.createTree(named: "ghost", keys: UInt64.self)
        first.rollback()
        var second = try database.beginWrite()
        let real = try second.createTree(named: "real", keys: UInt64.self)

        #expect(throws: StorageError.argument(.noSuchTree(ghost.id))) { try second.put([1], for: 1, in: ghost) }
        #expect(try second.count(of: real) == 0)
    }

    @Test func `a cursor stays at its key when the transaction goes back, or says that its tree is gone`() throws {
        let (database, tree) = try makeStore(1000)
        var write = try database.beginWrite()
        let savepoint = try write.savepoint()
        let made = try write.createTree(named: "made", keys: UInt64.self)
        for key in UInt64(0)..<2000 { try write.put([5], for: key, in: made) }
        for key in UInt64(300)..<1500 { try write.put([7], for: key, in: tree) }
        var cursor = try write.cursor(over: tree)
        var lost = try write.cursor(over: made)
        #expect(try cursor.seek(500))
        #expect(try lost.seek(500))
        try write.rollback(to: savepoint)

        #expect(try cursor.value() == [UInt8](repeating: 244, count: 100))
        #expect(try cursor.next())
        #expect(try cursor.key == 501)
        #expect(try cursor.last())
        #expect(try cursor.key == 999)
        #expect(throws: StorageError.argument(.noSuchTree(made.id))) { _ = try lost.next() }
        #expect(throws: StorageError.argument(.noSuchTree(made.id))) { _ = try lost.value() }
        try write.dropTree(tree)
        #expect(throws: StorageError.argument(.noSuchTree(tree.id))) { _ = try cursor.previous() }
        #expect(throws: StorageError.argument(.noSuchTree(tree.id))) { _ = try cursor.seek(3) }
    }

    @Test func `a nested part that throws is undone, one that returns stays`() throws {
        let (database, tree) = try makeStore(3)
        var write = try database.beginWrite()
        let answer = try write.nested { write in
            try write.put([1], for: 10, in: tree)
            try? write.nested { write in
                try write.put([1], for: 11, in: tree)
                throw Refusal()
            }
            return 42
        }
        #expect(throws: Refusal.self) {
            try write.nested { write in
                try write.removeAll(from: tree)
                throw Refusal()
            }
        }
        #expect(answer == 42)
        #expect(try keys(tree, write) == [0, 1, 2, 10])
        try write.commit()
        #expect(try database.beginRead().count(of: tree) == 4)
    }

    @Test func `a full disk in a nested part undoes it, and the transaction goes on`() throws {
        let system = SimulatedFileSystem(seed: 1)
        var options = DatabaseOptions()
        options.cacheByteCount = 16 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<UInt64(100) { try write.put([UInt8](repeating: 1, count: 300), for: key, in: tree) }
        system.limitSpace(to: 200_000)
        #expect(throws: StorageError.diskFull) {
            try write.nested { write throws(StorageError) in
                for key in 0..<UInt64(10_000) {
                    try write.put([UInt8](repeating: 2, count: 300), for: key * 7, in: tree)
                }
            }
        }
        // An error that the test catches leaves the transaction failed; a rollback to a savepoint repairs that, too.
        let savepoint = try write.savepoint()
        do { for key in 0..<UInt64(10_000) { try write.put([2, 2], for: key * 7, in: tree) } } catch {}
        #expect(throws: StorageError.transaction(.failed)) { _ = try write.savepoint() }
        #expect(throws: StorageError.transaction(.failed)) { try write.put([1], for: 1, in: tree) }
        try write.rollback(to: savepoint)
        system.limitSpace(to: nil)
        #expect(try keys(tree, write) == Array(0..<100))
        try write.put([9], for: 1000, in: tree)
        try write.commit()

        let read = try database.beginRead()
        #expect(try read.count(of: tree) == 101)
        #expect(try read.get(7, from: tree) == [UInt8](repeating: 1, count: 300))
        #expect(try database.check().isOK)
    }

    @Test func `a transaction that filled the log leaves room when it is given up`() throws {
        var options = DatabaseOptions()
        options.cacheByteCount = 16 * options.pageSize
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 256 << 10
        options.logByteCountMax = 1 << 20
        let database = try Database.inMemory(options: options)
        var first = try database.beginWrite()
        let tree = try first.createTree(named: "t", keys: UInt64.self)
        try first.commit()
        let value = [UInt8](repeating: 3, count: 1000)
        for _ in 0..<3 {
            var write = try database.beginWrite()
            #expect(throws: StorageError.transaction(.logFull)) {
                for key in 0..<UInt64(5000) { try write.put(value, for: key, in: tree) }
            }
            write.rollback()
            // The same holds for a nested part: after it the transaction itself has room again.
            var outer = try database.beginWrite()
            #expect(throws: StorageError.transaction(.logFull)) {
                try outer.nested { write throws(StorageError) in
                    for key in 0..<UInt64(5000) { try write.put(value, for: key, in: tree) }
                }
            }
            for key in 0..<UInt64(300) { try outer.put(value, for: key, in: tree) }
            try outer.commit()
            #expect(try database.beginRead().count(of: tree) == 300)
            #expect(try database.check().isOK)
        }
    }
}
