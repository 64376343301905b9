// The table of object IDs, against a dictionary.

import EspalierModel
import TestSupport
import Testing

@Suite struct ObjectIDTableTests {
    @Test func `a table holds what a dictionary holds, whatever comes and goes`() {
        let seed = testSeed(default: 41)
        var random = SeededGenerator(seed: seed)
        var table = ObjectIDTable<Int>()
        var expected: [ObjectID: Int] = [:]
        // Few IDs, with neighbors in three tables of two stores: keys occur again, and removals leave holes within
        // runs.
        func anyID() -> ObjectID {
            ObjectID(
                storeTag: .random(in: 0...1, using: &random), entityTag: .random(in: 1...3, using: &random),
                key: .random(in: 1...400, using: &random))
        }
        for step in 0..<20_000 {
            let id = anyID()
            let other = anyID()
            if Bool.random(using: &random) {
                table.set(step, for: id)
                expected[id] = step
            } else {
                table.remove(id)
                expected[id] = nil
            }
            #expect(table[id] == expected[id] && table[other] == expected[other], "seed \(seed), step \(step)")
            #expect(table.count == expected.count, "seed \(seed), step \(step)")
            guard step % 500 == 0 else { continue }
            var visited: [ObjectID: Int] = [:]
            table.forEach { id, value in
                #expect(visited.updateValue(value, forKey: id) == nil, "seed \(seed), step \(step)")
            }
            #expect(visited == expected, "seed \(seed), step \(step)")
        }
        #expect(expected.allSatisfy { table[$0.key] == $0.value }, "seed \(seed)")
    }

    @Test func `what comes and goes under ever new keys leaves no places behind`() {
        let seed = testSeed(default: 42)
        var random = SeededGenerator(seed: seed)
        var table = ObjectIDTable<UInt64>()
        var expected: [ObjectID: UInt64] = [:]
        // An array, because the order of a dictionary's keys does not depend on the seed.
        var ids: [ObjectID] = []
        for number in 1...20_000 as ClosedRange<UInt64> {
            let id = ObjectID(storeTag: 0, entityTag: 1, key: number)
            table.set(number, for: id)
            expected[id] = number
            ids.append(id)
            if ids.count > 100 {
                ids.swapAt(Int.random(in: ids.indices, using: &random), 100)
                let gone = ids.removeLast()
                table.remove(gone)
                expected[gone] = nil
            }
        }
        #expect(expected.allSatisfy { table[$0.key] == $0.value }, "seed \(seed)")
        #expect(table.count == expected.count, "seed \(seed)")
        #expect(table.placeCount == 101, "seed \(seed)")
    }

    @Test func `keys that lie far apart are kept apart`() {
        var table = ObjectIDTable<Int>()
        let keys = (0..<64).map { UInt64(1) << $0 } + (2..<64).map { UInt64.max >> $0 | 1 << 63 }
        for (number, key) in keys.enumerated() {
            for tag in 1...2 as ClosedRange<UInt32> {
                table.set(number * 2 + Int(tag), for: ObjectID(storeTag: tag, entityTag: 3 - tag, key: key))
            }
        }
        for (number, key) in keys.enumerated() {
            for tag in 1...2 as ClosedRange<UInt32> {
                #expect(table[ObjectID(storeTag: tag, entityTag: 3 - tag, key: key)] == number * 2 + Int(tag))
                #expect(table[ObjectID(storeTag: tag, entityTag: tag, key: key)] == nil)
            }
        }
        #expect(table.count == keys.count * 2)
    }
}
