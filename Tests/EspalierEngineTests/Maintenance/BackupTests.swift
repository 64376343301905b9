// Backups of stores that are in use.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct BackupTests {
    /// The names of the files beside the store.
    private func fileNames(beside path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path
        ).sorted()
    }

    @Test func `a backup holds the commit at which it began while the writer goes on`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: testSeed(default: 11))
            for _ in 0..<40 { try changes.commit(to: database) }
            let expected = try StoreImage(of: database)

            var calls = 0
            let receipt = try database.backUp(to: path + ".backup") { progress in
                calls += 1
                #expect(progress.pagesDone <= progress.pageCount)
                for _ in 0..<30 { try? changes.commit(to: database) }
                _ = try? database.checkpoint(.passive)
                return true
            }

            let (image, check) = try StoreImage.checked(at: path + ".backup")
            #expect(calls > 1)
            #expect(image == expected)
            #expect(check.isOK, "\(check.findings)")
            #expect(receipt.transactionID == expected.transactionID)
            #expect(try StoreImage(of: database).transactionID == expected.transactionID + UInt64(30 * calls))
            let size = try #require(FileManager.default.attributesOfItem(atPath: path + ".backup")[.size] as? UInt64)
            #expect(size == receipt.byteCount)
            try database.close()
            #expect(try fileNames(beside: path) == ["test.espalier", "test.espalier.backup"])
        }
    }

    @Test func `a backup that another process outruns ends, and is not of two moments`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            func write(_ value: UInt8) throws {
                var write = try database.beginWrite()
                let tree = try write.tree(named: "t", orCreate: UInt64.self)
                for key in UInt64(0)..<2500 { try write.put([UInt8](repeating: value, count: 800), for: key, in: tree) }
                try write.commit()
                try database.checkpoint(.full)
            }
            try write(1)
            var options = RandomChanges.options
            options.access = .readOnly
            let reader = try Database.open(path, in: DisguisedFileSystem(device: 1 << 42), options: options)
            var calls = 0

            #expect(throws: StorageError.transaction(.snapshotExpired)) {
                try reader.backUp(to: path + ".backup") { _ in
                    calls += 1
                    if calls == 1 { try? write(2) }
                    return true
                }
            }
            #expect(calls > 0)
            #expect(!FileManager.default.fileExists(atPath: path + ".backup"))
            try reader.backUp(to: path + ".backup")
            #expect(try StoreImage.checked(at: path + ".backup").image == StoreImage(of: database))
            try reader.close()
            try database.close()
        }
    }

    @Test func `a backup made of pages in the log only is whole`() throws {
        try withStorePath { path in
            var options = RandomChanges.options
            options.checkpointThreshold = 1 << 30
            let database = try Database.open(path, options: options)
            var changes = RandomChanges(seed: testSeed(default: 12))
            for _ in 0..<10 { try changes.commit(to: database) }

            try database.backUp(to: path + ".backup")

            let (image, check) = try StoreImage.checked(at: path + ".backup")
            #expect(image == (try StoreImage(of: database)))
            #expect(check.isOK, "\(check.findings)")
        }
    }

    @Test func `a backup is a store of its own that can be written`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: 13)
            for _ in 0..<10 { try changes.commit(to: database) }
            try database.backUp(to: path + ".backup")

            let copy = try Database.open(path + ".backup", options: RandomChanges.options)
            for _ in 0..<10 { try changes.commit(to: copy) }

            #expect(copy.storeIdentifier != database.storeIdentifier)
            #expect(try copy.check().isOK)
            try copy.close()
            #expect(try StoreImage.checked(at: path + ".backup").check.isOK)
        }
    }

    @Test func `a backup that is cancelled leaves nothing behind`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            #expect(throws: StorageError.maintenance(.cancelled)) {
                try database.backUp(to: path + ".backup") { _ in false }
            }
            try database.close()
            #expect(try fileNames(beside: path) == ["test.espalier"])
        }
    }

    @Test func `a backup replaces no file`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path + ".backup"))

            #expect(throws: StorageError.maintenance(.destinationExists)) { try database.backUp(to: path + ".backup") }
            #expect(throws: StorageError.maintenance(.destinationExists)) { try database.backUp(to: path) }

            #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".backup")) == Data([1, 2, 3]))
            try database.close()
        }
    }

    @Test func `a store in memory is backed up to the disk`() throws {
        try withStorePath { path in
            let database = try Database.inMemory(options: RandomChanges.options)
            var changes = RandomChanges(seed: 14)
            for _ in 0..<10 { try changes.commit(to: database) }

            try database.backUp(to: path)

            let (image, check) = try StoreImage.checked(at: path)
            #expect(image == (try StoreImage(of: database)))
            #expect(check.isOK, "\(check.findings)")
        }
    }

    @Test func `a backup of a damaged store fails and leaves nothing behind`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: 15)
            for _ in 0..<40 { try changes.commit(to: database) }
            let pageCount = database.statistics.pageCount
            let root = try database.beginRead().trees()[0].root
            try database.close()
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: UInt64(root) * 4096 + 100)
            try file.write(contentsOf: Data([0xA5, 0x5A, 0xA5]))
            try file.close()

            let damaged = try Database.open(path)
            let failure = #expect(throws: StorageError.self) { try damaged.backUp(to: path + ".backup") }

            #expect(failure == .corrupt(.pageChecksum, page: root, tree: 2) || failure?.isChecksum(of: root) == true)
            #expect(pageCount > 10)
            try damaged.close()
            #expect(try fileNames(beside: path) == ["test.espalier"])
        }
    }

    @Test func `a store knows the whole copies of its commits, until somebody writes to one`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: testSeed(default: 16))
            for _ in 0..<5 { try changes.commit(to: database) }
            let copy = path + ".copy"
            try database.requireNoFile(at: copy)
            try database.backUp(to: copy)

            let point = try database.newestPoint()
            #expect(try database.point(ofCopyAt: copy) == point && BackupPoint(of: copy) == point)
            #expect(throws: StorageError.maintenance(.destinationExists)) { try database.requireNoFile(at: copy) }
            func write(to database: Database) throws {
                var write = try database.beginWrite()
                _ = try write.createTree(named: "own", keys: UInt64.self)
                try write.commit()
            }
            try write(to: database)
            #expect(try database.point(ofCopyAt: copy) == point)
            #expect(try database.newestPoint().transactionID == point.transactionID + 1)
            let written = try Database.open(copy)
            try write(to: written)
            try written.close()
            #expect(try database.point(ofCopyAt: copy) == nil)

            try database.removeCopy(at: copy)
            #expect(try database.point(ofCopyAt: copy) == nil)
            try Data("a text".utf8).write(to: URL(fileURLWithPath: copy))
            #expect(try database.point(ofCopyAt: copy) == nil)
            let other = try Database.open(path + ".other")
            try other.backUp(to: path + ".foreign")
            #expect(try database.point(ofCopyAt: path + ".foreign") == nil)
            try other.close()
            try database.close()
        }
    }

    @Test func `a copy for a trial has the identifier of its store, and is written without it`() throws {
        try withStorePath { path in
            let database = try Database.open(path, options: RandomChanges.options)
            var changes = RandomChanges(seed: testSeed(default: 17))
            for _ in 0..<5 { try changes.commit(to: database) }
            let image = try StoreImage(of: database)

            try database.copyForTrial(to: path + ".trial")

            let trial = try Database.open(path + ".trial")
            #expect(try trial.storeIdentifier == database.storeIdentifier && StoreImage(of: trial) == image)
            for _ in 0..<3 { try changes.commit(to: trial) }
            try trial.close()
            #expect(try StoreImage(of: database) == image)
            try database.removeCopy(at: path + ".trial")
            try database.close()
            #expect(try fileNames(beside: path) == ["test.espalier"])
        }
    }

    /// A second bitmap page needs a store of 126 MiB, which is too slow for everyday debug builds.
    @Test(.enabled(if: campaignCount("ESPALIER_LARGE_COPY", default: 0) > 0))
    func `a store of more than one bitmap page is copied and compacted`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            let value = [UInt8](repeating: 7, count: 140 << 20)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "large", keys: UInt64.self)
            try write.put([1], for: 0, in: tree)
            try write.put(value, for: 1, in: tree)
            try write.put([2], for: 2, in: tree)
            try write.commit()

            try database.backUp(to: path + ".backup")
            try database.compact(to: path + ".compact")

            for copy in [path + ".backup", path + ".compact"] {
                let (image, check) = try StoreImage.checked(at: copy)
                #expect(check.isOK, "\(check.findings)")
                #expect(image.entries["large"]?.values.map(\.count).sorted() == [1, 1, value.count])
            }
            try database.close()
        }
    }
}

extension StorageError {
    /// Whether the error is a wrong checksum of `page`.
    fileprivate func isChecksum(of page: PageNumber) -> Bool {
        guard case .corruption(let corruption) = self else { return false }
        return corruption.rule == .pageChecksum && corruption.page == page
    }
}
