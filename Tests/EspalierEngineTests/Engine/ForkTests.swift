// A database in a forked child: every use is an error, and the parent keeps its files, log and lock.
//
// Swift does not let programs call `fork`, but C code in the same process can; the tests look it up by name. They fork
// in their own processes (exit tests), in which nothing else runs.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct ForkTests {
    /// The C library's `fork`.
    private static func fork() throws -> Int32 {
        typealias Fork = @convention(c) () -> Int32
        // SAFETY: the C library declares `fork` without arguments.
        let function = unsafe unsafeBitCast(try #require(dlsym(nil, "fork")), to: Fork.self)
        return function()
    }

    /// The exit code of a child process, or -1 if a signal ended it.
    private static func exitCode(of child: Int32) -> Int32 {
        var status: Int32 = 0
        // SAFETY: the kernel fills the number it is given.
        guard unsafe waitpid(child, &status, 0) == child, status & 0x7F == 0 else { return -1 }
        return status >> 8 & 0xFF
    }

    /// Whether `body` throws `expected`.
    private static func throwsError(_ expected: StorageError, _ body: () throws(StorageError) -> Void) -> Bool {
        do throws(StorageError) { try body() } catch { return error == expected }
        return false
    }

    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.path)
    }

    private static func files(_ path: String) throws -> [Data] {
        try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: path + $0)) }
    }

    /// Uses the parent's database in a child; returns how many of the calls did not throw the expected error.
    private static func misuse(_ database: inout Database?, _ path: String, parent: Int32) -> Int32 {
        let forked = StorageError.database(.forked(from: parent))
        let refused = [
            throwsError(forked) { () throws(StorageError) in _ = try database?.beginRead().transactionID },
            throwsError(forked) { () throws(StorageError) in try database?.append(99) },
            throwsError(forked) { () throws(StorageError) in _ = try database?.checkpoint() },
            throwsError(forked) { () throws(StorageError) in _ = try database?.checkpoint(.truncate) },
            throwsError(forked) { () throws(StorageError) in try database?.backUp(to: path + ".copy") },
            throwsError(forked) { () throws(StorageError) in try database?.close() },
            throwsError(.opening(.storeBusy(pid: parent))) { () throws(StorageError) in _ = try Database.open(path) },
        ]
        // Release the handle, and with it the engine.
        database = nil
        return Int32(refused.count { !$0 })
    }

    @Test func `a forked child can do nothing with its parent's database, and dropping it there changes nothing`()
        async throws
    {
        try await Self.withFolder { folder in
            let path = folder + "/x.esp"
            await #expect(processExitsWith: .success) { [path = path as String] in
                var database: Database? = try Database.open(path)
                try database?.append(1)
                let before = try ForkTests.files(path)
                let parent = getpid()

                let child = try ForkTests.fork()
                if child == 0 { _exit(ForkTests.misuse(&database, path, parent: parent)) }

                #expect(ForkTests.exitCode(of: child) == 0)
                #expect(try ForkTests.files(path) == before)
                // The parent still holds the lock and still uses its log.
                #expect(throws: StorageError.opening(.storeBusy(pid: parent))) {
                    _ = try Database.open(path, in: DisguisedFileSystem(device: 3), options: .init())
                }
                try database?.append(2)
                try database?.close()
                #expect(try Database.open(path).numbers() == [1, 2])
            }
        }
    }

    @Test func `a write transaction that was open at a fork is committed by the parent alone`() async throws {
        try await Self.withFolder { folder in
            let path = folder + "/x.esp"
            await #expect(processExitsWith: .success) { [path = path as String] in
                var options = DatabaseOptions()
                options.cacheByteCount = 16 * 4096
                let database = try Database.open(path, options: options)
                try database.append(1)
                var write = try database.beginWrite()
                let tree = try write.createTree(named: "t", keys: UInt64.self)
                try write.put([7], for: 1, in: tree)
                let before = try ForkTests.files(path)
                let parent = getpid()

                let child = try ForkTests.fork()
                if child == 0 {
                    // More than the cache holds: without the refusal the child would write pages to the parent's log.
                    let big = [UInt8](repeating: 1, count: 200_000)
                    let isRefused = ForkTests.throwsError(.database(.forked(from: parent))) { () throws(StorageError) in
                        try write.put(big, for: 2, in: tree)
                    }
                    do throws(StorageError) { try write.commit() } catch {
                        _exit(
                            isRefused && (error == .database(.forked(from: parent)) || error == .transaction(.failed))
                                ? 0 : 1)
                    }
                    _exit(2)
                }

                #expect(ForkTests.exitCode(of: child) == 0)
                #expect(try ForkTests.files(path) == before)
                try write.commit()
                try database.close()
                let again = try Database.open(path)
                #expect(try again.numbers() == [1])
                #expect(try again.beginRead().get(1, from: tree) == [7])
            }
        }
    }

    @Test func `a commit in a forked child is refused, even of nothing`() async throws {
        try await Self.withFolder { folder in
            let path = folder + "/x.esp"
            await #expect(processExitsWith: .success) { [path = path as String] in
                let database = try Database.open(path)
                try database.append(1)
                let write = try database.beginWrite()
                let before = try ForkTests.files(path)
                let parent = getpid()

                let child = try ForkTests.fork()
                if child == 0 {
                    do throws(StorageError) { try write.commit() } catch {
                        _exit(error == .database(.forked(from: parent)) ? 0 : 1)
                    }
                    _exit(2)
                }

                #expect(ForkTests.exitCode(of: child) == 0)
                #expect(try ForkTests.files(path) == before)
                write.rollback()
                try database.close()
            }
        }
    }
}
