// Compaction: to a new file, and in place of the store itself.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct CompactionTests {
    /// A store with much free space, closed.
    private func makeSparseStore(at path: String, seed: UInt64) throws -> StoreImage {
        let database = try Database.open(path, options: RandomChanges.options)
        var changes = RandomChanges(seed: seed)
        for _ in 0..<30 { try changes.commit(to: database) }
        var write = try database.beginWrite()
        let filler = try write.createTree(named: "filler", keys: UInt64.self)
        for key in UInt64(0)..<600 {
            try write.put([UInt8](repeating: 1, count: 500), for: key &* 7919 % 600, in: filler)
        }
        try write.commit()
        write = try database.beginWrite()
        try write.dropTree(filler)
        try write.commit()
        let image = try StoreImage(of: database)
        try database.close()
        return image
    }

    @Test func `a compact copy has all entries and tree numbers and no free page`() throws {
        try withStorePath { path in
            let expected = try makeSparseStore(at: path, seed: testSeed(default: 21))
            let database = try Database.open(path)
            let before = database.statistics

            let receipt = try database.compact(to: path + ".compact")

            let (image, check) = try StoreImage.checked(at: path + ".compact")
            #expect(image == expected)
            #expect(check.isOK, "\(check.findings)")
            #expect(check.freePageCount == 0)
            #expect(check.pageCount < before.pageCount - before.freePageCount)
            #expect(receipt.byteCount == check.pageCount * 4096)
            try database.close()
        }
    }

    @Test func `a store compacted in place keeps its identifier and never gives a tree number twice`() throws {
        try withStorePath { path in
            let expected = try makeSparseStore(at: path, seed: testSeed(default: 22))
            let identifier = try identifier(at: path)

            try Database.compact(at: path)

            let database = try Database.open(path, options: RandomChanges.options)
            #expect(database.storeIdentifier == identifier)
            #expect(try StoreImage(of: database) == expected)
            var write = try database.beginWrite()
            // The dropped tree "filler" had a number above those of all trees that are left.
            let highest = expected.treeIDs.values.max() ?? 0
            #expect(try write.createTree(named: "new", keys: [UInt8].self).id > highest + 1)
            try write.commit()
            var changes = RandomChanges(seed: 23)
            for _ in 0..<20 { try changes.commit(to: database) }
            #expect(try database.check().isOK)
            try database.close()
            let names = try FileManager.default.contentsOfDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
            #expect(names == ["test.espalier"])
        }
    }

    private func identifier(at path: String) throws -> [UInt8] {
        let database = try Database.open(path)
        defer { try? database.close() }
        return database.storeIdentifier
    }

    @Test func `a store that is open for writing is not compacted in place`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            #expect(throws: StorageError.self) { try Database.compact(at: path) }
            #expect(throws: StorageError.opening(.noSuchStore)) { try Database.compact(at: path + ".none") }
            try database.close()
        }
    }

    @Test func `a reader of a store that was compacted learns that it is outdated`() throws {
        try withStorePath { path in
            let expected = try makeSparseStore(at: path, seed: 24)
            var options = DatabaseOptions()
            options.access = .readOnly
            let reader = try Database.open(path, options: options)
            #expect(try StoreImage(of: reader) == expected)

            try Database.compact(at: path)

            #expect(throws: StorageError.database(.storeReplaced)) { _ = try reader.beginRead().transactionID }
            try reader.close()
            let again = try Database.open(path, options: options)
            #expect(try StoreImage(of: again) == expected)
            try again.close()
        }
    }

    @Test func `who opened the old file just before it was replaced writes to the new one`() throws {
        try withStorePath { path in
            let expected = try makeSparseStore(at: path, seed: 25)
            let files = SwappingFileSystem(path: path)

            let database = try Database.open(path, in: files, options: RandomChanges.options)
            var changes = RandomChanges(seed: 26)
            try changes.commit(to: database)
            let written = try StoreImage(of: database)
            try database.close()

            #expect(files.hasSwapped)
            #expect(written.transactionID == expected.transactionID + 1)
            #expect(try StoreImage.checked(at: path).image == written)
        }
    }
}

/// A file system that compacts the store after its file is opened for the first time and before it is locked.
private final class SwappingFileSystem: FileSystem {
    private let base = PosixFileSystem.shared
    private let path: String
    private let swapped = Mutex(false)
    var hasSwapped: Bool { swapped.withLock { $0 } }

    init(path: String) { self.path = path }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        let name = try base.entry(at: self.path).name
        return try WrappedDirectory.entry(at: path, of: base) { [self] opened, file throws(StorageError) in
            guard opened == name, !hasSwapped else { return file }
            swapped.withLock { $0 = true }
            try Database.compact(at: self.path)
            return file
        }
    }
    func now() -> UInt64 { base.now() }
    func random() -> UInt64 { base.random() }
}
