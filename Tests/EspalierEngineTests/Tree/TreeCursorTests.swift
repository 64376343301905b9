// Cursors: both directions, seeks, and their state after their own transaction has changed the tree.

import EspalierEngine
import TestSupport
import Testing

@Suite struct TreeCursorTests {
    private func oracle(_ keys: [String]) throws -> TreeOracle {
        let oracle = try TreeOracle(.bytes)
        for key in keys { try oracle.insert(.bytes([UInt8](key.utf8)), [UInt8]("value of \(key)".utf8)) }
        return oracle
    }

    private func name(_ cursor: TreeCursor<ArrayPages>) -> String {
        cursor.isOnEntry ? String(decoding: cursor.bytesKey, as: UTF8.self) : "-"
    }

    private func seek(_ cursor: TreeCursor<ArrayPages>, _ key: String) throws -> String {
        let owned = OwnedKey([UInt8](key.utf8))
        _ = try cursor.seek(owned.key)
        return name(cursor)
    }

    @Test func `moves over three keys and beyond both ends`() throws {
        let oracle = try oracle(["a", "b", "c"])
        let cursor = oracle.cursor()

        #expect(try cursor.first() && name(cursor) == "a")
        #expect(try cursor.next() && name(cursor) == "b")
        #expect(try cursor.next() && name(cursor) == "c")
        #expect(try !cursor.next() && name(cursor) == "-")
        #expect(try cursor.first() && !cursor.previous())
        #expect(try cursor.last() && name(cursor) == "c")
        #expect(try seek(cursor, "") == "a")
        #expect(try seek(cursor, "a") == "a")
        #expect(cursor.isExact == true)
        #expect(try seek(cursor, "ax") == "b")
        #expect(cursor.isExact == false)
        #expect(try seek(cursor, "b") == "b")
        #expect(try seek(cursor, "z") == "-")
        #expect(try cursor.previous() && name(cursor) == "c")
    }

    @Test func `changes direction without repeating or skipping`() throws {
        let oracle = try oracle(["a", "b", "c"])
        let cursor = oracle.cursor()

        _ = try cursor.last()
        _ = try cursor.previous()
        _ = try cursor.previous()
        _ = try cursor.next()
        #expect(name(cursor) == "b")
        _ = try cursor.first()
        _ = try cursor.next()
        _ = try cursor.next()
        _ = try cursor.previous()
        #expect(name(cursor) == "b")
    }

    @Test func `seeks to the first key that is not below`() throws {
        let oracle = try oracle(["foo", "bar", "baz"])
        let cursor = oracle.cursor()

        #expect(try seek(cursor, "bar") == "bar")
        #expect(try seek(cursor, "bas") == "baz")
        #expect(try seek(cursor, "") == "bar")
        #expect(try seek(cursor, "zzz") == "-")
    }

    @Test func `a key is lent as the bytes that order it`() throws {
        let integers = try TreeOracle(.integer)
        try integers.insert(.integer(0x0102_0304), [])
        let names = try TreeOracle(.bytes)
        for number in 100..<400 { try names.insert(.bytes([UInt8]("person/\(number)".utf8)), [1]) }
        var cursor = integers.cursor()
        var expected = 100

        _ = try cursor.first()
        #expect(cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) } == [0, 0, 0, 0, 1, 2, 3, 4])
        cursor = names.cursor()
        while try cursor.next() {
            let lent = cursor.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
            #expect(lent == [UInt8]("person/\(expected)".utf8))
            expected += 1
        }
        #expect(expected == 400)
        let snapshot = FrozenPages(names.pages)
        let reading = TreeCursor(snapshot, names.record)
        expected = 100
        while try reading.next() {
            let lent = reading.withKey { $0.loadBytes(at: 0, count: $0.byteCount) }
            #expect(lent == [UInt8]("person/\(expected)".utf8))
            expected += 1
        }
        #expect(expected == 400)
    }

    @Test func `an empty tree has no entry in any direction`() throws {
        let oracle = try oracle([])
        let cursor = oracle.cursor()

        #expect(try !cursor.next() && !cursor.previous() && !cursor.first() && !cursor.last())
        #expect(try seek(cursor, "a") == "-")
    }

    @Test func `a cursor that is the last to hold its pages lets go of its leaf first`() throws {
        var cursor: TreeCursor<ArrayPages>?
        do { cursor = try oracle(["a", "b"]).cursor() }

        #expect(try cursor?.first() == true)
        // `ArrayPages.deinit` reports pages that are still pinned.
        cursor = nil
    }

    @Test func `the empty key and the empty value are ordinary`() throws {
        let oracle = try TreeOracle(.bytes)
        try oracle.insert(.bytes([]), [])
        try oracle.insert(.bytes([0]), [1])
        let cursor = oracle.cursor()

        #expect(try cursor.first() && cursor.bytesKey == [])
        #expect(try cursor.withValue { $0.byteCount } == 0)
        try oracle.expectSame()
    }

    @Test func `removing what the cursor passes skips and repeats nothing`() throws {
        let oracle = try TreeOracle(.integer)
        for key in 0..<500 { try oracle.insert(.integer(UInt64(key)), [UInt8](repeating: 1, count: key % 50)) }
        let cursor = oracle.cursor()
        var passed: [UInt64] = []

        while try cursor.next() {
            passed.append(cursor.integerKey)
            if cursor.integerKey % 3 != 0 { try oracle.remove(.integer(cursor.integerKey)) }
            if cursor.integerKey == 100 { try oracle.removeRange(.integer(90), .integer(200)) }
        }

        #expect(passed == [UInt64](0...100) + [UInt64](200..<500))
    }

    @Test func `a removed entry has no value, and its cursor goes on from its place`() throws {
        let oracle = try oracle(["a", "b", "c"])
        let cursor = oracle.cursor()
        _ = try seek(cursor, "b")

        try oracle.remove(.bytes([UInt8]("b".utf8)))

        #expect(name(cursor) == "b")
        #expect(try cursor.withValue { $0.byteCount } == nil)
        #expect(try cursor.next() && name(cursor) == "c")
        #expect(try cursor.previous() && name(cursor) == "a")
    }

    @Test func `emptied pages at either end are skipped`() throws {
        for kind in KeyKind.allCases {
            let oracle = try TreeOracle(kind)
            let keys: [TestKey] = (0..<300).map {
                kind == .integer ? .integer(UInt64($0)) : .bytes([UInt8]("key \(1000 + $0)".utf8))
            }
            for key in keys { try oracle.insert(key, [UInt8](repeating: 2, count: 40)) }

            for key in keys[..<100] + keys[200...] { try oracle.remove(key) }

            let cursor = oracle.cursor()
            #expect(try cursor.first() && cursor.testKey == keys[100])
            #expect(try cursor.last() && cursor.testKey == keys[199])
            try oracle.expectSame()
        }
    }

    @Test(arguments: [100, 10, 1, 0])
    func `what is left after a sparse removal can be read, checked and filled again`(_ left: Int) throws {
        let oracle = try TreeOracle(.integer)
        let keys = (0..<400).map { TestKey.integer(UInt64($0) &* 0x9E37_79B9_7F4A_7C15) }
        for key in keys { try oracle.insert(key, [UInt8](repeating: 3, count: 30)) }

        for key in keys[left...] { try oracle.remove(key) }
        try oracle.expectSame()
        for key in keys { try oracle.insert(key, [4]) }

        try oracle.expectSame()
    }

    @Test(arguments: Workload.allCases)
    func `a cursor over a snapshot finds keys near its place and far from it`(_ workload: Workload) throws {
        let seed = testSeed(default: 5)
        var random = SeededGenerator(seed: seed)
        let oracle = try TreeOracle(workload.kind)
        for step in 0..<800 {
            try oracle.insert(workload.key(step, &random, pageSize: 512), workload.value(&random, pageSize: 512))
        }
        let cursor = TreeCursor(FrozenPages(oracle.pages), oracle.record)
        var rank = 0
        for step in 0..<3000 {
            let near = min(max(0, rank + Int.random(in: -3...3, using: &random)), oracle.keys.count - 1)
            let key =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: workload.key(step, &random, pageSize: 512)
                case 1: oracle.keys[Int.random(in: 0..<oracle.keys.count, using: &random)]
                default: oracle.keys[near]
                }
            rank = oracle.rank(key)
            let isOnEntry = try key.with { (key) throws(StorageError) in try cursor.seek(key) }

            #expect(isOnEntry == (rank < oracle.keys.count), "seed \(seed), step \(step)")
            #expect(cursor.isExact == (oracle.values[key] != nil), "seed \(seed), step \(step)")
            if isOnEntry { #expect(cursor.testKey == oracle.keys[rank], "seed \(seed), step \(step)") }
            guard isOnEntry, step % 3 == 0, try cursor.next() else { continue }
            rank += 1
            #expect(cursor.testKey == oracle.keys[rank], "seed \(seed), step \(step)")
        }
    }

    @Test(arguments: Workload.allCases)
    func `a cursor among random changes stands where a sorted array says`(_ workload: Workload) throws {
        let seed = testSeed(default: 3)
        var random = SeededGenerator(seed: seed)
        let oracle = try TreeOracle(workload.kind)
        let cursor = oracle.cursor()
        var place: TestKey?
        for step in 0..<1500 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let key = workload.key(step, &random, pageSize: 512)
                try oracle.insert(key, workload.value(&random, pageSize: 512))
            case 4 where step > 600:
                if let key = oracle.keys.randomElement(using: &random) { try oracle.remove(key) }
            case 5:
                let key = workload.key(step, &random, pageSize: 512)
                let isOnEntry = try key.with { (key) throws(StorageError) in try cursor.seek(key) }
                let rank = oracle.rank(key)
                place = rank < oracle.keys.count ? oracle.keys[rank] : nil
                #expect(isOnEntry == (place != nil))
            case 6, 7:
                guard let old = place else { continue }
                let above = oracle.rank(old) + (oracle.values[old] == nil ? 0 : 1)
                place = above < oracle.keys.count ? oracle.keys[above] : nil
                #expect(try cursor.next() == (place != nil), "seed \(seed), step \(step)")
            default:
                guard let old = place else { continue }
                let rank = oracle.rank(old)
                place = rank > 0 ? oracle.keys[rank - 1] : nil
                #expect(try cursor.previous() == (place != nil), "seed \(seed), step \(step)")
            }
            if let place {
                #expect(cursor.testKey == place, "seed \(seed), step \(step)")
                let value = try cursor.withValue { $0.loadBytes(at: 0, count: $0.byteCount) }
                #expect(value == oracle.values[place], "seed \(seed), step \(step)")
            }
        }
    }
}
