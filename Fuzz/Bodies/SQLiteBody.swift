// The body whose bytes are a SQLite file, perhaps with a log, perhaps a store of Core Data.
//
// Promises
//   1. Any file gives its rows or an error that names the file; walks end.
//   2. A file that looks like a store of Core Data is imported, or refused; then there is no new file.

import EspalierCoreData
import EspalierEngine
import EspalierModelFile

extension FuzzBody {
    /// The bytes are a SQLite file: the first two say how many bytes at the end are its log.
    public static let sqlite = FuzzBody(
        name: "sqlite", seeds: { ["empty": emptyFile, "empty-log": fileWithLog] },
        repair: { bytes in SQLiteLogRepair.repair(&bytes) },
        run: { bytes in
            guard bytes.count >= 2 else { return }
            let logByteCount = min(Int(bytes[0]) | Int(bytes[1]) << 8, bytes.count - 2)
            var files = ["file": Array(bytes[2..<bytes.count - logByteCount])]
            if logByteCount > 0 { files["file-wal"] = Array(bytes.suffix(logByteCount)) }
            do throws(StorageError) {
                let system = MemoryFileSystem()
                for (name, content) in files {
                    let file = try system.open(name, role: .store, mode: .createExclusively)
                    // SAFETY: the bytes outlive the call.
                    try unsafe content.span.bytes.withUnsafeBytes { bytes throws(StorageError) in
                        try unsafe file.writeFully(bytes, at: 0)
                    }
                }
                readAll(in: system)
                try importStore(in: system)
            } catch {
                preconditionFailure("a file system in memory fails: \(error)")
            }
        })

    private static func readAll(in system: MemoryFileSystem) {
        do throws(SQLiteFileError) {
            let database = try SQLiteDatabase("file", in: system)
            for entry in database.schema {
                if var entries = database.entries(ofIndex: entry.name) {
                    while try entries.next() {
                        for place in 0..<entries.record.count { _ = entries.record.value(place) }
                    }
                }
                guard entry.type == "table", let table = try database.table(entry.name) else { continue }
                var (rows, last): (SQLiteCursor, Int64?) = (table.rows(), nil)
                while try rows.next() {
                    for place in 0..<rows.record.count { _ = rows.record.value(place) }
                    if let last { precondition(last < rows.rowID, "rows do not ascend") }
                    last = rows.rowID
                }
                if let last {
                    // A tree whose interior keys are wrong may hide a row, but never gives another one.
                    if try rows.seek(last) { precondition(rows.rowID == last, "another row is found") }
                }
            }
        } catch {
            precondition(error.path.hasPrefix("file") && !error.message.isEmpty)
        }
    }

    static func importStore(
        in system: MemoryFileSystem, model: ModelDocument? = nil
    ) throws(StorageError) {
        do throws(CoreDataImportError) {
            let report = try CoreDataImport.importStore(at: "file", to: "new", model: model, in: system)
            precondition(report.isComplete == report.findings.isEmpty)
        } catch {
            precondition(!error.description.isEmpty)
            if case .checkFailed = error { preconditionFailure("\(error)") }
            let left = try system.names(beginningWith: "new")
            precondition(left.isEmpty, "the import leaves part of a store")
        }
    }

    /// A file of one page without tables.
    private static var emptyFile: [UInt8] {
        var page = [UInt8](repeating: 0, count: 514)
        page.replaceSubrange(2..<18, with: Array("SQLite format 3".utf8) + [0])
        // Pages of 512 bytes; one page; UTF-8; a leaf of a table without cells.
        (page[18], page[33], page[61], page[102], page[107]) = (2, 1, 1, 13, 2)
        return page
    }

    /// The same file with a log, whose one commit appends a page.
    private static var fileWithLog: [UInt8] {
        let page = emptyFile.dropFirst(2)
        var log = [UInt8](repeating: 0, count: SQLiteLogRepair.headerByteCount)
        for (number, pageCount) in [(UInt32(1), UInt32(0)), (2, 2)] {
            var header = [UInt8](repeating: 0, count: SQLiteLogRepair.frameHeaderByteCount)
            SQLiteLogRepair.write([number, pageCount], to: &header, at: 0)
            log += header + page
        }
        var bytes = [UInt8(log.count & 0xFF), UInt8(log.count >> 8)] + page + log
        _ = SQLiteLogRepair.repair(&bytes)
        return bytes
    }
}
