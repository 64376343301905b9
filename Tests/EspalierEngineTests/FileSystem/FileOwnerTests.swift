// The owner of the files that a process of the superuser makes of a user's store: the user can open them afterwards.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite(.enabled(if: geteuid() == 0, "only the superuser may give files to others"))
struct FileOwnerTests {
    /// Makes the empty store of a user whom no system is likely to have.
    private static func makeStore(at path: String) throws {
        try Database.open(path).close()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        // SAFETY: the path lives for the length of the call.
        try #require(unsafe chown(path, 12_345, 23_456) == 0)
    }

    private static func commit(to database: Database) throws {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([UInt8](repeating: 1, count: 3), for: UInt64(1), in: tree)
        try write.commit()
    }

    @Test func `the log and the copies that the superuser makes of a user's store are the user's`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let database = try Database.open(path)
            try Self.commit(to: database)

            try database.backUp(to: path + ".0")
            try Self.commit(to: database)
            try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".1")
            try database.compact(to: path + ".compact")
            try Database.restore(path + ".0", increments: [path + ".1"], to: path + ".restored")

            for name in ["", "-wal", ".0", ".1", ".compact", ".restored"] {
                #expect(try fileOwner(of: path + name) == ["12345", "23456"], "\(name)")
            }
            try database.close()
        }
    }

    @Test func `a store that the superuser compacts or salvages stays the user's`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let database = try Database.open(path)
            try Self.commit(to: database)
            try database.close()

            try Database.compact(at: path)
            _ = try Database.salvage(from: path, into: path + ".salvaged")

            for name in ["", ".salvaged"] {
                #expect(try fileOwner(of: path + name) == ["12345", "23456"], "\(name)")
            }
        }
    }
}
