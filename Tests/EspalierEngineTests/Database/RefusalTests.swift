// Refusals and their errors: calls that make no sense, files that contradict themselves.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct RefusalTests {
    private static func failure(_ operation: IOOperation, _ file: FileRole, _ errno: Int32) -> StorageError {
        .io(IOFailure(operation: operation, file: file, errno: errno))
    }

    private typealias Row = (name: String, error: StorageError, call: () throws -> Void)

    private func expectRefused(_ rows: [Row]) {
        for row in rows { #expect(throws: row.error, "\(row.name)") { try row.call() } }
    }

    @Test func `calls that a file system cannot do fail with its reason`() throws {
        try withTemporaryFolder { folder in
            let (disk, memory) = (PosixFileSystem.shared, MemoryFileSystem())
            let (file, none) = (folder.appending(path: "file").path, folder.appending(path: "none").path)
            try Data([1]).write(to: URL(filePath: file))
            _ = try memory.open("file", role: .log, mode: .createExclusively)
            let reading = try disk.open(file, role: .store, mode: .readOnly)
            let missing = try disk.entry(at: none)
            expectRefused([
                ("look below a file", .path(.notAFolder), { _ = try disk.entry(at: file + "/x") }),
                ("look in no folder", .path(.noFolder), { _ = try disk.entry(at: none + "/x") }),
                (
                    "open a folder", .opening(.notAStore(.directory)),
                    {
                        _ = try disk.open(folder.path, role: .store, mode: .readOnly)
                    }
                ),
                (
                    "rename nothing", Self.failure(.rename, .log, Platform.noEntry),
                    {
                        try missing.rename(to: DirectoryEntry(missing.directory, "file"), role: .log)
                    }
                ),
                ("remove nothing", Self.failure(.remove, .log, Platform.noEntry), { try missing.remove(role: .log) }),
                ("cut what is read", Self.failure(.truncate, .store, 22), { try reading.truncate(to: 0) }),
                ("lock what is read", Self.failure(.lock, .store, 9), { try reading.lockForWriting() }),
                (
                    "make a file twice", Self.failure(.open, .log, Platform.exists),
                    {
                        _ = try memory.open("file", role: .log, mode: .createExclusively)
                    }
                ),
                (
                    "rename nothing in memory", Self.failure(.rename, .log, Platform.noEntry),
                    {
                        try memory.rename("none", to: "file", role: .log)
                    }
                ),
                (
                    "remove nothing in memory", Self.failure(.remove, .log, Platform.noEntry),
                    {
                        try memory.remove("none", role: .log)
                    }
                ),
            ])
            try reading.close()
        }
    }

    @Test func `trees of other keys, and writing where only reading was asked for, are refused`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let numbers = try write.createTree(named: "numbers", keys: UInt64.self)
            let words = try write.createTree(named: "words", keys: [UInt8].self)
            try write.commit()
            try database.backUp(to: path + ".0")
            let read = try database.beginRead()
            #expect(throws: StorageError.argument(.wrongKeyKind(tree: words.id))) {
                _ = try read.tree(named: "words", keys: UInt64.self)
            }
            #expect(throws: StorageError.argument(.wrongKeyKind(tree: numbers.id))) {
                _ = try read.tree(named: "numbers", keys: [UInt8].self)
            }
            var options = DatabaseOptions()
            options.access = .readOnly
            let other = try Database.open(path + ".0", options: options)
            expectRefused([
                ("a writer beside a reader", .database(.readOnly), { _ = try Database.open(path + ".0") }),
                (
                    "changes of a reader", .database(.readOnly),
                    { _ = try other.changes(after: BackupPoint(of: path + ".0")) }
                ),
            ])
            try other.close()
        }
    }

    @Test func `a backup of what is still to come for this store is no base`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try database.backUp(to: path + ".0")
            var write = try database.beginWrite()
            _ = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit()
            try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".1")
            try database.close()
            // Restore the earlier store under its own identifier.
            try Database.restore(path + ".0", to: path + ".again", keepsIdentifier: true)
            let again = try Database.open(path + ".again")
            let later = try BackupPoint(of: path + ".1")
            var forged = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".1")))
            var record = RecordBytes(byteCount: 512)
            record.store(Array(forged[..<504]), at: 0)
            record.store(UInt16(FormatVersion.major + 1), at: 16)
            record.seal(at: 504)
            forged.replaceSubrange(..<512, with: record.bytes)
            try Data(forged).write(to: URL(fileURLWithPath: path + ".2"))
            let taken = path + ".taken"
            expectRefused([
                ("changes", .backup(.otherBase), { _ = try again.changes(after: later) }),
                ("increment", .backup(.otherBase), { try again.backUpChanges(since: later, to: path + ".x") }),
                (
                    "a newer increment",
                    .opening(
                        .unsupportedFormat(
                            found: UInt32(FormatVersion.major + 1) << 16 | UInt32(FormatVersion.minor),
                            supported: UInt32(FormatVersion.major) << 16 | UInt32(FormatVersion.minor))),
                    { _ = try BackupPoint(of: path + ".2") }
                ),
                (
                    "a name that is taken meanwhile", .maintenance(.destinationExists),
                    {
                        try again.backUp(to: taken) { _ in FileManager.default.createFile(atPath: taken, contents: nil)
                        }
                    }
                ),
            ])
            try again.close()
        }
    }

    /// A machine with the store of `image`, in whose newest slot `change` was made.
    private func machine(_ image: LogImage, _ change: (inout CheckpointSlot) -> Void) throws -> SimulatedFileSystem {
        var (image, slot) = (image, try image.slot)
        change(&slot)
        image.store.replaceSubrange(slot.byteOffset..<slot.byteOffset + 512, with: slot.encoded())
        return image.machine
    }

    @Test func `a slot that names a segment beyond all counting is refused`() throws {
        let image = try LogImage(commits: 2)
        let offset = try image.slot.byteOffset
        let open = try machine(image) { $0.logStartSegment = 1 << 60 }
        #expect(throws: StorageError.corrupt(.superblockField, page: 0, byteOffset: offset)) {
            _ = try Database.open("store", in: open, options: LogImage.options)
        }
        let made = SimulatedFileSystem(seed: 3)
        try Database.open("store", in: made, options: LogImage.options).close()
        var closed = image
        closed.store = try #require(made.contents(of: "store"))
        let database = try Database.open(
            "store", in: machine(closed) { $0.logStartSegment = 1 << 60 }, options: LogImage.options)
        #expect(throws: StorageError.diskFull) { _ = try database.beginWrite() }
    }

    @Test func `a count of free pages that the bitmap does not bear out is found before a page is given out`() throws {
        let made = SimulatedFileSystem(seed: 3)
        try Database.open("store", in: made, options: LogImage.options).close()
        var image = try LogImage(commits: 1)
        image.store = try #require(made.contents(of: "store"))
        let system = try machine(image) { $0.freeCount = 1 }
        let database = try Database.open("store", in: system, options: LogImage.options)
        var write = try database.beginWrite()

        #expect(throws: StorageError.corrupt(.freeCountWrong, page: 1, byteOffset: BitmapLayout.freeCount)) {
            _ = try write.createTree(named: "t", keys: UInt64.self)
        }
        // A change that failed half-way must not be committed.
        do throws(StorageError) {
            try write.commit()
            Issue.record("half of a change was committed")
        } catch {
            #expect(error == .transaction(.failed))
        }
    }

    @Test func `a reader whose files fail, or are another store's by now, says so`() throws {
        let system = SimulatedFileSystem(seed: 3)
        let database = try Database.open("store", in: system, options: LogImage.options)
        var write = try database.beginWrite()
        _ = try write.createTree(named: "t", keys: UInt64.self)
        try write.commit()
        let image = try LogImage(system)
        let machine = image.machine
        let hooked = HookedFileSystem(over: machine)
        var options = LogImage.options
        options.access = .readOnly
        let reader = try Database.open("store", in: hooked, options: options)
        let failure = Self.failure(.read, .log, Platform.ioError)
        hooked.arm { call, role throws(StorageError) in
            if call == .read, role == .log { throw failure }
        }
        #expect(throws: failure) { _ = try reader.beginRead().transactionID }
        hooked.arm(nil)
        machine.replaceContents(of: "store", with: try LogImage(commits: 1).store)
        #expect(throws: StorageError.corrupt(.superblockField, page: 0, byteOffset: SuperblockLayout.storeIdentifier)) {
            _ = try reader.beginRead().transactionID
        }
    }
}
