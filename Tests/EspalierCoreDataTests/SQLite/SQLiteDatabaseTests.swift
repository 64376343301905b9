// Files that the SQLite library has written are read as it reads them.

import EspalierCoreData
import EspalierEngine
import Foundation
import Testing

@Suite struct SQLiteDatabaseTests {
    private func expectSample(_ database: SQLiteDatabase, count: Int) throws {
        let rows = try Sample.rows(in: database)
        #expect(rows.count == count)
        for (place, row) in rows.enumerated() { #expect(row == Sample.row(place + 1)) }
    }

    @Test(arguments: [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536])
    func `rows of files with every size of pages are read, with chains of overflow pages`(pageSize: Int) throws {
        let database = try Files.database("page-\(pageSize).sqlite")

        #expect(database.pageSize == pageSize)
        #expect(database.encoding == .utf8)
        try expectSample(database, count: 120)
    }

    @Test(arguments: [("utf-16le", SQLiteTextEncoding.utf16LittleEndian), ("utf-16be", .utf16BigEndian)])
    func `text in UTF-16 is read in both byte orders`(name: String, encoding: SQLiteTextEncoding) throws {
        let database = try Files.database("\(name).sqlite")

        #expect(database.encoding == encoding)
        try expectSample(database, count: 120)
    }

    @Test(arguments: ["page-512", "page-65536", "utf-16le", "vacuum"])
    func `entries of an index come in its order, each with the ID of its row`(name: String) throws {
        let database = try Files.database("\(name).sqlite")
        var entries = try #require(database.entries(ofIndex: "by_words"))
        var ids: Set<Int64> = []
        var last: SQLiteValue?
        while try entries.next() {
            #expect(entries.record.count == 3)
            if case .text(let text)? = last, case .text(let next) = entries.record.value(0) {
                #expect(!next.unicodeScalars.lexicographicallyPrecedes(text.unicodeScalars))
            }
            last = entries.record.value(0)
            ids.insert(try #require(entries.record.integer(2)))
        }

        #expect(ids == Set(try Sample.rows(in: database).map { if case .integer(let id) = $0[0] { id } else { 0 } }))
    }

    @Test func `reserved bytes at the end of pages are no part of rows`() throws {
        try expectSample(try Files.database("reserved.sqlite"), count: 120)
    }

    @Test func `pages of deleted rows and pointer maps are not read`() throws {
        try expectSample(try Files.database("vacuum.sqlite"), count: 120)
    }

    @Test(arguments: ["page-512", "page-4096", "reserved"])
    func `a row is found by its ID, and one that is not there is not`(name: String) throws {
        let table = try #require(try Files.database("\(name).sqlite").table("sample"))
        var cursor = table.rows()
        for number in [1, 2, 17, 60, 119, 120] {
            #expect(try cursor.seek(Int64(number * 3)))
            #expect(cursor.record.value(4) == Sample.row(number)[4])
            #expect(try !cursor.seek(Int64(number * 3 + 1)))
        }
        #expect(try !cursor.seek(.min))
        #expect(try !cursor.seek(.max))
    }

    // MARK: Logs and journals

    @Test(arguments: ["log.sqlite-wal", "log-big.sqlite-wal"])
    func `commits in a log count, frames after the last commit do not`(log: String) throws {
        let database = try Files.database("log.sqlite", with: ["-wal": log])

        try expectSample(database, count: 120)
        #expect(!database.hasUnreadLog)
    }

    @Test func `without its log a file has the rows of the last checkpoint`() throws {
        try expectSample(try Files.database("log.sqlite"), count: 60)
    }

    @Test func `a log that is cut off anywhere gives a commit or the file as it was`() throws {
        let (file, log) = (try Files.bytes("log.sqlite"), try Files.bytes("log.sqlite-wal"))
        var counts: Set<Int> = []
        for length in stride(from: 0, to: log.count, by: 1_000) {
            let system = try Files.system(["file": file, "file-wal": Array(log[..<length])])
            let rows = try Sample.rows(in: try SQLiteDatabase("file", in: system))
            for (place, row) in rows.enumerated() { try #require(row == Sample.row(place + 1)) }
            counts.insert(rows.count)
        }

        #expect(counts == [60, 90, 120])
    }

    @Test func `a flipped bit in the log ends it there`() throws {
        let file = try Files.bytes("log.sqlite")
        let whole = try Files.bytes("log.sqlite-wal")
        for place in stride(from: 3, to: whole.count, by: 5_003) {
            var log = whole
            log[place] ^= 4
            let system = try Files.system(["file": file, "file-wal": log])
            let count = try Sample.rows(in: try SQLiteDatabase("file", in: system)).count
            // The frames of the two commits end at these places.
            #expect(count == (place < 32 + 117 * 536 ? 60 : place < 32 + 203 * 536 ? 90 : 120))
        }
    }

    @Test func `a log without a valid header is not read, as SQLite does not read it, and that is told`() throws {
        let system = try Files.system([
            "file": try Files.bytes("log.sqlite"), "file-wal": [UInt8](repeating: 7, count: 600),
        ])
        let database = try SQLiteDatabase("file", in: system)

        #expect(database.hasUnreadLog)
        try expectSample(database, count: 60)
    }

    @Test func `a log with pages of another size is refused`() throws {
        let system = try Files.system([
            "file": try Files.bytes("page-1024.sqlite"), "file-wal": try Files.bytes("log.sqlite-wal"),
        ])

        let error = #expect(throws: SQLiteFileError.self) { _ = try SQLiteDatabase("file", in: system) }
        #expect(error?.rule == .log)
    }

    @Test func `a journal that has to be rolled back is refused, one whose header is erased is not`() throws {
        let error = #expect(throws: SQLiteFileError.self) {
            _ = try Files.database("journal.sqlite", with: ["-journal": "journal.sqlite-journal"])
        }
        #expect(error?.rule == .noHotJournal)
        let system = try Files.system([
            "file": try Files.bytes("page-512.sqlite"), "file-journal": [UInt8](repeating: 0, count: 512),
        ])
        try expectSample(try SQLiteDatabase("file", in: system), count: 120)
    }

    // MARK: Definitions

    @Test func `names in quotes, types, constraints and comments of a definition are told apart`() throws {
        let table = try #require(try Files.database("definitions.sqlite").table("a \"b\""))

        #expect(table.columns == ["one, two", "three", "four", "primary"])
        #expect(table.rowIDColumn == 3)
        var cursor = table.rows()
        #expect(try cursor.next())
        #expect(cursor.rowID == 7)
        #expect((0..<4).map { cursor.record.value($0) } == [.integer(1), .real(2.5), .text("x"), .null])
    }

    @Test func `a key in descending order is no row ID`() throws {
        let table = try #require(try Files.database("definitions.sqlite").table("descending"))
        var cursor = table.rows()

        #expect(table.rowIDColumn == nil)
        #expect(try cursor.next())
        #expect(cursor.record.value(0) == .integer(5))
    }

    @Test func `a row from before a column was added has no value for it`() throws {
        let table = try #require(try Files.database("definitions.sqlite").table("grown"))
        var cursor = table.rows()

        #expect(try cursor.next())
        try table.check(cursor.record)
        #expect(cursor.record.value(2) == .null && cursor.record.isNull(2))
        #expect(try cursor.next())
        #expect(cursor.record.value(2) == .text("value"))
        #expect(try !cursor.next())
    }

    @Test func `a row whose value is the default of an added column is refused`() throws {
        let table = try #require(try Files.database("definitions.sqlite").table("filled"))
        var cursor = table.rows()
        #expect(try cursor.next())

        let error = #expect(throws: SQLiteFileError.self) { try table.check(cursor.record) }
        #expect(error?.rule == .tableDefinition)
    }

    @Test(arguments: [("keyed", SQLiteFileError.Rule.rowIDs), ("computed", .tableDefinition)])
    func `tables without row IDs and computed columns are refused by name`(
        name: String, rule: SQLiteFileError.Rule
    ) throws {
        let database = try Files.database("definitions.sqlite")

        let error = #expect(throws: SQLiteFileError.self) { _ = try database.table(name) }
        #expect(error?.rule == rule)
        #expect(error?.message.contains(name) == true)
        #expect(try database.table("looked") == nil)
    }

    @Test(arguments: [
        "", "CREATE", "CREATE TABLE", "CREATE TABLE a", "CREATE TABLE a (", "CREATE TABLE a ()", "CREATE TABLE a (b",
        "CREATE TABLE a (\"b)", "CREATE TABLE a (,)", "CREATE VIRTUAL TABLE a (b)", "CREATE TABLE a (b AS (1))",
    ])
    func `a definition that is none is refused`(statement: String) {
        var parser = SQLiteTableParser(statement)

        #expect(throws: SQLiteTableParser.Fault.self) { _ = try parser.definition() }
    }
}
