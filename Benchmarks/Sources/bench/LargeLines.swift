// Rows with large values: in the store's file, in a table of SQLite, and in files of their own beside such a table.
//
// Invariants
//   1. All contenders have the same rows, and save them in transactions of the same ten, durable.
//   2. A file of its own is written under another name, synced and renamed, and its folder is synced, before the
//      transaction of its row commits; it is removed after the transaction that deletes the row.
//   3. "Whole" means that every cache line of every value is read.

import BenchKit
import Espalier
import Foundation
import Peers

@Entity final class Scan: ManagedObject {
    var title: String = ""
    var number: Int = 0
    @Attribute(.externalStorage) var content: Data = Data()
}

/// A store of scans.
protocol ScanContender: AnyObject {
    static var name: String { get }
    init(folder: String) throws
    /// Inserts `count` scans of `byteCount` bytes.
    func insert(_ count: Int, _ byteCount: Int) throws
    /// Reads every value; returns a sum over them.
    func readWhole() throws -> Int
    /// Reads the titles as values; returns the sum of their lengths.
    func readTitles() throws -> Int
    /// Reads the titles of objects, one after the other; returns the same sum.
    func visitTitles() throws -> Int
    /// Gives every scan another title, in one transaction.
    func rename() throws
    /// Deletes all scans, in one transaction.
    func delete() throws
    func close() throws
}

struct LargeLines {
    /// The number of values of 1 MiB.
    let count: Int
    let folder: URL

    private static let batchCount = 10

    fileprivate static func title(_ number: Int) -> String { "Scan number \(number)" }

    fileprivate static func content(_ number: Int, _ byteCount: Int) -> Data {
        Data(repeating: UInt8(truncatingIfNeeded: number &* 31 &+ 1), count: byteCount)
    }

    /// Calls `body` with the numbers of each transaction.
    fileprivate static func forEachBatch(_ count: Int, _ body: (Range<Int>) throws -> Void) rethrows {
        for first in stride(from: 0, to: count, by: batchCount) { try body(first..<min(first + batchCount, count)) }
    }

    fileprivate static func sum(_ bytes: UnsafeRawBufferPointer) -> Int {
        stride(from: 0, to: bytes.count, by: 64).reduce(0) { $0 &+ Int(bytes[$1]) }
    }

    func all() -> [() -> Line] {
        [(1, 30 << 20), (count, 1 << 20)].flatMap { count, byteCount in
            let size = "\(count) of \(byteCount >> 20) MiB"
            return [
                {
                    line("large insert, \(size)", "ten a transaction, durable", count, byteCount, isEmpty: true) {
                        try $0.insert(count, byteCount)
                        return 0
                    }
                },
                {
                    line("large read, \(size)", "every cache line of every value", count, byteCount) {
                        try $0.readWhole()
                    }
                },
                {
                    line("large titles, \(size)", "rows of values: the title alone", count, byteCount) {
                        try $0.readTitles()
                    }
                },
                {
                    line("large titles of objects, \(size)", "enumerate; rows there", count, byteCount) {
                        try $0.visitTitles()
                    }
                },
                {
                    line("large rename, \(size)", "another title each, one save, durable", count, byteCount) {
                        try $0.rename()
                        return 0
                    }
                },
                {
                    line("large delete, \(size)", "all, one save, durable", count, byteCount) {
                        try $0.delete()
                        return 0
                    }
                },
            ]
        }
    }

    private func line(
        _ name: String, _ note: String, _ count: Int, _ byteCount: Int, isEmpty: Bool = false,
        _ body: @escaping (any ScanContender) throws -> Int
    ) -> Line {
        let agreement = Agreement()
        var types: [any ScanContender.Type] = [EspalierScans.self]
        if SQLite.shared != nil { types += [SQLiteScans.self, SQLiteScanFiles.self] }
        let work = StoreWork<any ScanContender>(
            folder: folder, place: "large",
            rows: isEmpty ? .nothing : .insertedAnew { try $0.insert(count, byteCount) }, body: body
        ) { sum, _ in try agreement.check(sum) }
        return Line(
            name, note: note, operationCount: count,
            contenders: work.contenders(
                types.map { type in
                    StoreContender(
                        name: type.name, open: { try type.init(folder: $0) }, close: { try $0.close() })
                }))
    }
}

final class EspalierScans: ScanContender {
    static let name = "espalier"
    private let coordinator: PersistentStoreCoordinator

    init(folder: String) throws {
        coordinator = try PersistentStoreCoordinator(file: folder + "/scans.espalier", of: [Scan.self])
    }

    func insert(_ count: Int, _ byteCount: Int) throws {
        try LargeLines.forEachBatch(count) { numbers in
            let context = ManagedObjectContext(coordinator)
            for number in numbers {
                let scan = Scan(context: context)
                (scan.title, scan.number) = (LargeLines.title(number), number)
                scan.content = LargeLines.content(number, byteCount)
            }
            try context.save()
        }
    }

    func readWhole() throws -> Int {
        var sum = 0
        try ManagedObjectContext(coordinator).enumerate(FetchRequest<Scan>(), batchSize: 10) { scan in
            sum &+= scan.content.withUnsafeBytes { LargeLines.sum($0) }
        }
        return sum
    }

    func readTitles() throws -> Int {
        let request = ValueRequest(entityName: "Scan", columns: ["title"])
        var sum = 0
        for row in try ManagedObjectContext(coordinator).fetch(request) {
            if case .string(let title) = row.values[0] { sum &+= title.utf8.count }
        }
        return sum
    }

    func visitTitles() throws -> Int {
        var sum = 0
        try ManagedObjectContext(coordinator).enumerate(FetchRequest<Scan>(), batchSize: 10) { scan in
            sum &+= scan.title.utf8.count
        }
        return sum
    }

    func rename() throws {
        let context = ManagedObjectContext(coordinator)
        for scan in try context.fetch(FetchRequest<Scan>()) { scan.title += "!" }
        try context.save()
    }

    func delete() throws {
        try ManagedObjectContext(coordinator).execute(BatchDeleteRequest(FetchRequest<Scan>()))
    }

    func close() throws { try coordinator.closeStores() }
}

class SQLiteScans: SQLiteTables, ScanContender {
    class var name: String { "sqlite" }

    required init(folder: String) throws {
        try super.init(path: folder + "/scans.sqlite")
        try connection.execute(
            "CREATE TABLE IF NOT EXISTS scan(pk INTEGER PRIMARY KEY, version INTEGER, title TEXT, number INTEGER,"
                + " content BLOB)")
    }

    func insert(_ count: Int, _ byteCount: Int) throws {
        let insert = try statement("INSERT INTO scan(pk, version, title, number, content) VALUES(?, 1, ?, ?, ?)")
        try LargeLines.forEachBatch(count) { numbers in
            try connection.execute("BEGIN IMMEDIATE")
            for number in numbers {
                _ = library.bindInt64(insert, 1, Int64(number + 1))
                bind(LargeLines.title(number), insert, 2)
                _ = library.bindInt64(insert, 3, Int64(number))
                try LargeLines.content(number, byteCount).withUnsafeBytes { try add(insert, number, $0) }
            }
            try willCommit()
            try connection.execute("COMMIT")
        }
    }

    /// Inserts a row with its value.
    fileprivate func add(_ insert: SQLite.Statement, _ number: Int, _ bytes: UnsafeRawBufferPointer) throws {
        _ = library.bindBlob(insert, 4, bytes.baseAddress, Int32(bytes.count), nil)
        try connection.run(insert)
    }

    /// Makes values durable that are not in the table.
    fileprivate func willCommit() throws {}

    func readWhole() throws -> Int {
        let statement = try statement("SELECT content FROM scan")
        var sum = 0
        while library.step(statement) == SQLite.row {
            let bytes = UnsafeRawBufferPointer(
                start: library.columnBlob(statement, 0), count: Int(library.columnBytes(statement, 0)))
            sum &+= LargeLines.sum(bytes)
        }
        _ = library.reset(statement)
        return sum
    }

    func readTitles() throws -> Int {
        let statement = try statement("SELECT title FROM scan")
        var sum = 0
        while library.step(statement) == SQLite.row { sum &+= text(statement, 0).utf8.count }
        _ = library.reset(statement)
        return sum
    }

    func visitTitles() throws -> Int { try readTitles() }

    func rename() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("UPDATE scan SET title = title || '!', version = version + 1")
        try connection.execute("COMMIT")
    }

    func delete() throws {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("DELETE FROM scan")
        try connection.execute("COMMIT")
    }
}

/// The same rows, with a file for each value beside the table.
final class SQLiteScanFiles: SQLiteScans {
    override class var name: String { "sqlite, files" }
    private let folder: String

    required init(folder: String) throws {
        self.folder = folder + "/scans"
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try super.init(folder: folder)
    }

    private func place(_ number: Int) -> String { folder + "/\(number)" }

    fileprivate override func add(
        _ insert: SQLite.Statement, _ number: Int, _ bytes: UnsafeRawBufferPointer
    ) throws {
        try DurableFile.replace(at: place(number), with: bytes)
        _ = library.bindNull(insert, 4)
        try connection.run(insert)
    }

    fileprivate override func willCommit() throws { try DurableFile.sync(folder, O_RDONLY | O_DIRECTORY) }

    override func readWhole() throws -> Int {
        let statement = try statement("SELECT number FROM scan")
        var sum = 0
        while library.step(statement) == SQLite.row {
            let path = place(Int(library.columnInt64(statement, 0)))
            sum &+= try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { LargeLines.sum($0) }
        }
        _ = library.reset(statement)
        return sum
    }

    override func delete() throws {
        try super.delete()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
    }
}

/// Files that are on the disk under their names, or not at all.
private enum DurableFile {
    /// Writes a file under another name, syncs it and renames it.
    static func replace(at path: String, with bytes: UnsafeRawBufferPointer) throws {
        let file = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        guard file >= 0 else { throw PeerError(peer: "open", code: errno, message: path) }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            guard count > 0 else { throw PeerError(peer: "write", code: errno, message: path) }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0, rename(path + ".new", path) == 0 else {
            throw PeerError(peer: "fsync, rename", code: errno, message: path)
        }
    }

    /// Syncs the file or folder at `path`.
    static func sync(_ path: String, _ flags: Int32) throws {
        let file = open(path, flags)
        guard file >= 0 else { throw PeerError(peer: "open", code: errno, message: path) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw PeerError(peer: "fsync", code: errno, message: path) }
    }
}
