// Free pages: they are counted, found and allocated once; and the errors when counts and bits contradict each other.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct FreeSpaceTests {
    @Test func `pages that come and go are always counted, and never given out twice`() throws {
        var chance = SeededGenerator(seed: testSeed(default: 12))
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        var lengths: [UInt64: Int] = [:]
        for round in 0..<40 {
            var write = try database.beginWrite()
            for _ in 0..<6 {
                let key = UInt64.random(in: 0..<30, using: &chance)
                let length = Int.random(in: 0...40, using: &chance) * 1500
                try write.put([UInt8](repeating: UInt8(key), count: length), for: key, in: tree)
                lengths[key] = length
                let other = UInt64.random(in: 0..<30, using: &chance)
                #expect(try write.remove(other, from: tree) == (lengths.removeValue(forKey: other) != nil))
            }
            // A transaction that is rolled back must leave no trace in the counts, either.
            if round % 4 == 3 {
                try write.commit()
                var given = try database.beginWrite()
                for key in UInt64(0)..<30 { try given.remove(key, from: tree) }
                given.rollback()
            } else {
                try write.commit()
            }
            #expect(try database.check().findings == [], "round \(round)")
            let read = try database.beginRead()
            for (key, length) in lengths {
                #expect(try read.get(key, from: tree) == [UInt8](repeating: UInt8(key), count: length))
            }
        }
        var last = try database.beginWrite()
        try last.dropTree(tree)
        try last.commit()
        #expect(try database.check().findings == [], "the tree was dropped")
        let size = database.statistics.pageCount
        #expect(size < 700, "free pages are used again")
    }

    /// A store in memory with `count` values of 40,000 bytes, under the keys from 0 on.
    private func makeStore(values count: UInt64) throws -> (Database, Tree<UInt64>) {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in 0..<count { try write.put([UInt8](repeating: 1, count: 40_000), for: key, in: tree) }
        try write.commit()
        return (database, tree)
    }

    @Test func `a transaction that frees pages and is given up leaves the counts for the next one`() throws {
        let (database, tree) = try makeStore(values: 4)
        var second = try database.beginWrite()
        try second.remove(0, from: tree)
        try second.put([UInt8](repeating: 2, count: 5000), for: 9, in: tree)
        try second.commit()
        var given = try database.beginWrite()
        try given.remove(1, from: tree)
        try given.remove(2, from: tree)
        try given.put([UInt8](repeating: 2, count: 5000), for: 10, in: tree)
        given.rollback()

        var next = try database.beginWrite()
        try next.put([UInt8](repeating: 3, count: 30_000), for: 11, in: tree)
        try next.put([UInt8](repeating: 3, count: 90_000), for: 12, in: tree)
        try next.commit()
        #expect(try database.check().isOK)
    }

    @Test func `free pages that a transaction took and gave back are found by the next one`() throws {
        let (database, tree) = try makeStore(values: 4)
        var second = try database.beginWrite()
        try second.remove(1, from: tree)
        try second.commit()
        let before = database.statistics
        #expect(before.freePageCount > 9)
        var given = try database.beginWrite()
        try given.put([UInt8](repeating: 2, count: 60_000), for: 5, in: tree)
        given.rollback()
        #expect(database.statistics.freePageCount == before.freePageCount)

        var next = try database.beginWrite()
        try next.put([UInt8](repeating: 3, count: 40_000), for: 6, in: tree)
        try next.commit()
        #expect(database.statistics.pageCount == before.pageCount, "the free pages were enough")
        #expect(try database.check().isOK)
    }

    @Test func `a tree that is dropped or emptied gives back every page of its values`() throws {
        for isDropped in [true, false] {
            let (database, tree) = try makeStore(values: 3)
            var second = try database.beginWrite()
            if isDropped { try second.dropTree(tree) } else { try second.removeAll(from: tree) }
            try second.commit()

            #expect(try database.check().findings == [])
            #expect(database.statistics.freePageCount >= 3 * (40_000 / 4096))
        }
    }

    @Test func `a store that grows into a new group of pages gets its bitmap page`() throws {
        try withStorePath { path in
            let created = try Database.open(path)
            var write = try created.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit()
            try created.close()
            // Extend the file to just before the border of its group, with pages that no tree uses.
            let group = StoreGeometry(pageSize: 4096).pagesPerBitmap
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            var bytes = [UInt8](try #require(try file.read(upToCount: 4096)))
            // SAFETY: the span does not leave the closure.
            var slot = try unsafe bytes.withUnsafeBytes { try CheckpointSlot.newest(in: unsafe $0.bytes) }
            slot.pageCount = UInt32(group - 2)
            bytes.replaceSubrange(slot.byteOffset..<slot.byteOffset + 512, with: slot.encoded())
            try file.seek(toOffset: 0)
            try file.write(contentsOf: Data(bytes))
            try file.truncate(atOffset: UInt64(slot.pageCount) * 4096)
            try file.close()

            let database = try Database.open(path)
            var second = try database.beginWrite()
            try second.put([UInt8](repeating: 5, count: 60_000), for: 1, in: tree)
            try second.commit()
            var third = try database.beginWrite()
            try third.put([UInt8](repeating: 6, count: 60_000), for: 1, in: tree)
            try third.commit()

            #expect(try database.beginRead().get(1, from: tree) == [UInt8](repeating: 6, count: 60_000))
            #expect(Int(database.statistics.pageCount) > group + 2)
            let others = try database.check().findings.filter { $0.corruption.rule != .pageLost }
            #expect(others == [])
        }
    }
}
