// `dbtool audit`: its output for people and programs, and that its findings are those of `dbtool check`.

import EspalierAudit
import EspalierEngine
import Foundation
import TestSupport
import Testing

@testable import dbtool

@Suite struct AuditVerbTests {
    private static func fill(_ database: Database, from first: UInt64, through last: UInt64) throws {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "numbers", orCreate: UInt64.self)
        for key in first...last { try write.put([UInt8](repeating: 1, count: Int(key % 90)), for: key, in: tree) }
        try write.put([UInt8](repeating: 2, count: 9000), for: 0, in: tree)
        try write.commit()
    }

    @Test func `a store in order is ok, with what it holds, closed or being written`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("good.espalier").path
            let database = try Database.open(path)
            try Self.fill(database, from: 1, through: 300)
            let open = ToolRun("audit", path)
            try database.close()
            let closed = ToolRun("audit", path)

            #expect(open.code == 0, "\(open.output)\(open.errors)")
            #expect(open.output.contains("1 trees, 301 entries; "), "\(open.output)")
            #expect(closed.code == 0, "\(closed.output)\(closed.errors)")
            #expect(closed.output.hasPrefix("\(path): ok\n"))
            #expect(closed.output.contains("301 entries; 0 commits in the log"), "\(closed.output)")
        }
    }

    @Test func `the demo is in order for both checkers`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("demo.espalier").path
            #expect(ToolRun("demo", path).code == 0)

            let audit = ToolRun("audit", path, "--json")
            let report = try JSONSerialization.jsonObject(with: Data(audit.output.utf8)) as? [String: Any]

            #expect(audit.code == 0, "\(audit.output)\(audit.errors)")
            #expect(report?["ok"] as? Bool == true)
            #expect((report?["trees"] as? [[String: Any]])?.isEmpty == false)
        }
    }

    @Test func `whatever byte is damaged, both checkers end with the same code`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("damaged.espalier").path
            let database = try Database.open(path)
            try Self.fill(database, from: 1, through: 300)
            try database.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            var random = SeededGenerator(seed: testSeed(default: 81))
            let head = [0, 8, 16, 20, 24, 70, 300, 510, 513, 1025, 1536 + 40, 2048, 2300, 2600, 4095]
            let others = (0..<campaignCount("ESPALIER_FLIPS", default: 15)).map { _ in
                Int.random(in: 0..<bytes.count, using: &random)
            }

            for offset in head + others {
                var damaged = bytes
                damaged[damaged.startIndex + offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try damaged.write(to: URL(fileURLWithPath: path))
                let (check, audit) = (ToolRun("check", path), ToolRun("audit", path))

                #expect(audit.code == check.code, "byte \(offset): \(audit.output)\(audit.errors)\(check.output)")
            }
        }
    }

    @Test func `findings in a store that is written meanwhile end with the code of a store in use`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("written.espalier").path
            let database = try Database.open(path)
            try Self.fill(database, from: 1, through: 300)
            try database.close()
            var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(try AuditVerb.exitCode(of: StoreAudit.run(store: WrittenSource(bytes), log: nil)) == .ok)
            bytes[2 * 4096 + 3000] ^= 1
            #expect(try AuditVerb.exitCode(of: StoreAudit.run(store: bytes, log: nil)) == .difference)
            #expect(try AuditVerb.exitCode(of: StoreAudit.run(store: WrittenSource(bytes), log: nil)) == .locked)
        }
    }

    @Test func `a finding says page, byte and rule to people and to programs`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appendingPathComponent("damaged.espalier").path
            let database = try Database.open(path)
            try Self.fill(database, from: 1, through: 300)
            try database.close()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            bytes[bytes.startIndex + 2 * 4096 + 3000] ^= 1
            try bytes.write(to: URL(fileURLWithPath: path))

            let text = ToolRun("audit", path)
            let json = ToolRun("audit", path, "--json")
            let report = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
            let finding = (report?["findings"] as? [[String: Any]])?.first

            #expect(text.code == 1)
            #expect(text.output.contains("Page 2, byte 0, breaks rule 1: the checksum is wrong."), "\(text.output)")
            #expect(json.code == 1)
            #expect(finding?["rule"] as? Int == 1)
            #expect(finding?["page"] as? Int == 2)
        }
    }
}

/// A store whose page 0 differs from the third read on, as under a writer that makes checkpoints.
private final class WrittenSource: ByteSource {
    private let bytes: [UInt8]
    private var readCount: UInt8 = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func byteCount() throws(AuditFailure) -> UInt64 { UInt64(bytes.count) }

    func read(at offset: UInt64, count: Int) throws(AuditFailure) -> [UInt8] {
        var found = try bytes.read(at: offset, count: count)
        guard offset == 0 else { return found }
        // The first two reads return the old content; a checkpoint changes it before the third.
        readCount += 1
        if readCount > 2 { found[600] ^= 1 }
        return found
    }
}
