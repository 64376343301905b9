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
        // Few IDs, and neighbours in three tables of two stores: they meet, and removals leave holes within runs.
        func anyID() -> ObjectID {
            ObjectID(
                storeTag: .random(in: 0...1, using: &random), entityTag: .random(in: 1...3, using: &random),
                key: .random(in: 1...400, using: &random))
        }
        for step in 0..<20_000 {
            let id = anyID()
            if Bool.random(using: &random) {
                table.set(step, for: id)
                expected[id] = step
            } else {
                table.remove(id)
                expected[id] = nil
            }
            let other = anyID()
            #expect(table[id] == expected[id] && table[other] == expected[other], "seed \(seed), step \(step)")
            #expect(table.count == expected.count, "seed \(seed), step \(step)")
        }
        #expect(table.values.sorted() == expected.values.sorted(), "seed \(seed)")
    }
}
