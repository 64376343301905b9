// A store is the file that was opened: the working directory, links and renames do not change which file that is.
//
// Tests that call `chdir` are exit tests, because the working directory belongs to the whole process.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct StorePlaceTests {
    private static var readOnly: DatabaseOptions {
        var options = DatabaseOptions()
        options.access = .readOnly
        return options
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func makePipe(_ path: String) throws {
        // SAFETY: the string lives for the length of the call.
        try #require(unsafe mkfifo(path, 0o644) == 0)
    }

    /// Calls `body` with the path of an empty folder, which exit tests can pass to their child processes.
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    // MARK: The working directory

    @Test func `after a change of the working directory a store closes its own log, not one of the same name`()
        async throws
    {
        try await withFolder { folder in
            await #expect(processExitsWith: .success) { [folder = folder as String] in
                try FileManager.default.createDirectory(atPath: folder + "/sub", withIntermediateDirectories: true)
                try #require(FileManager.default.changeCurrentDirectoryPath(folder))
                let other = try Database.open("sub/x.esp")
                try other.append(1)
                let database = try Database.open("x.esp")
                try database.append(2)

                try #require(FileManager.default.changeCurrentDirectoryPath("sub"))
                try database.close()

                #expect(FileManager.default.fileExists(atPath: folder + "/sub/x.esp-wal"))
                #expect(!FileManager.default.fileExists(atPath: folder + "/x.esp-wal"))
                #expect(try Database.open("../x.esp").numbers() == [2])
                #expect(try other.numbers() == [1])
            }
            let left = try Database.open(folder + "/sub/x.esp").numbers()
            #expect(left == [1])
        }
    }

    @Test func `after a change of the working directory the first write does not touch a log of the same name`()
        async throws
    {
        try await withFolder { folder in
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                try FileManager.default.createDirectory(atPath: folder + "/sub", withIntermediateDirectories: true)
                try #require(FileManager.default.changeCurrentDirectoryPath(folder))
                let other = try Database.open("sub/x.esp")
                try other.append(1)
                let database = try Database.open("x.esp")

                try #require(FileManager.default.changeCurrentDirectoryPath("sub"))
                try database.append(2)
                try other.append(3)
                try database.backUp(to: "copy.esp")
                withExtendedLifetime((database, other)) { _ = kill(getpid(), SIGKILL) }
            }

            let left = try ["/x.esp", "/sub/x.esp", "/sub/copy.esp"].map { try Database.open(folder + $0).numbers() }
            #expect(left == [[2], [1, 3], [2]])
        }
    }

    // MARK: Symbolic links

    @Test func `the log lies beside the file that a symbolic link leads to, and a crash of either is found by both`()
        async throws
    {
        try await withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/real", withIntermediateDirectories: true)
            // Make a chain of two links that leads to a file that does not exist yet.
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link.esp", withDestinationPath: folder + "/next")
            try FileManager.default.createSymbolicLink(atPath: folder + "/next", withDestinationPath: "real/x.esp")
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                let database = try Database.open(folder + "/link.esp")
                try database.append(1)
                withExtendedLifetime(database) { _ = kill(getpid(), SIGKILL) }
            }
            #expect(exists(folder + "/real/x.esp-wal"))
            #expect(!exists(folder + "/link.esp-wal"))
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                let database = try Database.open(folder + "/real/x.esp")
                try database.append(2)
                withExtendedLifetime(database) { _ = kill(getpid(), SIGKILL) }
            }
            #expect(try Database.open(folder + "/link.esp", options: Self.readOnly).numbers() == [1, 2])
            #expect(try Database.open(folder + "/link.esp").numbers() == [1, 2])
        }
    }

    @Test func `compacting through a symbolic link compacts the file, and leaves the link one`() throws {
        try withTemporaryFolder { folder in
            let (file, link) = (folder.path + "/x.esp", folder.path + "/link.esp")
            let database = try Database.open(file)
            try database.append(1)
            try database.close()
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "x.esp")
            let before = try Data(contentsOf: URL(fileURLWithPath: file))

            try Database.compact(at: link)

            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "x.esp")
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) != before)
            #expect(try Database.open(link).numbers() == [1])
        }
    }

    @Test func `a link that is changed while its store is open changes nothing for the store`() throws {
        try withTemporaryFolder { folder in
            let files = FileManager.default
            for name in ["v1", "v2"] {
                try files.createDirectory(at: folder.appending(path: name), withIntermediateDirectories: true)
            }
            let current = folder.path + "/current"
            try files.createSymbolicLink(atPath: current, withDestinationPath: "v1")
            let first = try Database.open(current + "/x.esp")
            try first.append(1)

            try files.removeItem(atPath: current)
            try files.createSymbolicLink(atPath: current, withDestinationPath: "v2")
            let second = try Database.open(current + "/x.esp")
            try second.append(2)
            try first.append(3)
            try first.close()

            #expect(exists(folder.path + "/v2/x.esp-wal"))
            #expect(try second.numbers() == [2])
            #expect(try Database.open(folder.path + "/v1/x.esp").numbers() == [1, 3])
        }
    }

    // MARK: Paths that cannot be a store's

    @Test(.timeLimit(.minutes(30)))
    func `a path that can be no store's is refused at once, with what is wrong with it`() throws {
        try withTemporaryFolder { folder in
            let path = folder.path + "/x.esp"
            let database = try Database.open(path)
            try database.append(1)
            try database.close()
            try makePipe(folder.path + "/pipe")
            try FileManager.default.createSymbolicLink(atPath: folder.path + "/loop", withDestinationPath: "loop")
            try FileManager.default.createSymbolicLink(atPath: folder.path + "/to-pipe", withDestinationPath: "pipe")
            let rows: [(path: String, error: StorageError)] = [
                ("", .path(.empty)),
                (path + "\0.esp", .path(.containsNUL)),
                (folder.path + "/none/x.esp", .path(.noFolder)),
                (path + "/x.esp", .path(.notAFolder)),
                (folder.path, .opening(.notAStore(.directory))),
                (folder.path + "/", .opening(.notAStore(.directory))),
                (folder.path + "/.", .opening(.notAStore(.directory))),
                (folder.path + "/pipe", .opening(.notAStore(.notAFile))),
                (folder.path + "/to-pipe", .opening(.notAStore(.notAFile))),
                ("/dev/null", .opening(.notAStore(.notAFile))),
                (
                    folder.path + "/loop",
                    .io(IOFailure(operation: .open, file: .store, errno: Platform.linkLoop))
                ),
            ]
            for row in rows {
                for options in [DatabaseOptions(), Self.readOnly] {
                    #expect(throws: row.error, "\(row.path)") { _ = try Database.open(row.path, options: options) }
                }
                #expect(throws: row.error, "\(row.path)") { try Database.compact(at: row.path) }
                #expect(throws: row.error, "\(row.path)") { _ = try Database.repair(row.path) }
                #expect(throws: row.error, "\(row.path)") { _ = try BackupPoint(of: row.path) }
            }
            #expect(throws: StorageError.path(.noFolder)) {
                try Database.open(path).backUp(to: folder.path + "/none/copy.esp")
            }
            try makePipe(path + "-wal")
            #expect(throws: StorageError.path(.logNotAFile)) { try Database.open(path).append(2) }
        }
    }

    @Test func `a file with several names is read and not written, until it has one again`() throws {
        try withTemporaryFolder { folder in
            let (path, second) = (folder.path + "/x.esp", folder.path + "/second.esp")
            let database = try Database.open(path)
            try database.append(1)
            try FileManager.default.linkItem(atPath: path, toPath: second)
            // The store is unclean, and the log that the second name would need is beside the first.
            #expect(throws: StorageError.opening(.logMissing)) {
                _ = try Database.open(second, in: DisguisedFileSystem(device: 7), options: Self.readOnly)
            }
            try database.append(2)
            try database.close()

            for name in [path, second] {
                #expect(throws: StorageError.path(.hardLinked)) { _ = try Database.open(name) }
                #expect(throws: StorageError.path(.hardLinked)) { try Database.compact(at: name) }
                #expect(throws: StorageError.path(.hardLinked)) { _ = try Database.repair(name) }
                #expect(try Database.open(name, options: Self.readOnly).numbers() == [1, 2])
            }
            try FileManager.default.removeItem(atPath: path)
            let reopened = try Database.open(second)
            try reopened.append(3)
            try reopened.close()
            #expect(try Database.open(second).numbers() == [1, 2, 3])
        }
    }

    /// Makes the names that interrupted renames leave of a store with the number 1: its own, two temporary ones, and
    /// the temporary file of another process.
    private func makeHalfRenamed(_ path: String) throws {
        let database = try Database.open(path)
        try database.append(1)
        try database.close()
        for end in ["0", "3w5e11264sgsf"] {
            try FileManager.default.linkItem(atPath: path, toPath: path + ".tmp-" + end)
        }
        try Data("work in progress".utf8).write(to: URL(fileURLWithPath: path + ".tmp-zz"))
    }

    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `a store that a crash within a rename left with temporary names loses them when it is opened to write`()
        throws
    {
        let uses: [(String) throws -> Void] = [
            { path in try Database.open(path).append(2) },
            { path in try Database.compact(at: path) },
            { path in _ = try Database.repair(path) },
        ]
        for use in uses {
            try withTemporaryFolder { folder in
                let path = folder.path + "/x.esp"
                try makeHalfRenamed(path)
                let before = try names(in: folder)

                #expect(try Database.open(path, options: Self.readOnly).numbers() == [1])
                #expect(try names(in: folder) == before)
                try use(path)

                #expect(try names(in: folder).filter { !$0.hasSuffix("-wal") } == ["x.esp", "x.esp.tmp-zz"])
                let size = try FileManager.default.attributesOfItem(atPath: path + ".tmp-zz")[.size] as? Int
                #expect(size == "work in progress".utf8.count)
                #expect(try Database.open(path).numbers().first == 1)
            }
        }
    }

    @Test func `a copy that a crash within a rename left with a temporary name is brought forward`() throws {
        try withTemporaryFolder { folder in
            let (path, copy) = (folder.path + "/x.esp", folder.path + "/copy.esp")
            let database = try Database.open(path)
            try database.append(1)
            try database.backUp(to: copy)
            try database.append(2)
            try database.backUpChanges(since: try BackupPoint(of: copy), to: folder.path + "/increment")
            try database.close()
            try FileManager.default.linkItem(atPath: copy, toPath: copy + ".tmp-1a")

            try Database.bringForward(copy, by: folder.path + "/increment")

            #expect(try names(in: folder) == ["copy.esp", "increment", "x.esp"])
            #expect(try Database.open(copy, options: Self.readOnly).numbers() == [1, 2])
        }
    }

    @Test func `temporary names beside another name of the file stay, and the file is not written`() throws {
        let others = ["second.esp", "x.esp.tmp-", "x.esp.tmp-no number", "y.esp.tmp-1a", "x.esp.tmp-1a-wal"]
        for other in others {
            try withTemporaryFolder { folder in
                let path = folder.path + "/x.esp"
                try makeHalfRenamed(path)
                try FileManager.default.linkItem(atPath: path, toPath: folder.path + "/" + other)
                let before = try names(in: folder)

                #expect(throws: StorageError.path(.hardLinked), "\(other)") { _ = try Database.open(path) }

                #expect(try names(in: folder) == before)
            }
        }
    }
}
