// A transaction many times larger than the cache: its memory stays near that of the cache, and it leaves nothing
// behind, committed or not.
//
// Each test runs in its own process (an exit test), because it measures the memory of a process.

import EspalierEngine
import Foundation
import TestSupport
import Testing

@Suite struct LargeTransactionTests {
    /// The size of a transaction's values in MiB; the cache has a 32nd of it: 1024 means 1 GiB in a cache of 32 MiB.
    private static let mebibytes = campaignCount("ESPALIER_TRANSACTION_MIB", default: 32)

    private struct Refusal: Error {}

    private static func value(_ key: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(key % 251), count: 1000) }

    private static func options(_ mebibytes: Int) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.cacheByteCount = mebibytes << 15
        return options
    }

    /// The bytes of memory that a transaction may use beside the cache: a constant, and 200 bytes for each of its
    /// pages, whose places in the log it keeps.
    private static func allowance(_ mebibytes: Int) -> Int { 16 << 20 + (mebibytes << 20) / 4096 * 200 }

    static func fill(_ path: String, _ mebibytes: Int) throws {
        let options = options(mebibytes)
        let database = try Database.open(path, options: options)
        let before = try peakByteCount()
        let count = UInt64(mebibytes) << 10
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        // Roll back a nested part first: its log space is free at once.
        #expect(throws: Refusal.self) {
            try write.nested { write in
                for key in 0..<count / 4 { try write.put([1, 2, 3], for: key * 17 % count, in: tree) }
                throw Refusal()
            }
        }
        for key in 0..<count { try write.put(value(key), for: key, in: tree) }
        try write.commit()
        let grown = try peakByteCount() - before
        let logged = database.statistics.logByteCount
        try database.checkpoint(.truncate)

        #expect(grown <= options.cacheByteCount + allowance(mebibytes))
        #expect(logged > count * 1000)
        #expect(database.statistics.logByteCount == 0)
        let read = try database.beginRead()
        #expect(try read.count(of: tree) == count)
        for key in stride(from: 0, to: count, by: 997) { #expect(try read.get(key, from: tree) == value(key)) }
        print("\(mebibytes) MiB in a cache of \(options.cacheByteCount >> 10) KiB:", terminator: " ")
        print("\(grown >> 10) KiB more memory, \(logged >> 20) MiB of log")
    }

    static func giveUp(_ path: String, _ mebibytes: Int) throws {
        let options = options(mebibytes)
        let database = try Database.open(path, options: options)
        let count = UInt64(mebibytes) << 10
        var first = try database.beginWrite()
        let tree = try first.createTree(named: "t", keys: UInt64.self)
        for key in 0..<UInt64(2000) { try first.put(value(key), for: key, in: tree) }
        try first.commit()
        let (before, live) = (try peakByteCount(), database.statistics.logLiveByteCount)
        var write = try database.beginWrite()
        // Each savepoint keeps the pages that the level before it has changed in memory.
        for level in 0..<UInt64(100) {
            _ = try write.savepoint()
            for key in stride(from: level % 4, to: 2000, by: 4) { try write.put(value(level), for: key, in: tree) }
        }
        for key in 2000..<count { try write.put(value(key), for: key, in: tree) }
        write.rollback()

        #expect(try peakByteCount() - before <= options.cacheByteCount + allowance(mebibytes))
        #expect(database.statistics.logLiveByteCount == live)
        let read = try database.beginRead()
        #expect(try read.count(of: tree) == 2000)
        for key in 0..<UInt64(2000) { #expect(try read.get(key, from: tree) == value(key)) }
        #expect(try database.check().isOK)
    }

    @Test func `a transaction of 32 times the cache works in the memory of the cache`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, mebibytes) = (folder.appendingPathComponent("large.espalier").path, Self.mebibytes)
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [path = path as String, mebibytes = mebibytes as Int] in
            try LargeTransactionTests.fill(path, mebibytes)
        }
        print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
    }

    @Test func `one that is given up, with a hundred savepoints, leaves store and log as they were`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (path, mebibytes) = (folder.appendingPathComponent("large.espalier").path, Self.mebibytes)
        await #expect(processExitsWith: .success) { [path = path as String, mebibytes = mebibytes as Int] in
            try LargeTransactionTests.giveUp(path, mebibytes)
        }
    }

    @Test(arguments: LargeValues.seeds)
    func `one of values of 1 to 64 MiB shrinks the store before it ends, in any cache`(number: UInt64) throws {
        let seed = testSeed(default: 720) + number
        var chance = SeededGenerator(seed: seed)
        let database = try Database.inMemory(options: LargeValues.options(seed: seed))
        var write = try database.beginWrite()
        let tree = try write.createTree(named: "t", keys: UInt64.self)
        let values = [LargeValues.value(&chance), LargeValues.largest(3), LargeValues.value(&chance)]
        for (key, value) in values.enumerated() { try write.put(value, for: UInt64(key), in: tree) }
        try write.remove(0, from: tree)
        try write.shrink(movingAtMost: 1 << 20)
        try write.commit()

        let read = try database.beginRead()
        for key in UInt64(1)..<3 { #expect(try read.get(key, from: tree) == values[Int(key)], "seed \(seed)") }
        #expect(try database.check().findings == [], "seed \(seed)")
    }
}
