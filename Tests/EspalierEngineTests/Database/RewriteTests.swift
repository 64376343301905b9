// Rewrites of whole trees in transactions: other trees beside them, snapshots, savepoints, and closures that throw.

import EspalierEngine
import TestSupport
import Testing

@Suite struct RewriteTests {
    /// An error of a closure that decides about entries, or an error of the engine.
    private enum Refusal: StorageFailure, Equatable {
        case own
        case engine(StorageError)

        init(_ error: StorageError) { self = .engine(error) }
    }

    private static let count: UInt64 = 3000

    /// A store that is larger than its cache: a tree of `count` entries, and one for other changes.
    private func makeStore() throws -> (Database, tree: Tree<UInt64>, other: Tree<[UInt8]>) {
        var options = DatabaseOptions.small
        options.logByteCountMax = 16 << 20
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        let other = try write.createTree(named: "other", keys: [UInt8].self)
        for key in 0..<Self.count { try write.put(Self.value(key, 1), for: key, in: tree) }
        try write.commit()
        return (database, tree, other)
    }

    /// A value of about 100 bytes, or, for a few keys, one in overflow pages.
    private static func value(_ key: UInt64, _ byte: UInt8) -> [UInt8] {
        [UInt8](repeating: byte, count: key % 500 == 7 ? 9000 : 90 + Int(key % 20))
    }

    /// Replaces values by others of the same length, removes some, and keeps some.
    private func rewrite(_ tree: Tree<UInt64>, _ write: inout WriteTransaction, endingAt end: UInt64 = .max) throws {
        try write.rewrite(tree) { (key: UInt64, _: RawSpan, new: inout [UInt8]) throws(Refusal) -> RewrittenEntry in
            guard key < end else { throw .own }
            if key % 10 == 3 { return .removed }
            if key % 10 == 4 { return .kept }
            let bytes = Self.value(key, 2)
            if new.count < bytes.count { new = bytes } else { new.replaceSubrange(0..<bytes.count, with: bytes) }
            return .replaced(byteCount: bytes.count)
        }
    }

    private func expectOld(_ cursor: consuming Cursor<UInt64>) throws {
        var key: UInt64 = 0
        while try cursor.next() {
            guard try cursor.key == key, try cursor.value() == Self.value(key, 1) else { break }
            key += 1
        }
        #expect(key == Self.count)
    }

    private func expectNew(_ cursor: consuming Cursor<UInt64>) throws {
        var same = 0
        let keys = (0..<Self.count).filter { $0 % 10 != 3 }
        for key in keys {
            guard try cursor.next(), try cursor.key == key, try cursor.value() == Self.value(key, key % 10 == 4 ? 1 : 2)
            else { break }
            same += 1
        }
        let isLonger = try cursor.next()
        #expect(same == keys.count && !isLonger)
    }

    @Test func `a rewrite beside changes of other trees is committed with them, and a snapshot sees neither`() throws {
        let (database, tree, other) = try makeStore()
        let pageCount = database.statistics.pageCount
        let before = try database.beginRead()
        var write = try database.beginWrite()
        for number in 0..<500 { try write.put([1], for: bytes("\(number)"), in: other) }
        try rewrite(tree, &write)
        for number in 500..<1000 { try write.put([2], for: bytes("\(number)"), in: other) }
        try write.put([9], for: Self.count, in: tree)
        #expect(try write.remove(Self.count, from: tree))
        try expectNew(write.cursor(over: tree))
        #expect(try write.count(of: tree) == Self.count * 9 / 10)
        try write.commit()

        try expectOld(before.cursor(over: tree))
        #expect(try before.count(of: other) == 0)
        let after = try database.beginRead()
        try expectNew(after.cursor(over: tree))
        #expect(try after.count(of: other) == 1000)
        #expect(try database.check().findings == [])
        // Beside the pages of the other tree the store needs no more than before.
        #expect(database.statistics.pageCount <= pageCount + 40)
    }

    @Test func `a closure that throws leaves a transaction that can only be rolled back, to a savepoint too`() throws {
        let (database, tree, other) = try makeStore()
        for end in [0, 1, 1500, Self.count - 1] as [UInt64] {
            var write = try database.beginWrite()
            try write.put([1], for: bytes("kept"), in: other)
            let savepoint = try write.savepoint()
            #expect(throws: Refusal.own) { try rewrite(tree, &write, endingAt: end) }
            #expect(throws: StorageError.transaction(.failed)) { try write.put([1], for: 1, in: tree) }

            try write.rollback(to: savepoint)

            try expectOld(write.cursor(over: tree))
            try rewrite(tree, &write)
            try expectNew(write.cursor(over: tree))
            #expect(try write.get(bytes("kept"), from: other) == [1])
            #expect(throws: Refusal.own) { try rewrite(tree, &write, endingAt: end) }
            write.rollback()
            let read = try database.beginRead()
            try expectOld(read.cursor(over: tree))
            #expect(try database.check().isOK)
        }
    }

    @Test func `a transaction that failed in a rewrite is not committed`() throws {
        let (database, tree, _) = try makeStore()
        var write = try database.beginWrite()
        #expect(throws: Refusal.own) { try rewrite(tree, &write, endingAt: 100) }

        do throws(StorageError) {
            try write.commit()
            Issue.record("the transaction is committed")
        } catch {
            #expect(error == .transaction(.failed))
        }

        let read = try database.beginRead()
        try expectOld(read.cursor(over: tree))
    }

    @Test func `a cursor stays at its key while its tree is rewritten`() throws {
        let (_, tree, _) = try makeStore()
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let own = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<1000 as Range<UInt64> { try write.put(Self.value(key, 1), for: key, in: own) }
        var cursor = try write.cursor(over: own)
        #expect(try cursor.seek(501))

        try rewrite(own, &write)

        #expect(try cursor.key == 501 && cursor.value() == Self.value(501, 2))
        #expect(try cursor.next() && cursor.key == 502 && cursor.next() && cursor.key == 504)
        #expect(throws: Refusal.engine(.argument(.treeOfAnotherStore(tree.id)))) { try rewrite(tree, &write) }
    }
}
