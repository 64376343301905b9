// Look-ups of keys in one tree, one after another, in snapshots and between changes.

import EspalierEngine
import TestSupport
import Testing

@Suite struct LookupTests {
    /// The value that `lookup` finds for `key`.
    private func value(of key: UInt64, _ lookup: inout Lookup<UInt64>) throws -> [UInt8]? {
        var found: [UInt8]?
        let isFound = try lookup.withValue(of: key) { found = $0.loadBytes(at: 0, count: $0.byteCount) }
        #expect(isFound == (found != nil))
        return found
    }

    @Test func `keys are found near the last one and far from it`() throws {
        let seed = testSeed(default: 11)
        var random = SeededGenerator(seed: seed)
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        var expected: [UInt64: [UInt8]] = [:]
        for number in 0..<2000 as Range<UInt64> {
            expected[number * 2] = [UInt8](repeating: UInt8(number % 250), count: number % 90 == 0 ? 5000 : 20)
            try write.put(expected[number * 2] ?? [], for: number * 2, in: tree)
        }
        try write.commit()
        let read = try database.beginRead()
        var lookup = try read.lookup(in: tree)
        var key: UInt64 = 0
        for step in 0..<4000 {
            key = step % 4 == 0 ? UInt64.random(in: 0..<4200, using: &random) : key + 1
            #expect(try value(of: key, &lookup) == expected[key], "seed \(seed), step \(step)")
        }
    }

    @Test func `a transaction that writes finds its own changes`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<500 as Range<UInt64> { try write.put([1], for: key, in: tree) }
        var lookup = try write.lookup(in: tree)
        for key in 0..<500 as Range<UInt64> where key % 3 == 0 {
            #expect(try value(of: key, &lookup) == [1])
            try write.put([2, 2], for: key + 1, in: tree)
            try write.remove(key + 2, from: tree)
            #expect(try value(of: key + 1, &lookup) == [2, 2])
            #expect(try value(of: key + 2, &lookup) == nil)
        }
        // The removal frees whole leaves without writing to them, among them the one that the lookup holds.
        let value = [UInt8](repeating: 3, count: 30)
        for key in 1000..<2000 as Range<UInt64> { try write.put(value, for: key, in: tree) }
        #expect(try self.value(of: 1500, &lookup) == value)
        try write.removeAll(1100...1900, from: tree)
        #expect(try self.value(of: 1500, &lookup) == nil)
        #expect(try self.value(of: 1099, &lookup) == value && self.value(of: 1901, &lookup) == value)
    }

    @Test func `a lookup is refused after its transaction`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        var lookup = try write.lookup(in: tree)

        write.rollback()
        #expect(throws: StorageError.transaction(.ended)) { _ = try lookup.withValue(of: 1) { _ in } }
    }

    @Test func `a lookup keeps its snapshot, while others write and after its transaction`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<500 as Range<UInt64> { try write.put([1], for: key, in: tree) }
        try write.commit()
        var lookup = try database.beginRead().lookup(in: tree)
        #expect(throws: StorageError.transaction(.ended)) { _ = try lookup.withValue(of: 1) { _ in } }
        let read = try database.beginRead()
        lookup = try read.lookup(in: tree)
        #expect(try value(of: 7, &lookup) == [1])
        var second = try database.beginWrite()
        try second.removeAll(0...400, from: tree)
        try second.commit()
        try database.checkpoint()
        #expect(try value(of: 8, &lookup) == [1])
        #expect(try value(of: 300, &lookup) == [1])
    }

    /// A store with the keys person/2000 and so on; every 50th value is in overflow pages.
    private func makeNames() throws -> (Database, Tree<[UInt8]>, [(key: [UInt8], value: [UInt8])]) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: [UInt8].self)
        var expected: [(key: [UInt8], value: [UInt8])] = []
        for number in 2000..<2500 {
            let value = [UInt8](repeating: UInt8(number % 200), count: number % 50 == 0 ? 5000 : 9)
            expected.append((bytes("person/\(number)"), value))
            try write.put(value, for: bytes("person/\(number)"), in: tree)
        }
        try write.commit()
        return (database, tree, expected)
    }

    /// The entries from `key` on, at most `count`.
    private func entries(
        from key: String, _ lookup: inout Lookup<[UInt8]>, _ count: Int = .max
    ) throws -> [(key: [UInt8], value: [UInt8])] {
        var found: [(key: [UInt8], value: [UInt8])] = []
        let bytes = bytes(key)
        // SAFETY: the key outlives the call.
        unsafe try lookup.forEachEntry(from: bytes.span.bytes) { key, value in
            found.append(
                (key.loadBytes(at: 0, count: key.byteCount), value.loadBytes(at: 0, count: value.byteCount)))
            return found.count < count
        }
        return found
    }

    @Test func `entries are counted from any key to any other, up to a limit`() throws {
        let (database, tree, expected) = try makeNames()
        let read = try database.beginRead()
        let write = try database.beginWrite()
        let ends = [0, 1, 2, 49, 50, 51, 120, 300, 301, 302, 499, 500]

        for isWriting in [false, true] {
            var lookup = try isWriting ? write.lookup(in: tree) : read.lookup(in: tree)
            for lower in ends {
                for upper in ends {
                    for limit in [0, 1, 100, .max] {
                        let found = try lookup.countEntries(
                            from: bytes("person/\(2000 + lower)"), below: bytes("person/\(2000 + upper)"), limit: limit)
                        #expect(found == min(limit, max(0, upper - lower)), "\(lower) to \(upper), \(limit)")
                    }
                }
                #expect(
                    try lookup.countEntries(from: bytes("person/\(2000 + lower)"), below: nil)
                        == expected.count - lower)
            }
            #expect(try lookup.countEntries(from: [], below: nil) == expected.count)
            #expect(try lookup.countEntries(from: [255], below: nil) == 0)
        }
    }

    @Test func `sampled keys are those of the snapshot, or of the transaction with its changes`() throws {
        let (database, tree, _) = try makeNames()
        let read = try database.beginRead()
        var write = try database.beginWrite()
        try write.put([1], for: bytes("a"), in: tree)
        try write.put([1], for: bytes("z"), in: tree)
        let before = try read.lookup(in: tree)
        let after = try write.lookup(in: tree)

        #expect(try before.sampledKeys(atMost: 1) == [bytes("person/2250")])
        #expect(try before.sampledKeys(atMost: 10_000).count == 499)
        #expect(try after.sampledKeys(atMost: 10_000).count == 501)
        write.rollback()
        #expect(throws: StorageError.transaction(.ended)) { try after.sampledKeys(atMost: 1) }
    }

    @Test func `a walk gives what was put in, from any key on, and ends where it is told`() throws {
        let (database, tree, expected) = try makeNames()
        let read = try database.beginRead()
        let write = try database.beginWrite()

        for isWriting in [false, true] {
            var lookup = try isWriting ? write.lookup(in: tree) : read.lookup(in: tree)
            for start in [0, 1, 1, 2, 50, 49, 51, 300, 301, 302, 499, 0] {
                for key in ["person/\(2000 + start)", "person/\(1999 + start)x"] {
                    for count in [1, 3, 80, 500] {
                        let found = try entries(from: key, &lookup, count)
                        let wanted = expected[start...].prefix(count)
                        #expect(found.map(\.key) == wanted.map(\.key), "from \(key), \(count)")
                        #expect(found.map(\.value) == wanted.map(\.value), "from \(key), \(count)")
                    }
                }
            }
            #expect(try entries(from: "person/2499x", &lookup).isEmpty)
            #expect(try entries(from: "", &lookup).count == 500)
        }
    }

    @Test func `a walk goes on over entries that its transaction removes and adds`() throws {
        let (database, tree, expected) = try makeNames()
        var write = try database.beginWrite()
        var lookup = try write.lookup(in: tree)
        let added = bytes("person/2400+")
        var passed: [[UInt8]] = []
        // SAFETY: an empty key has no bytes.
        unsafe try lookup.forEachEntry(from: [UInt8]().span.bytes) { key, _ in
            let key = key.loadBytes(at: 0, count: key.byteCount)
            passed.append(key)
            if passed.count % 2 == 0, (try? write.remove(key, from: tree)) != true { return false }
            if passed.count == 200, (try? write.put([1], for: added, in: tree)) != false { return false }
            return true
        }

        var keys = expected.map(\.key)
        keys.insert(added, at: 401)
        #expect(passed == keys)
    }

    @Test func `a walk of an empty tree gives nothing`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let names = try write.createTree(named: "names", keys: [UInt8].self)
        var overNames = try write.lookup(in: names)

        #expect(try entries(from: "", &overNames).isEmpty)
    }
}
