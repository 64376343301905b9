// Tables whose copies share what they have in common, beside a dictionary.

import EspalierModel
import Testing
import TestSupport

@testable import Espalier

@Suite struct SharedIDTableTests {
    @Test func `copies of a table change alone, as those of a dictionary do`() {
        let seed = testSeed(default: 20_261)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        var tables = [(SharedIDTable<Int>(), [ObjectID: Int]())]
        for step in 0..<20_000 {
            let number = Int.random(in: 0..<tables.count, using: &random)
            // Few keys, so that they come again, and some far from the others.
            let key = UInt64.random(in: 1...400, using: &random) * (step.isMultiple(of: 9) ? 1 << 40 : 1)
            let id = ObjectID(storeTag: UInt32(key % 2), entityTag: 1 + UInt32(key % 3), key: key)
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<25:
                tables[number].0.set(step, for: id)
                tables[number].1[id] = step
            case 25..<39:
                tables[number].0.remove(id)
                tables[number].1[id] = nil
            default:
                if tables.count == 8 { tables.removeFirst() }
                tables.append(tables[number % tables.count])
            }
            let (table, expected) = tables[number % tables.count]
            #expect(table.count == expected.count && table[id] == expected[id])
        }
        for (table, expected) in tables {
            var found: [ObjectID: Int] = [:]
            table.forEach { found[$0] = $1 }
            #expect(found == expected && table.isEmpty == expected.isEmpty)
        }
    }

    @Test(arguments: [0, 33, 600, 10_000])
    func `a table for which memory was reserved has the entries that it gets, and no others`(_ count: Int) {
        var (table, expected) = (SharedIDTable<Int>(), [ObjectID: Int]())
        func entries() -> [ObjectID: Int] {
            var found: [ObjectID: Int] = [:]
            table.forEach { found[$0] = $1 }
            return found
        }
        table.reserveCapacity(count)
        #expect(table.isEmpty && entries().isEmpty)

        for number in 0..<2000 {
            let id = ObjectID(storeTag: 1, entityTag: 1, key: UInt64(1 + 7 * number))
            table.set(number, for: id)
            expected[id] = number
        }
        // A table with entries stays as it is.
        table.reserveCapacity(count)

        #expect(table.count == 2000 && entries() == expected)
        #expect(expected.allSatisfy { table[$0.key] == $0.value })
        for id in expected.keys { table.remove(id) }
        #expect(table.isEmpty && entries().isEmpty)
    }
}
