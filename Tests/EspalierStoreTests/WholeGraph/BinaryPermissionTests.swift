// The rights to binary files: a save, a migration and its backup do not show anyone what the file has not shown, and
// what the superuser writes stays its owner's.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BinaryPermissionTests {
    private static func open(_ path: String, isNew: Bool, _ migration: MigrationOptions) throws -> any PersistentStore {
        let attributes = ["text", "author"].prefix(isNew ? 2 : 1).map { AttributeDescription($0, .string) }
        let model = try ManagedObjectModel(entities: [EntityDescription("Note", attributes: attributes)])
        return try StoreType.open(StoreOpening(.binary, model: model, path: path, migration: migration))
    }

    private static func permissions(of path: String) throws -> String? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions].map { "\($0)" }
    }

    @Test(arguments: [0o600, 0o664])
    func `a save and a migration keep the permissions of a binary file, and its backup has them`(
        permissions: Int
    ) throws {
        try withStorePath { path in
            try Self.open(path, isNew: false, .off).close()
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
            let store = try Self.open(path, isNew: false, .off)

            try store.setMetadata(["answer": .integer(42)])

            #expect(try Self.permissions(of: path) == "\(permissions)")
            try store.close()
            let backedUp = MigrationOptions(backupPath: path + ".backup")
            try Self.open(path, isNew: true, backedUp).close()
            #expect(try Self.permissions(of: path) == "\(permissions)")
            #expect(try Self.permissions(of: path + ".backup") == "\(permissions)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only the superuser may give files to others"))
    func `saves and migrations of the superuser keep the owner and the group of a binary file`() throws {
        try withStorePath { path in
            try Self.open(path, isNew: false, .off).close()
            // SAFETY: the path lives for the length of the call.
            try #require(unsafe chown(path, 12_345, 23_456) == 0)
            let store = try Self.open(path, isNew: false, .off)

            try store.setMetadata(["answer": .integer(42)])

            #expect(try fileOwner(of: path) == ["12345", "23456"])
            try store.close()
            try Self.open(path, isNew: true, MigrationOptions(backupPath: path + ".backup")).close()
            #expect(try fileOwner(of: path) == ["12345", "23456"])
            #expect(try fileOwner(of: path + ".backup") == ["12345", "23456"])
        }
    }
}
