// The public interface of the engine: transactions, snapshots, trees, and the errors that it documents.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct DatabaseTests {
    /// A store in memory with one tree of each kind.
    private func makeStore(
        _ options: DatabaseOptions = .init()
    ) throws -> (Database, integers: Tree<UInt64>, names: Tree<[UInt8]>) {
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let integers = try write.createTree(named: "integers", keys: UInt64.self)
        let names = try write.createTree(named: "names", keys: [UInt8].self)
        try write.commit()
        return (database, integers, names)
    }

    private func put(_ database: Database, _ tree: Tree<[UInt8]>, _ entries: [(String, String)]) throws {
        var write = try database.beginWrite()
        for (key, value) in entries { try write.put(bytes(value), for: bytes(key), in: tree) }
        try write.commit()
    }

    @Test func `what was committed is there after reopening`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "songs", keys: [UInt8].self)
            for number in 0..<2000 {
                try write.put(bytes("value \(number)"), for: bytes("key \(number)"), in: tree)
            }
            let receipt = try write.commit()
            try database.close()

            let reopened = try Database.open(path)
            let read = try reopened.beginRead()
            let found = try #require(try read.tree(named: "songs", keys: [UInt8].self))

            #expect(receipt.transactionID == 1)
            #expect(found == tree)
            #expect(try read.count(of: found) == 2000)
            #expect(try read.get(bytes("key 1234"), from: found) == bytes("value 1234"))
            #expect(try read.get(bytes("nothing"), from: found) == nil)
            #expect(try reopened.check().isOK)
        }
    }

    @Test func `a value is changed where it lies, for those who see the commit`() throws {
        try withStorePath { path in
            var database = try Database.open(path)
            var write = try database.beginWrite()
            let numbers = try write.createTree(named: "numbers", keys: UInt64.self)
            let words = try write.createTree(named: "words", keys: [UInt8].self)
            for number in 0..<500 { try write.put([UInt8](repeating: 7, count: 60), for: UInt64(number), in: numbers) }
            let long = [UInt8](repeating: 9, count: 20_000)
            try write.put(long, for: bytes("long"), in: words)
            try write.commit()
            do {
                let old = try database.beginRead()

                write = try database.beginWrite()
                for number in 100..<400 {
                    #expect(try write.withMutableValue(of: UInt64(number), in: numbers) { $0.flip() })
                }
                #expect(try write.withMutableValue(of: bytes("long"), in: words) { $0.flip() })
                var isCalled = false
                #expect(try !write.withMutableValue(of: 500, in: numbers) { _ in isCalled = true })
                #expect(try !write.withMutableValue(of: bytes("none"), in: words) { _ in isCalled = true })
                #expect(!isCalled)
                try write.commit()
                #expect(try old.get(200, from: numbers) == [UInt8](repeating: 7, count: 60))
                #expect(try old.get(bytes("long"), from: words) == long)
            }
            write = try database.beginWrite()
            try write.withMutableValue(of: 1, in: numbers) { $0.flip() }
            write.rollback()
            try database.close()
            database = try Database.open(path)
            let read = try database.beginRead()
            for number in 0..<500 {
                let byte: UInt8 = 100..<400 ~= number ? ~7 : 7
                #expect(
                    try read.get(UInt64(number), from: numbers) == [UInt8](repeating: byte, count: 60), "\(number)")
            }
            #expect(try read.get(bytes("long"), from: words) == long.map { ~$0 })
            #expect(try database.check().isOK)
        }
    }

    @Test func `a store that is only opened, read and closed stays the same byte for byte`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            try write.put([1], for: 1, in: try write.createTree(named: "t", keys: UInt64.self))
            try write.commit()
            try database.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: path))

            let again = try Database.open(path)
            _ = try again.beginRead().trees()
            try again.close()

            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        }
    }

    @Test func `a snapshot sees its commit for ever, a new one the newest`() throws {
        let (database, _, names) = try makeStore()
        try put(database, names, [("hello", "world")])
        let old = try database.beginRead()
        var write = try database.beginWrite()
        try write.remove(bytes("hello"), from: names)
        try write.put(bytes("2"), for: bytes("hello2"), in: names)
        try write.put(bytes("3"), for: bytes("hello3"), in: names)

        #expect(try database.beginRead().count(of: names) == 1)
        try write.commit()
        try database.checkpoint()
        #expect(try database.beginRead().count(of: names) == 2)
        #expect(try old.count(of: names) == 1)
        #expect(try old.get(bytes("hello"), from: names) == bytes("world"))
    }

    @Test func `four snapshots each keep their version, whatever order they end in`() throws {
        let (database, _, names) = try makeStore()
        try put(database, names, [("foo", "v1")])
        let first = try database.beginRead()
        try put(database, names, [("foo", "v2")])
        let second = try database.beginRead()
        try put(database, names, [("foo", "v3")])
        do {
            let third = try database.beginRead()
            try put(database, names, [("foo", "v4")])
            try database.checkpoint()
            #expect(try third.get(bytes("foo"), from: names) == bytes("v3"))
        }
        try database.checkpoint()

        #expect(try first.get(bytes("foo"), from: names) == bytes("v1"))
        #expect(try second.get(bytes("foo"), from: names) == bytes("v2"))
        #expect(try database.beginRead().get(bytes("foo"), from: names) == bytes("v4"))
    }

    @Test func `a cursor keeps to its snapshot while others write`() throws {
        let (database, _, names) = try makeStore()
        try put(database, names, [("a", "va"), ("c", "vc")])
        let read = try database.beginRead()
        var cursor = try read.cursor(over: names)
        #expect(try cursor.first())
        var write = try database.beginWrite()
        for (key, value) in [("a", "va2"), ("a2", "va3"), ("b", "vb")] {
            try write.put(bytes(value), for: bytes(key), in: names)
        }
        try write.commit()

        #expect(try cursor.value() == bytes("va"))
        #expect(try cursor.next())
        #expect(try cursor.key == bytes("c"))
        #expect(try !cursor.next())
    }

    @Test func `what is not committed is seen by its own transaction only`() throws {
        let (database, integers, _) = try makeStore()
        let before = try database.beginRead()
        var write = try database.beginWrite()
        try write.put([1], for: 1, in: integers)

        #expect(try write.get(1, from: integers) == [1])
        #expect(try before.get(1, from: integers) == nil)
        #expect(try database.beginRead().get(1, from: integers) == nil)
        write.rollback()
        #expect(try database.beginRead().count(of: integers) == 0)
    }

    @Test func `going out of scope is a rollback`() throws {
        let (database, integers, _) = try makeStore()
        do {
            var write = try database.beginWrite()
            try write.put([1], for: 1, in: integers)
        }
        var next = try database.beginWrite()

        #expect(try next.get(1, from: integers) == nil)
        try next.put([2], for: 2, in: integers)
        try next.commit()
        #expect(try database.check().isOK)
    }

    @Test func `empty keys and empty values are kept`() throws {
        let (database, integers, names) = try makeStore()
        var write = try database.beginWrite()
        try write.put([], for: [UInt8](), in: names)
        try write.put([], for: 0, in: integers)
        try write.commit()
        let read = try database.beginRead()

        #expect(try read.get([UInt8](), from: names) == [])
        #expect(try read.get(0, from: integers) == [])
    }

    @Test func `errors about arguments leave the transaction as it was`() throws {
        let (database, integers, names) = try makeStore()
        let maximum = UInt32((4096 - 96) / 4)
        var write = try database.beginWrite()
        try write.put([1], for: 1, in: integers)

        #expect(throws: StorageError.argument(.keyTooLong(byteCount: maximum + 1, maximum: maximum))) {
            try write.put([1], for: [UInt8](repeating: 0, count: Int(maximum) + 1), in: names)
        }
        #expect(throws: StorageError.argument(.wrongKeyKind(tree: names.id))) {
            _ = try write.tree(named: "names", keys: UInt64.self)
        }
        #expect(throws: StorageError.argument(.treeExists(names.id))) {
            _ = try write.createTree(named: "names", keys: [UInt8].self)
        }
        #expect(throws: StorageError.argument(.wrongKeyKind(tree: names.id))) {
            _ = try write.tree(named: "names", orCreate: UInt64.self)
        }
        let dropped = try write.createTree(named: "dropped", keys: [UInt8].self)
        try write.dropTree(dropped)
        #expect(throws: StorageError.argument(.noSuchTree(dropped.id))) { _ = try write.get(bytes("a"), from: dropped) }
        try write.commit()
        #expect(try database.beginRead().get(1, from: integers) == [1])
    }

    @Test func `a cursor of an ended transaction says so`() throws {
        let (database, integers, _) = try makeStore()
        var write = try database.beginWrite()
        try write.put([1], for: 1, in: integers)
        try write.put([2], for: 2, in: integers)
        var cursor = try write.cursor(over: integers)
        #expect(try cursor.first())
        try write.commit()

        #expect(throws: StorageError.transaction(.ended)) { _ = try cursor.next() }
        #expect(throws: StorageError.transaction(.ended)) { _ = try cursor.value() }
    }

    @Test func `a closed database says so, and does not close over open transactions`() throws {
        let (database, integers, _) = try makeStore()
        do {
            let read = try database.beginRead()
            #expect(throws: StorageError.database(.transactionsOpen(count: 1))) { try database.close() }
            #expect(try read.count(of: integers) == 0)
        }
        try database.close()

        #expect(throws: StorageError.database(.closed)) { _ = try database.beginRead() }
        #expect(throws: StorageError.database(.closed)) { _ = try database.beginWrite() }
        #expect(throws: StorageError.database(.closed)) { try database.checkpoint() }
        #expect(throws: StorageError.database(.closed)) { _ = try database.check() }
        #expect(throws: StorageError.database(.closed)) { try database.close() }
    }

    @Test func `a file opened twice is one engine`() throws {
        try withStorePath { path in
            let first = try Database.open(path)
            let second = try Database.open(path)
            var write = try first.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.put([5], for: 5, in: tree)
            try write.commit()
            try first.close()

            #expect(try second.beginRead().get(5, from: tree) == [5])
            try second.close()
        }
    }

    @Test func `values of many pages come back, and their pages when they go`() throws {
        let (database, integers, _) = try makeStore()
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        var write = try database.beginWrite()
        try write.put(large, for: 1, in: integers)
        try write.commit()
        let used = database.statistics.pageCount - database.statistics.freePageCount

        #expect(try database.beginRead().get(1, from: integers) == large)
        var second = try database.beginWrite()
        #expect(try second.remove(1, from: integers))
        try second.commit()
        #expect(database.statistics.pageCount - database.statistics.freePageCount < used - 700)
        #expect(try database.check().isOK)
    }

    @Test func `the parts of a value are its bytes, whether it lies in a leaf or in many pages`() throws {
        let (database, integers, names) = try makeStore()
        let values = [[], [UInt8]("short".utf8), (0..<50_000).map { UInt8(truncatingIfNeeded: $0 / 3) }]
        var write = try database.beginWrite()
        for (number, value) in values.enumerated() {
            try write.put(value, for: UInt64(number), in: integers)
            try write.put(value, for: bytes("\(number)"), in: names)
        }
        try write.commit()

        let read = try database.beginRead()
        for (number, value) in values.enumerated() {
            var (first, second): ([UInt8], [UInt8]) = ([], [])
            let hasInteger = try read.forEachPart(ofValueOf: UInt64(number), in: integers) {
                first += $0.loadBytes(at: 0, count: $0.byteCount)
            }
            let name = bytes("\(number)")
            // SAFETY: the array outlives the call.
            let hasName = unsafe try read.forEachPart(ofValueOf: name.span.bytes, in: names) {
                second += $0.loadBytes(at: 0, count: $0.byteCount)
            }

            #expect(hasInteger && hasName)
            #expect(first == value)
            #expect(second == value)
        }
        #expect(try !read.forEachPart(ofValueOf: 99, in: integers) { _ in Issue.record("there is no such value") })
    }

    @Test func `a writer counts on from the last commit, whatever writers before it gave up`() throws {
        let (database, integers, names) = try makeStore()
        for round in UInt64(0)..<4 {
            var write = try database.beginWrite()
            try write.put([1], for: round, in: integers)
            try write.put([1], for: bytes("\(round)"), in: names)
            try write.commit()
            var abandoned = try database.beginWrite()
            for number in UInt64(100)..<500 {
                try abandoned.put([UInt8](repeating: 1, count: 90), for: number, in: integers)
            }
            try abandoned.dropTree(names)
            abandoned.rollback()

            let reader = try database.beginWrite()
            #expect(try reader.count(of: integers) == round + 1)
            #expect(try reader.count(of: names) == round + 1)
            reader.rollback()
        }
        var last = try database.beginWrite()
        try last.dropTree(names)
        try last.commit()
        let write = try database.beginWrite()
        #expect(throws: StorageError.argument(.noSuchTree(names.id))) { try write.count(of: names) }
        write.rollback()
        #expect(try database.check().isOK)
    }

    @Test func `a transaction much larger than the cache works, committed or not`() throws {
        var options = DatabaseOptions()
        options.cacheByteCount = 64 << 10
        options.logSegmentByteCount = 64 << 10
        let (database, integers, _) = try makeStore(options)
        for commits in [true, false, true] {
            let base: UInt64 = commits ? 0 : 100_000
            var write = try database.beginWrite()
            for key in 0..<UInt64(1500) {
                try write.put(
                    [UInt8](repeating: UInt8(key % 251), count: 300), for: base + key * 7919 % 1501, in: integers)
            }
            for key in 0..<UInt64(1500) where key % 37 == 0 {
                #expect(try write.get(base + key * 7919 % 1501, from: integers)?.first == UInt8(key % 251))
            }
            if commits { try write.commit() } else { write.rollback() }
            #expect(try database.check().findings.isEmpty)
        }

        #expect(try database.beginRead().count(of: integers) == 1500)
    }

    @Test func `a dropped tree gives its pages back`() throws {
        let (database, integers, _) = try makeStore()
        var write = try database.beginWrite()
        for key in 0..<UInt64(5000) { try write.put([UInt8](repeating: 1, count: 100), for: key, in: integers) }
        try write.commit()
        var second = try database.beginWrite()
        try second.dropTree(integers)
        try second.commit()

        #expect(throws: StorageError.argument(.noSuchTree(integers.id))) {
            _ = try database.beginRead().count(of: integers)
        }
        #expect(database.statistics.freePageCount > 100)
        let check = try database.check()
        #expect(check.isOK)
        #expect(check.trees.map(\.summary.tree.name) == ["names"])
    }

    @Test func `commits without a sync are visible at once and safe after the next durable one`() throws {
        let (database, integers, _) = try makeStore()
        for (key, durability) in [(UInt64(1), Durability.ordered), (2, .none), (3, .durable)] {
            var write = try database.beginWrite()
            try write.put([UInt8(key)], for: key, in: integers)
            try write.commit(durability)
            #expect(try database.beginRead().count(of: integers) == key)
        }
    }

    @Test func `the log is emptied by checkpoints and shrinks when asked`() throws {
        try withStorePath { path in
            var options = DatabaseOptions()
            options.logSegmentByteCount = 64 << 10
            options.checkpointThreshold = 1 << 30
            let database = try Database.open(path, options: options)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<UInt64(3000) { try write.put([UInt8](repeating: 9, count: 200), for: key, in: tree) }
            try write.commit()
            let before = database.statistics

            #expect(before.logLiveByteCount > 500_000)
            #expect(try database.checkpoint(.full).isComplete)
            #expect(database.statistics.logLiveByteCount == 0)
            #expect(database.statistics.logByteCount == before.logByteCount)
            #expect(try database.checkpoint(.truncate).isComplete)
            #expect(database.statistics.logByteCount == 0)
            let read = try database.beginRead()
            #expect(try read.count(of: tree) == 3000)
        }
    }

    @Test func `the log never exceeds its cap: the oldest snapshot is given up`() throws {
        try withStorePath { path in
            var options = DatabaseOptions()
            options.logSegmentByteCount = 64 << 10
            options.logSoftCap = 256 << 10
            options.logByteCountMax = 512 << 10
            options.cacheByteCount = 128 << 10
            let database = try Database.open(path, options: options)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in 0..<UInt64(500) { try write.put([UInt8](repeating: 1, count: 400), for: key, in: tree) }
            try write.commit()
            let old = try database.beginRead()
            for round in 0..<UInt64(200) {
                var write = try database.beginWrite()
                for key in 0..<UInt64(20) {
                    try write.put([UInt8](repeating: 2, count: 400), for: round * 3 + key, in: tree)
                }
                try write.commit(.ordered)
                #expect(database.statistics.logByteCount <= 512 << 10)
            }

            #expect(throws: StorageError.transaction(.snapshotExpired)) { _ = try old.get(3, from: tree) }
            #expect(try database.beginRead().count(of: tree) == 617)
            #expect(try database.check().isOK)
        }
    }
}
