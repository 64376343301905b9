// The time of opening a store: after a crash with a log of 64 MiB that is not in the store file, and clean stores of
// several sizes.
//
// Invariants
//   1. A crash is a copy of the files of an open store: as after a kill, it contains everything that the writing
//      process had passed to the system.
//   2. Each opening has a fresh copy that was synced before, so that no opening waits for writes of the copying.

import BenchKit
import EspalierEngine
import Foundation

struct RecoveryLines {
    let folder: URL
    let isQuick: Bool
    private static let logByteCount: UInt64 = 64 << 20

    func all() -> [() -> Line] {
        let cleanMebibytes = isQuick ? [10, 1024] : [10, 1024, 10_240]
        return [
            { afterCrash("synced", .durable, rowCount: 1_000_000, "100 random rows of 1,000,000 a transaction") },
            { afterCrash("not synced", .ordered, rowCount: 1_000_000, "as above; recovery logs all of it again") },
            { afterCrash("few pages", .durable, rowCount: 10_000, "100 random rows of 10,000 a transaction") },
        ] + cleanMebibytes.map { size in { clean(size) } }
    }

    /// Opening a store whose log is full of commits.
    private func afterCrash(_ name: String, _ durability: Durability, rowCount: UInt64, _ note: String) -> Line {
        let place = folder.appendingPathComponent("crashed-\(name)").path
        return Line(
            "open after crash, 64 MiB, \(name)", note: note, operationCount: 1,
            contenders: [
                Line.Contender("espalier") {
                    if !FileManager.default.fileExists(atPath: place) {
                        try makeCrashed(place, durability, rowCount: rowCount)
                    }
                    let copy = place + "-copy"
                    try copyStore(place, to: copy)
                    sync()
                    let before = DispatchTime.now().uptimeNanoseconds
                    let database = try Database.open(copy)
                    let time = Double(DispatchTime.now().uptimeNanoseconds - before)
                    try database.close()
                    return time
                }
            ])
    }

    private func makeCrashed(_ place: String, _ durability: Durability, rowCount: UInt64) throws {
        var options = DatabaseOptions()
        options.durability = .ordered
        let original = place + "-original"
        let tree = try fill(original, count: rowCount, value: [UInt8](repeating: 7, count: 100), options)
        options.checkpointThreshold = .max
        let database = try Database.open(original, options: options)
        var chance = SplitMix64(state: 1)
        while database.statistics.logLiveByteCount + 500_000 < Self.logByteCount {
            var write = try database.beginWrite()
            for _ in 0..<100 {
                let key = UInt64.random(in: 0..<rowCount, using: &chance)
                try write.put([UInt8](repeating: 8, count: 100), for: key, in: tree)
            }
            try write.commit(durability)
        }
        try copyStore(original, to: place)
        try database.close()
        try FileManager.default.removeItem(atPath: original)
    }

    private func copyStore(_ place: String, to copy: String) throws {
        for suffix in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: copy + suffix)
            try FileManager.default.copyItem(atPath: place + suffix, toPath: copy + suffix)
        }
    }

    /// Opening a store that was closed cleanly, and reading one value.
    private func clean(_ mebibytes: Int) -> Line {
        let place = folder.appendingPathComponent("clean-\(mebibytes)").path
        var filled: Tree<UInt64>?
        return Line(
            "open clean store of \(mebibytes) MiB", note: "open, one get, close; values of 64 KiB", operationCount: 1,
            contenders: [
                Line.Contender("espalier") {
                    var options = DatabaseOptions()
                    options.durability = .ordered
                    let value = [UInt8](repeating: 7, count: 65_000)
                    let tree = try filled ?? fill(place, count: UInt64(mebibytes) * 16, value: value, options)
                    filled = tree
                    let before = DispatchTime.now().uptimeNanoseconds
                    let database = try Database.open(place)
                    guard try database.beginRead().get(UInt64(mebibytes) * 8, from: tree)?.count == value.count else {
                        throw WrongResult(expected: value.count, found: 0)
                    }
                    try database.close()
                    return Double(DispatchTime.now().uptimeNanoseconds - before)
                }
            ])
    }

    /// Makes a store of `count` rows, cleanly closed.
    private func fill(_ place: String, count: UInt64, value: [UInt8], _ options: DatabaseOptions) throws -> Tree<UInt64>
    {
        let database = try Database.open(place, options: options)
        var write = try database.beginWrite()
        let tree = try write.tree(named: "rows", orCreate: UInt64.self)
        let batch = UInt64(max(64 << 20, value.count) / value.count)
        for key in 0..<count {
            try write.put(value, for: key, in: tree)
            if key % batch == batch - 1 {
                try write.commit()
                write = try database.beginWrite()
            }
        }
        try write.commit()
        try database.close()
        return tree
    }
}
