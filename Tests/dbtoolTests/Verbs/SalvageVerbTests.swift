// `salvage`: the rows that an application recovers from a damaged file, and the report for scripts.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct SalvageVerbTests {
    /// Makes an object store whose pages `pages` are overwritten with noise; `new` is the path for the salvaged store.
    private func withDamagedStore(_ pages: [Int], _ body: (_ path: String, _ new: String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var chance = SeededGenerator(seed: 3)
            for page in pages {
                for offset in page * 4096..<(page + 1) * 4096 { bytes[offset] = .random(in: 0...255, using: &chance) }
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            try body(path, folder.appendingPathComponent("saved.espalier").path)
        }
    }

    @Test func `an object store without superblock and catalog comes back with all its names`() throws {
        var whole = ""
        try withDamagedStore([]) { path, _ in whole = ToolRun("dump", path, "Album").output }
        for pages in [[0, 2], [0], [2]] {
            try withDamagedStore(pages) { path, new in
                let run = ToolRun("salvage", path, new, "--damaged")

                #expect(run.code == 1, "\(run.errors)")
                #expect(run.output.contains("rows:Album"), "\(run.output)")
                #expect(!run.output.contains("lost+found"), "\(run.output)")
                #expect(ToolRun("check", new).code == 0)
                #expect(ToolRun("dump", new, "Album").output == whole)
            }
        }
    }

    @Test func `without any key to the checksums it says what to do instead of guessing`() throws {
        try withDamagedStore([0]) { path, new in
            let run = ToolRun("salvage", path, new)

            #expect(run.code != 0)
            #expect(run.errors.contains("use --damaged to accept pages with a sound structure"))
            #expect(!FileManager.default.fileExists(atPath: new))
        }
    }

    @Test func `a whole store gives code 0, an existing file is left alone`() throws {
        try withDamagedStore([]) { path, new in
            let run = ToolRun("salvage", path, new, "--json")
            let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]

            #expect(run.code == 0, "\(run.errors)")
            #expect(report?["lostRows"] as? Int == 0)
            #expect(report?["readBy"] as? String == "superblock")
            let before = try Data(contentsOf: URL(fileURLWithPath: new))
            #expect(ToolRun("salvage", path, new).errors.contains("the file exists"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: new)) == before)
        }
    }

    @Test func `repair writes the superblock anew from its copy, and only that`() throws {
        try withDamagedStore([]) { path, _ in
            let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var bad = good
            bad[64] ^= 1
            try Data(bad).write(to: URL(fileURLWithPath: path))

            #expect(ToolRun("check", path).code == 1)
            #expect(ToolRun("repair", path).output == "\(path): repaired\n")
            #expect([UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) == good)
            #expect(ToolRun("repair", path).output == "\(path): the superblock and its copy are intact\n")
            #expect(ToolRun("check", path).code == 0)
        }
    }
}
