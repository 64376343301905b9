// The tables by number of a store in memory answer as dictionaries do, and their copies keep the values of their
// moment.

import EspalierStore
import TestSupport
import Testing

@Suite struct KeyTableTests {
    /// The orders in which keys come and go.
    enum Order: CaseIterable {
        case ascending, descending, random

        func keys(_ count: Int, _ random: inout SeededGenerator) -> [UInt64] {
            // With a gap before each key.
            let keys = (0..<count).map { 2 * UInt64($0) + 1 }
            switch self {
            case .ascending: return keys
            case .descending: return keys.reversed()
            case .random: return keys.shuffled(using: &random)
            }
        }
    }

    private func expectEqual(_ table: KeyTable<Int>, _ model: [UInt64: Int]) {
        #expect(table.checkInvariants())
        let sorted = model.sorted { $0.key < $1.key }
        #expect(table.map(\.key) == sorted.map(\.key) && table.map(\.value) == sorted.map(\.value))
        #expect(table.count == model.count && table.isEmpty == model.isEmpty && table.lastKey == sorted.last?.key)
    }

    @Test func `a table has what a dictionary has, whatever copies exist, and its copies do not change`() {
        let seed = testSeed(default: 16)
        print("KeyTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for range: UInt64 in [10, 300, 100_000, .max] {
            var (table, model) = (KeyTable<Int>(), [UInt64: Int]())
            var copies: [(table: KeyTable<Int>, model: [UInt64: Int])] = []
            for step in 0..<12_000 {
                let key = step < 4000 ? random.next() % range : random.pick(Array(model.keys.prefix(8)) + [7])
                switch random.next() % 4 {
                case 0 where step >= 4000: (table[key], model[key]) = (nil, nil)
                case 1:
                    table.update(key) { $0 = $0.map { $0 + 1 } }
                    model[key] = model[key].map { $0 + 1 }
                default:
                    let value: Int? = step < 4000 || random.oneIn(5) ? step : nil
                    (table[key], model[key]) = (value, value)
                }
                #expect(table[key] == model[key])
                if random.oneIn(1500) { copies.append((table, model)) }
            }
            copies.append((table, model))
            for (table, model) in copies { expectEqual(table, model) }
            for _ in 0..<50 {
                let key = random.next() % range
                #expect(table.values(from: key).map(\.key) == model.keys.filter { $0 >= key }.sorted())
            }
        }
    }

    @Test func `keys that ascend or descend are all found, and removing them in any order leaves nothing`() {
        let keys = (1...10_000).map { UInt64($0) }
        let descending = Array(keys.reversed())
        for (inserted, removed) in [(keys, keys), (descending, keys), (keys, descending)] {
            var table = KeyTable<Int>()
            for key in inserted { table[key] = Int(key) }
            let copy = table
            #expect(table.map(\.key) == keys && table.lastKey == 10_000)
            #expect(table.values(from: 9_998).map(\.value) == [9_998, 9_999, 10_000])
            for key in removed.dropLast() { table[key] = nil }
            #expect(table.map(\.key) == Array(removed.suffix(1)) && table.count == 1)
            table[removed[9_999]] = nil
            #expect(table.isEmpty && table.lastKey == nil && table.map(\.key).isEmpty)
            #expect(copy.count == 10_000 && copy[5000] == 5000)
        }
    }

    /// - Parameter count: around the widths of one node and of two levels.
    @Test(arguments: [0, 1, 2, 63, 64, 65, 128, 129, 4097, 10_000], Order.allCases)
    func `a table of any size has all of its keys, in whatever order they come and go, and so have its copies`(
        count: Int, order: Order
    ) {
        let seed = testSeed(default: 18)
        print("KeyTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let checkSteps = max(1, count / 10)
        for removal in Order.allCases {
            var (table, model) = (KeyTable<Int>(), [UInt64: Int]())
            var copies: [(table: KeyTable<Int>, model: [UInt64: Int])] = []
            func step(_ number: Int) {
                guard number.isMultiple(of: checkSteps) else { return }
                #expect(table.checkInvariants(), "seed \(seed), step \(number)")
                if number.isMultiple(of: 5 * checkSteps) { copies.append((table, model)) }
            }
            for (number, key) in order.keys(count, &random).enumerated() {
                (table[key], model[key]) = (number, number)
                step(number)
            }
            expectEqual(table, model)
            for key in [0, 1, 2, UInt64(count), 2 * UInt64(count), .max] {
                let from = model.keys.filter { $0 >= key }.sorted()
                #expect(table.values(from: key).map(\.key) == from, "from \(key) of \(count)")
                #expect(table[key] == model[key])
            }
            for (number, key) in removal.keys(count, &random).enumerated() {
                (table[key], model[key]) = (nil, nil)
                step(number)
            }
            expectEqual(table, [:])
            for (table, model) in copies { expectEqual(table, model) }
        }
    }

    @Test func `keys that go on one side and come on the other, or all over again, stay in order`() {
        let seed = testSeed(default: 19)
        print("KeyTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for width: UInt64 in [1, 64, 65, 700] {
            var (table, model) = (KeyTable<Int>(), [UInt64: Int]())
            var (low, high) = (UInt64(1) << 32, UInt64(1) << 32)
            for step in 0..<3000 {
                let isAbove = step / 1000 == 1 ? false : step / 1000 == 0 || random.oneIn(2)
                let key = isAbove ? high : low - 1
                if isAbove { high += 1 } else { low -= 1 }
                (table[key], model[key]) = (step, step)
                if high - low > width {
                    let gone = isAbove ? low : high - 1
                    if isAbove { low += 1 } else { high -= 1 }
                    (table[gone], model[gone]) = (nil, nil)
                }
                if random.oneIn(50) { expectEqual(table, model) }
                #expect(table.lastKey == high - 1 && table.count == Int(high - low), "seed \(seed), step \(step)")
            }
            expectEqual(table, model)
        }
    }
}
