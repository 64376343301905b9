// The files of single operations: who may read them, and where they are, as the operating system tells it.

import EspalierEngine
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct ScratchFileTests {
    /// A store in `folder` that is open in `files`.
    private func open(_ folder: URL, _ files: any FileSystem, isReadOnly: Bool) throws -> Database {
        let path = folder.appending(path: "store").path
        var options = DatabaseOptions.small
        if isReadOnly {
            try Database.open(path, options: options).close()
            options.access = .readOnly
        }
        return try Database.open(path, in: files, options: options)
    }

    @Test(arguments: [false, true])
    func `only its owner may read a temporary file, and it keeps the bytes that are written`(isReadOnly: Bool) throws {
        try withTemporaryFolder { folder in
            let shared = folder.appending(path: "shared").path
            try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
            let files = WatchedFileSystem(isReadOnly ? shared : folder.path)
            let database = try open(folder, files, isReadOnly: isReadOnly)

            let file = try database.makeScratchFile(elsewhere: shared)
            try file.write([1, 2, 3], at: 5)

            #expect(try file.read(3, at: 5) == [1, 2, 3])
            #expect(files.permissions == ["\(0o600)"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: shared).isEmpty)
            try database.close()
        }
    }

    @Test func `a link in the temporary folder does not lead the file to another folder`() throws {
        try withTemporaryFolder { folder in
            let (shared, other) = (folder.appending(path: "shared").path, folder.appending(path: "other").path)
            for path in [shared, other] {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            }
            try FileManager.default.createSymbolicLink(
                atPath: shared + "/espalier", withDestinationPath: other + "/target")
            let files = WatchedFileSystem(shared)
            let database = try open(folder, files, isReadOnly: true)

            let made = try (0..<2).map { _ in try database.makeScratchFile(elsewhere: shared) }

            #expect(made.count == 2 && files.permissions.count == 2, "\(files.permissions)")
            #expect(Set(files.names).count == 2, "\(files.names)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
            try database.close()
        }
    }
}

/// The operating system's files; notes the temporary files of a folder while they have a name.
private final class WatchedFileSystem: FileSystem {
    private let folder: String
    private let found = Mutex<[(name: String, permissions: String)]>([])

    init(_ folder: String) { self.folder = folder }

    /// The names of the temporary files in the folder.
    var names: [String] { found.withLock { $0.map(\.name) } }
    /// Their permissions, as numbers.
    var permissions: [String] { found.withLock { $0.map(\.permissions) } }

    func entry(at path: String) throws(StorageError) -> DirectoryEntry {
        try WrappedDirectory.entry(at: path, of: PosixFileSystem.shared) { [unowned self] name, file in
            if file.role == .scratch { self.note(name) }
            return file
        }
    }

    private func note(_ name: String) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        guard let permissions = attributes?[.posixPermissions] else { return }
        let text = "\(permissions)"
        found.withLock { $0.append((name, text)) }
    }

    func now() -> UInt64 { PosixFileSystem.shared.now() }
    func random() -> UInt64 { PosixFileSystem.shared.random() }
}
