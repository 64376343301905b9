// Wrong uses of the engine by an application: each gives a defined error, and the transaction continues if it can.
//
// A write in a read transaction, a second commit and the use of an ended transaction do not compile: transactions are
// noncopyable and `commit` consumes them.

import EspalierEngine
import TestSupport
import Testing

@Suite struct DatabaseMisuseTests {
    private func makeStore() throws -> (Database, integers: Tree<UInt64>, names: Tree<[UInt8]>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let trees = (
            try write.createTree(named: "integers", keys: UInt64.self),
            try write.createTree(named: "names", keys: [UInt8].self)
        )
        try write.put([1], for: 1, in: trees.0)
        try write.put([1], for: bytes("one"), in: trees.1)
        try write.commit()
        return (database, trees.0, trees.1)
    }

    /// The error that `body` throws.
    private func failure(_ body: () throws(StorageError) -> Void) -> StorageError? {
        do throws(StorageError) { try body() } catch { return error }
        return nil
    }

    @Test func `a cursor that outlives its read transaction says so`() throws {
        let (database, integers, _) = try makeStore()
        var cursor = try database.beginRead().cursor(over: integers)

        #expect(failure { () throws(StorageError) in _ = try cursor.first() } == .transaction(.ended))
        #expect(failure { () throws(StorageError) in _ = try cursor.value() } == .transaction(.ended))
    }

    @Test func `a handle of another store never reaches the tree that has its number here`() throws {
        let (database, integers, names) = try makeStore()
        let (other, foreign, foreignNames) = try makeStore()
        #expect(foreign.id == integers.id && foreign != integers)
        let entries: [(UInt64, [UInt8])] = [(7, [7])]
        let refused = StorageError.argument(.treeOfAnotherStore(foreign.id))
        let read = try database.beginRead()
        // Test before and after a look-up of this store's own tree with that number.
        for isKnown in [false, true] {
            if isKnown { _ = (try read.get(1, from: integers), try read.get([1], from: names)) }
            #expect(failure { () throws(StorageError) in _ = try read.get(1, from: foreign) } == refused)
            #expect(failure { () throws(StorageError) in _ = try read.count(of: foreign) } == refused)
            #expect(failure { () throws(StorageError) in _ = try read.cursor(over: foreign) } == refused)
            #expect(
                failure { () throws(StorageError) in _ = try read.get([1], from: foreignNames) }
                    == .argument(.treeOfAnotherStore(foreignNames.id)))
        }
        var write = try database.beginWrite()
        for isKnown in [false, true] {
            if isKnown { try write.put([9], for: 9, in: integers) }
            #expect(failure { () throws(StorageError) in _ = try write.put([2], for: 1, in: foreign) } == refused)
            #expect(failure { () throws(StorageError) in _ = try write.remove(1, from: foreign) } == refused)
            #expect(failure { () throws(StorageError) in _ = try write.removeAll(from: foreign) } == refused)
            #expect(failure { () throws(StorageError) in _ = try write.load(entries, into: foreign) } == refused)
            #expect(failure { () throws(StorageError) in try write.dropTree(foreign) } == refused)
        }
        try write.commit()

        #expect(try database.beginRead().get(1, from: integers) == [1])
        #expect(try database.beginRead().count(of: integers) == 2)
        #expect(try other.beginRead().get(1, from: foreign) == [1])
    }

    @Test func `a handle names its tree in the store that was opened again, and not another one of a restored store`()
        throws
    {
        try withStorePath { path in
            var database = try Database.open(path)
            var write = try database.beginWrite()
            _ = try write.createTree(named: "old", keys: UInt64.self)
            try write.commit()
            try database.backUp(to: path + ".backup")
            write = try database.beginWrite()
            let tree = try write.createTree(named: "later", keys: UInt64.self)
            try write.put([1], for: 1, in: tree)
            try write.commit()
            try database.close()
            database = try Database.open(path)
            #expect(try database.beginRead().get(1, from: tree) == [1])
            try database.close()

            // The restored store has the same identifier, and another history from here on.
            try Database.restore(path + ".backup", to: path + ".restored", keepsIdentifier: true)
            let restored = try Database.open(path + ".restored")
            write = try restored.beginWrite()
            let other = try write.createTree(named: "other", keys: UInt64.self)
            #expect(other.id == tree.id)
            #expect(
                failure { () throws(StorageError) in _ = try write.put([2], for: 2, in: tree) }
                    == .argument(.noSuchTree(tree.id)))
            try write.commit()
            #expect(try restored.beginRead().count(of: other) == 0)
            try restored.close()
        }
    }

    @Test func `the key of a cursor is asked for on an entry`() throws {
        let (database, integers, names) = try makeStore()
        let read = try database.beginRead()
        var numbers = try read.cursor(over: integers)
        var words = try read.cursor(over: names)

        #expect(failure { () throws(StorageError) in _ = try numbers.key } == .argument(.noEntry))
        #expect(failure { () throws(StorageError) in _ = try words.key } == .argument(.noEntry))
        #expect(try numbers.next() && words.next())
        #expect(try numbers.key == 1 && words.key == bytes("one"))
    }

    @Test func `a cache may have from no byte to the memory of the machine, and takes sixteen pages at least`() throws {
        var options = DatabaseOptions()
        for byteCount in [-1, .min, .max, 1 << 50] {
            options.cacheByteCount = byteCount
            #expect(throws: StorageError.opening(.invalidOption(.cacheByteCount))) {
                try Database.inMemory(options: options)
            }
        }
        for pageSize in [4096, 65_536] {
            (options.pageSize, options.cacheByteCount) = (pageSize, 0)
            #expect(try Database.inMemory(options: options).statistics.cachePageCapacity == 16)
        }
        #expect("\(StorageError.opening(.invalidOption(.cacheByteCount)))".contains("0 bytes"))
        options.cacheByteCount = 1 << 20
        for byteCount in [32 << 10, (64 << 10) + 1, 128 << 20] {
            options.logSegmentByteCount = byteCount
            #expect(throws: StorageError.opening(.invalidOption(.logSegmentByteCount))) {
                try Database.inMemory(options: options)
            }
        }
        #expect("\(StorageError.opening(.invalidOption(.logSegmentByteCount)))".contains("64 MiB"))
    }

    @Test func `a tree of another store or of the other kind is refused, and the transaction goes on`() throws {
        let (database, integers, names) = try makeStore()
        let other = try Database.inMemory()
        var foreign = try other.beginWrite()
        for number in 0..<5 { _ = try foreign.createTree(named: "x\(number)", keys: UInt64.self) }
        let created = try foreign.createTree(named: "foreign", keys: UInt64.self)
        foreign.rollback()
        var write = try database.beginWrite()

        #expect(
            failure { () throws(StorageError) in try write.put([1], for: 1, in: created) }
                == .argument(.treeOfAnotherStore(created.id)))
        #expect(
            failure { () throws(StorageError) in _ = try write.tree(named: "names", keys: UInt64.self) }
                == .argument(.wrongKeyKind(tree: names.id)))
        #expect(
            failure { () throws(StorageError) in _ = try write.tree(named: "integers", orCreate: [UInt8].self) }
                == .argument(.wrongKeyKind(tree: integers.id)))
        try write.put([2], for: 2, in: integers)
        try write.commit()
        #expect(try database.beginRead().count(of: integers) == 2)
    }

    @Test func `keys and names that are too long are refused, and the transaction goes on`() throws {
        let (database, integers, names) = try makeStore()
        let long = [UInt8](repeating: 7, count: 1001)
        var write = try database.beginWrite()

        #expect(
            failure { () throws(StorageError) in try write.put([1], for: long, in: names) }
                == .argument(.keyTooLong(byteCount: 1001, maximum: 1000)))
        #expect(try write.get(long, from: names) == nil)
        #expect(
            failure { () throws(StorageError) in
                _ = try write.createTree(named: String(repeating: "n", count: 1001), keys: [UInt8].self)
            } == .argument(.keyTooLong(byteCount: 1001, maximum: 1000)))
        #expect(
            failure { () throws(StorageError) in _ = try write.createTree(named: "", keys: [UInt8].self) }
                == .argument(.emptyName))
        #expect(
            failure { () throws(StorageError) in _ = try write.createTree(named: "integers", keys: [UInt8].self) }
                == .argument(.treeExists(integers.id)))
        try write.put([1], for: [UInt8](repeating: 7, count: 1000), in: names)
        try write.commit()
        #expect(try database.beginRead().count(of: names) == 2)
    }

    @Test func `a cursor on no entry, or on one that was removed, has no value`() throws {
        let (database, integers, _) = try makeStore()
        var write = try database.beginWrite()
        var cursor = try write.cursor(over: integers)
        #expect(failure { () throws(StorageError) in _ = try cursor.value() } == .argument(.noEntry))
        #expect(failure { () throws(StorageError) in try cursor.withKey { _ in } } == .argument(.noEntry))
        #expect(try cursor.first())
        try write.remove(1, from: integers)

        #expect(failure { () throws(StorageError) in _ = try cursor.value() } == .argument(.noEntry))
        #expect(try !cursor.next())
    }

    @Test func `a dropped tree is gone for its own transaction and for later ones`() throws {
        let (database, integers, _) = try makeStore()
        var write = try database.beginWrite()
        try write.dropTree(integers)
        #expect(
            failure { () throws(StorageError) in _ = try write.get(1, from: integers) }
                == .argument(.noSuchTree(integers.id)))
        let again = try write.createTree(named: "integers", keys: UInt64.self)
        #expect(again.id != integers.id)
        try write.commit()

        #expect(throws: StorageError.argument(.noSuchTree(integers.id))) {
            _ = try database.beginRead().count(of: integers)
        }
        #expect(try database.beginRead().count(of: again) == 0)
    }

    @Test func `a full checkpoint that an older snapshot hinders says so`() throws {
        let (database, integers, _) = try makeStore()
        do {
            let read = try database.beginRead()
            var write = try database.beginWrite()
            try write.put([2], for: 2, in: integers)
            try write.commit()

            #expect(throws: StorageError.transaction(.logFull)) { try database.checkpoint(.full) }
            #expect(try read.count(of: integers) == 1)
        }
        #expect(try database.checkpoint(.full).isComplete)
    }

    @Test func `a snapshot that was given up says so for every key, changed since or not`() throws {
        var options = DatabaseOptions()
        options.logSegmentByteCount = 64 << 10
        options.logSoftCap = 128 << 10
        options.logByteCountMax = 256 << 10
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let still = try write.createTree(named: "still", keys: UInt64.self)
        let changing = try write.createTree(named: "changing", keys: UInt64.self)
        try write.put([1], for: 1, in: still)
        try write.commit()
        let read = try database.beginRead()
        #expect(try read.get(1, from: still) == [1])
        for round in UInt64(0)..<40 {
            var write = try database.beginWrite()
            try write.put([UInt8](repeating: UInt8(round), count: 20_000), for: round % 3, in: changing)
            try write.commit()
        }

        #expect(
            failure { () throws(StorageError) in _ = try read.get(1, from: still) } == .transaction(.snapshotExpired))
        #expect(try database.beginRead().get(1, from: still) == [1])
    }

    @Test func `after a change that failed half-way a transaction can only be given up`() throws {
        let system = SimulatedFileSystem(seed: 1)
        var options = DatabaseOptions()
        options.cacheByteCount = 0
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in UInt64(0)..<3000 { try write.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
        try write.commit()
        var failing = try database.beginWrite()
        // The next read of a page that is not in memory fails.
        system.arm(SimulatedFault(operation: system.operationCount + 1, kind: .inputOutput))
        var failures: [StorageError?] = []
        for key in UInt64(0)..<3000 where failures.isEmpty {
            let error = failure { () throws(StorageError) in try failing.remove(key, from: tree) }
            if let error { failures.append(error) }
        }
        system.arm(nil)
        guard case .io = failures.first else {
            Issue.record("removing gave \(failures)")
            return
        }

        #expect(failure { () throws(StorageError) in try failing.put([1], for: 1, in: tree) } == .transaction(.failed))
        #expect(failure { () throws(StorageError) in _ = try failing.trees() } == .transaction(.failed))
        var refusal: StorageError?
        do throws(StorageError) { try failing.commit() } catch { refusal = error }
        #expect(refusal == .transaction(.failed))
        #expect(try database.beginRead().count(of: tree) == 3000)
        #expect(try database.check().isOK)
    }

    @Test func `a list of trees that fails while it writes changed records fails the transaction`() throws {
        let system = SimulatedFileSystem(seed: 1)
        var options = DatabaseOptions()
        options.cacheByteCount = 0
        let database = try Database.open("store", in: system, options: options)
        var write = try database.beginWrite()
        // Long names: the catalog has more pages than the cache.
        let trees = try (0..<400).map { number in
            try write.createTree(named: "\(number)" + String(repeating: "x", count: 500), keys: UInt64.self)
        }
        try write.commit()
        var failureCount = 0
        for number in 1...4 {
            var failing = try database.beginWrite()
            for tree in trees { try failing.put([2], for: 1, in: tree) }
            system.arm(SimulatedFault(operation: system.operationCount + number, kind: .inputOutput))
            let error = failure { () throws(StorageError) in _ = try failing.trees() }
            system.arm(nil)
            let later = failure { () throws(StorageError) in try failing.put([3], for: 1, in: trees[0]) }
            // An error after the records are written is one of reading, which changes nothing.
            #expect(later == nil || error != nil && later == .transaction(.failed))
            if later != nil { failureCount += 1 }
        }
        #expect(failureCount > 0, "no call failed while it wrote")
        #expect(try database.check().isOK)
    }
}
