// The engine lines under their db_bench names: the records, their order, and the size of a transaction.
//
// Invariants
//   1. Every contender gets the same seed, so the same keys in the same order.
//   2. A line that writes begins with an empty store, or with the loaded one if it overwrites or deletes; loading is
//      outside the clock.

import BenchKit
import Foundation

/// The size of a run.
struct Scale {
    var records: Int
    var durableCommits: Int
    var reads: Int
    var objects: Int
    var repetitions: Int
    var isQuick: Bool { repetitions < 5 }
    /// The size of a quick run of about two minutes.
    static let quick = Scale(records: 75_000, durableCommits: 400, reads: 150_000, objects: 20_000, repetitions: 3)
    /// The size of a full run.
    static let full = Scale(records: 500_000, durableCommits: 2_000, reads: 500_000, objects: 100_000, repetitions: 5)
}

struct EngineLines {
    let scale: Scale
    let folder: URL
    let cacheByteCount = 64 << 20
    let value = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37) }

    var sequential: [UInt64] { (1...UInt64(scale.records)).map(\.self) }

    func random(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SplitMix64(state: seed)
        return (0..<count).map { _ in UInt64.random(in: 1...UInt64(scale.records), using: &generator) }
    }

    func shuffled() -> [UInt64] {
        var generator = SplitMix64(state: 1)
        return sequential.shuffled(using: &generator)
    }

    /// All lines.
    func all() -> [() -> Line] {
        let groups: [[() -> Line]] = [
            basicLines(), batchLines(), largeLines(), mixedLines(), threadLines(), commitLines(), sizeLines(),
            startLines(),
        ]
        return groups.flatMap(\.self)
    }

    /// The lines for both shapes of keys.
    private func basicLines() -> [() -> Line] {
        KeyShape.allCases.flatMap { shape in
            [
                { writes("fillseq", shape, .never, sequential, batch: 1000, "1000 a transaction, not synced") },
                { writes("fillrandom", shape, .never, shuffled(), batch: 1000, "1000 a transaction, not synced") },
                {
                    writes(
                        "overwrite", shape, .never, random(scale.records, seed: 2), batch: 1000, isLoaded: true,
                        "random keys of a loaded store, 1000 a transaction, not synced")
                },
                {
                    writes(
                        "fillsync", shape, .everyCommit, Array(random(scale.durableCommits, seed: 3)), batch: 1,
                        "1 a transaction, synced: .durable, synchronous=FULL, LMDB's default")
                },
                {
                    writes(
                        "deleterandom", shape, .never, shuffled(), batch: 1000, isLoaded: true, isRemoval: true,
                        "all keys of a loaded store, 1000 a transaction, not synced")
                },
                { reads("readrandom", shape, "one read transaction") { try $0.get($1, transactionPerRead: false) } },
                {
                    reads("readrandom txn", shape, "a read transaction each") {
                        try $0.get($1, transactionPerRead: true)
                    }
                },
                {
                    reads(
                        "readhot", shape, "1 % of the keys", keys: { $0.map { $0 % UInt64(scale.records / 100) + 1 } }
                    ) {
                        try $0.get($1, transactionPerRead: false)
                    }
                },
                {
                    reads("readmissing", shape, "no key exists", keys: { $0.map { $0 + UInt64(scale.records) } }) {
                        try $0.get($1, transactionPerRead: false)
                    }
                },
                { reads("seekrandom", shape, "seek and 10 entries") { try $0.seek($1, length: 10) } },
                { scans("readseq", shape, backward: false) },
                { scans("readreverse", shape, backward: true) },
            ]
        }
    }

    func writes(
        _ name: String, _ shape: KeyShape, _ sync: Sync, _ keys: [UInt64], batch: Int, value: [UInt8]? = nil,
        isLoaded: Bool = false, isRemoval: Bool = false, _ note: String
    ) -> Line {
        let value = value ?? self.value
        func contender<C: KeyValueContender>(_ type: C.Type) -> Line.Contender {
            Line.Contender(C.name) {
                let place = try emptyFolder(C.name)
                let store = try C(folder: place, shape: shape, sync: sync, cacheByteCount: cacheByteCount)
                if isLoaded { try store.put(sequential, value: value, batch: 10_000) }
                let time = try (sync == .everyCommit ? wallNanoseconds : nanoseconds) {
                    if isRemoval {
                        try store.remove(keys, batch: batch)
                    } else {
                        try store.put(keys, value: value, batch: batch)
                    }
                }
                try store.close()
                return time
            }
        }
        return Line(
            "\(name) \(shape.rawValue)", note: note, operationCount: keys.count,
            contenders: contenderTypes.map { contender($0) })
    }

    func reads(
        _ name: String, _ shape: KeyShape, _ note: String, keys transform: ([UInt64]) -> [UInt64] = { $0 },
        _ body: @escaping (any KeyValueContender, [UInt64]) throws -> UInt64
    ) -> Line {
        let keys = transform(random(scale.reads, seed: 4))
        return Line(
            "\(name) \(shape.rawValue)", note: note, operationCount: keys.count,
            contenders: contenderTypes.map { type in
                let store = LoadedStore { try loaded(type, shape) }
                return Line.Contender(type.name) {
                    let store = try store.value
                    return try nanoseconds { blackHole(try body(store, keys)) }
                }
            })
    }

    private func scans(_ name: String, _ shape: KeyShape, backward: Bool) -> Line {
        Line(
            "\(name) \(shape.rawValue)", note: "the whole tree", operationCount: scale.records,
            contenders: contenderTypes.map { type in
                let store = LoadedStore { try loaded(type, shape) }
                return Line.Contender(type.name) {
                    let store = try store.value
                    return try nanoseconds {
                        let (count, sum) = try store.scan(backward: backward)
                        guard count == scale.records else { throw WrongResult(expected: scale.records, found: count) }
                        blackHole(sum)
                    }
                }
            })
    }

    /// A store with all records, closed after loading and opened again, so that no contender reads from a fresh log.
    func loaded(_ type: any KeyValueContender.Type, _ shape: KeyShape) throws -> any KeyValueContender {
        let place = try placeOfLoaded(type, shape)
        return try type.init(folder: place, shape: shape, sync: .never, cacheByteCount: cacheByteCount)
    }

    /// A new store with all records, loaded in order, for lines that write.
    func filled(_ type: any KeyValueContender.Type) throws -> any KeyValueContender {
        let store = try type.init(
            folder: try emptyFolder(type.name), shape: .integer, sync: .never, cacheByteCount: cacheByteCount)
        try store.put(sequential, value: value, batch: 10_000)
        return store
    }

    /// The folder of a store with all records, loaded in random order.
    func placeOfLoaded(_ type: any KeyValueContender.Type, _ shape: KeyShape) throws -> String {
        let place = folder.appendingPathComponent("loaded-\(type.name)-\(shape)").path
        if !FileManager.default.fileExists(atPath: place) {
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let store = try type.init(folder: place, shape: shape, sync: .never, cacheByteCount: cacheByteCount)
            try store.put(shuffled(), value: value, batch: 10_000)
            try store.close()
        }
        return place
    }

    var contenderTypes: [any KeyValueContender.Type] { ChildRun.contenders }

    func emptyFolder(_ name: String) throws -> String {
        let place = folder.appendingPathComponent("writes-\(name)")
        try? FileManager.default.removeItem(at: place)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        return place.path
    }
}

/// A loaded store, opened at its first use and closed with the line.
final class LoadedStore {
    private let open: () throws -> any KeyValueContender
    private var opened: (any KeyValueContender)?

    init(_ open: @escaping () throws -> any KeyValueContender) { self.open = open }

    deinit { try? opened?.close() }

    var value: any KeyValueContender {
        get throws {
            if let opened { return opened }
            let store = try open()
            opened = store
            return store
        }
    }
}

/// The work of a contender had another result than the line requires.
struct WrongResult: Error {
    let expected: Int
    let found: Int
}

/// Steele, Lea and Flood's SplitMix64, which gives the same keys on every machine.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
