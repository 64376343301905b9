// Loops over many entries in one call: they give the same entries, positions and errors as single steps.

import EspalierEngine
import TestSupport
import Testing

@Suite struct CursorLoopTests {
    private struct Entry: Equatable {
        let key: UInt64
        let value: [UInt8]
    }

    /// A store with the keys 0, 3, 6 and so on; every 40th value is in overflow pages.
    private func makeStore(_ count: UInt64 = 500) throws -> (Database, Tree<UInt64>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for number in 0..<count {
            let byteCount = number % 40 == 0 ? 5000 : Int(number % 97)
            try write.put([UInt8](repeating: UInt8(number % 251), count: byteCount), for: number * 3, in: tree)
        }
        try write.commit()
        return (database, tree)
    }

    private func rest(_ cursor: inout Cursor<UInt64>) throws -> [Entry] {
        var entries: [Entry] = []
        try cursor.forEachValue { key, value in
            entries.append(Entry(key: key, value: value.loadBytes(at: 0, count: value.byteCount)))
            return true
        }
        return entries
    }

    private func stepped(_ cursor: inout Cursor<UInt64>) throws -> [Entry] {
        var entries: [Entry] = []
        repeat { entries.append(Entry(key: try cursor.key, value: try cursor.value())) } while try cursor.next()
        return entries
    }

    @Test func `a loop gives what steps give, in a snapshot and in a transaction that writes`() throws {
        let (database, tree) = try makeStore()
        let read = try database.beginRead()
        var steps = try read.cursor(over: tree)
        #expect(try steps.first())
        let expected = try stepped(&steps)
        try #require(expected.count == 500)
        var write = try database.beginWrite()
        try write.put([9], for: 1, in: tree)

        for start in [0, 1, 117 * 3, 120 * 3, 499 * 3] as [UInt64] {
            var loop = try read.cursor(over: tree)
            #expect(try loop.seek(start))
            #expect(try rest(&loop) == expected.filter { $0.key >= start })
            #expect(try !loop.next())
            #expect(try loop.previous() && loop.key == 499 * 3)
        }
        var loop = try write.cursor(over: tree)
        var single = try write.cursor(over: tree)
        #expect(try loop.first() && single.first())
        #expect(try rest(&loop) == stepped(&single))
    }

    @Test func `a loop that ends early leaves the cursor where it ended`() throws {
        let (database, tree) = try makeStore()
        let read = try database.beginRead()
        let write = try database.beginWrite()

        for end in [0, 1, 40, 41, 250, 499] as [UInt64] {
            try expectEnd(end, read.cursor(over: tree))
            try expectEnd(end, write.cursor(over: tree))
        }
    }

    /// Expects that a loop that ends at entry number `end` of 500 leaves the cursor on that entry.
    private func expectEnd(_ end: UInt64, _ cursor: consuming Cursor<UInt64>) throws {
        #expect(try cursor.first())
        try cursor.forEachValue { key, _ in key != end * 3 }
        #expect(try cursor.isOnEntry && cursor.key == end * 3)
        #expect(try cursor.value().count == (end % 40 == 0 ? 5000 : Int(end % 97)))
        #expect(try cursor.previous() == (end > 0))
        #expect(try cursor.next() && cursor.key == end * 3)
        #expect(try cursor.next() == (end < 499))
    }

    @Test func `a loop goes on over entries that its transaction removes and adds`() throws {
        let (database, tree) = try makeStore()
        var write = try database.beginWrite()
        var cursor = try write.cursor(over: tree)
        var keys: [UInt64] = []
        #expect(try cursor.first())
        try cursor.forEachValue { key, _ in
            keys.append(key)
            if key % 2 == 0, (try? write.remove(key, from: tree)) != true { return false }
            if key == 600, (try? write.put([1], for: 601, in: tree)) != false { return false }
            return true
        }

        #expect(keys == ((0..<500).map { $0 * 3 } + [601]).sorted())
    }

    @Test func `a loop keeps to its snapshot while others write`() throws {
        let (database, tree) = try makeStore()
        let read = try database.beginRead()
        var steps = try read.cursor(over: tree)
        var loop = try read.cursor(over: tree)
        #expect(try steps.first() && loop.first())
        let expected = try stepped(&steps)
        var write = try database.beginWrite()
        try write.removeAll(0...900, from: tree)
        try write.commit()
        try database.checkpoint()

        #expect(try rest(&loop) == expected)
    }

    @Test func `a loop is refused where a step is`() throws {
        let (database, tree) = try makeStore(3)
        var write = try database.beginWrite()
        var own = try write.cursor(over: tree)
        #expect(try own.first())
        try write.remove(0, from: tree)

        #expect(throws: StorageError.argument(.noEntry)) { try own.forEachValue { _, _ in true } }
        #expect(try own.next() && own.key == 3)
        var before = try write.cursor(over: tree)
        #expect(throws: StorageError.argument(.noEntry)) { try before.forEachValue { _, _ in true } }
        write.rollback()
        #expect(throws: StorageError.transaction(.ended)) { try own.forEachValue { _, _ in true } }
    }

    @Test func `a damaged page stops a loop with the error, and after the entries, of steps`() throws {
        var store = try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<300 { try write.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
            try write.commit()
        }
        let root = try store.tree("t").root
        let tree = try #require(try store.tree("t").tree.tree(keys: UInt64.self))
        var leaf: PageNumber = 0
        try store.change(page: root) { leaf = $0.child(3) }
        try store.change(page: leaf) { $0.set($0.integerKey(0), at: TreeLayout.slots + 8) }
        let damaged = try store.open()
        let read = try damaged.beginRead()
        var steps = try read.cursor(over: tree)
        var loop = try read.cursor(over: tree)
        #expect(try steps.first() && loop.first())
        var (stepCount, loopCount) = (1, 0)
        let expected = thrown { () throws(StorageError) in while try steps.next() { stepCount += 1 } }
        let failure = thrown { () throws(StorageError) in
            try loop.forEachValue { _, _ in
                loopCount += 1
                return true
            }
        }

        guard case .corruption = failure else {
            Issue.record("the loop gave \(String(describing: failure))")
            return
        }
        #expect(failure == expected && loopCount == stepCount && loopCount > 50)
    }
}
