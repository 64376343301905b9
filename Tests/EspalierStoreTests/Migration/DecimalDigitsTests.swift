// Integers as their texts in rows: the same texts and numbers as those of the standard library.

import EspalierModel
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct DecimalDigitsTests {
    /// Zero, and numbers around the powers of ten and of two, of both signs.
    private static let borders: [Int64] = {
        var numbers: [Int64] = [0, .min, .max, .min + 1, .max - 1]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            for number in power - 1...power + 1 { numbers += [number, -number] }
        }
        var width: Int64 = 1
        for _ in 0..<62 {
            width *= 2
            numbers += [width, -width, width - 1]
        }
        return numbers
    }()

    private static func number(_ text: String) -> Int64? {
        Array(text.utf8).withRawSpan { DecimalDigits.number(in: $0) }
    }

    @Test func `the text of a number is its description, and is read back`() {
        let seed = testSeed(default: 20_261_129)
        var random = SeededGenerator(seed: seed)
        var numbers = Self.borders
        for _ in 0..<500 { numbers.append(Int64(truncatingIfNeeded: random.next()) >> Int64(random.next() % 64)) }
        for number in numbers {
            var bytes = [UInt8](repeating: 0xEE, count: 30)
            let count = bytes.withMutableRawSpan { DecimalDigits.write(number, to: &$0, at: 5) }

            let text = String(decoding: bytes[5..<5 + count], as: UTF8.self)
            #expect(text == number.description && DecimalDigits.byteCount(of: number) == count, "seed \(seed)")
            #expect(bytes[..<5].allSatisfy { $0 == 0xEE } && bytes[(5 + count)...].allSatisfy { $0 == 0xEE })
            #expect(Self.number(text) == number)
        }
    }

    @Test(arguments: [
        "", "-", "+1", "01", "-01", "-0", "00", " 1", "1 ", "1.0", "1e3", "0x1", "--1", "1-", "٣", "1\u{0}",
        "9223372036854775808", "-9223372036854775809", "99999999999999999999", "-99999999999999999999",
        "184467440737095516170", "10000000000000000000",
    ])
    func `a text that is not the text of a number is none`(text: String) {
        #expect(Self.number(text) == nil)
    }

    @Test func `random texts of digits and signs are the numbers that a conversion without loss makes of them`() {
        let seed = testSeed(default: 20_261_130)
        var random = SeededGenerator(seed: seed)
        let pieces = ["0", "1", "9", "-", "+", " ", "5", "8", "22", "7", "é"]
        let attribute = AttributeDescription("number", .integer64)
        for _ in 0..<2_000 {
            let text = (0..<Int(random.next() % 22)).map { _ in random.pick(pieces) }.joined()
            let expected = attribute.migrated(.string(text))
            #expect(Self.number(text).map { AttributeValue.integer($0) } == expected, "\(text), seed \(seed)")
        }
    }
}
