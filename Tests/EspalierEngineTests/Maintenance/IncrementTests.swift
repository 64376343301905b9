// Increments: the stores that chains of them restore, and the chains and files that are refused.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct IncrementTests {
    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_INCREMENT_SEEDS", default: 1)))
    func `a full backup with increments is, page for page, a full backup of the same moment`(seed: UInt64) throws {
        try withStorePath { path in
            var database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: testSeed(default: 31) + seed)
            for _ in 0..<20 { try changes.commit(to: database) }
            try database.backUp(to: path + ".0")
            try FileManager.default.copyItem(atPath: path + ".0", toPath: path + ".follower")
            var increments: [String] = []
            for step in 1...5 {
                for _ in 0..<step * step - 1 { try changes.commit(to: database) }
                try database.shrink(movingAtMost: 4 << step)
                if step % 2 == 0 {
                    try database.close()
                    database = try Database.open(path, options: RandomChanges.options)
                }
                let point = try BackupPoint(of: increments.last ?? path + ".0")
                increments.append(path + ".\(step)")
                let receipt = try database.backUpChanges(since: point, to: increments[step - 1])
                try database.backUp(to: path + ".full\(step)")

                try Database.restore(path + ".0", increments: increments, to: path + ".restored\(step)")
                try Database.bringForward(path + ".follower", by: increments[step - 1])

                let expected = try StoreImage.checked(at: path + ".full\(step)")
                let pages = try StoreImage.usedPages(at: path + ".full\(step)")
                for copy in [path + ".restored\(step)", path + ".follower"] {
                    let (image, check) = try StoreImage.checked(at: copy)
                    #expect(image == expected.image)
                    #expect(check.isOK, "\(check.findings)")
                    #expect(try StoreImage.usedPages(at: copy) == pages)
                }
                #expect(receipt.transactionID == expected.image.transactionID)
                #expect(try BackupPoint(of: increments[step - 1]).increments == UInt32(step))
            }
            try database.close()
        }
    }

    @Test func `an increment of one commit holds the pages of that commit only`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<20_000 { try write.put([UInt8](repeating: 1, count: 100), for: key, in: tree) }
            try write.commit()
            try database.backUp(to: path + ".0")
            write = try database.beginWrite()
            try write.put([2], for: 5, in: tree)
            try write.commit()

            let receipt = try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".1")

            #expect(receipt.pagesWritten <= 2)
            try database.close()
        }
    }

    /// An open store with a backup, two increments, and commits after them.
    private func makeChain(at path: String) throws -> Database {
        let database = try Database.open(path, options: RandomChanges.options)
        var changes = RandomChanges(seed: 41)
        for _ in 0..<5 { try changes.commit(to: database) }
        try database.backUp(to: path + ".0")
        for step in 1...2 {
            for _ in 0..<3 { try changes.commit(to: database) }
            let point = try BackupPoint(of: path + ".\(step - 1)")
            try database.backUpChanges(since: point, to: path + ".\(step)")
        }
        try changes.commit(to: database)
        return database
    }

    @Test func `increments in the wrong order, twice, or of another store are refused`() throws {
        try withStorePath { path in
            let database = try makeChain(at: path)
            let other = try makeChain(at: path + "other")
            func restore(_ increments: String...) throws {
                try Database.restore(path + ".0", increments: increments, to: path + ".restored")
            }
            #expect(throws: StorageError.backup(.missingIncrement)) { try restore(path + ".2") }
            #expect(throws: StorageError.backup(.missingIncrement)) {
                try Database.bringForward(path + ".0", by: path + ".2")
            }
            #expect(throws: StorageError.backup(.otherBase)) { try restore(path + ".1", path + ".1") }
            #expect(throws: StorageError.backup(.otherStore)) { try restore(path + "other.1") }
            #expect(throws: StorageError.backup(.notABackup)) { try restore(path + ".0") }
            #expect(throws: StorageError.backup(.otherStore)) {
                try database.backUpChanges(since: try BackupPoint(of: path + "other.0"), to: path + ".x")
            }
            #expect(throws: StorageError.opening(.notAStore(.tooShort))) {
                try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + ".short"))
                _ = try BackupPoint(of: path + ".short")
            }
            #expect(!FileManager.default.fileExists(atPath: path + ".restored"))
            try other.close()
            try database.close()
            // The store itself is no backup, and neither is a backup that was written to.
            #expect(throws: StorageError.backup(.notABackup)) { _ = try BackupPoint(of: path) }
            let written = try Database.open(path + ".0")
            var changes = RandomChanges(seed: 42)
            try changes.commit(to: written)
            try written.close()
            #expect(throws: StorageError.backup(.notABackup)) { try restore(path + ".1") }
        }
    }

    @Test func `increments of a store end with its compaction`() throws {
        try withStorePath { path in
            try makeChain(at: path).close()
            try Database.compact(at: path)
            let database = try Database.open(path)
            #expect(throws: StorageError.backup(.otherStore)) {
                try database.backUpChanges(since: try BackupPoint(of: path + ".2"), to: path + ".3")
            }
            try database.close()
        }
    }

    @Test func `a restored store can have the identifier of the lost one`() throws {
        try withStorePath { path in
            let database = try makeChain(at: path)
            let identifier = database.storeIdentifier
            try database.close()

            try Database.restore(path + ".0", increments: [path + ".1"], to: path + ".a", keepsIdentifier: true)
            try Database.restore(path + ".0", increments: [path + ".1"], to: path + ".b")

            let same = try Database.open(path + ".a")
            let new = try Database.open(path + ".b")
            #expect(same.storeIdentifier == identifier)
            #expect(new.storeIdentifier != identifier)
            try same.close()
            try new.close()
        }
    }

    @Test func `an increment with any byte changed, cut or added is refused`() throws {
        try withStorePath { path in
            try makeChain(at: path).close()
            let whole = try Data(contentsOf: URL(fileURLWithPath: path + ".1"))
            var chance = SeededGenerator(seed: testSeed(default: 43))
            var damaged: [Data] = [whole.dropLast(), whole + [0], whole.prefix(4096), whole.prefix(100)]
            let offsets = Array(stride(from: 16, to: 512, by: 17)) + [511, 512, 4095, 4096, whole.count - 1]
            for offset in offsets + (0..<30).map({ _ in Int.random(in: 512..<whole.count, using: &chance) }) {
                var copy = whole
                copy[offset] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &chance)
                damaged.append(copy)
            }
            let before = try Data(contentsOf: URL(fileURLWithPath: path + ".0"))
            for (number, bytes) in damaged.enumerated() {
                try Data(bytes).write(to: URL(fileURLWithPath: path + ".bad"))
                #expect(throws: StorageError.backup(.damaged), "damage \(number)") {
                    try Database.bringForward(path + ".0", by: path + ".bad")
                }
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".0")) == before)
            #expect(damaged.count > 60)
        }
    }

    @Test func `a page of another increment in the place of the right one is noticed`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            func put(_ value: UInt8) throws {
                var write = try database.beginWrite()
                try write.put([value], for: 1, in: try write.tree(named: "t", orCreate: UInt64.self))
                try write.commit()
            }
            try put(1)
            try database.backUp(to: path + ".0")
            // Both increments have the same base, so a page of the first would fit into the second.
            for value in UInt8(2)...3 {
                try put(value)
                try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".\(value)")
            }
            try database.close()
            let earlier = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".2")))
            var forged = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".3")))
            try #require(earlier.count == forged.count)
            var count = 0
            for start in stride(from: 4096, to: forged.count, by: 4096) {
                let number = start + PageLayout.number..<start + PageLayout.number + 4
                guard earlier[number] == forged[number] else { continue }
                forged.replaceSubrange(start..<start + 4096, with: earlier[start..<start + 4096])
                count += 1
            }
            try #require(count > 0)
            try Data(forged).write(to: URL(fileURLWithPath: path + ".forged"))

            #expect(throws: StorageError.backup(.damaged)) {
                try Database.bringForward(path + ".0", by: path + ".forged")
            }
            try Database.bringForward(path + ".0", by: path + ".3")
            #expect(try StoreImage.checked(at: path + ".0").image.entries["t"]?.values.first == [3])
        }
    }

    @Test func `an increment with a forged header is refused, or gives a store that can be opened and checked`() throws
    {
        try withStorePath { path in
            try makeChain(at: path).close()
            let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".1")))
            var refusals = 0
            // Page size, positions, transaction, counts, root, next tree, number of pages, reserved bytes.
            for offset in [20, 48, 56, 64, 72, 80, 84, 88, 92, 96, 104, 112, 300] {
                for value: UInt32 in [0, 1, 3, .max] {
                    var record = RecordBytes(byteCount: 512)
                    record.store(Array(whole[..<504]), at: 0)
                    record.store(value, at: offset)
                    record.seal(at: 504)
                    let forged = record.bytes + whole[512...]
                    guard forged != whole else { continue }
                    try Data(forged).write(to: URL(fileURLWithPath: path + ".forged"))
                    do throws(StorageError) {
                        try Database.restore(path + ".0", increments: [path + ".forged"], to: path + ".restored")
                    } catch {
                        refusals += 1
                        #expect(!FileManager.default.fileExists(atPath: path + ".restored"))
                        continue
                    }
                    // Some forgeries pass, such as a later position or another next tree.
                    let database = try Database.open(path + ".restored")
                    _ = try database.check()
                    try database.close()
                    try FileManager.default.removeItem(atPath: path + ".restored")
                }
            }
            #expect(refusals > 35)
        }
    }
}
