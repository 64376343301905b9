// The tables by any key of a store in memory answer as dictionaries do, also if many keys have one hash, and their
// copies keep the values of their moment.

import EspalierStore
import TestSupport
import Testing

@Suite struct HashedTableTests {
    /// A key whose hash many others have.
    private struct Crowded: Hashable, Sendable {
        let number: UInt64

        func hash(into hasher: inout Hasher) { hasher.combine(number % 7) }
    }

    private func expectEqual<Key: Hashable & Sendable>(_ table: HashedTable<Key, Int>, _ model: [Key: Int]) {
        #expect(table.checkInvariants())
        #expect(table.count == model.count && table.isEmpty == model.isEmpty)
        let pairs = table.map { ($0.key, $0.value) }
        #expect(pairs.count == model.count && Dictionary(pairs) { first, _ in first } == model)
    }

    private func walk<Key: Hashable & Sendable>(
        _ keyCount: UInt64, stepCount: Int, _ random: inout SeededGenerator, _ makeKey: (UInt64) -> Key
    ) {
        var (table, model) = (HashedTable<Key, Int>(), [Key: Int]())
        var copies: [(table: HashedTable<Key, Int>, model: [Key: Int])] = []
        for step in 0..<stepCount {
            let key = makeKey(random.next() % keyCount)
            if random.oneIn(4) {
                table.update(key) { $0 = $0.map { $0 + 1 } }
                model[key] = model[key].map { $0 + 1 }
            } else {
                let value = random.oneIn(3) ? nil : step
                (table[key], model[key]) = (value, value)
            }
            #expect(table[key] == model[key] && table.count == model.count)
            if random.oneIn(UInt64(stepCount / 8)) { copies.append((table, model)) }
        }
        copies.append((table, model))
        for (table, model) in copies { expectEqual(table, model) }
        for key in model.keys { table[key] = nil }
        expectEqual(table, [:])
    }

    @Test func `keys of one hash are told apart, and so are those of many`() {
        let seed = testSeed(default: 17)
        print("HashedTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for keyCount: UInt64 in [1, 7, 8, 40] {
            walk(keyCount, stepCount: 2000, &random) { Crowded(number: $0) }
        }
        for keyCount: UInt64 in [1, 64, 65, 3000] { walk(keyCount, stepCount: 6000, &random) { "key \($0)" } }
    }

    @Test func `a table without keys has no value, and taking a value from it leaves it so`() {
        var table = HashedTable<String, Int>()
        table["a"] = nil
        var found: Int? = 1
        table.update("b") { found = $0 }
        #expect(found == nil)
        expectEqual(table, [:])
        table["a"] = 1
        let copy = table
        table["a"] = nil
        expectEqual(table, [:])
        expectEqual(copy, ["a": 1])
    }
}
