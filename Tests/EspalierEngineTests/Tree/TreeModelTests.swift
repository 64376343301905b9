// Random operations on trees, compared with a sorted array, on the smallest pages, so that splits and merges are
// frequent.

import EspalierEngine
import TestSupport
import Testing

/// The pattern of the keys and values of a run.
enum Workload: String, CaseIterable, CustomTestStringConvertible {
    case scatteredIntegers, denseIntegers, ascendingIntegers, descendingIntegers, clusteredIntegers
    case shortBytes, longBytes, sharedPrefixes, ascendingBytes, nestedBytes

    var kind: KeyKind {
        switch self {
        case .scatteredIntegers, .denseIntegers, .ascendingIntegers, .descendingIntegers, .clusteredIntegers: .integer
        case .shortBytes, .longBytes, .sharedPrefixes, .ascendingBytes, .nestedBytes: .bytes
        }
    }

    var testDescription: String { rawValue }

    /// The key of step `step`.
    func key(_ step: Int, _ random: inout SeededGenerator, pageSize: Int) -> TestKey {
        let longest = StoreGeometry(pageSize: pageSize).keyByteCountMax
        switch self {
        case .scatteredIntegers: return .integer(random.next())
        case .denseIntegers: return .integer(UInt64.random(in: 0..<600, using: &random))
        case .ascendingIntegers: return .integer(UInt64(step))
        case .descendingIntegers: return .integer(UInt64(1_000_000 - step))
        case .clusteredIntegers: return .integer(UInt64(step / 40 % 7) << 32 | UInt64(step))
        case .shortBytes: return .bytes(bytes(0...3, 0...255, &random))
        case .longBytes: return .bytes(bytes(longest - 8...longest, 97...98, &random))
        case .sharedPrefixes:
            let stem = ["", "person/", "person/name/", "zebra"].randomElement(using: &random) ?? ""
            return .bytes([UInt8](stem.utf8) + bytes(0...12, 97...101, &random))
        case .ascendingBytes: return .bytes([UInt8]("row \(1_000_000 + step)".utf8))
        case .nestedBytes: return .bytes([UInt8](repeating: 0, count: Int.random(in: 0...longest, using: &random)))
        }
    }

    private func bytes(
        _ counts: ClosedRange<Int>, _ values: ClosedRange<UInt8>, _ random: inout SeededGenerator
    ) -> [UInt8] {
        (0..<Int.random(in: counts, using: &random)).map { _ in UInt8.random(in: values, using: &random) }
    }

    /// A value: mostly short, sometimes as long as a cell can be, sometimes in overflow pages.
    func value(_ random: inout SeededGenerator, pageSize: Int) -> [UInt8] {
        let count =
            switch Int.random(in: 0..<20, using: &random) {
            case 0: 0
            case 1: pageSize / 4 - Int.random(in: 0...16, using: &random)
            case 2: Int.random(in: pageSize / 4...3 * pageSize, using: &random)
            default: Int.random(in: 1...pageSize / 16, using: &random)
            }
        let byte = UInt8.random(in: 0...255, using: &random)
        return [UInt8](repeating: byte, count: count)
    }
}

@Suite struct TreeModelTests {
    private let stepCount = campaignCount("ESPALIER_TREE_STEPS", default: 1200)

    @Test(arguments: Workload.allCases)
    func `random operations give what a sorted array gives`(_ workload: Workload) throws {
        let seed = testSeed(default: 20_261_121)
        try run(workload, seed: seed, pageSize: 512)
    }

    @Test(arguments: [1024, 4096])
    func `larger pages give the same`(_ pageSize: Int) throws {
        let seed = testSeed(default: 7)
        for workload in [Workload.scatteredIntegers, .sharedPrefixes, .longBytes] {
            try run(workload, seed: seed, pageSize: pageSize)
        }
    }

    private func run(_ workload: Workload, seed: UInt64, pageSize: Int) throws {
        var random = SeededGenerator(seed: seed)
        let oracle = try TreeOracle(workload.kind, pageSize: pageSize)
        for step in 0..<stepCount {
            // First the tree grows, then it shrinks, then it grows again.
            let phase = step * 4 / stepCount
            let removals = phase == 2 ? 70 : 25
            let key =
                oracle.keys.isEmpty || Int.random(in: 0..<100, using: &random) < 60
                ? workload.key(step, &random, pageSize: pageSize)
                : oracle.keys.randomElement(using: &random) ?? .integer(0)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<removals where !oracle.keys.isEmpty:
                try oracle.remove(Bool.random(using: &random) ? key : oracle.keys.randomElement(using: &random) ?? key)
            case 98 where phase == 2:
                let other = oracle.keys.randomElement(using: &random) ?? key
                try oracle.removeRange(min(key, other), max(key, other))
            case 95...97: try oracle.expectValue(of: key)
            case 94: try oracle.change(key)
            case 92 where workload.kind == .integer:
                // Keys that exist, among others that may not, in one walk.
                let first = oracle.keys.indices.randomElement(using: &random) ?? 0
                var numbers: Set<UInt64> = []
                for case .integer(let number) in oracle.keys[first...].prefix(80) where random.next() % 4 > 0 {
                    numbers.formUnion([number, number &+ random.next() % 3])
                }
                try oracle.change(numbers.sorted(), countMax: random.next() % 3 == 0 ? 20 : .max)
            case 93 where !oracle.keys.isEmpty:
                // Change adjacent entries, which needs no descent from the root, and then some other key.
                let first = Int.random(in: oracle.keys.indices, using: &random)
                for key in oracle.keys[first...].prefix(60) { try oracle.change(key) }
                try oracle.change(workload.key(step, &random, pageSize: pageSize))
            default: try oracle.insert(key, workload.value(&random, pageSize: pageSize))
            }
            if step % 100 == 0 {
                try oracle.expectSame()
                #expect(oracle.pages.pinCount == 0)
            }
        }
        try oracle.expectSame()
        try oracle.removeAll()
        try oracle.expectSame()
        #expect(oracle.record.height == 1)
        try oracle.drop()
        #expect(oracle.pages.usedPageCount == 0, "seed \(seed)")
        #expect(oracle.pages.pinCount == 0)
    }
}
