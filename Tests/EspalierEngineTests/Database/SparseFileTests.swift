// Forged stores with holes: memory use follows the pages that exist, not the claimed page count.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct SparseFileTests {
    /// The page count that the slots claim: 1 TiB, of which all but the first pages are a hole.
    private static let pageCount: UInt32 = 1 << 28

    static func peakByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM") })
        return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }) << 10
    }

    /// Checks the store at `path`, and expects that it takes less memory than one bit for each claimed page.
    static func check(_ path: String) throws {
        var options = DatabaseOptions()
        (options.access, options.cacheByteCount) = (.readOnly, 1 << 20)
        let database = try Database.open(path, options: options)
        let before = try peakByteCount()
        let report = try database.check()
        #expect(!report.isOK)
        let used = try peakByteCount() - before
        #expect(used < 20 << 20, "\(used) bytes")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")), .timeLimit(.minutes(30)))
    func `a check of a hole of 1 TiB that a store claims takes the memory of the pages that are there`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var store = try ForgedStore { database in
            var write = try database.beginWrite()
            _ = try write.createTree(named: "t", keys: UInt64.self)
            try write.commit()
        }
        try store.changeSlot { $0.pageCount = Self.pageCount }
        let path = folder.appendingPathComponent("forged.espalier").path
        try Data(store.bytes).write(to: URL(fileURLWithPath: path))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(Self.pageCount) * 4096)
        try file.close()

        await #expect(processExitsWith: .success) { [path = path as String] in try SparseFileTests.check(path) }
    }

    @Test(.timeLimit(.minutes(30)))
    func `salvage steps over holes, and takes what the log has for pages in them`() throws {
        try withStorePath { path in
            let database = try Database.open(path + ".live")
            var write = try database.beginWrite()
            // Pages that are freed before the commit are in no file; the pages of `t` are after them.
            let gone = try write.createTree(named: "gone", keys: UInt64.self)
            for key in UInt64(0)..<50 { try write.put([UInt8](repeating: 6, count: 3000), for: key, in: gone) }
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<50 { try write.put([UInt8](repeating: 7, count: 3000), for: key, in: tree) }
            try write.dropTree(gone)
            try write.commit()
            // As if the process ended here: the log has all of it, and its pages in the store file are a hole.
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + ".live" + suffix, toPath: path + suffix)
            }
            try database.close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            // The copy may have written the hole as zeros: cut most pages off and extend the file, which leaves a hole.
            try file.truncate(atOffset: 64 << 10)
            try file.truncate(atOffset: 40 << 30)
            try file.close()

            let report = try Database.salvage(from: path, into: path + ".saved")

            #expect(report.damagedPageCount == 0)
            let saved = try Database.open(path + ".saved")
            let found = try saved.beginRead().tree(named: "t", keys: UInt64.self)
            #expect(try saved.beginRead().count(of: try #require(found)) == 50)
            try saved.close()
        }
    }
}
