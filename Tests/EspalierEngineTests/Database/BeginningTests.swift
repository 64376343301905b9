// The beginnings of long values: what loops and lookups give of them, and how many pages they read for it.

import EspalierEngine
import TestSupport
import Testing

@Suite struct BeginningTests {
    /// The lengths of the values of the keys 0, 3, 6 and so on: in the leaf, of one page, of many pages.
    private static let lengths = [0, 10, 900, 3_000, 5_000, 20_000, 7, 30_000, 4_000, 12_000]

    private static let values = lengths.enumerated().map { position, length in
        (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ position) }
    }

    private static func value(_ position: Int) -> [UInt8] { values[position] }

    private func fill(_ database: Database) throws -> Tree<UInt64> {
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for position in Self.lengths.indices {
            try write.put(Self.value(position), for: UInt64(position) * 3, in: tree)
        }
        try write.commit()
        return tree
    }

    /// Expects that a loop from each entry on gives the beginnings of all following values.
    private func expectBeginnings(_ cursor: inout Cursor<UInt64>) throws {
        for start in Self.lengths.indices {
            var seen: [Int] = []
            #expect(try cursor.seek(UInt64(start) * 3))
            try cursor.forEachBeginning { key, beginning, byteCount in
                let position = Int(key / 3)
                let whole = Self.value(position)
                #expect(byteCount == whole.count && beginning.byteCount <= byteCount, "value \(position)")
                #expect(beginning.byteCount >= min(byteCount, 4_000), "value \(position)")
                #expect(whole.starts(with: beginning.loadBytes(at: 0, count: beginning.byteCount)))
                seen.append(position)
                return true
            }
            #expect(seen == Array(start..<Self.lengths.count))
        }
    }

    @Test func `a loop gives the beginnings of values, in a snapshot and in a transaction that writes`() throws {
        let database = try Database.inMemory()
        let tree = try fill(database)
        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        try expectBeginnings(&cursor)
        var write = try database.beginWrite()
        try write.put([1], for: 1, in: tree)
        try write.remove(1, from: tree)
        var writing = try write.cursor(over: tree)
        try expectBeginnings(&writing)
        // A value that the transaction has replaced since is still found.
        #expect(try writing.seek(15))
        try write.put([1, 2], for: 15, in: tree)
        var counts: [Int] = []
        try writing.forEachBeginning { _, _, byteCount in
            counts.append(byteCount)
            return false
        }
        #expect(counts == [2])
    }

    @Test func `where a loop over beginnings ends, the cursor has the whole value`() throws {
        let database = try Database.inMemory()
        let tree = try fill(database)
        let read = try database.beginRead()
        for end in Self.lengths.indices {
            var cursor = try read.cursor(over: tree)
            #expect(try cursor.first())
            try cursor.forEachBeginning { key, _, _ in key != UInt64(end) * 3 }
            #expect(try cursor.key == UInt64(end) * 3)
            #expect(try cursor.value() == Self.value(end))
        }
    }

    @Test func `a lookup gives the beginning of a value, and says whether the key exists`() throws {
        let database = try Database.inMemory()
        let tree = try fill(database)
        let read = try database.beginRead()
        var lookup = try read.lookup(in: tree)
        for position in [7, 0, 5, 9, 1] {
            var counts: [Int] = []
            var bytes: [UInt8] = []
            let isThere = try lookup.withBeginning(of: UInt64(position) * 3) { beginning, byteCount in
                counts.append(byteCount)
                bytes = beginning.loadBytes(at: 0, count: beginning.byteCount)
            }
            #expect(isThere && Self.value(position).starts(with: bytes))
            #expect(counts == [Self.lengths[position]])
        }
        let isThere = try lookup.withBeginning(of: 4) { _, _ in Issue.record("there is no key 4") }
        #expect(!isThere)
    }

    @Test func `a loop over beginnings reads one page of each long value`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            _ = try fill(database)
            try database.close()
            let again = try Database.open(path)
            let read = try again.beginRead()
            let tree = try #require(try read.tree(named: "t", keys: UInt64.self))
            var cursor = try read.cursor(over: tree)
            #expect(try cursor.first())
            let before = again.statistics.cacheMisses
            try cursor.forEachBeginning { _, _, _ in true }
            #expect(again.statistics.cacheMisses - before <= UInt64(Self.lengths.count))
            #expect(try cursor.first())
            try cursor.forEachValue { _, _ in true }
            #expect(again.statistics.cacheMisses - before >= 20)
        }
    }

    @Test func `a long value whose first page is another tree's is damage`() throws {
        var store = try ForgedStore { database in
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.put([UInt8](repeating: 1, count: 20_000), for: 1, in: tree)
            try write.commit()
        }
        let root = try store.tree("t").root
        let tree = try #require(try store.tree("t").tree.tree(keys: UInt64.self))
        var first: PageNumber = 0
        try store.change(page: root) { view in
            if case .overflow(let page, _) = view.value(0) { first = page }
        }
        try #require(first != 0)
        try store.change(page: first) { $0.set(UInt32(77), at: PageLayout.treeID) }
        let database = try store.open()
        let read = try database.beginRead()
        var lookup = try read.lookup(in: tree)
        #expect(throws: StorageError.self) { try lookup.withBeginning(of: 1) { _, _ in } }
    }
}
