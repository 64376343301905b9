// Files that are damaged anywhere give an error or rows, and always an end: no trap, no endless walk.

import EspalierCoreData
import EspalierEngine
import Testing
import TestSupport

@Suite struct SQLiteDamageTests {
    /// Reads everything in a file, and counts the rows.
    private func readAll(_ files: [String: [UInt8]]) throws -> Int {
        let database = try SQLiteDatabase("file", in: try Files.system(files))
        var count = 0
        for entry in database.schema {
            if entry.type == "index", var entries = database.entries(ofIndex: entry.name) {
                while try entries.next() { for place in 0..<entries.record.count { _ = entries.record.value(place) } }
            }
            guard entry.type == "table", let table = try database.table(entry.name) else { continue }
            var cursor = table.rows()
            while try cursor.next() {
                for place in 0..<cursor.record.count { _ = cursor.record.value(place) }
                count += 1
            }
            _ = try cursor.seek(50)
        }
        return count
    }

    @Test func `a flipped bit of any byte of a file gives an error or rows`() throws {
        let file = try Files.bytes("page-512.sqlite")
        var chance = SeededGenerator(seed: testSeed(default: 1701))
        var rules: [SQLiteFileError.Rule: Int] = [:]
        // Each time the whole file is read.
        let step = campaignCount("ESPALIER_SQLITE_FLIP_STEP", default: 241)
        for place in stride(from: Int.random(in: 0..<step, using: &chance), to: file.count, by: step) {
            var damaged = file
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
            do { _ = try readAll(["file": damaged]) } catch let error as SQLiteFileError {
                rules[error.rule, default: 0] += 1
                #expect(error.path == "file" && !error.message.isEmpty)
            }
        }

        #expect(rules.count >= 4)
    }

    @Test func `every byte of the first page may have any value`() throws {
        let file = try Files.bytes("definitions.sqlite")
        var chance = SeededGenerator(seed: testSeed(default: 1702))
        for place in 0..<512 {
            var damaged = file
            damaged[place] = UInt8.random(in: 0...255, using: &chance)
            do { _ = try readAll(["file": damaged]) } catch is SQLiteFileError {}
        }
    }

    @Test func `a file that is cut off anywhere gives an error or rows`() throws {
        let file = try Files.bytes("utf-16le.sqlite")
        for length in stride(from: 0, to: file.count, by: 1_777) {
            do { _ = try readAll(["file": Array(file[..<length])]) } catch is SQLiteFileError {}
        }
    }

    @Test(arguments: [99, 100, 511, 512, 4_096, -512, -1])
    func `a file that is cut short is refused as one, with what to do`(length: Int) throws {
        let file = try Files.bytes("page-512.sqlite")
        let rest = Array(file[..<(length < 0 ? file.count + length : length)])

        let error = try #require(throws: SQLiteFileError.self) { _ = try readAll(["file": rest]) }
        #expect(error.rule == .complete)
        #expect(error.description.hasPrefix("file: the file "))
        #expect(error.description.contains("\(rest.count) bytes"))
        #expect(error.description.contains("; copy the whole file again"))
    }

    @Test func `a file that its log completes is read, and one that lacks a page is refused`() throws {
        let (file, log) = (try Files.bytes("log.sqlite"), try Files.bytes("log-big.sqlite-wal"))
        let count = try readAll(["file": file, "file-wal": log])
        let pageSize = Int(file[16]) << 8 | Int(file[17])
        var rests: [SQLiteFileError.Rule?: Int] = [:]
        for length in stride(from: pageSize, to: file.count, by: pageSize) {
            var rule: SQLiteFileError.Rule?
            do throws(any Error) {
                #expect(try readAll(["file": Array(file[..<length]), "file-wal": log]) == count)
            } catch let error as SQLiteFileError {
                rule = error.rule
            }
            rests[rule, default: 0] += 1
        }

        #expect(Set(rests.keys).isSubset(of: [nil, .complete]))
    }

    @Test func `every rule says what would be right`() {
        for rule in SQLiteFileError.Rule.allCases { #expect(rule.remedy.count > 20) }
    }

    /// The file with a number of four bytes at an offset.
    private func changed(_ file: [UInt8], at offset: Int, to number: UInt32) -> [UInt8] {
        var file = file
        for place in 0..<4 { file[offset + place] = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * place)) }
        return file
    }

    /// The number of the first page of this kind.
    private func page(ofKind kind: UInt8, in file: [UInt8]) throws -> Int {
        try #require((1..<file.count / 512).first { file[$0 * 512] == kind }) + 1
    }

    @Test func `a tree whose page leads to itself is refused`() throws {
        let file = try Files.bytes("page-512.sqlite")
        let number = try page(ofKind: 5, in: file)
        let damaged = changed(file, at: (number - 1) * 512 + 8, to: UInt32(number))

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": damaged]) }
        #expect(error?.rule == .treeShape || error?.rule == .keyOrder)
    }

    @Test func `a chain of overflow pages that leads to itself is refused`() throws {
        let file = try Files.bytes("page-512.sqlite")
        // A page of data and nothing else is one of a chain.
        let number =
            try #require(
                (1..<file.count / 512).first { page in
                    let bytes = file[page * 512 + 4..<page * 512 + 512]
                    return Set(bytes).count == 1 && bytes.first != 0
                }) + 1
        let damaged = changed(file, at: (number - 1) * 512, to: UInt32(number))

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": damaged]) }
        #expect(error?.rule == .overflowChain)
    }

    @Test func `cells of a page that overlap are refused`() throws {
        var file = try Files.bytes("page-512.sqlite")
        let start = (try page(ofKind: 10, in: file) - 1) * 512
        // One cell of 101 bytes, a blob in a record of 100 bytes, to which six pointers lead.
        file.replaceSubrange(start..<start + 512, with: [UInt8](repeating: 0, count: 512))
        file.replaceSubrange(start..<start + 5, with: [10, 0, 0, 0, 6])
        for pointer in stride(from: start + 8, to: start + 20, by: 2) {
            file.replaceSubrange(pointer..<pointer + 2, with: [1, 144])
        }
        file.replaceSubrange(start + 400..<start + 404, with: [100, 3, 0x81, 0x4E])

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": file]) }
        #expect(error?.rule == .cell && error?.page == UInt32(start / 512 + 1))
        #expect(error?.message.contains("overlap") == true)
    }

    @Test func `a page that is a pointer map is refused as part of a tree`() throws {
        let file = try Files.bytes("vacuum.sqlite")
        let number = try page(ofKind: 5, in: file)
        let damaged = changed(file, at: (number - 1) * 512 + 8, to: 2)

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": damaged]) }
        #expect(error?.rule == .pageNumber && error?.page == 2)
    }

    @Test func `a page beyond the end of the file is refused`() throws {
        let file = try Files.bytes("page-512.sqlite")
        let number = try page(ofKind: 5, in: file)
        let damaged = changed(file, at: (number - 1) * 512 + 8, to: 1_000_000)

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": damaged]) }
        #expect(error?.rule == .pageNumber && error?.page == 1_000_000)
    }

    @Test(arguments: [
        (16, [0, 3], SQLiteFileError.Rule.pageSize), (0, [1], .header), (59, [9], .textEncoding),
        (20, [255], .pageSize),
    ])
    func `a header that is none is refused by its rule`(
        place: Int, bytes: [UInt8], rule: SQLiteFileError.Rule
    ) throws {
        var file = try Files.bytes("page-512.sqlite")
        file.replaceSubrange(place..<place + bytes.count, with: bytes)

        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll(["file": file]) }
        #expect(error?.rule == rule)
    }

    @Test func `a missing file is told as one`() {
        let error = #expect(throws: SQLiteFileError.self) { _ = try readAll([:]) }
        #expect(error?.rule == .readable)
    }
}
