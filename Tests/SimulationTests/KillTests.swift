// A writing process is killed at a random moment, many times: the store has every commit that the process
// acknowledged, and no part of another.
//
// The child is this test runner again (an exit test). It commits batches of 20 entries, appends a byte to a file of its
// own after each commit, and is killed by SIGKILL from a thread that waits for a random time.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct KillTests {
    /// Commits batches until the process ends; entry k of batch b has key 20 b + k and a value whose bytes and length
    /// follow from b.
    static func writeForEver(_ path: String) throws {
        let database = try Database.open(path)
        let acknowledged = try #require(FileHandle(forWritingAtPath: path + ".acknowledged"))
        try acknowledged.seekToEnd()
        while true {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "batches", orCreate: UInt64.self)
            let batch = try write.count(of: tree) / 20
            for entry in 0..<UInt64(20) {
                try write.put(
                    [UInt8](repeating: UInt8(batch % 256), count: Int(batch * 7 % 500) + 1), for: batch * 20 + entry,
                    in: tree)
            }
            try write.commit()
            try acknowledged.write(contentsOf: Data([1]))
        }
    }

    @Test func `a killed writer leaves every acknowledged commit and nothing half`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("killed.espalier").path
        try #require(FileManager.default.createFile(atPath: path + ".acknowledged", contents: nil))
        var chance = SeededGenerator(seed: testSeed(default: 21))
        for _ in 0..<campaignCount("ESPALIER_KILLS", default: 8) {
            let delay = UInt32.random(in: 1000...120_000, using: &chance)
            await #expect(processExitsWith: .signal(9)) { [path = path as String, delay = delay as UInt32] in
                Thread.detachNewThread {
                    usleep(delay)
                    kill(getpid(), SIGKILL)
                }
                try KillTests.writeForEver(path)
            }
            let database = try Database.open(path)
            let read = try database.beginRead()
            let acknowledged = try FileHandle(forReadingFrom: URL(fileURLWithPath: path + ".acknowledged")).readToEnd()
            let commits = UInt64(acknowledged?.count ?? 0)
            guard let tree = try read.tree(named: "batches", keys: UInt64.self) else {
                #expect(commits == 0)
                continue
            }
            let count = try read.count(of: tree)
            #expect(count % 20 == 0)
            #expect(count / 20 == commits || count / 20 == commits + 1)
            for batch in 0..<count / 20 {
                let value = [UInt8](repeating: UInt8(batch % 256), count: Int(batch * 7 % 500) + 1)
                for entry in 0..<UInt64(20) { #expect(try read.get(batch * 20 + entry, from: tree) == value) }
            }
            #expect(try database.check().isOK)
            // Acknowledge commits that the store has but the killed process did not acknowledge.
            let missing = count / 20 - commits
            if missing > 0 {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".acknowledged"))
                try handle.seekToEnd()
                try handle.write(contentsOf: Data([UInt8](repeating: 1, count: Int(missing))))
            }
        }
    }

    @Test func `another process is told who holds the store, and may read beside it`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("shared.espalier").path
        let database = try Database.open(path)
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        try write.put([1], for: 1, in: tree)
        try write.commit()
        let pid = getpid()

        await #expect(processExitsWith: .success) { [path = path as String, pid = pid as Int32] in
            #expect(throws: StorageError.opening(.storeBusy(pid: pid))) { _ = try Database.open(path) }
            var options = DatabaseOptions()
            options.access = .readOnly
            let reader = try Database.open(path, options: options)
            let found = try #require(try reader.beginRead().tree(named: "t", keys: UInt64.self))
            #expect(try reader.beginRead().get(1, from: found) == [1])
            #expect(try reader.check().isOK)
        }
        var second = try database.beginWrite()
        try second.put([2], for: 2, in: tree)
        try second.commit()
        #expect(try database.check().isOK)
    }
}
