// `backup`, `restore` and `compact` on a small store of objects.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct BackupVerbTests {
    private func withStore(_ body: (String) throws -> Void) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("albums.espalier").path
            try AlbumStore.make(at: path)
            try body(path)
        }
    }

    private func dump(_ path: String) -> String { ToolRun("dump", path, "--json").output }

    @Test func `a backup with an increment is restored to the store as it was`() throws {
        try withStore { path in
            let full = ToolRun("backup", path, path + ".0", "--json")
            let database = try Database.open(path)
            var write = try database.beginWrite()
            _ = try write.createTree(named: "later", keys: UInt64.self)
            try write.commit()
            try database.close()
            let increment = ToolRun("backup", path, path + ".1", "--since", path + ".0")
            let restored = ToolRun("restore", path + ".0", path + ".new", "--increments", path + ".1")

            #expect(full.code == 0 && full.output.hasPrefix("{\"file\":"), "\(full.errors)")
            #expect(increment.code == 0 && increment.output.contains("pages written"), "\(increment.errors)")
            #expect(restored.code == 0, "\(restored.errors)")
            #expect(ToolRun("check", path + ".new").code == 0)
            #expect(ToolRun("info", path + ".new").output.contains("later"))
            #expect(!ToolRun("info", path + ".0").output.contains("later"))
        }
    }

    @Test func `a store is backed up while another process writes it`() throws {
        try withStore { path in
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "in the log", keys: UInt64.self)
            try write.put([1, 2, 3], for: 7, in: tree)
            try write.commit()

            let run = try ToolRun(executable: ["backup", path, path + ".0"])

            #expect(run.code == 0, "\(run.errors)")
            #expect(ToolRun("info", path + ".0").output.contains("in the log"))
            #expect(ToolRun("check", path + ".0").code == 0)
            #expect(try ToolRun(executable: ["compact", path]).code == 4)
            try database.close()
        }
    }

    @Test func `a store is compacted in place and as a copy`() throws {
        try withStore { path in
            let before = dump(path)
            let copy = ToolRun("compact", path, path + ".small", isTerminal: true)
            let inPlace = ToolRun("compact", path, "--json")

            #expect(copy.code == 0 && inPlace.code == 0, "\(copy.errors) \(inPlace.errors)")
            for compacted in [path, path + ".small"] {
                #expect(ToolRun("check", compacted).code == 0)
                #expect(dump(compacted) == before)
            }
        }
    }

    @Test func `a store is shrunk in place`() throws {
        try withStore { path in
            let before = dump(path)
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let ballast = try write.createTree(named: "ballast", keys: UInt64.self)
            for key in UInt64(0)..<500 { try write.put([UInt8](repeating: 3, count: 900), for: key, in: ballast) }
            _ = try write.createTree(named: "late", keys: UInt64.self)
            try write.commit()
            write = try database.beginWrite()
            try write.dropTree(ballast)
            try write.commit()
            try database.close()
            let size = try Data(contentsOf: URL(fileURLWithPath: path)).count

            let json = ToolRun("shrink", path, "--json", isTerminal: true)
            let text = ToolRun("shrink", path)

            #expect(json.code == 0 && text.code == 0, "\(json.errors) \(text.errors)")
            #expect(json.output.contains("\"bytesBefore\":\(size)"))
            let after = try Data(contentsOf: URL(fileURLWithPath: path)).count
            #expect(after + 400_000 < size)
            #expect(json.output.contains("\"bytes\":\(after)"))
            #expect(text.output.contains("0 pages moved"))
            #expect(ToolRun("check", path).code == 0)
            #expect(dump(path) == before)
            #expect(ToolRun("shrink", path + ".none").code == 3)
            try Data("text".utf8).write(to: URL(fileURLWithPath: path + ".text"))
            #expect(ToolRun("shrink", path + ".text").code == 3)
            let open = try Database.open(path)
            #expect(try ToolRun(executable: ["shrink", path]).code == 4)
            try open.close()
        }
    }

    @Test func `what cannot be copied ends with a message and a code`() throws {
        try withStore { path in
            try Data("text".utf8).write(to: URL(fileURLWithPath: path + ".text"))
            #expect(ToolRun("backup", path, path + ".text").code == 3)
            #expect(ToolRun("backup", path + ".none", path + ".x").code == 3)
            #expect(ToolRun("backup", path, path + ".x", "--since", path).code == 2)
            #expect(ToolRun("restore", path + ".text", path + ".x").code == 3)
            #expect(ToolRun("compact", path, path + ".text").code == 3)
            #expect(ToolRun("backup", path, path + ".0").code == 0)
            #expect(ToolRun("backup", path, path + ".1", "--since", path + ".0").code == 0)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path + ".1"))
            bytes[100] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path + ".1"))
            let damaged = ToolRun("restore", path + ".0", path + ".x", "--increments", path + ".1")
            #expect(damaged.code == 1)
            #expect(damaged.errors.contains("damaged"))
            #expect(!FileManager.default.fileExists(atPath: path + ".x"))
        }
    }
}
