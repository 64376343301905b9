// Shrinks: the file becomes as short as its content, and readers see no difference.

import EspalierEngine
import Foundation
import TestSupport
import Testing

extension Database {
    /// One call of `shrink` as a transaction.
    @discardableResult
    func shrink(movingAtMost pageMax: Int = 10_000) throws(StorageError) -> ShrinkReceipt {
        var write = try beginWrite()
        let receipt = try write.shrink(movingAtMost: pageMax)
        try write.commit()
        return receipt
    }
}

@Suite struct ShrinkTests {
    /// A store of which nine tenths are free, with roots and long values at its end.
    private func makeSparseStore(at path: String, fillerCount: UInt64 = 2000) throws -> Database {
        let database = try Database.open(path, options: RandomChanges.options)
        var write = try database.beginWrite()
        let filler = try write.createTree(named: "filler", keys: UInt64.self)
        for key in 0..<fillerCount { try write.put([UInt8](repeating: 1, count: 800), for: key, in: filler) }
        try write.commit()
        var changes = RandomChanges(seed: testSeed(default: 61))
        for _ in 0..<20 { try changes.commit(to: database) }
        write = try database.beginWrite()
        for key in 0..<fillerCount where key % 100 != 0 { try write.remove(key, from: filler) }
        try write.commit()
        return database
    }

    private func byteCount(of path: String) throws -> UInt64 {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64)
    }

    @Test func `a store that lost most of its entries shrinks to nearly its compact size`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            let expected = try StoreImage(of: database)
            try database.compact(to: path + ".compact")
            try database.checkpoint(.full)
            let before = try byteCount(of: path)

            var (calls, isComplete) = (0, false)
            while !isComplete {
                let receipt = try database.shrink(movingAtMost: 40)
                isComplete = receipt.isComplete
                calls += 1
                #expect(receipt.pagesMoved <= 40)
                #expect(receipt.pageCount <= receipt.pageCountBefore)
                let check = try database.check()
                #expect(check.isOK, "\(check.findings)")
            }
            try database.checkpoint(.full)

            #expect(calls > 2)
            var image = try StoreImage(of: database)
            #expect(image.transactionID > expected.transactionID)
            image.transactionID = expected.transactionID
            #expect(image == expected)
            let (after, compact) = (try byteCount(of: path), try byteCount(of: path + ".compact"))
            #expect(after * 3 < before, "\(before) -> \(after)")
            #expect(after * 2 < compact * 3, "\(after), compact \(compact)")
            #expect(database.statistics.freePageCount * 20 < database.statistics.pageCount)
            // The shrunk store still works.
            var changes = RandomChanges(seed: 62)
            for _ in 0..<20 { try changes.commit(to: database) }
            #expect(try database.check().isOK)
            try database.close()
            #expect(try StoreImage.checked(at: path).check.isOK)
        }
    }

    @Test func `a snapshot from before sees every page where it was`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            let expected = try StoreImage(of: database).entries["words"]
            let size = try byteCount(of: path)
            let read = try database.beginRead()
            try database.shrink()
            try database.checkpoint(.passive)

            #expect(try byteCount(of: path) >= size)
            let words = try #require(try read.tree(named: "words", keys: [UInt8].self))
            var cursor = try read.cursor(over: words)
            var entries: [[UInt8]: [UInt8]] = [:]
            while try cursor.next() { entries[try cursor.key] = try cursor.value() }
            #expect(entries == expected)
            try end(read)
            try database.checkpoint(.full)
            #expect(try byteCount(of: path) < size)
            try database.close()
        }
    }

    private func end(_ read: consuming ReadTransaction) throws { _ = read.transactionID }

    @Test func `increments follow a store that shrinks and grows again`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            try database.backUp(to: path + ".0")
            try database.shrink()
            try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".1")
            var changes = RandomChanges(seed: 63)
            for _ in 0..<20 { try changes.commit(to: database) }
            try database.backUpChanges(since: try BackupPoint(of: path + ".1"), to: path + ".2")
            try database.backUp(to: path + ".full")

            try Database.bringForward(path + ".0", by: path + ".1")
            #expect(try StoreImage.checked(at: path + ".0").check.isOK)
            try Database.bringForward(path + ".0", by: path + ".2")

            let (image, check) = try StoreImage.checked(at: path + ".0")
            #expect(check.isOK, "\(check.findings)")
            #expect(image == (try StoreImage(of: database)))
            #expect(try StoreImage.usedPages(at: path + ".0") == StoreImage.usedPages(at: path + ".full"))
            try database.close()
        }
    }

    @Test func `a shrink that is rolled back, whole or to a savepoint, has moved nothing`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            let expected = try StoreImage(of: database)
            let pageCount = database.statistics.pageCount
            var write = try database.beginWrite()
            #expect(try write.shrink().pagesMoved > 0)
            write.rollback()
            #expect(database.statistics.pageCount == pageCount)
            #expect(try StoreImage(of: database) == expected)

            write = try database.beginWrite()
            let words = try #require(try write.tree(named: "words", keys: [UInt8].self))
            let savepoint = try write.savepoint()
            for _ in 0..<2 {
                let receipt = try write.shrink()
                #expect(receipt.pageCountBefore == UInt32(pageCount) && receipt.pageCount < receipt.pageCountBefore)
                try write.put([1], for: [1], in: words)
                try write.rollback(to: savepoint)
            }
            try write.put([2], for: [2], in: words)
            try write.commit()

            let check = try database.check()
            #expect(check.isOK, "\(check.findings)")
            #expect(database.statistics.pageCount == pageCount)
            var image = try StoreImage(of: database)
            image.entries["words"]?[[2]] = nil
            image.transactionID = expected.transactionID
            #expect(image == expected)
            try database.close()
        }
    }

    @Test func `cursors and trees of the transaction follow roots that move`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            var write = try database.beginWrite()
            let words = try #require(try write.tree(named: "words", keys: [UInt8].self))
            let root = try #require(try write.trees().first { $0.tree == .bytes(words) }).root
            let count = try write.count(of: words)
            var cursor = try write.cursor(over: words)
            #expect(try cursor.next())
            let savepoint = try write.savepoint()
            try write.shrink()
            #expect(try #require(try write.trees().first { $0.tree == .bytes(words) }).root < root)
            var seen: UInt64 = 1
            while try cursor.next() { seen += 1 }
            #expect(seen == count)
            try write.put([9], for: [9], in: words)
            try write.rollback(to: savepoint)
            #expect(try cursor.first())
            #expect(try write.get([9], from: words) == nil)
            try write.shrink()
            try write.put([9], for: [9], in: words)
            try write.commit()
            let check = try database.check()
            #expect(check.isOK, "\(check.findings)")
            try database.close()
        }
    }

    @Test func `a long value of which only the end moves stays whole`() throws {
        let database = try Database.inMemory()
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        for key in UInt64(0)..<2 { try write.put([UInt8](repeating: 1, count: 20_000), for: key, in: tree) }
        try write.commit()
        write = try database.beginWrite()
        try write.remove(0, from: tree)
        try write.commit()
        // The pages of the value are consecutive, and each has the number of pages left in its run.
        var isComplete = false
        while !isComplete {
            isComplete = try database.shrink(movingAtMost: 2).isComplete
            let check = try database.check()
            #expect(check.isOK, "\(check.findings)")
            #expect(try database.beginRead().get(1, from: tree) == [UInt8](repeating: 1, count: 20_000))
        }
        #expect(database.statistics.freePageCount == 0)
    }

    @Test func `a run of insertions goes on in a leaf that moved`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            var write = try database.beginWrite()
            let words = try #require(try write.tree(named: "words", keys: [UInt8].self))
            for number in UInt8(0)..<20 {
                try write.put([number], for: [255, number], in: words)
                if number == 9 { #expect(try write.shrink().pagesMoved > 0) }
            }
            try write.commit()
            let check = try database.check()
            #expect(check.isOK, "\(check.findings)")
            let read = try database.beginRead()
            for number in UInt8(0)..<20 { #expect(try read.get([255, number], from: words) == [number]) }
        }
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_SHRINK_SEEDS", default: 2)))
    func `random changes between calls, and openings anew, meet the store that was there`(seed: UInt64) throws {
        try withStorePath { path in
            var database = try makeSparseStore(at: path, fillerCount: 300)
            var chance = SeededGenerator(seed: testSeed(default: 67) + seed)
            var changes = RandomChanges(seed: testSeed(default: 68) + seed)
            for round in 0..<20 {
                try changes.commit(to: database)
                var expected = try StoreImage(of: database)
                let receipt = try database.shrink(movingAtMost: Int.random(in: 1..<80, using: &chance))
                expected.transactionID = try StoreImage(of: database).transactionID
                #expect(try StoreImage(of: database) == expected)
                let check = try database.check()
                #expect(check.isOK, "\(check.findings)")
                #expect(receipt.pageCount == UInt32(database.statistics.pageCount))
                if round % 3 == 0 { try database.checkpoint(.full) }
                if round % 4 == 3 {
                    try database.close()
                    #expect(try byteCount(of: path) == UInt64(receipt.pageCount) * 4096)
                    database = try Database.open(path, options: RandomChanges.options)
                }
            }
            try database.close()
        }
    }

    /// The store has two values, of which the first is removed: the second moves to the front, in the smallest cache.
    @Test(arguments: [4096, 8192, 16_384, 32_768, 65_536])
    func `a value of many times the cache moves whole, whatever the page size`(pageSize: Int) throws {
        var options = DatabaseOptions()
        (options.pageSize, options.cacheByteCount) = (pageSize, 0)
        let database = try Database.inMemory(options: options)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        let byteCount = max(40 * pageSize, 100_000)
        let values = [UInt8](1...2).map { byte in (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 / 997) &+ byte } }
        for (key, value) in values.enumerated() { try write.put(value, for: UInt64(key), in: tree) }
        try write.commit()
        write = try database.beginWrite()
        try write.remove(0, from: tree)
        try write.commit()

        let receipt = try database.shrink()

        #expect(receipt.isComplete && receipt.pagesMoved >= 40)
        #expect(try database.beginRead().get(1, from: tree) == values[1])
        #expect(try database.check().findings == [])
        #expect(database.statistics.freePageCount == 0)
    }

    @Test(arguments: LargeValues.seeds)
    func `values of 1 to 64 MiB come, go and move between shrinks of all lengths`(number: UInt64) throws {
        let seed = testSeed(default: 710) + number
        var chance = SeededGenerator(seed: seed)
        let database = try Database.inMemory(options: LargeValues.options(seed: seed))
        var values: [UInt64: [UInt8]] = [:]
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        for round in 0..<campaignCount("ESPALIER_LARGE_TRANSACTIONS", default: 2) * 2 {
            var write = try database.beginWrite()
            for key in UInt64(0)..<2 {
                let value = LargeValues.value(&chance)
                try write.put(value, for: key, in: tree)
                values[key] = value
            }
            let gone = UInt64(round % 2)
            try write.remove(gone, from: tree)
            values[gone] = nil
            let length = Int.random(in: 0..<3, using: &chance) == 0 ? Int.random(in: 1...300, using: &chance) : 1 << 20
            try write.shrink(movingAtMost: length)
            try write.commit()

            let read = try database.beginRead()
            for key in UInt64(0)..<2 { #expect(try read.get(key, from: tree) == values[key], "seed \(seed)") }
            #expect(try database.check().findings == [], "seed \(seed)")
        }
    }

    @Test func `a reader beside the process that cuts the file expires and finds no damage`() throws {
        try withStorePath { path in
            let database = try makeSparseStore(at: path)
            try database.checkpoint(.full)
            var options = RandomChanges.options
            options.access = .readOnly
            let reader = try Database.open(path, in: DisguisedFileSystem(device: 1 << 41), options: options)
            let read = try reader.beginRead()
            let words = try #require(try read.tree(named: "words", keys: [UInt8].self))
            try database.shrink()
            try database.checkpoint(.full)
            #expect(throws: StorageError.transaction(.snapshotExpired)) {
                var cursor = try read.cursor(over: words)
                while try cursor.next() { _ = try cursor.value() }
            }
            try end(read)
            let image = try StoreImage(of: reader)
            #expect(try image == StoreImage(of: database))
            let check = try reader.check()
            #expect(check.isOK, "\(check.findings)")
            try reader.close()
            try database.close()
        }
    }

    /// A second bitmap page needs a store of 126 MiB, which is too slow for everyday debug builds.
    @Test(.enabled(if: campaignCount("ESPALIER_LARGE_COPY", default: 0) > 0))
    func `whole groups of pages go away with their bitmap page, and come back`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            let value = [UInt8](repeating: 7, count: 150 << 20)
            for _ in 0..<2 {
                var write = try database.beginWrite()
                let tree = try write.tree(named: "large", orCreate: UInt64.self)
                try write.put(value, for: 1, in: tree)
                _ = try write.tree(named: "late", orCreate: [UInt8].self)
                try write.put([UInt8](repeating: 8, count: 1 << 20), for: 2, in: tree)
                try write.commit()
                write = try database.beginWrite()
                try write.remove(1, from: tree)
                try write.commit()
                try database.shrink()
                try database.checkpoint(.full)
                #expect(try byteCount(of: path) < 3 << 20)
                let check = try database.check()
                #expect(check.isOK, "\(check.findings)")
            }
            try database.close()
        }
    }
}
