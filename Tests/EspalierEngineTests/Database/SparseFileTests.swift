// Forged stores with holes: what a page count claims takes no memory, only pages that are there do.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct SparseFileTests {
    /// A store of 1 TiB of which all but the first pages is a hole, and whose slots count all of it.
    private static let pageCount: UInt32 = 1 << 28

    static func peakByteCount() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM") })
        return try #require(line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }) << 10
    }

    /// Checks the store at `path`, in less memory than a bit for each page it claims.
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

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/status")), .timeLimit(.minutes(5)))
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

    @Test(.timeLimit(.minutes(5)))
    func `salvage steps over holes, and takes what the log has for pages in them`() throws {
        try withStorePath { path in
            let database = try Database.open(path + ".live")
            var write = try database.beginWrite()
            // Pages that are given back before the commit are in no file: what `t` keeps lies after them.
            let gone = try write.createTree(named: "gone", keys: UInt64.self)
            for key in UInt64(0)..<50 { try write.put([UInt8](repeating: 6, count: 3000), for: key, in: gone) }
            let tree = try write.createTree(named: "t", keys: UInt64.self)
            for key in UInt64(0)..<50 { try write.put([UInt8](repeating: 7, count: 3000), for: key, in: tree) }
            try write.dropTree(gone)
            try write.commit()
            // The process ends here: all of it is in the log, and the store file has room for it that is a hole.
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + ".live" + suffix, toPath: path + suffix)
            }
            try database.close()
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            // A copy may have written the hole as zeros: most pages are cut off, and nothing is written there again.
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
