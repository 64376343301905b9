// Store files with holes: ranges that were never written cost neither time nor memory.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct SparseVerbTests {
    private func withSparseStore(_ byteCount: UInt64, _ body: (_ path: String, _ size: UInt64) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            let size = try file.seekToEnd()
            try file.truncate(atOffset: byteCount)
            try file.close()
            try body(path, size)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a tail of 20 GiB that was never written is one stretch of the map, and salvaged at once`() throws {
        try withSparseStore(20 << 30) { path, size in
            let map = ToolRun("pages", path)
            #expect(map.code == 0, "\(map.errors)")
            #expect(map.output.count < 10_000)
            #expect(map.output.contains("*"))
            #expect(map.output.contains("5,242"), "\(map.output.suffix(1000))")
            #expect(ToolRun("check", path).code == 0)

            let saved = ToolRun("salvage", path, path + ".saved")
            #expect(saved.code == 0, "\(saved.errors)")
            #expect(ToolRun("dump", path + ".saved", "Album").output == ToolRun("dump", path, "Album").output)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `without a superblock a sparse tail is stepped over as well`() throws {
        try withSparseStore(20 << 30) { path, size in
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.write(contentsOf: Data(repeating: 0x55, count: 4096))
            try file.close()

            _ = ToolRun("pages", path)
            let saved = ToolRun("salvage", path, path + ".saved", "--damaged")

            #expect(saved.code == 1, "\(saved.errors)")
            #expect(ToolRun("dump", path + ".saved", "Album").code == 0)
        }
    }
}
