// The permissions of the files that the engine makes from a store: nobody reads in them what the store hides.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct PermissionTests {
    private static func set(_ permissions: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    private static func permissions(of path: String) throws -> String? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions].map { "\($0)" }
    }

    private static func commit(to database: Database) throws {
        var write = try database.beginWrite()
        let tree = try write.tree(named: "t", orCreate: UInt64.self)
        try write.put([UInt8](repeating: 1, count: 3), for: UInt64(1), in: tree)
        try write.commit()
    }

    @Test(arguments: [0o600, 0o640, 0o666])
    func `the log, a backup and a compact file have the permissions of the store`(permissions: Int) throws {
        try withStorePath { path in
            try Database.open(path).close()
            try Self.set(permissions, of: path)
            let database = try Database.open(path)
            try Self.commit(to: database)

            try database.backUp(to: path + ".backup")

            #expect(try Self.permissions(of: path + "-wal") == "\(permissions)")
            #expect(try Self.permissions(of: path + ".backup") == "\(permissions)")
            try database.close()
            try Database.compact(at: path)
            #expect(try Self.permissions(of: path) == "\(permissions)")
        }
    }

    @Test func `an increment, what is restored from it and a compact copy have the permissions of the store`() throws {
        try withStorePath { path in
            try Database.open(path).close()
            try Self.set(0o600, of: path)
            let database = try Database.open(path)
            try Self.commit(to: database)
            try database.backUp(to: path + ".0")
            try Self.commit(to: database)

            try database.backUpChanges(since: try BackupPoint(of: path + ".0"), to: path + ".1")
            try database.compact(to: path + ".compact")
            try Database.restore(path + ".0", increments: [path + ".1"], to: path + ".restored")

            for name in [".1", ".compact", ".restored"] {
                #expect(try Self.permissions(of: path + name) == "\(0o600)", "\(name)")
            }
            try database.close()
        }
    }

    @Test func `a file that is created with permissions has no others from the beginning`() throws {
        try withStorePath { path in
            let entry = try PosixFileSystem.shared.entry(at: path)

            let file = try entry.create(role: .copy, permissions: 0o600)

            #expect(try entry.rights(role: .copy)?.permissions == 0o600)
            try file.close()
        }
    }

    @Test func `a salvaged store has the permissions of the damaged one`() throws {
        try withStorePath { path in
            let database = try Database.open(path)
            try Self.commit(to: database)
            try database.close()
            try Self.set(0o600, of: path)

            _ = try Database.salvage(from: path, into: path + ".salvaged")

            #expect(try Self.permissions(of: path + ".salvaged") == "\(0o600)")
        }
    }

    @Test func `the owner may write the backup of a store that may only be read`() throws {
        try withStorePath { path in
            try Database.open(path).close()
            try Self.set(0o440, of: path)
            var options = DatabaseOptions()
            options.access = .readOnly
            let database = try Database.open(path, options: options)

            try database.backUp(to: path + ".backup")

            #expect(try Self.permissions(of: path + ".backup") == "\(0o640)")
            try database.close()
        }
    }
}
