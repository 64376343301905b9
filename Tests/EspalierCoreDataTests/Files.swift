// SQLite files of this folder, decompressed into a file system in memory.

import EspalierCoreData
import EspalierEngine
import EspalierModelFile
import Foundation
import Testing

enum Files {
    /// The folder with the files.
    static var folder: URL { URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Stores") }

    /// The bytes of a file that is kept compressed.
    static func bytes(_ name: String) throws -> [UInt8] {
        let compressed = try Data(contentsOf: folder.appending(path: name + ".deflate"))
        return try Inflation.inflate([UInt8](compressed), byteCountMax: 1 << 26)
    }

    /// The model of the stores whose names begin with `zoo`.
    static func zooModel() throws -> ModelDocument {
        try ModelDocument(contentsOf: folder.appending(path: "Zoo.xcdatamodel"))
    }

    /// A file system with these files.
    static func system(_ files: [String: [UInt8]]) throws -> MemoryFileSystem {
        let system = MemoryFileSystem()
        for (name, bytes) in files {
            let file = try system.open(name, role: .store, mode: .createExclusively)
            // SAFETY: the bytes outlive the call.
            try unsafe bytes.withUnsafeBytes { try unsafe file.writeFully($0, at: 0) }
        }
        return system
    }

    /// A log of these frames with right checksums; `pageCount` is 0 for a frame that does not commit.
    static func log(_ frames: [(page: UInt32, bytes: [UInt8], pageCount: UInt32)]) -> [UInt8] {
        func bytes(_ numbers: [UInt32]) -> [UInt8] {
            numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) } }
        }
        let salts: [UInt32] = [17, 18]
        var log = bytes([0x377F_0682, 3_007_000, UInt32(frames[0].bytes.count), 0] + salts)
        var checksum = SQLiteLogChecksum(isBigEndian: false)
        checksum.add(log, 0..<24)
        log += bytes([checksum.first, checksum.second])
        for frame in frames {
            let head = bytes([frame.page, frame.pageCount])
            checksum.add(head, 0..<8)
            checksum.add(frame.bytes, 0..<frame.bytes.count)
            log += head + bytes(salts + [checksum.first, checksum.second]) + frame.bytes
        }
        return log
    }

    /// The database in a file, with other files beside it.
    static func database(_ name: String, with others: [String: String] = [:]) throws -> SQLiteDatabase {
        var files = ["file": try bytes(name)]
        for (suffix, other) in others { files["file" + suffix] = try bytes(other) }
        return try SQLiteDatabase("file", in: try system(files))
    }
}

/// The rows that the maker of the files has put into the table `sample`.
enum Sample {
    /// The values of row `number`, as the maker's formula gives them.
    static func row(_ number: Int) -> [SQLiteValue] {
        let text = String(repeating: "row \(number) ", count: number % 7) + "é𝄞"
        var power: Int64 = 1
        for _ in 0..<number % 13 { power *= 7 }
        let base = Int64(number - 50)
        return [
            .integer(Int64(number * 3)), number % 11 == 0 ? .null : .text(text), .integer(base * base * base * power),
            .real(Double(number) / 4 - 5),
            .blob([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number * 37 % 2900)),
        ]
    }

    /// All rows of the table, with row IDs where records have none and real numbers where these are kept as integers.
    static func rows(in database: SQLiteDatabase) throws -> [[SQLiteValue]] {
        let table = try #require(try database.table("SAMPLE"))
        var cursor = table.rows()
        var rows: [[SQLiteValue]] = []
        while try cursor.next() {
            var row = (0..<table.columns.count).map { cursor.record.value($0) }
            if let place = table.rowIDColumn { row[place] = .integer(cursor.rowID) }
            if row.count > 3, case .integer(let number) = row[3] { row[3] = .real(Double(number)) }
            rows.append(row)
        }
        return rows
    }
}
