// Sums that do not depend on the order of their numbers.

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct ExactSumTests {
    private func sum(_ values: [AttributeValue], cutAt cut: Int = 0) -> AttributeValue {
        var (first, second) = (Accumulator(.sum), Accumulator(.sum))
        for value in values.prefix(cut) { first.add(value) }
        for value in values.dropFirst(cut) { second.add(value) }
        first.merge(second)
        return first.result
    }

    @Test func `a sum of doubles is the exact one rounded once, in any order and however it is divided`() {
        let seed = testSeed(default: 61)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            // Multiples of 2^-40 below 2^20: the sum is exact in 128 bits. Half of them have so many digits that a
            // double cannot hold the sum of two.
            let wholes = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                let shift = Bool.random(using: &random) ? 8 : Int64.random(in: 8...50, using: &random)
                return Int128(Int64.random(in: -(1 << 60)...(1 << 60), using: &random) >> shift)
            }
            var values = wholes.map { AttributeValue.double(Double($0) * 0x1p-40) }
            let expected = AttributeValue.double(Double(wholes.reduce(0, +)) * 0x1p-40)
            for _ in 0..<3 {
                values.shuffle(using: &random)
                let cut = Int.random(in: 0...values.count, using: &random)
                #expect(sum(values, cutAt: cut) == expected, "seed \(seed)")
            }
        }
    }

    @Test func `numbers cancel each other out exactly, at any size`() {
        let cases: [([Double], Double)] = [
            ([1e16, 1, -1e16], 1), ([0.1, 0.2, 0.3, -0.3, -0.2, -0.1], 0), ([1e308, 1e308, -1e308], 1e308),
            ([1e308, 1e308], .infinity), ([-1e308, 1, -1e308, 1e308, 1e308], 1),
            ([.leastNonzeroMagnitude, .leastNonzeroMagnitude], 2 * .leastNonzeroMagnitude),
            ([0x1p53, 1, 0x1p-60], 0x1p53 + 2), ([0x1p53, 1], 0x1p53), ([.infinity, 1], .infinity), ([], 0),
        ]
        for (numbers, expected) in cases {
            for order in [numbers, numbers.reversed()] {
                let found = sum(order.map { .double($0) }, cutAt: 1)
                #expect(found.compare(.double(expected)) == .orderedSame, "\(order): \(found)")
            }
        }
        #expect(sum([.double(.infinity), .double(-.infinity)]) == .null && sum([.double(.nan), .integer(1)]) == .null)
    }

    @Test func `whole numbers stay whole, and decimals exact, also beside other numbers`() throws {
        let large = try #require(Decimal(string: "1e100"))
        #expect(sum([.integer(.max), .integer(.max), .integer(-.max)]) == .integer(.max))
        #expect(sum([.integer(.max), .integer(1)]) == .double(0x1p63))
        #expect(sum([.integer(1 << 53), .double(0.5), .double(0.5)]) == .double(0x1p53))
        let (tenth, fifth) = (Decimal(1) / 10, Decimal(2) / 10)
        #expect(sum([.decimal(tenth), .decimal(fifth), .integer(1)]) == .decimal(try #require(Decimal(string: "1.3"))))
        #expect(sum([.decimal(large), .decimal(1), .decimal(-large)]) == .decimal(1))
        #expect(sum([.decimal(-5), .decimal(2), .decimal(-0.5)]) == .decimal(-3.5))
        #expect(sum([.decimal(0.5), .double(0.25)]) == .decimal(0.75))
        #expect(sum([.decimal(.nan), .decimal(1)]) == .null)
        #expect(sum([.float(0.5), .float(1.5)]) == .double(2) && sum([]) == .integer(0))
    }
}
