// The stream of changes: a follower that applies it equals the original, page for page.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct ChangeFeedTests {
    /// Brings the copy forward by an increment, as a follower does that has lost the stream.
    private func fallBack(_ database: Database, _ copy: String, number: Int) throws {
        try database.backUpChanges(since: try BackupPoint(of: copy), to: copy + ".\(number)")
        try Database.bringForward(copy, by: copy + ".\(number)")
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_FEED_SEEDS", default: 1)))
    func `a follower that forgets, lags and comes back is the original page for page`(seed: UInt64) throws {
        try withStorePath { path in
            var chance = SeededGenerator(seed: testSeed(default: 51) + seed)
            var changes = RandomChanges(seed: chance.next())
            var database = try Database.open(path, options: RandomChanges.options)
            try changes.commit(to: database)
            let copy = path + ".follower"
            try database.backUp(to: copy)
            var feed = try database.changes(after: try BackupPoint(of: copy))
            var (applied, gaps) = (0, 0)
            for round in 0..<25 {
                // One round in eight writes more than the log keeps.
                for _ in 0..<(round % 8 == 7 ? 80 : 4) { try changes.commit(to: database) }
                switch Int.random(in: 0..<8, using: &chance) {
                case 0:
                    // The consumer crashes and loses the changes that it got.
                    _ = try? feed.next(upTo: 1)
                    feed = try database.changes(after: try BackupPoint(of: copy))
                case 1: try database.checkpoint(.full)
                case 2:
                    try database.close()
                    database = try Database.open(path, options: RandomChanges.options)
                    feed = try database.changes(after: try BackupPoint(of: copy))
                default: break
                }
                do throws(StorageError) {
                    while true {
                        let batch = try feed.next(upTo: 100 << 10)
                        if batch.isEmpty { break }
                        #expect(batch.map(\.point.transactionID) == batch.map { $0.base.transactionID + 1 })
                        try Database.bringForward(copy, by: batch)
                        applied += batch.count
                    }
                } catch .maintenance(.changesGone) {
                    gaps += 1
                    try fallBack(database, copy, number: round)
                    feed = try database.changes(after: try BackupPoint(of: copy))
                }
                let expected = try StoreImage(of: database)
                let (image, check) = try StoreImage.checked(at: copy)
                #expect(image == expected)
                #expect(check.isOK, "\(check.findings)")
            }
            try database.backUp(to: path + ".full")
            #expect(try StoreImage.usedPages(at: copy) == StoreImage.usedPages(at: path + ".full"))
            #expect(applied > 20 && gaps > 0)
            try database.close()
        }
    }

    @Test func `a commit is delivered when it is durable, and never again`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.backUp(to: path + ".0")
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit(.durable)
            #expect(try feed.next().map(\.point.transactionID) == [1])
            write = try database.beginWrite()
            try write.put([1], for: 1, in: tree)
            try write.commit(.ordered)
            #expect(try feed.next().isEmpty)

            write = try database.beginWrite()
            try write.put([1], for: 2, in: tree)
            try write.commit(.durable)
            let delivered = try feed.next()

            #expect(delivered.map(\.point.transactionID) == [2, 3])
            #expect(delivered.last?.base == delivered.first?.point)
            #expect(delivered.last?.pages.contains { $0.number > 2 } == true)
            #expect(try feed.next().isEmpty)
            try database.close()
        }
    }

    @Test func `commits come one by one to who asks for few bytes, or for none`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.backUp(to: path + ".0")
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            var changes = RandomChanges(seed: 54)
            for _ in 0..<3 { try changes.commit(to: database) }

            #expect(try feed.next(upTo: 0).map(\.point.transactionID) == [1])
            #expect(try feed.next(upTo: 1).map(\.point.transactionID) == [2])
            #expect(try feed.next(upTo: .max).map(\.point.transactionID) == [3])
            try database.close()
        }
    }

    @Test func `changes of a transaction that was given up are not delivered`() throws {
        try withStorePath { path in
            var options = RandomChanges.options
            options.cacheByteCount = 16 * options.pageSize
            let database = try Database.open(path, options: options)
            try database.backUp(to: path + ".0")
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            // Both kinds of transaction exceed the cache, so pages of both are in the log before they end.
            for isKept in [false, true, false, true] {
                var write = try database.beginWrite()
                let tree = try write.tree(named: "t", orCreate: UInt64.self)
                for key in UInt64(0)..<400 {
                    try write.put([UInt8](repeating: isKept ? 1 : 2, count: 300), for: key, in: tree)
                }
                if isKept { try write.commit() } else { write.rollback() }
            }

            try Database.bringForward(path + ".0", by: try feed.next())

            let (image, check) = try StoreImage.checked(at: path + ".0")
            #expect(image == (try StoreImage(of: database)))
            #expect(check.isOK, "\(check.findings)")
            try database.close()
        }
    }

    @Test func `commits that a checkpoint moved are delivered while the log may keep them`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            try database.backUp(to: path + ".0")
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            // Each commit fills most of a segment; without the feed a checkpoint would recycle all but the last one.
            for key in UInt64(0)..<6 {
                var write = try database.beginWrite()
                let tree = try write.tree(named: "t", orCreate: UInt64.self)
                try write.put([UInt8](repeating: 1, count: 50_000), for: key, in: tree)
                try write.commit()
                try database.checkpoint(.full)
            }
            #expect(try feed.next().map(\.point.transactionID) == Array(1...6))
            try database.close()
        }
    }

    @Test func `a consumer that sleeps never keeps the log beyond its soft cap`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            try database.backUp(to: path + ".0")
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            var changes = RandomChanges(seed: 52)
            for _ in 0..<200 { try changes.commit(to: database) }

            #expect(database.statistics.logByteCount < 2 << 20)
            #expect(throws: StorageError.maintenance(.changesGone)) { _ = try feed.next() }
            try database.close()
        }
    }

    @Test func `changes of another store, or out of order, are refused`() throws {
        try withStorePath { path in
            let (database, other) = (try Database.open(path), try Database.open(path + "other"))
            try database.backUp(to: path + ".0")
            try other.backUp(to: path + ".other")
            #expect(throws: StorageError.backup(.otherStore)) {
                _ = try database.changes(after: try BackupPoint(of: path + ".other"))
            }
            let feed = try database.changes(after: try BackupPoint(of: path + ".0"))
            var changes = RandomChanges(seed: 53)
            for _ in 0..<3 { try changes.commit(to: database) }
            let delivered = try feed.next()
            #expect(throws: StorageError.backup(.missingIncrement)) {
                try Database.bringForward(path + ".0", by: Array(delivered.dropFirst()))
            }
            #expect(throws: StorageError.backup(.missingIncrement)) {
                try Database.bringForward(path + ".0", by: [delivered[0], delivered[2]])
            }
            #expect(throws: StorageError.backup(.otherStore)) {
                try Database.bringForward(path + ".other", by: delivered)
            }
            try other.close()
            #expect(throws: StorageError.backup(.notABackup)) {
                try Database.bringForward(path + "other", by: delivered)
            }
            try database.close()
        }
    }
}
