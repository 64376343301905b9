// The lines that decided the default page size: the same work on stores of all page sizes.
//
// Invariants
//   1. All page sizes have the same bytes of cache, not the same number of pages.
//   2. Rows are those of objects: integer keys, values of 100 bytes. Two lines have the 16-byte keys of an index.

import BenchKit
import Foundation

struct PageSizeLines {
    let scale: Scale
    let folder: URL
    private static let sizes = [4096, 8192, 16384, 32768, 65536]
    /// Enough bytes for the whole store at any page size.
    private var ampleCache: Int { scale.records * 256 }
    /// A quarter of the bytes of the rows.
    private var scarceCache: Int { scale.records * 112 / 4 }
    private let row = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    private func random(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SplitMix64(state: seed)
        return (0..<count).map { _ in UInt64.random(in: 1...UInt64(scale.records), using: &generator) }
    }

    private var ascending: [UInt64] { (1...UInt64(scale.records)).map(\.self) }

    private func shuffled() -> [UInt64] {
        var generator = SplitMix64(state: 1)
        return ascending.shuffled(using: &generator)
    }

    func all() -> [() -> Line] {
        [
            { writes("fillseq", ascending, batch: 1000, "1000 a transaction, not synced") },
            { writes("fillrandom", shuffled(), batch: 1000, "1000 a transaction, not synced") },
            { writes("fillrandom 16 B", shuffled(), shape: .bytes, batch: 1000, "16-byte keys, 1000 a transaction") },
            {
                writes(
                    "overwrite", random(scale.records, seed: 2), batch: 1000, isLoaded: true,
                    "random keys, 1000 a transaction, not synced")
            },
            {
                writes(
                    "overwrite 1", random(scale.durableCommits * 4, seed: 5), batch: 1, isLoaded: true,
                    "random keys, 1 a transaction, not synced")
            },
            {
                writes(
                    "fillsync", random(scale.durableCommits, seed: 3), batch: 1, isLoaded: true, sync: .everyCommit,
                    "random keys of a loaded store, 1 a transaction, durable")
            },
            { reads("readrandom", cache: ampleCache, "all in the cache") },
            { reads("readrandom 16 B", shape: .bytes, cache: ampleCache, "16-byte keys, all in the cache") },
            { reads("readrandom uncached", cache: scarceCache, "the cache holds a quarter of the rows") },
            {
                onLoaded("seekrandom", .integer, cache: ampleCache, operations: scale.reads, "seek and 10 entries") {
                    blackHole(try $0.seek(random(scale.reads, seed: 4), length: 10))
                }
            },
            {
                onLoaded("readseq", .integer, cache: ampleCache, operations: scale.records, "all in the cache") {
                    blackHole(try $0.scan(backward: false).sum)
                }
            },
            {
                onLoaded(
                    "readseq uncached", .integer, cache: scarceCache, operations: scale.records,
                    "the cache has a quarter"
                ) {
                    blackHole(try $0.scan(backward: false).sum)
                }
            },
            { fileSize("file after random load", .integer) },
            { fileSize("file after random load 16 B", .bytes) },
        ]
    }

    private func line(
        _ name: String, _ note: String, unit: Line.Unit = .time, operations: Int,
        _ run: @escaping (_ pageSize: Int) throws -> Double
    ) -> Line {
        Line(
            name, note: note, unit: unit, operationCount: operations,
            contenders: Self.sizes.map { size in Line.Contender("\(size >> 10) KiB") { try run(size) } })
    }

    private func open(_ place: String, _ shape: KeyShape, _ sync: Sync, cache: Int, _ size: Int) throws
        -> EspalierContender
    {
        try EspalierContender(folder: place, shape: shape, sync: sync, cacheByteCount: cache, pageSize: size)
    }

    private func writes(
        _ name: String, _ keys: [UInt64], shape: KeyShape = .integer, batch: Int, isLoaded: Bool = false,
        sync: Sync = .never, _ note: String
    ) -> Line {
        line(name, note, operations: keys.count) { size in
            let place = folder.appendingPathComponent("page-size-writes")
            try? FileManager.default.removeItem(at: place)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let store = try open(place.path, shape, sync, cache: ampleCache, size)
            if isLoaded { try store.put(ascending, value: row, batch: 10_000) }
            let time = try nanoseconds { try store.put(keys, value: row, batch: batch) }
            try store.close()
            return time
        }
    }

    private func reads(_ name: String, shape: KeyShape = .integer, cache: Int, _ note: String) -> Line {
        let keys = random(scale.reads, seed: 4)
        return onLoaded(name, shape, cache: cache, operations: keys.count, note) {
            blackHole(try $0.get(keys, transactionPerRead: false))
        }
    }

    /// Work on a store that was loaded in random order; the first run, which fills the cache, is not counted.
    private func onLoaded(
        _ name: String, _ shape: KeyShape, cache: Int, operations: Int, _ note: String,
        _ body: @escaping (EspalierContender) throws -> Void
    ) -> Line {
        line(name, note, operations: operations) { size in
            let store = try open(try loaded(shape, size), shape, .never, cache: cache, size)
            try body(store)
            let time = try nanoseconds { try body(store) }
            try store.close()
            return time
        }
    }

    private func fileSize(_ name: String, _ shape: KeyShape) -> Line {
        line(name, "bytes per row of the closed store", unit: .bytes, operations: scale.records) { size in
            try Double(byteCount(ofFolder: try loaded(shape, size)))
        }
    }

    private func loaded(_ shape: KeyShape, _ size: Int) throws -> String {
        let place = folder.appendingPathComponent("page-size-\(shape)-\(size)").path
        if !FileManager.default.fileExists(atPath: place) {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let store = try open(place, shape, .never, cache: ampleCache, size)
            try store.put(shuffled(), value: row, batch: 10_000)
            try store.close()
        }
        return place
    }
}

/// The bytes of all files in a folder.
func byteCount(ofFolder path: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: path).reduce(0) { sum, name in
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
        return sum + ((attributes[.size] as? Int) ?? 0)
    }
}
