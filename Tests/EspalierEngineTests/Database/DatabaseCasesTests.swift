// Cases from the histories of other embedded stores, and this engine's behavior in them.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct DatabaseCasesTests {
    /// A store in memory with a tree of bytes keys that holds `entries`.
    private func makeStore(_ entries: [(String, String)]) throws -> (Database, Tree<[UInt8]>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: [UInt8].self)
        for (key, value) in entries { try write.put(bytes(value), for: bytes(key), in: tree) }
        try write.commit()
        return (database, tree)
    }

    /// A store in memory with a tree of the keys 0..<count, 100 bytes each.
    private func makeNumbers(_ count: UInt64) throws -> (Database, Tree<UInt64>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<count { try write.put([UInt8](repeating: UInt8(key % 256), count: 100), for: key, in: tree) }
        try write.commit()
        return (database, tree)
    }

    private func put(_ value: String, for key: String, in tree: Tree<[UInt8]>, of database: Database) throws {
        var write = try database.beginWrite()
        try write.put(bytes(value), for: bytes(key), in: tree)
        try write.commit()
    }

    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// All integer keys of a tree.
    private func keys(of tree: Tree<UInt64>, in database: Database) throws -> [UInt64] {
        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        var keys: [UInt64] = []
        while try cursor.next() { keys.append(try cursor.key) }
        return keys
    }

    @Test func `an open cursor goes on over the entries of its snapshot`() throws {
        let (database, tree) = try makeStore([("a", "va"), ("b", "vb"), ("c", "vc")])
        let read = try database.beginRead()
        var cursor = try read.cursor(over: tree)
        #expect(try cursor.first())
        var write = try database.beginWrite()
        for (key, value) in [("a", "va2"), ("a2", "va3"), ("b", "vb2"), ("c", "vc2")] {
            try write.put(bytes(value), for: bytes(key), in: tree)
        }
        try write.remove(bytes("b"), from: tree)
        try write.commit()
        try database.checkpoint()

        var seen: [String?] = []
        repeat { seen += [text(try cursor.key), text(try cursor.value())] } while try cursor.next()
        #expect(seen == ["a", "va", "b", "vb", "c", "vc"])
    }

    @Test func `snapshots end in any order without changing each other`() throws {
        let (database, tree) = try makeStore([("foo", "v1")])
        let first = try database.beginRead()
        try put("v2", for: "foo", in: tree, of: database)
        let second = try database.beginRead()
        try put("v3", for: "foo", in: tree, of: database)
        let third = try database.beginRead()
        try put("v4", for: "foo", in: tree, of: database)

        #expect(text(try third.get(bytes("foo"), from: tree)) == "v3")
        _ = consume third
        try database.checkpoint()
        #expect(text(try first.get(bytes("foo"), from: tree)) == "v1")
        #expect(text(try second.get(bytes("foo"), from: tree)) == "v2")
        _ = consume first
        try database.checkpoint()
        #expect(text(try second.get(bytes("foo"), from: tree)) == "v2")
        _ = consume second
        #expect(try database.checkpoint(.full).isComplete)
        #expect(text(try database.beginRead().get(bytes("foo"), from: tree)) == "v4")
    }

    @Test func `a reader sees exactly what was there before a write, one after it what the write left`() throws {
        let (database, tree) = try makeStore([("hello", "world")])
        var write = try database.beginWrite()
        let old = try database.beginRead()
        try write.remove(bytes("hello"), from: tree)
        try write.put(bytes("world2"), for: bytes("hello2"), in: tree)
        try write.put(bytes("world3"), for: bytes("hello3"), in: tree)
        try write.commit()

        let new = try database.beginRead()
        #expect(try new.count(of: tree) == 2)
        #expect(try new.get(bytes("hello"), from: tree) == nil)
        #expect(text(try new.get(bytes("hello3"), from: tree)) == "world3")
        #expect(try old.count(of: tree) == 1)
        #expect(text(try old.get(bytes("hello"), from: tree)) == "world")
        #expect(try old.get(bytes("hello2"), from: tree) == nil)
    }

    @Test func `overwriting with as many bytes leaves a snapshot its old ones`() throws {
        for byteCount in [1, 100, 5000, 100_000] {
            let before = String(repeating: "a", count: byteCount)
            let (database, tree) = try makeStore([("key", before)])
            let read = try database.beginRead()
            try put(String(repeating: "b", count: byteCount), for: "key", in: tree, of: database)
            #expect(text(try read.get(bytes("key"), from: tree)) == before)
            try database.checkpoint()
            #expect(text(try read.get(bytes("key"), from: tree)) == before)
        }
    }

    @Test func `a cursor passes over keys that its transaction removes, without skipping or repeating`() throws {
        let (database, tree) = try makeNumbers(2000)
        var write = try database.beginWrite()
        var cursor = try write.cursor(over: tree)
        var seen: [UInt64] = []
        var isOnEntry = try cursor.first()
        while isOnEntry {
            let key = try cursor.key
            seen.append(key)
            if key % 3 != 0 { try write.remove(key, from: tree) }
            // Also remove a range ahead of the cursor.
            if key == 600 { try write.removeAll(700..<1400, from: tree) }
            isOnEntry = try cursor.next()
        }
        try write.commit()

        #expect(seen == Array(0..<700) + Array(1400..<2000))
        let left = seen.filter { $0 % 3 == 0 }
        #expect(try keys(of: tree, in: database) == left)
        #expect(try database.check().isOK)
    }

    @Test(arguments: [UInt64(0)..<1500, 500..<2000])
    func `the ends of a tree are found when the pages there were emptied`(removed: Range<UInt64>) throws {
        let (database, tree) = try makeNumbers(2000)
        var write = try database.beginWrite()
        for key in removed { try write.remove(key, from: tree) }
        let left = (0..<UInt64(2000)).filter { !removed.contains($0) }
        var cursor = try write.cursor(over: tree)
        #expect(try cursor.first())
        #expect(try cursor.key == left.first)
        #expect(try cursor.last())
        #expect(try cursor.key == left.last)
        try write.commit()

        #expect(try keys(of: tree, in: database) == left)
        #expect(try database.check().isOK)
    }

    @Test(arguments: [UInt64(1), 400, 3000])
    func `removing all but few keys leaves a sound tree that takes them again`(kept: UInt64) throws {
        let (database, tree) = try makeNumbers(2000)
        var write = try database.beginWrite()
        for key in 0..<UInt64(2000) where key % kept != 7 % kept || kept == 1 { try write.remove(key, from: tree) }
        try write.commit()
        let left = kept == 1 ? [] : (0..<UInt64(2000)).filter { $0 % kept == 7 % kept }
        #expect(try keys(of: tree, in: database) == left)
        #expect(try database.check().isOK)

        var again = try database.beginWrite()
        for key in 0..<UInt64(2000) { try again.put([1, 2, 3], for: key * 7919 % 2000, in: tree) }
        try again.commit()
        #expect(try keys(of: tree, in: database) == Array(0..<2000))
        #expect(try database.check().isOK)
    }

    @Test func `an error in the middle of a removal leaves nothing of it`() throws {
        struct Refusal: Error {}
        let (database, tree) = try makeNumbers(1000)
        func removeSome() throws {
            var write = try database.beginWrite()
            for key in UInt64(0)..<1000 {
                if key == 500 { throw Refusal() }
                try write.remove(key, from: tree)
            }
            try write.commit()
        }
        #expect(throws: Refusal.self) { try removeSome() }
        #expect(try keys(of: tree, in: database) == Array(0..<1000))
        #expect(try database.check().isOK)
        // The same holds for a nested part of a transaction that continues.
        var write = try database.beginWrite()
        try write.remove(900, from: tree)
        #expect(throws: Refusal.self) {
            try write.nested { write in
                try write.removeAll(100..<800, from: tree)
                throw Refusal()
            }
        }
        #expect(try write.remove(3, from: tree))
        try write.commit()
        #expect(try keys(of: tree, in: database) == (0..<1000).filter { $0 != 3 && $0 != 900 })
    }

    @Test func `a copy that is made through a snapshot during writes is that snapshot`() throws {
        let (database, tree) = try makeNumbers(500)
        let read = try database.beginRead()
        let copy = try Database.inMemory()
        var target = try copy.beginWrite()
        let copied = try target.createTree(named: "t", keys: UInt64.self)
        var cursor = try read.cursor(over: tree)
        while try cursor.next() {
            let key = try cursor.key
            try target.put(try cursor.value(), for: key, in: copied)
            if key % 50 == 0 {
                var write = try database.beginWrite()
                try write.remove(499 - key, from: tree)
                try write.put([9], for: 1000 + key, in: tree)
                try write.commit()
                try database.checkpoint()
            }
        }
        try target.commit()

        #expect(try keys(of: copied, in: copy) == Array(0..<500))
        #expect(try keys(of: tree, in: database).count == 500)
        #expect(try copy.check().isOK)
    }
}
