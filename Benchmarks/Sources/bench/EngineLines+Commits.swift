// Single commits: their latency while checkpoints run, what the disk itself takes, and how many bytes are written.

import BenchKit
import Foundation

extension EngineLines {
    /// Latency quantiles, the bare `fdatasync`, bytes written.
    func commitLines() -> [() -> Line] {
        let runs = contenderTypes.map { LatencyRun(type: $0, lines: self) }
        func quantile(_ name: String, _ share: Double) -> () -> Line {
            {
                Line(
                    "commit \(name)",
                    note: "durable single commits of random keys in a loaded store, across checkpoints",
                    contenders: runs.map { run in
                        Line.Contender(run.type.name) { try run.quantile(share) }
                    })
            }
        }
        return [quantile("p50", 0.5), quantile("p99", 0.99), quantile("max", 1), bareSync, writeVolume]
    }

    /// Durable commits beside a plain program that writes and syncs as many bytes each.
    private func bareSync() -> Line {
        let keys = Array(random(scale.durableCommits, seed: 3))
        let volume = Volume()
        return Line(
            "fillsync beside bare fdatasync", note: "as many bytes a sync, over a file written before",
            operationCount: keys.count,
            contenders: [
                Line.Contender("espalier") {
                    let store = try EspalierContender(
                        folder: try emptyFolder("espalier"), shape: .integer, sync: .everyCommit,
                        cacheByteCount: cacheByteCount)
                    try store.put(Array(keys.prefix(100)), value: value, batch: 1)
                    let before = try writtenByteCount()
                    let time = try wallNanoseconds { try store.put(keys, value: value, batch: 1) }
                    volume.byteCount = (try writtenByteCount() - before) / keys.count
                    try store.close()
                    return time
                },
                Line.Contender("fdatasync") {
                    try timeOfSyncs(keys.count, of: volume.byteCount, in: try emptyFolder("bare"))
                },
            ])
    }

    /// What one contender writes, and the other then has to write.
    private final class Volume { var byteCount = 4096 }

    private func timeOfSyncs(_ count: Int, of byteCount: Int, in place: String) throws -> Double {
        let file = open(place + "/bare", O_RDWR | O_CREAT, 0o644)
        guard file >= 0 else { throw POSIXError(.EIO) }
        defer { _ = Foundation.close(file) }
        let bytes = [UInt8](repeating: 1, count: byteCount)
        let fileByteCount = 4 << 20
        let whole = [UInt8](repeating: 0, count: fileByteCount)
        guard pwrite(file, whole, fileByteCount, 0) == fileByteCount, fsync(file) == 0 else { throw POSIXError(.EIO) }
        return try wallNanoseconds {
            var offset = 0
            for _ in 0..<count {
                if offset + byteCount > fileByteCount { offset = 0 }
                guard pwrite(file, bytes, byteCount, off_t(offset)) == byteCount, syncData(file) == 0 else {
                    throw POSIXError(.EIO)
                }
                offset += byteCount
            }
        }
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
            note: "single commits of random keys in a loaded store, log and checkpoints",
            unit: .bytes, operationCount: keys.count * (8 + value.count),
            contenders: contenderTypes.map { type in
                Line.Contender(type.name) {
                    let store = try filled(type)
                    let before = try writtenByteCount()
                    try store.put(keys, value: value, batch: 1)
                    let written = try writtenByteCount() - before
                    try store.close()
                    return Double(written)
                }
            })
    }

    /// The bytes this process has passed to system calls that write.
    private func writtenByteCount() throws -> Int {
        let counters = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
        let line = counters.split(separator: "\n").first { $0.hasPrefix("wchar:") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }

    /// The latencies of one contender's commits, measured anew each time the median is asked for.
    private final class LatencyRun {
        let type: any KeyValueContender.Type
        private let lines: EngineLines
        private var latencies: Samples?

        init(type: any KeyValueContender.Type, lines: EngineLines) { (self.type, self.lines) = (type, lines) }

        func quantile(_ share: Double) throws -> Double {
            if share == 0.5 || latencies == nil { latencies = try measure() }
            return latencies?.quantile(share) ?? 0
        }

        private func measure() throws -> Samples {
            let store = try type.init(
                folder: try lines.emptyFolder(type.name), shape: .integer, sync: .everyCommit,
                cacheByteCount: lines.cacheByteCount)
            try store.put(lines.sequential, value: lines.value, batch: 10_000)
            let values = try lines.random(lines.scale.durableCommits * 2, seed: 7).map { key in
                try wallNanoseconds { try store.put([key], value: lines.value, batch: 1) }
            }
            try store.close()
            return Samples(values)
        }
    }
}
