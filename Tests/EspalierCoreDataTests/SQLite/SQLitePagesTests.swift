// The number of pages of a file with a log is no claim: the file or its log has each of them.

import EspalierCoreData
import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct SQLitePagesTests {
    /// The broken rule if the schema of a file cannot be read with this log.
    private func rule(_ file: [UInt8], _ log: [UInt8]) throws -> SQLiteFileError.Rule? {
        let system = try Files.system(["file": file, "file-wal": log])
        do throws(SQLiteFileError) {
            _ = try SQLiteDatabase("file", in: system)
            return nil
        } catch {
            return error.rule
        }
    }

    @Test(arguments: [1, 2, 1_000, 0x00FF_FFFF, 0xFFFF_0000] as [UInt32])
    func `a log that claims more pages than it and the file have is refused`(surplus: UInt32) throws {
        let file = try Files.bytes("page-512.sqlite")
        let count = UInt32(file.count / 512)
        let page = [UInt8](repeating: 0, count: 512)

        #expect(try rule(file, Files.log([(count + 1, page, count + 1)])) == nil)
        #expect(try rule(file, Files.log([(count + 1, page, count + 1 + surplus)])) == .complete)
        // A page that the file has too is no other one.
        #expect(try rule(file, Files.log([(count, page, 0), (count + 1, page, count + 2)])) == .complete)
    }

    @Test func `a page of the log beyond the end of the committed file takes the place of no other`() throws {
        let file = try Files.bytes("page-512.sqlite")
        let count = UInt32(file.count / 512)
        let page = [UInt8](repeating: 0, count: 512)

        #expect(try rule(file, Files.log([(count + 5, page, count + 1)])) == .complete)
        #expect(try rule(file, Files.log([(count + 5, page, count)])) == nil)
    }

    // MARK: Files of gigabytes, which take no room because nothing is written in most of their pages

    /// A page of 65,536 bytes with the header of a file and a schema without entries.
    private static var firstPage: [UInt8] {
        var page = Array("SQLite format 3".utf8) + [UInt8](repeating: 0, count: 65_536 - 15)
        // A page size of 1 stands for 65,536; UTF-8; a leaf of a table.
        (page[17], page[59], page[100]) = (1, 1, 13)
        return page
    }

    /// Opens a file of `pageCount` pages with a log beside it; returns the number of pages that the reader counts.
    private func pageCount(
        _ pageCount: UInt64, firstPage: [UInt8] = Self.firstPage, log: [UInt8]? = nil
    ) throws -> UInt32 {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "file")
            try Data(firstPage).write(to: file)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: pageCount * 65_536)
            try handle.close()
            if let log { try Data(log).write(to: folder.appending(path: "file-wal")) }
            return try SQLiteDatabase(file.path).pageCount
        }
    }

    @Test func `the page that SQLite never writes is the only one that may be missing`() throws {
        let (lock, page) = (UInt32(16_385), [UInt8](repeating: 0, count: 65_536))

        #expect(try pageCount(16_384, log: Files.log([(lock + 1, page, lock + 1)])) == lock + 1)
        let error = #expect(throws: SQLiteFileError.self) {
            try pageCount(16_384, log: Files.log([(lock + 1, page, lock + 2)]))
        }
        #expect(error?.rule == .complete)
        let other = #expect(throws: SQLiteFileError.self) {
            try pageCount(16_383, log: Files.log([(lock + 1, page, lock + 1)]))
        }
        #expect(other?.rule == .complete)
    }

    @Test(arguments: [
        ([0x87, 0xFF, 0xFF, 0xFF, 0x7F], SQLiteFileError.Rule.overflowChain), ([0x88, 0x80, 0x80, 0x80, 0], .cell),
    ])
    func `a record longer than any that SQLite writes is refused before its pages are read`(
        length: [UInt8], rule: SQLiteFileError.Rule
    ) throws {
        // The one cell of the schema begins after its pointer.
        var page = Self.firstPage
        page.replaceSubrange(103..<105, with: [0, 1])
        page.replaceSubrange(108..<110, with: [0, 110])
        page.replaceSubrange(110..<116, with: length + [1])

        let error = #expect(throws: SQLiteFileError.self) { try pageCount(50_000, firstPage: page) }
        #expect(error?.rule == rule)
    }
}
