// Store files that were written once: every later version must open, check and read them.
//
// Invariants
//   1. The files in `Golden/` are never written again; a new format version or feature adds files.
//   2. A run with `ESPALIER_WRITE_GOLDEN=1` writes missing files; in any other run a missing file is a failure.

import EspalierEngine
import Foundation
import TestSupport
import Testing

/// The content of every golden store.
private enum GoldenContent {
    static let integers: [(key: UInt64, value: [UInt8])] = (0..<150).map { step in
        let count = step % 37 == 5 ? 9000 + step : step * 13 % 300
        return (UInt64(step) * UInt64(step) * 977, [UInt8](repeating: UInt8(step), count: count))
    }
    static let names: [(key: [UInt8], value: [UInt8])] = (0..<300).map { step in
        ([UInt8]("person/family name/\(1000 + step)".utf8), [UInt8(step % 7)])
    }

    /// Fills `database`: two trees that stay, and one that is dropped so that there are free pages.
    static func write(to database: Database) throws {
        var first = try database.beginWrite()
        let dropped = try first.createTree(named: "dropped", keys: UInt64.self)
        for key in 0..<40 { try first.put([UInt8](repeating: 1, count: 700), for: UInt64(key), in: dropped) }
        let objects = try first.createTree(named: "objects", keys: UInt64.self)
        for entry in integers { try first.put(entry.value, for: entry.key, in: objects) }
        try first.commit()
        var second = try database.beginWrite()
        let index = try second.createTree(named: "index of names", keys: [UInt8].self)
        for entry in names { try second.put(entry.value, for: entry.key, in: index) }
        try second.dropTree(dropped)
        try second.commit()
    }

    /// Expects this content in `database`.
    static func expect(in database: Database) throws {
        let report = try database.check()
        #expect(report.isOK)
        #expect(report.findings.isEmpty)
        let read = try database.beginRead()
        #expect(try read.trees().map(\.tree.name) == ["index of names", "objects"])
        let objects = try #require(try read.tree(named: "objects", keys: UInt64.self))
        #expect(try read.count(of: objects) == UInt64(integers.count))
        for entry in integers { #expect(try read.get(entry.key, from: objects) == entry.value) }
        let index = try #require(try read.tree(named: "index of names", keys: [UInt8].self))
        var cursor = try read.cursor(over: index)
        for entry in names {
            try #require(try cursor.next())
            #expect(try cursor.key == entry.key)
            #expect(try cursor.value() == entry.value)
        }
        #expect(try !cursor.next())
    }
}

@Suite struct FormatGoldenFileTests {
    private let folder = Checkout.root.appending(path: "Tests/EspalierEngineTests/Golden")
    private var isWriting: Bool { ProcessInfo.processInfo.environment["ESPALIER_WRITE_GOLDEN"] == "1" }

    private func options(_ pageSize: Int) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.pageSize = pageSize
        options.logSegmentByteCount = max(65536, 8 * pageSize)
        return options
    }

    /// Copies a golden file (and its log) into `target`; returns the path of the copy.
    private func copy(_ name: String, to target: URL) throws -> String {
        let files = FileManager.default
        for suffix in ["", "-wal"] {
            let source = folder.appending(path: name + suffix)
            guard files.fileExists(atPath: source.path) else { continue }
            try files.copyItem(at: source, to: target.appending(path: name + suffix))
        }
        return target.appending(path: name).path
    }

    @Test(arguments: [4096, 8192, 16384, 32768, 65536])
    func `a store of version 1_0 is opened, checked and read`(_ pageSize: Int) throws {
        let name = "clean-\(pageSize).espalier"
        let path = folder.appending(path: name).path
        if isWriting, !FileManager.default.fileExists(atPath: path) {
            let database = try Database.open(path, options: options(pageSize))
            try GoldenContent.write(to: database)
            try database.close()
            try? FileManager.default.removeItem(atPath: path + "-wal")
        }
        let before = try Data(contentsOf: URL(filePath: path))

        var options = DatabaseOptions()
        options.access = .readOnly
        options.createIfMissing = false
        let database = try Database.open(path, options: options)
        #expect(database.pageSize == pageSize)
        try GoldenContent.expect(in: database)
        try database.close()

        #expect(try Data(contentsOf: URL(filePath: path)) == before, "reading changed the file")
    }

    @Test func `a store of version 1_0 with commits in its log is recovered and read`() throws {
        let name = "unclean-4096.espalier"
        let golden = folder.appending(path: name).path
        if isWriting, !FileManager.default.fileExists(atPath: golden) {
            try withTemporaryFolder { scratch in
                let path = scratch.appending(path: name).path
                let database = try Database.open(path, options: options(4096))
                try GoldenContent.write(to: database)
                // As if the process ended here: everything is in the log.
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: golden + suffix)
                }
                try database.close()
            }
        }
        try withTemporaryFolder { scratch in
            let database = try Database.open(try copy(name, to: scratch))

            try GoldenContent.expect(in: database)
            try database.close()
        }
    }
}
