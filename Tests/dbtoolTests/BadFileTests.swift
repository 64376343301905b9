// Files that are no store or cannot be opened: every verb names the reason and ends with the right exit code.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct BadFileTests {
    private static func emptyStore(_ path: String) throws { try Database.open(path).close() }

    @Test(arguments: ["info", "check", "audit", "pages", "schema", "dump"])
    func `a missing file, a directory, an empty file and text are no stores, with code 3`(verb: String) throws {
        try withTemporaryFolder { folder in
            let text = folder.appendingPathComponent("notes.txt").path
            try Data(String(repeating: "these are my notes\n", count: 500).utf8).write(to: URL(fileURLWithPath: text))
            let empty = folder.appendingPathComponent("empty").path
            try Data().write(to: URL(fileURLWithPath: empty))
            let missing = folder.appendingPathComponent("missing").path

            for (path, words) in [
                (missing, "the file does not exist"), (folder.path, "directory"), (empty, "empty"), (text, "magic"),
            ] {
                let run = ToolRun(verb, path)

                #expect(run.code == 3, "\(verb) \(path): \(run.errors)")
                #expect(run.errors.hasPrefix("dbtool: \(path): "), "\(run.errors)")
                #expect(run.errors.contains(words), "\(run.errors)")
                #expect(run.output.isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(30)), arguments: ["info", "check", "audit", "pages", "schema", "dump"])
    func `a pipe is no store, and no verb waits for it`(verb: String) throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("pipe").path
            // SAFETY: the string lives for the length of the call.
            try #require(unsafe mkfifo(path, 0o644) == 0)

            let run = ToolRun(verb, path)

            #expect(run.code == 3, "\(run.errors)")
            #expect(run.errors.contains("not a regular file"), "\(run.errors)")
        }
    }

    @Test func `audit and info see the log of a store that a symbolic link leads to`() throws {
        try withTemporaryFolder { folder in
            let (path, link) = (folder.path + "/real.espalier", folder.path + "/link.espalier")
            let database = try Database.open(path)
            var write = try database.beginWrite()
            _ = try write.createTree(named: "numbers", keys: UInt64.self)
            try write.commit()
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "real.espalier")

            for verb in ["audit", "info", "check"] {
                let (direct, linked) = (ToolRun(verb, path), ToolRun(verb, link))

                #expect(linked.code == 0 && direct.code == 0, "\(verb): \(linked.output)\(linked.errors)")
                #expect(linked.output.replacing(link, with: path) == direct.output)
            }
            try database.close()
        }
    }

    @Test func `a store of another format version is named with both versions, with code 3`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("future.espalier").path
            try Self.emptyStore(path)
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            for start in [0, SuperblockLayout.mirror] {
                // A new version number under a valid checksum: an intact store of a newer engine.
                var record = RecordBytes(byteCount: SuperblockLayout.byteCount)
                record.store([UInt8](bytes[start..<start + SuperblockLayout.byteCount]), at: 0)
                record.store(UInt16(9), at: SuperblockLayout.major)
                record.seal(at: SuperblockLayout.checksum)
                bytes.replaceSubrange(start..<start + SuperblockLayout.byteCount, with: record.bytes)
            }
            try bytes.write(to: URL(fileURLWithPath: path))

            let run = ToolRun("info", path)

            #expect(run.code == 3)
            #expect(run.errors.contains("9.0"), "\(run.errors)")
            #expect(run.errors.contains("reads only major version 1."), "\(run.errors)")
        }
    }

    @Test func `a truncated store is damage that check finds`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("short.espalier").path
            let database = try Database.open(path)
            var write = try database.beginWrite()
            let tree = try write.createTree(named: "numbers", keys: UInt64.self)
            for key in 1...2000 as ClosedRange<UInt64> { try write.put([1, 2, 3, 4], for: key, in: tree) }
            try write.commit()
            try database.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.prefix(bytes.count / 2 + 100).write(to: URL(fileURLWithPath: path))

            let run = ToolRun("check", path)

            #expect(run.code == 1)
            #expect(run.output.contains("numbers"), "\(run.output)\(run.errors)")
        }
    }

    @Test(.enabled(if: getuid() != 0, "the superuser may read everything"))
    func `a file without permission is named with the system's reason, with code 3`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("secret.espalier").path
            try Self.emptyStore(path)
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)

            let run = ToolRun("info", path)

            #expect(run.code == 3)
            #expect(run.errors.contains("Permission denied"))
        }
    }

    @Test func `a store that another process writes can be looked at meanwhile`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("held.espalier").path
            let database = try Database.open(path)
            defer { try? database.close() }
            var write = try database.beginWrite()
            _ = try write.createTree(named: "fresh", keys: [UInt8].self)
            try write.commit()

            for verb in ["info", "check", "pages"] {
                let run = try ToolRun(executable: [verb, path])

                #expect(run.code == 0, "\(verb): \(run.errors)")
                #expect(verb == "pages" || run.output.contains("fresh"), "\(verb): \(run.output)")
            }
        }
    }

    @Test func `output that cannot be written ends with code 3`() throws {
        try withTemporaryFolder { folder in
            let full = "/dev/full"
            guard let sink = FileHandle(forWritingAtPath: full) else { return }
            let process = ToolRun.process(["help"], in: folder)
            let errors = Pipe()
            (process.standardOutput, process.standardError) = (sink, errors)
            try process.run()
            process.waitUntilExit()
            let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)

            #expect(process.terminationStatus == 3)
            #expect(text.contains("cannot be written"), "\(text)")
        }
    }
}
