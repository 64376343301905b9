// The six core workloads of YCSB: rows of 1,000 bytes, keys by a Zipf distribution, one transaction for each operation.

import BenchKit
import Foundation

extension EngineLines {
    /// One step of a mixed workload.
    private enum Step {
        case read(UInt64)
        case write(UInt64)
        case scan(UInt64, length: Int)
        case readAndWrite(UInt64)
    }

    /// YCSB A to F.
    func mixedLines() -> [() -> Line] {
        [
            {
                mixed("ycsb A", "50 % reads, 50 % updates") { key, chance, _ in
                    chance < 0.5 ? .read(key) : .write(key)
                }
            },
            {
                mixed("ycsb B", "95 % reads, 5 % updates") { key, chance, _ in
                    chance < 0.95 ? .read(key) : .write(key)
                }
            },
            { mixed("ycsb C", "reads") { key, _, _ in .read(key) } },
            {
                mixed("ycsb D", "95 % reads of the newest rows, 5 % new rows") { _, chance, state in
                    guard chance < 0.95 else {
                        state.newest += 1
                        return .write(state.newest)
                    }
                    return .read(state.newest - min(state.newest - 1, state.rank))
                }
            },
            {
                mixed("ycsb E", "95 % scans of 1 to 100 rows, 5 % new rows", divisor: 10) { key, chance, state in
                    guard chance < 0.95 else {
                        state.newest += 1
                        return .write(state.newest)
                    }
                    return .scan(key, length: 1 + Int(state.rank % 100))
                }
            },
            {
                mixed("ycsb F", "50 % reads, 50 % reads and updates, a transaction each") { key, chance, _ in
                    chance < 0.5 ? .read(key) : .readAndWrite(key)
                }
            },
        ]
    }

    /// The state from which a workload chooses a step.
    private struct MixState {
        /// The greatest key that is stored.
        var newest: UInt64
        /// The popularity of the row chosen; 0 is the most popular.
        var rank: UInt64 = 0
    }

    private func mixed(
        _ name: String, _ note: String, divisor: Int = 1,
        _ choose: (_ key: UInt64, _ chance: Double, _ state: inout MixState) -> Step
    ) -> Line {
        let rows = UInt64(scale.records / 5)
        var state = MixState(newest: rows)
        var zipf = Zipf(count: rows, seed: 21)
        let steps = (0..<scale.reads / 10 / divisor).map { _ in
            state.rank = zipf.next()
            return choose(1 + scrambled(state.rank) % rows, zipf.chance(), &state)
        }
        let row = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        return Line(
            name, note: note + "; 1,000-byte rows, Zipf 0.99, not synced", operationCount: steps.count,
            contenders: contenderTypes.map { type in
                Line.Contender(type.name) {
                    let store = try type.init(
                        folder: try emptyFolder(type.name), shape: .integer, sync: .never,
                        cacheByteCount: cacheByteCount)
                    try store.put(Array(1...rows), value: row, batch: 10_000)
                    let time = try nanoseconds { blackHole(try run(steps, row, on: store)) }
                    try store.close()
                    return time
                }
            })
    }

    private func run(_ steps: [Step], _ row: [UInt8], on store: any KeyValueContender) throws -> UInt64 {
        var sum: UInt64 = 0
        for step in steps {
            switch step {
            case .read(let key): sum &+= try store.get([key], transactionPerRead: false)
            case .write(let key): try store.put([key], value: row, batch: 1)
            case .scan(let key, let length): sum &+= try store.seek([key], length: length)
            case .readAndWrite(let key):
                sum &+= try store.get([key], transactionPerRead: false)
                try store.put([key], value: row, batch: 1)
            }
        }
        return sum
    }
}

/// The pseudo-random number of a rank, so that the popular rows are spread over all keys.
private func scrambled(_ rank: UInt64) -> UInt64 {
    var generator = SplitMix64(state: rank)
    return generator.next()
}

/// Ranks by a Zipf distribution with exponent 0.99, by the method of Gray and others (1994).
private struct Zipf {
    private let count: Double
    private let theta = 0.99
    private let zeta: Double
    private let eta: Double
    private var generator: SplitMix64

    init(count: UInt64, seed: UInt64) {
        self.count = Double(count)
        let theta = theta
        zeta = (1...count).reduce(0) { $0 + 1 / pow(Double($1), theta) }
        eta = (1 - pow(2 / Double(count), 1 - theta)) / (1 - (1 + pow(0.5, theta)) / zeta)
        generator = SplitMix64(state: seed)
    }

    mutating func chance() -> Double { Double.random(in: 0..<1, using: &generator) }

    mutating func next() -> UInt64 {
        let chance = chance()
        if chance * zeta < 1 { return 0 }
        if chance * zeta < 1 + pow(0.5, theta) { return 1 }
        return UInt64(min(count - 1, count * pow(eta * chance - eta + 1, 1 / (1 - theta))))
    }
}
