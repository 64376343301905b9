// The tables of a store in memory answer as dictionaries do, and their copies keep the values of their moment.

import EspalierStore
import TestSupport
import Testing

@Suite struct KeyTableTests {
    /// A key whose hash many others have.
    private struct Crowded: Hashable, Sendable {
        let number: UInt64

        func hash(into hasher: inout Hasher) { hasher.combine(number % 7) }
    }

    private func expectEqual(_ table: KeyTable<Int>, _ model: [UInt64: Int]) {
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

    @Test func `keys of one hash are told apart`() {
        var (table, model) = (HashedTable<Crowded, Int>(), [Crowded: Int]())
        var random = SeededGenerator(seed: testSeed(default: 17))
        for step in 0..<2000 {
            let key = Crowded(number: random.next() % 40)
            let value = random.oneIn(3) ? nil : step
            (table[key], model[key]) = (value, value)
            if step == 1000 {
                let (copy, formerModel) = (table, model)
                table[key] = 1
                model[key] = 1
                #expect(Dictionary(uniqueKeysWithValues: copy.map { ($0.key, $0.value) }) == formerModel)
            }
        }
        #expect(table.count == model.count && table.isEmpty == model.isEmpty && !model.isEmpty)
        #expect(Dictionary(uniqueKeysWithValues: table.map { ($0.key, $0.value) }) == model)
    }
}
