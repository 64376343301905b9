// Reads and writes that transfer less than asked, and names that are in use.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

/// A file of ten bytes whose reads and writes transfer one or two bytes at a time.
private final class HaltingFile: StorageFile {
    let role = FileRole.store
    let identity = FileIdentity(device: 1 << 42, inode: 1)
    let content = Mutex([UInt8](0..<10))

    func size() throws(StorageError) -> UInt64 { 10 }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        let rest = content.withLock { $0.dropFirst(Int(offset)) }
        let count = min(rest.count, buffer.count, Int(offset) % 2 + 1)
        // SAFETY: `count` bytes fit into the buffer.
        unsafe buffer.copyBytes(from: rest.prefix(count))
        return count
    }
    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
        let count = min(buffer.count, Int(offset) % 2 + 1)
        // SAFETY: the buffer is valid during the call.
        let bytes = unsafe [UInt8](buffer.prefix(count))
        content.withLock { $0.replaceSubrange(Int(offset)..<Int(offset) + count, with: bytes) }
        return count
    }
    func sync(_ level: SyncLevel) throws(StorageError) {}
    func truncate(to byteCount: UInt64) throws(StorageError) {}
    func allocate(to byteCount: UInt64) throws(StorageError) {}
    func lockForWriting() throws(StorageError) {}
    func close() throws(StorageError) {}
}

@Suite struct FileSystemTests {
    @Test func `what a read or write left out is read and written, too`() throws {
        let file = HaltingFile()
        let bytes = ScratchBytes(byteCount: 16)

        #expect(try bytes.read(0..<7, from: file, at: 1) == 7)
        #expect(bytes.with(0..<7) { $0.loadBytes(at: 0, count: 7) } == [UInt8](1..<8))
        #expect(try bytes.read(0..<16, from: file, at: 4) == 6)
        bytes.store([UInt8](repeating: 99, count: 6), at: 0)
        try bytes.write(0..<6, to: file, at: 2)
        #expect(file.content.withLock { $0 } == [0, 1, 99, 99, 99, 99, 99, 99, 8, 9])
    }

    @Test func `a name that is taken is not given to another file`() throws {
        try withTemporaryFolder { folder in
            let paths = ["old", "new"].map { folder.appending(path: $0).path }
            let old = try PosixFileSystem.shared.entry(at: paths[0])
            let new = DirectoryEntry(old.directory, "new")
            try Data([1]).write(to: URL(filePath: paths[0]))
            try Data([2]).write(to: URL(filePath: paths[1]))

            #expect(try !old.renameExclusively(to: new, role: .store))
            #expect(try Data(contentsOf: URL(filePath: paths[1])) == Data([2]))
            try new.remove(role: .store)
            #expect(try old.renameExclusively(to: new, role: .store))
            #expect(try Data(contentsOf: URL(filePath: paths[1])) == Data([1]))
            #expect(try old.identity(role: .store) == nil)
        }
    }

    @Test func `a frame is read only under its own position and page number`() throws {
        let image = try LogImage(commits: 2)
        let frame = try #require(try image.frames(at: 0).first { $0.header.type == .page })
        let system = image.machine
        // SAFETY: the span does not leave the closure.
        let seed = try unsafe image.store.withUnsafeBytes { try Superblock(decoding: unsafe $0.bytes).hashSeed }
        let files = StoreFiles(
            store: try system.open("store", role: .store, mode: .readOnly), geometry: StoreGeometry(pageSize: 4096),
            storeSeed: seed, mayChangeUnderneath: false)
        files.log = try system.open("store-wal", role: .log, mode: .readOnly)
        let page = ScratchPage(byteCount: 4096)
        func read(_ number: PageNumber, _ lsn: UInt64) throws -> Bool {
            try files.readFrame(
                of: number, at: LogPlace(lsn: lsn, fileOffset: UInt64(frame.offset)), to: page.view)
        }

        #expect(try read(frame.header.page, frame.header.lsn))
        #expect(try !read(frame.header.page, frame.header.lsn + 1))
        #expect(try !read(frame.header.page + 1, frame.header.lsn))

    }
}
