// The intermediate data of a save: new index entries in key order, and permanent IDs by temporary ones.

import EspalierModel
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct SaveOrderTests {
    @Test(arguments: [0, 1, 3, 12, 40])
    func `index entries come in the order of their keys, each with its own value`(prefixByteCount: Int) throws {
        let seed = testSeed(default: 71)
        var random = SeededGenerator(seed: seed)
        for count in [0, 1, 2, 200] {
            let prefix = (0..<prefixByteCount).map { _ in UInt8.random(in: 0...255, using: &random) }
            var expected: [[UInt8]: [UInt8]] = [:]
            while expected.count < count {
                // Few different bytes and lengths: keys that are prefixes of others, and keys that end with zeros.
                let length = Int.random(in: 0...11, using: &random)
                let rest = (0..<length).map { _ in UInt8.random(in: 0...1, using: &random) }
                let number = UInt16.random(in: 0...300, using: &random)
                let isCut = Bool.random(using: &random)
                expected[prefix + rest] = [UInt8(number & 255), UInt8(number >> 8), isCut ? 1 : 0]
            }
            var entries = IndexEntries()
            for (key, value) in expected {
                let number = UInt16(value[0]) + UInt16(value[1]) << 8
                entries.append(entityNumber: number) { bytes in
                    bytes += key
                    return value[2] == 1
                }
            }
            var found: [(key: [UInt8], value: [UInt8])] = []
            try entries.forEachInOrder { key, value throws(StoreError) in
                found.append((key.copy(0..<key.byteCount), value.copy(0..<value.byteCount)))
            }

            #expect(found.map(\.key) == expected.keys.sorted { $0.lexicographicallyPrecedes($1) }, "seed \(seed)")
            #expect(found.allSatisfy { expected[$0.key] == $0.value }, "seed \(seed)")
        }
    }

    @Test(arguments: [1, 3, 4, 1000])
    func `permanent IDs are found by temporary ones, however far apart those are`(step: UInt64) {
        var random = SeededGenerator(seed: testSeed(default: 72))
        let tag = ObjectID(temporaryFor: "SaveOrder").entityTag
        let temporary = (0..<100).map { ObjectID(storeTag: 0, entityTag: tag, key: 50 + $0 * step) }
            .shuffled(using: &random)
        let stored = ObjectID(storeTag: 1, entityTag: tag, key: 7)
        var ids = IDAssignment(for: temporary + [stored])
        for id in temporary.dropLast() {
            let isSet = ids.set(ObjectID(storeTag: 1, entityTag: tag, key: id.key + 1000), for: id)
            #expect(isSet)
        }
        let assigned = PermanentIDs(ids)
        for id in temporary.dropLast() {
            #expect(ids[id]?.key == id.key + 1000)
            #expect(ids[ObjectID(storeTag: 0, entityTag: tag + 1, key: id.key)] == nil)
            let isSetAgain = ids.set(stored, for: id)
            #expect(!isSetAgain)
        }
        for key in [temporary[99].key, 1, 49, 50 + 99 * step + 1, .max] {
            #expect(ids[ObjectID(storeTag: 0, entityTag: tag, key: key)] == nil)
        }

        #expect(temporary.dropLast().allSatisfy { assigned.permanent($0).key == $0.key + 1000 })
        #expect(assigned.permanent(temporary[99]) == temporary[99] && assigned.permanent(stored) == stored)
        let replaced = assigned.replacing([(stored, temporary[0])])
        #expect(replaced.permanent(temporary[0]) == stored && assigned.permanent(temporary[0]) != stored)
        #expect(replaced.permanent(temporary[1]) == assigned.permanent(temporary[1]))
    }
}
