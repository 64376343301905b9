// Removals of intervals of keys, and loads into empty trees, through the public interface.

import EspalierEngine
import TestSupport
import Testing

@Suite struct RangeAndLoadTests {
    private func makeStore<Key>(_ keys: Key.Type) throws -> (Database, Tree<Key>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: keys)
        try write.commit()
        return (database, tree)
    }

    private func integers(_ tree: Tree<UInt64>, _ write: borrowing WriteTransaction) throws -> [UInt64] {
        var cursor = try write.cursor(over: tree)
        var keys: [UInt64] = []
        while try cursor.next() { keys.append(try cursor.key) }
        return keys
    }

    @Test func `an interval of integer keys has the ends it says`() throws {
        let (database, tree) = try makeStore(UInt64.self)
        let all: [UInt64] = [0, 1, 5, 6, 7, .max - 1, .max]
        let cases: [(KeyRange<UInt64>, gone: [UInt64])] = [
            (KeyRange(5..<7), [5, 6]), (KeyRange(5...7), [5, 6, 7]), (KeyRange(2..<2), []),
            (KeyRange(0...(.max)), all), (KeyRange(), all), (KeyRange(from: .excluding(1)), [5, 6, 7, .max - 1, .max]),
            (KeyRange(from: .excluding(.max)), []), (KeyRange(from: .including(.max)), [.max]),
            (KeyRange(to: .including(.max)), all), (KeyRange(to: .excluding(.max)), all.dropLast()),
            (KeyRange(to: .excluding(0)), []), (KeyRange(to: .including(0)), [0]),
            (KeyRange(from: .including(7), to: .including(5)), []),
            (KeyRange(from: .excluding(5), to: .excluding(6)), []),
        ]
        for (range, gone) in cases {
            var write = try database.beginWrite()
            for key in all { try write.put([1], for: key, in: tree) }
            #expect(try write.removeAll(range, from: tree) == UInt64(gone.count))
            #expect(try integers(tree, write) == all.filter { !gone.contains($0) })
            #expect(try write.count(of: tree) == UInt64(all.count - gone.count))
            write.rollback()
        }
        var write = try database.beginWrite()
        #expect(try write.removeAll(1..<2, from: tree) + write.removeAll(1...2, from: tree) == 0)
    }

    @Test func `an interval of bytes keys has the ends it says`() throws {
        let (database, tree) = try makeStore([UInt8].self)
        let all: [[UInt8]] =
            [[], [0], [0, 0]] + [bytes("a"), bytes("a") + [0], bytes("ab"), bytes("b")] + [[255], [255, 255]]
        let long = [UInt8](repeating: 97, count: 9000)
        let cases: [(KeyRange<[UInt8]>, gone: Range<Int>)] = [
            (KeyRange(), 0..<9), (KeyRange(from: .including([])), 0..<9), (KeyRange(from: .excluding([])), 1..<9),
            (KeyRange(to: .including([])), 0..<1), (KeyRange(to: .excluding([])), 0..<0),
            (KeyRange(from: .including(bytes("a")), to: .excluding(bytes("b"))), 3..<6),
            (KeyRange(from: .excluding(bytes("a")), to: .including(bytes("b"))), 4..<7),
            (KeyRange(from: .including(bytes("b")), to: .excluding(bytes("a"))), 0..<0),
            (KeyRange(prefix: bytes("a")), 3..<6), (KeyRange(prefix: []), 0..<9), (KeyRange(prefix: [255]), 7..<9),
            (KeyRange(prefix: [0]), 1..<3), (KeyRange(from: .including(long)), 5..<9),
            (KeyRange(to: .excluding(long)), 0..<5),
        ]
        for (range, gone) in cases {
            var write = try database.beginWrite()
            for key in all { try write.put([1], for: key, in: tree) }
            #expect(try write.removeAll(range, from: tree) == UInt64(gone.count))
            for (place, key) in all.enumerated() {
                #expect(try write.get(key, from: tree) == (gone.contains(place) ? nil : [1]), "\(range), \(key)")
            }
            write.rollback()
        }
    }

    @Test func `a loaded tree has what was given, in fewer pages than one that was filled by and by`() throws {
        let (database, tree) = try makeStore([UInt8].self)
        let entries = (0..<20_000).map { (bytes("key \(100_000 + $0)"), bytes("value \($0)")) }
        var write = try database.beginWrite()
        let other = try write.createTree(named: "other", keys: [UInt8].self)
        #expect(try write.load(entries, into: tree) == 20_000)
        for number in 0..<20_000 {
            let entry = entries[number * 7919 % 20_000]
            try write.put(entry.1, for: entry.0, in: other)
        }
        try write.put([1], for: bytes("key 1"), in: tree)
        try write.remove(bytes("key 1"), from: tree)
        try write.commit()

        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        for (key, value) in entries {
            #expect(try cursor.next())
            #expect(try cursor.key == key)
            #expect(try cursor.value() == value)
        }
        let pages = try read.trees().map(\.leafPageCount)
        #expect(pages[1] * 20 < pages[0] * 19)
        #expect(try database.check().isOK)
    }

    @Test func `a load that cannot be leaves an empty tree and a transaction that goes on`() throws {
        let (database, tree) = try makeStore(UInt64.self)
        let pages = database.statistics.pageCount
        let value = [UInt8](repeating: 1, count: 5000)
        var write = try database.beginWrite()
        let unsorted: [[UInt64]] = [[3, 1], Array(0..<500) + [499], Array(0..<800) + [7]]
        for keys in unsorted {
            let entries = keys.map { ($0, value) }
            #expect(throws: StorageError.argument(.keysNotAscending)) { try write.load(entries, into: tree) }
            #expect(try integers(tree, write) == [])
        }
        try write.put([1], for: 1, in: tree)
        #expect(throws: StorageError.argument(.treeNotEmpty(tree.id))) {
            try write.load([(UInt64(2), value)], into: tree)
        }
        try write.commit()

        // The failed loads left no page in use.
        #expect(database.statistics.pageCount - database.statistics.freePageCount == pages)
        #expect(try database.beginRead().get(1, from: tree) == [1])
        #expect(try database.check().isOK)
    }

    @Test func `a tree that was emptied can be loaded`() throws {
        let (database, tree) = try makeStore(UInt64.self)
        var write = try database.beginWrite()
        for key in 0..<UInt64(20_000) { try write.put([UInt8](repeating: 1, count: 50), for: key, in: tree) }
        for key in 0..<UInt64(20_000) { try write.remove(key, from: tree) }
        #expect(try write.load((0..<UInt64(30_000)).lazy.map { ($0, [2]) }, into: tree) == 30_000)
        #expect(try write.removeAll(from: tree) == 30_000)
        #expect(try write.load((0..<UInt64(10)).lazy.map { ($0, [3]) }, into: tree) == 10)
        try write.commit()

        #expect(try database.beginRead().count(of: tree) == 10)
        #expect(try database.check().isOK)
    }

    @Test(arguments: [KeyKind.integer, .bytes])
    func `after a load into a tree that was emptied, insertions and removals go on`(kind: KeyKind) throws {
        func key(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", kind: kind)
        func put(_ number: UInt64, _ write: inout WriteTransaction) throws {
            try write.put([9], for: key(number), in: tree)
        }
        func remove(_ number: UInt64, _ write: inout WriteTransaction) throws -> Bool {
            try write.remove(key(number), from: tree)
        }
        // Insertions and removals of adjacent keys leave hints at the only leaf, the root; the load makes it a parent.
        for number in 0..<4 as Range<UInt64> { try put(number, &write) }
        for number in 0..<4 as Range<UInt64> { #expect(try remove(number, &write)) }
        try write.load((0..<20_000 as Range<UInt64>).map { (key($0 * 2), [1]) }, into: tree)
        try put(1, &write)
        #expect(try remove(0, &write) && remove(1, &write) && remove(2, &write) && !remove(3, &write))
        #expect(try write.count(of: tree) == 19_998)
        try write.commit()
        #expect(try database.check().isOK)
    }

    @Test func `a run of removals goes on after the root was split`() throws {
        let (database, tree) = try makeStore(UInt64.self)
        var write = try database.beginWrite()
        for number in 0..<20 as Range<UInt64> { try write.put([1], for: number, in: tree) }
        for number in 0..<3 as Range<UInt64> { #expect(try write.remove(number, from: tree)) }
        // The only leaf, from which the run removed entries, becomes a parent.
        for number in 100..<2000 as Range<UInt64> { try write.put([1], for: number, in: tree) }
        for number in 3..<20 as Range<UInt64> { #expect(try write.remove(number, from: tree)) }
        #expect(try integers(tree, write) == Array(100..<2000))
    }

    @Test func `a run of removals gives the leaves back that it empties`() throws {
        let (database, tree) = try makeStore(UInt64.self)
        var write = try database.beginWrite()
        for number in 0..<20_000 as Range<UInt64> { try write.put([1, 2, 3, 4], for: number, in: tree) }
        let before = try #require(try write.trees().first).leafPageCount
        for number in 0..<19_990 as Range<UInt64> { #expect(try write.remove(number, from: tree)) }
        #expect(try integers(tree, write) == Array(19_990..<20_000))
        let after = try #require(try write.trees().first).leafPageCount
        #expect(before > 40 && after <= 4, "\(before) leaves, then \(after)")
    }

    @Test(arguments: [4096, 65_536])
    func `removals in order, out of order and of nothing leave what was not removed`(pageSize: Int) throws {
        var options = DatabaseOptions()
        options.pageSize = pageSize
        let database = try Database.inMemory(options: options)
        let seed = testSeed(default: 71)
        var random = SeededGenerator(seed: seed)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        var expected = Set<UInt64>()
        for _ in 0..<40 {
            for _ in 0..<500 {
                let key = UInt64.random(in: 0..<5000, using: &random)
                try write.put([UInt8](repeating: 3, count: Int.random(in: 0..<900, using: &random)), for: key, in: tree)
                expected.insert(key)
            }
            // Remove a run of keys over gaps and from leaf to leaf, with a few keys out of order.
            let start = UInt64.random(in: 0..<5000, using: &random)
            let run = (0..<300 as Range<UInt64>).map { Bool.random(using: &random) ? $0 : 600 - $0 }
            for key in run.map({ start + $0 }).shuffledInRuns(using: &random) {
                #expect(try write.remove(key, from: tree) == (expected.remove(key) != nil), "seed \(seed)")
            }
        }
        #expect(try integers(tree, write) == expected.sorted(), "seed \(seed)")
        try write.commit()
        #expect(try database.check().isOK, "seed \(seed)")
    }
}

extension [UInt64] {
    /// The numbers in ascending order, except for some that swap places.
    fileprivate func shuffledInRuns(using random: inout SeededGenerator) -> [UInt64] {
        var keys = sorted()
        for _ in 0..<count / 10 {
            keys.swapAt(.random(in: 0..<count, using: &random), .random(in: 0..<count, using: &random))
        }
        return keys
    }
}
