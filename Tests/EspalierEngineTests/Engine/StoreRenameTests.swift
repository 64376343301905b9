// Stores whose files are renamed, moved or removed while they are open: commits reach the same files as before or fail,
// and never reach those of another store.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct StoreRenameTests {
    private static var readOnly: DatabaseOptions {
        var options = DatabaseOptions()
        options.access = .readOnly
        return options
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func move(_ path: String, to newPath: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: newPath)
    }

    @Test func `a store that was renamed while open goes on in its file, and a new one of its name waits`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            let first = try Database.open(path)
            try first.append(1)
            try move(path, to: moved)
            let second = try Database.open(path)

            #expect(throws: StorageError.path(.logInUse)) { try second.append(10) }
            try first.append(2)
            try first.checkpoint(.full)
            try first.append(3)
            try first.close()
            try second.append(11)
            try second.close()

            #expect(try Database.open(moved).numbers() == [1, 2, 3])
            #expect(try Database.open(path).numbers() == [11])
        }
    }

    @Test func `closing a store that was renamed with its log leaves the log of a new store of its name`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            let first = try Database.open(path)
            try first.append(1)
            try move(path, to: moved)
            try move(path + "-wal", to: moved + "-wal")
            let second = try Database.open(path)
            try second.append(10)
            try first.append(2)

            try first.close()

            #expect(exists(path + "-wal"))
            try second.append(11)
            // Copy the files that a crash at this moment would leave: both files of the second store.
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + end, toPath: folder.path + "/copy.esp" + end)
            }
            #expect(try Database.open(folder.path + "/copy.esp").numbers() == [10, 11])
            #expect(try Database.open(moved).numbers() == [1, 2])
        }
    }

    @Test func `a store that was renamed before its first write refuses to write, and makes no log`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            let database = try Database.open(path)
            try move(path, to: moved)

            #expect(throws: StorageError.database(.storeReplaced)) { try database.append(1) }
            try move(moved, to: path)
            try database.append(2)
            try database.checkpoint(.truncate)
            try move(path, to: moved)
            try Database.open(path).close()

            #expect(throws: StorageError.database(.storeReplaced)) { try database.append(3) }
            #expect(!exists(path + "-wal"))
            try database.close()
            #expect(try Database.open(moved).numbers() == [2])
            #expect(try Database.open(path).numbers() == [])
        }
    }

    @Test func `the log that a renamed store left behind in a crash is set aside, not written over`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            let first = try Database.open(folder.path + "/first.esp")
            try first.append(1)
            // Make the files that a crash would leave of a store that was renamed from `x.esp`.
            try FileManager.default.copyItem(atPath: folder.path + "/first.esp", toPath: moved)
            try FileManager.default.copyItem(atPath: folder.path + "/first.esp-wal", toPath: path + "-wal")
            #expect(throws: StorageError.opening(.logMissing)) { _ = try Database.open(moved) }
            #expect(throws: StorageError.opening(.logMissing)) { _ = try Database.open(moved, options: Self.readOnly) }

            let second = try Database.open(path)
            try second.append(10)

            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let aside = try #require(names.first { $0.hasPrefix("x.esp-wal-of-") })
            try move(folder.path + "/" + aside, to: moved + "-wal")
            #expect(try Database.open(moved).numbers() == [1])
            #expect(try second.numbers() == [10])
        }
    }

    @Test func `a log is set aside beside an earlier one of the same store, and after a crash within its rename`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.path + "/x.esp"
            let first = try Database.open(folder.path + "/first.esp")
            try first.append(1)
            let second = try Database.open(path)
            func asides() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("-of-") }.sorted()
            }

            for number in UInt64(2)..<4 {
                try FileManager.default.copyItem(atPath: folder.path + "/first.esp-wal", toPath: path + "-wal")
                try second.append(number)
                try second.checkpoint(.truncate)
                try first.append(number)
            }
            let kept = try asides()
            #expect(kept.count == 2 && kept.last == kept.first.map { $0 + "-2" })
            // An interrupted rename: one file with both names.
            let name = try #require(kept.last)
            try FileManager.default.linkItem(atPath: folder.path + "/" + name, toPath: path + "-wal")
            try FileManager.default.removeItem(atPath: folder.path + "/" + (kept.first ?? ""))
            try move(folder.path + "/" + name, to: folder.path + "/" + (kept.first ?? ""))
            try second.append(4)

            #expect(try asides() == [kept.first])
            #expect(try second.numbers() == [2, 3, 4])
            try second.close()
            try FileManager.default.copyItem(atPath: folder.path + "/first.esp", toPath: folder.path + "/copy.esp")
            try move(folder.path + "/" + (kept.first ?? ""), to: folder.path + "/copy.esp-wal")
            #expect(try Database.open(folder.path + "/copy.esp").numbers() == [1, 2])
        }
    }

    @Test func `a folder that is renamed or moved takes its open store with it`() throws {
        try withTemporaryFolder { folder in
            let (old, new) = (folder.path + "/old", folder.path + "/deep/er/new")
            for name in [old, folder.path + "/deep/er"] {
                try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
            }
            let database = try Database.open(old + "/x.esp")
            try move(old, to: new)
            try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: true)
            let other = try Database.open(old + "/x.esp")
            try other.append(10)

            try database.append(1)
            #expect(exists(new + "/x.esp-wal"))
            try database.close()

            #expect(!exists(new + "/x.esp-wal") && exists(old + "/x.esp-wal"))
            #expect(try other.numbers() == [10])
            #expect(try Database.open(new + "/x.esp").numbers() == [1])
        }
    }

    @Test func `a store whose file was removed says so at the next commit, and can still be read and backed up`() throws
    {
        try withTemporaryFolder { folder in
            let place = folder.path + "/place"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let database = try Database.open(place + "/x.esp")
            try database.append(1)

            try FileManager.default.removeItem(atPath: place)

            for _ in 0..<2 {
                #expect(throws: StorageError.database(.removed(.store))) { try database.append(2) }
                #expect(throws: StorageError.database(.removed(.store))) { try database.checkpoint() }
            }
            #expect(try database.numbers() == [1])
            try database.backUp(to: folder.path + "/copy.esp")
            #expect(throws: StorageError.database(.removed(.store))) { try database.close() }
            #expect(try Database.open(folder.path + "/copy.esp").numbers() == [1])
            #expect(!exists(place))
        }
    }

    @Test func `a store whose log was removed says so at the next commit, and closing saves what was committed`() throws
    {
        try withTemporaryFolder { folder in
            let path = folder.path + "/x.esp"
            let database = try Database.open(path)
            try database.append(1)

            try FileManager.default.removeItem(atPath: path + "-wal")

            for _ in 0..<2 { #expect(throws: StorageError.database(.removed(.log))) { try database.append(2) } }
            try database.close()
            #expect(try Database.open(path).numbers() == [1])
        }
    }

    @Test func `a store whose files were removed says so at the very next durable commit, others within a millisecond`()
        throws
    {
        for durability in [Durability.durable, .ordered] {
            try withTemporaryFolder { folder in
                let system = HandSetClock()
                let database = try Database.open(folder.path + "/x.esp", in: system, options: DatabaseOptions())
                try database.append(1, durability)

                for end in ["", "-wal"] { try FileManager.default.removeItem(atPath: folder.path + "/x.esp" + end) }

                if durability == .ordered {
                    // Commits without a sync look at the files only once a millisecond, to save calls of the system.
                    try database.append(2, durability)
                    system.time.add(1_000_000, ordering: .relaxed)
                }
                #expect(throws: StorageError.database(.removed(.store))) { try database.append(3, durability) }
                #expect(try database.numbers() == (durability == .durable ? [1] : [1, 2]))
            }
        }
    }

    @Test func `a reader of a store that was renamed or removed is told to open it again`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            let database = try Database.open(path)
            try database.append(1)
            let elsewhere = DisguisedFileSystem(device: 5)
            let reader = try Database.open(path, in: elsewhere, options: Self.readOnly)
            #expect(try reader.numbers() == [1])

            try move(path, to: moved)

            #expect(throws: StorageError.database(.storeReplaced)) { _ = try reader.beginRead().transactionID }
            try move(path + "-wal", to: moved + "-wal")
            let again = try Database.open(moved, in: elsewhere, options: Self.readOnly)
            try database.append(2)
            #expect(try again.numbers() == [1, 2])
        }
    }

    @Test func `a reader whose writer closes between slot and log sees the commits, and misses no log`() throws {
        try withTemporaryFolder { folder in
            let path = folder.path + "/x.esp"
            let database = try Database.open(path)
            try database.append(1)
            let isClosed = Mutex(false)
            let elsewhere = DisguisedFileSystem(device: 9) { role in
                guard role == .log, !isClosed.withLock({ $0 }) else { return }
                isClosed.withLock { $0 = true }
                try? database.close()
            }

            let reader = try Database.open(path, in: elsewhere, options: Self.readOnly)

            #expect(isClosed.withLock { $0 })
            #expect(try reader.numbers() == [1])
        }
    }

    @Test func `a compaction whose store was renamed meanwhile replaces nothing`() throws {
        try withTemporaryFolder { folder in
            let (path, moved) = (folder.path + "/x.esp", folder.path + "/moved.esp")
            var database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "numbers", keys: UInt64.self)
            for number in 0..<20_000 as Range<UInt64> {
                try write.put([UInt8](repeating: 1, count: 100), for: number, in: tree)
            }
            try write.commit()
            try database.close()

            #expect(throws: StorageError.database(.storeReplaced)) {
                try Database.compact(at: path) { _ in
                    if !exists(moved) {
                        try? move(path, to: moved)
                        try? Database.open(path).close()
                    }
                    return true
                }
            }

            database = try Database.open(path)
            #expect(try database.numbers() == [])
            #expect(try Database.open(moved).numbers().count == 20_000)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        }
    }
}

/// The operating system's files, with a clock that only the test advances.
private final class HandSetClock: FileSystem {
    let time = Atomic<UInt64>(1_800_000_000_000_000_000)

    func entry(at path: String) throws(StorageError) -> DirectoryEntry { try PosixFileSystem.shared.entry(at: path) }
    func now() -> UInt64 { time.load(ordering: .relaxed) }
    func random() -> UInt64 { PosixFileSystem.shared.random() }
}
