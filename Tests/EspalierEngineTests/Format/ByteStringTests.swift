// Comparisons of bytes by words give the same order as comparisons byte by byte.

import EspalierEngine
import TestSupport
import Testing

@Suite struct ByteStringTests {
    @Test func `comparison, common prefix and head are those of the bytes`() {
        var chance = SeededGenerator(seed: testSeed(default: 6))
        for _ in 0..<4000 {
            // Use two letters and long common prefixes, so that the first difference is late.
            let letters: [UInt8] = Bool.random(using: &chance) ? [0, 255] : [7, 8]
            let shared = (0..<Int.random(in: 0...20, using: &chance)).map { _ in letters[0] }
            let tails = (0..<2).map { _ in
                (0..<Int.random(in: 0...12, using: &chance)).map { _ in letters.randomElement(using: &chance) ?? 0 }
            }
            let (first, second) = (shared + tails[0], shared + tails[1])
            let a = OwnedKey(first)
            let b = OwnedKey(second)
            let expected = first == second ? 0 : first.lexicographicallyPrecedes(second) ? -1 : 1

            #expect(a.key.bytes.compare(b.key.bytes).signum() == expected, "\(first) \(second)")
            #expect(a.key.bytes.equals(b.key.bytes) == (first == second))
            #expect(a.key.bytes.commonPrefix(with: b.key.bytes) == zip(first, second).prefix { $0 == $1 }.count)
            let padded = (first + [0, 0, 0, 0]).prefix(4)
            #expect(a.key.bytes.head == padded.reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    @Test func `keys that begin with the greatest head are found`() throws {
        let oracle = try TreeOracle(.bytes)
        for length in 0..<40 {
            try oracle.insert(.bytes([UInt8](repeating: 255, count: length)), [UInt8(length)])
            try oracle.insert(.bytes([UInt8](repeating: 255, count: length) + [1]), [UInt8(length)])
        }
        for key in oracle.keys {
            let value = try key.with { (key) throws(StorageError) in
                try oracle.tree.value(of: key, in: oracle.record)
            }
            #expect(value == oracle.values[key])
        }
        #expect(oracle.keys.count == 80)
    }
}
