// The memory of a process that uses a store far larger than its cache.
//
//   bench --memory GIB
//
// Loads a store of about GIB gibibytes through a cache of 32 MiB, then reads at random, scans, and overwrites at random
// with checkpoints. After each step it prints the greatest resident size (`VmHWM`) of the process so far.

import EspalierEngine
import Foundation
import Glibc

struct MemoryRun {
    let gibibytes: Double
    let folder: URL
    /// The limit of the process, cache included, in bytes.
    static let byteCountMax = 64 << 20
    private static let cacheByteCount = 32 << 20
    private static let valueByteCount = 1000

    func run() throws {
        var options = DatabaseOptions()
        options.cacheByteCount = Self.cacheByteCount
        options.durability = .ordered
        let path = folder.appendingPathComponent("memory.espalier").path
        let database = try Database.open(path, options: options)
        let count = UInt64(gibibytes * Double(1 << 30)) / UInt64(Self.valueByteCount + 20)
        let tree = try load(count, into: database)
        try report("load \(count) rows in random order of blocks")
        try readAtRandom(200_000, of: count, tree, in: database)
        try report("200,000 random reads")
        try scan(tree, expecting: count, in: database)
        try report("a scan of everything")
        try overwrite(200_000, of: count, tree, in: database)
        try report("200,000 random overwrites, 100 a transaction")
        try database.close()
        let size = try byteCount(ofFolder: folder.path)
        try report("close; the file has \(size >> 20) MiB")
        let peak = try Self.peakByteCount()
        let verdict = peak <= Self.byteCountMax ? "within" : "ABOVE"
        print("peak \(peak >> 10) KiB: \(verdict) the limit of \(Self.byteCountMax >> 20) MiB")
        if peak > Self.byteCountMax { throw MemoryExceeded(byteCount: peak) }
    }

    /// Loads blocks of neighboring rows, the blocks in random order: faster than row by row, and not a mere append.
    private func load(_ count: UInt64, into database: Database) throws -> Tree<UInt64> {
        var generator = SplitMix64(state: 11)
        let block: UInt64 = 1000
        let value = [UInt8](repeating: 7, count: Self.valueByteCount)
        var transaction = try database.beginWrite()
        let tree = try transaction.tree(named: "rows", orCreate: UInt64.self)
        try transaction.commit()
        for first in Array(stride(from: 0, to: count, by: Int(block))).shuffled(using: &generator) {
            var transaction = try database.beginWrite()
            for key in first..<min(first + block, count) { try transaction.put(value.span.bytes, for: key, in: tree) }
            try transaction.commit()
        }
        return tree
    }

    private func readAtRandom(_ reads: Int, of count: UInt64, _ tree: Tree<UInt64>, in database: Database) throws {
        var generator = SplitMix64(state: 12)
        let transaction = try database.beginRead()
        for _ in 0..<reads {
            let key = UInt64.random(in: 0..<count, using: &generator)
            guard try transaction.withValue(of: key, in: tree, { $0.byteCount }) == Self.valueByteCount else {
                throw WrongResult(expected: Self.valueByteCount, found: 0)
            }
        }
    }

    private func scan(_ tree: Tree<UInt64>, expecting count: UInt64, in database: Database) throws {
        let transaction = try database.beginRead()
        var cursor = try transaction.cursor(over: tree)
        var found = 0
        while try cursor.next() { found += 1 }
        guard found == Int(count) else { throw WrongResult(expected: Int(count), found: found) }
    }

    private func overwrite(_ writes: Int, of count: UInt64, _ tree: Tree<UInt64>, in database: Database) throws {
        var generator = SplitMix64(state: 13)
        let value = [UInt8](repeating: 8, count: Self.valueByteCount)
        for _ in 0..<writes / 100 {
            var transaction = try database.beginWrite()
            for _ in 0..<100 {
                try transaction.put(
                    value.span.bytes, for: UInt64.random(in: 0..<count, using: &generator), in: tree)
            }
            try transaction.commit()
        }
    }

    private func report(_ step: String) throws {
        print("\(try Self.peakByteCount() >> 10) KiB after: \(step)")
        fflush(nil)
    }

    /// Resets the greatest resident size to the present one.
    static func forgetPeak() throws {
        // Returns free memory to the system first; an operation that reused it would seem to need none.
        if let trim = dlsym(nil, "malloc_trim") {
            _ = unsafeBitCast(trim, to: (@convention(c) (Int) -> Int32).self)(0)
        }
        try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }

    /// The greatest resident size of this process so far, or since `forgetPeak`.
    static func peakByteCount() throws -> Int { try residentByteCount("VmHWM:") }

    /// A figure of the system about this process in bytes: `VmHWM:` the greatest resident size, `VmRSS:` the present
    /// one.
    static func residentByteCount(_ figure: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(figure) }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}

/// The process used more memory than its limit.
struct MemoryExceeded: Error {
    let byteCount: Int
}
