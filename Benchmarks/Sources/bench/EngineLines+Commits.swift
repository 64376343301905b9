// Single commits: their latency while checkpoints run, the time of the disk alone, and the number of bytes written.

import BenchKit
import Foundation

extension EngineLines {
    /// The lines of latency quantiles, the bare `fdatasync`, and bytes written.
    func commitLines() -> [() -> Line] {
        let run = LatencyRun(lines: self)
        func quantile(_ name: String, _ share: Double) -> () -> Line {
            {
                Line(
                    "commit \(name)",
                    note: "durable single commits of random keys in a loaded store, across checkpoints, in turns of "
                        + "\(LatencyRun.turn)",
                    contenders: contenderTypes.enumerated().map { number, type in
                        Line.Contender(type.name) { try run.quantile(share, ofContender: number) }
                    })
            }
        }
        return [quantile("p50", 0.5), quantile("p99", 0.99), quantile("max", 1), bareSync, writeVolume]
    }

    /// Durable commits against a plain program that writes and syncs the same number of bytes each, in turns of 50.
    private func bareSync() -> Line {
        let keys = Array(random(scale.durableCommits, seed: 3))
        var times = (espalier: 0.0, bare: 0.0)
        return Line(
            "fillsync beside bare fdatasync",
            note: "the same bytes per sync, over a file written before, in turns of \(LatencyRun.turn)",
            operationCount: keys.count,
            contenders: [
                Line.Contender("espalier") {
                    times = try timesOfSyncs(keys)
                    return times.espalier
                },
                Line.Contender("fdatasync") { times.bare },
            ])
    }

    /// The time of a durable commit of each key, and of as many bare syncs of the same number of bytes.
    private func timesOfSyncs(_ keys: [UInt64]) throws -> (espalier: Double, bare: Double) {
        let store = try EspalierContender(
            folder: try emptyFolder("espalier"), shape: .integer, sync: .everyCommit, cacheByteCount: cacheByteCount)
        try store.put(Array(keys.prefix(100)), value: value, batch: 1)
        let file = open(try emptyFolder("bare") + "/bare", O_RDWR | O_CREAT, 0o644)
        guard file >= 0 else { throw POSIXError(.EIO) }
        defer { _ = Foundation.close(file) }
        let whole = [UInt8](repeating: 1, count: 4 << 20)
        guard pwrite(file, whole, whole.count, 0) == whole.count, fsync(file) == 0 else { throw POSIXError(.EIO) }
        var times = (espalier: 0.0, bare: 0.0)
        var offset = 0
        for start in stride(from: 0, to: keys.count, by: LatencyRun.turn) {
            let some = Array(keys[start..<min(start + LatencyRun.turn, keys.count)])
            let before = try writtenByteCount()
            times.espalier += try wallNanoseconds { try store.put(some, value: value, batch: 1) }
            let byteCount = (try writtenByteCount() - before) / some.count
            times.bare += try wallNanoseconds {
                for _ in some {
                    if offset + byteCount > whole.count { offset = 0 }
                    guard pwrite(file, whole, byteCount, off_t(offset)) == byteCount, syncData(file) == 0 else {
                        throw POSIXError(.EIO)
                    }
                    offset += byteCount
                }
            }
        }
        try store.close()
        return times
    }

    private func syncData(_ file: Int32) -> Int32 {
        #if os(Linux)
            fdatasync(file)
        #else
            fsync(file)
        #endif
    }

    private func writeVolume() -> Line {
        let keys = random(scale.durableCommits * 4, seed: 6)
        return Line(
            "bytes written a byte of data",
            note: "single commits of random keys in a loaded store, from one checkpoint of everything to another",
            unit: .bytes, operationCount: keys.count * (8 + value.count),
            contenders: contenderTypes.map { type in
                Line.Contender(type.name) {
                    let store = try filled(type)
                    // The count includes the log of the commits, and excludes that of the load.
                    try store.checkpoint()
                    let before = try writtenByteCount()
                    try store.put(keys, value: value, batch: 1)
                    try store.checkpoint()
                    let written = try writtenByteCount() - before
                    try store.close()
                    return Double(written)
                }
            })
    }

    /// The bytes that this process has passed to system calls that write.
    private func writtenByteCount() throws -> Int {
        let counters = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
        let line = counters.split(separator: "\n").first { $0.hasPrefix("wchar:") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    /// The latencies of the commits, measured again each time the first contender's median is asked for.
    ///
    /// The contenders also take turns within one measurement, so that other work on the machine slows all of them.
    private final class LatencyRun {
        /// The number of commits of one contender before the next contender's turn.
        static let turn = 50
        private let lines: EngineLines
        private var latencies: [Samples] = []

        init(lines: EngineLines) { self.lines = lines }

        func quantile(_ share: Double, ofContender number: Int) throws -> Double {
            if latencies.isEmpty || (share == 0.5 && number == 0) { latencies = try measure() }
            return latencies[number].quantile(share)
        }

        private func measure() throws -> [Samples] {
            let stores = try lines.contenderTypes.map { type in
                let store = try type.init(
                    folder: try lines.emptyFolder(type.name), shape: .integer, sync: .everyCommit,
                    cacheByteCount: lines.cacheByteCount)
                try store.put(lines.sequential, value: lines.value, batch: 10_000)
                return store
            }
            let keys = lines.random(lines.scale.durableCommits * 2, seed: 7)
            var values = [[Double]](repeating: [], count: stores.count)
            for start in stride(from: 0, to: keys.count, by: Self.turn) {
                for (number, store) in stores.enumerated() {
                    for key in keys[start..<min(start + Self.turn, keys.count)] {
                        values[number].append(
                            try wallNanoseconds { try store.put([key], value: lines.value, batch: 1) })
                    }
                }
            }
            for store in stores { try store.close() }
            return values.map { Samples($0) }
        }
    }
}
