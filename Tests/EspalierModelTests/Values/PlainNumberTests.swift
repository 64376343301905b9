// Plain numbers: what arithmetic makes of them at the ends of their ranges, and how attributes store them.

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct PlainNumberTests {
    private static let (least, greatest) = (PlainNumber.integer(.min), PlainNumber.integer(.max))
    /// Numbers that only a double holds: 2^63 and its negative.
    private static let (above, below) = (PlainNumber.double(0x1p63), PlainNumber.double(-0x1p63))

    /// A function, its two operands and its result.
    private typealias Calculation = (ResolvedFunction, PlainNumber, PlainNumber, PlainNumber)

    private static let whole: [Calculation] = [
        (.add, .integer(2), .integer(-5), .integer(-3)), (.add, greatest, .integer(1), above),
        (.add, greatest, least, .integer(-1)), (.subtract, least, .integer(1), below),
        (.subtract, .integer(-1), greatest, least), (.multiply, .integer(-3), .integer(4), .integer(-12)),
        (.multiply, least, .integer(-1), above), (.multiply, greatest, .integer(0), .integer(0)),
        // Division truncates.
        (.divide, .integer(-7), .integer(2), .integer(-3)), (.modulus, .integer(-7), .integer(2), .integer(-1)),
        (.divide, least, .integer(-1), above), (.modulus, least, .integer(-1), .integer(0)),
        (.power, .integer(-3), .integer(3), .integer(-27)), (.power, .integer(0), .integer(0), .integer(1)),
        (.power, .integer(2), .integer(63), above), (.power, .integer(2), .integer(-1), .double(0.5)),
    ]

    private static let binary: [Calculation] = [
        (.add, .integer(1), .double(0.5), .double(1.5)), (.subtract, .double(0.5), .integer(1), .double(-0.5)),
        (.divide, .integer(7), .double(2), .double(3.5)), (.modulus, .double(7.5), .integer(2), .double(1.5)),
        (.multiply, .double(.greatestFiniteMagnitude), .integer(2), .double(.infinity)),
    ]

    private static let none: [Calculation] = [
        (.divide, .integer(1), .integer(0), .null), (.modulus, .integer(1), .integer(0), .null),
        (.divide, .double(1), .integer(0), .null), (.modulus, .integer(1), .double(-0.0), .null),
        (.subtract, .double(.infinity), .double(.infinity), .null), (.add, .double(.nan), .integer(1), .null),
        (.add, .null, .integer(1), .null), (.multiply, .double(2), .null, .null), (.add, .null, .null, .null),
        (.absolute, .integer(1), .double(2), .null), (.absolute, .integer(1), .integer(2), .null),
    ]

    @Test func `arithmetic stays whole while it can, and has no result where there is no number`() {
        for (function, left, right, expected) in Self.whole + Self.binary + Self.none {
            #expect(function.result(left, right) == expected, "\(function) of \(left) and \(right)")
        }
    }

    /// Numbers at the ends of the ranges of all types, and random ones.
    private func numbers(_ random: inout SeededGenerator) -> [PlainNumber] {
        let integers: [Int64] = [
            0, 1, -1, 32_767, 32_768, -32_768, -32_769, 16_777_217, 2_147_483_647, 2_147_483_648, -2_147_483_648,
            -2_147_483_649, 9_007_199_254_740_992, 9_007_199_254_740_993, .max, .min,
            Int64(truncatingIfNeeded: random.next()),
        ]
        let doubles: [Double] = [
            -0.0, 0.5, 0.1, -1e300, 1e-300, .infinity, -.infinity, .nan, 0x1p63, Double(random.next()),
            Double(bitPattern: random.next()),
        ]
        var numbers = [PlainNumber.null]
        for integer in integers { numbers += [.integer(integer), .double(Double(integer))] }
        for double in doubles { numbers.append(.double(double)) }
        return numbers
    }

    private func value(_ number: PlainNumber) -> AttributeValue {
        switch number {
        case .null: .null
        case .integer(let number): .integer(number)
        case .double(let number): .double(number)
        }
    }

    @Test func `a number is stored as its value is converted, where it is stored without a conversion`() throws {
        let seed = testSeed(default: 270_100)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let types: [AttributeType] = [.integer16, .integer32, .integer64, .double, .float]
        for _ in 0..<50 {
            for number in numbers(&random) {
                for type in AttributeType.allCases {
                    guard let stored = number.stored(as: type) else { continue }
                    #expect(types.contains(type), "\(number) as \(type)")
                    // As text, because 0 and -0 are equal.
                    let converted = try type.converting(value(number))
                    #expect("\(stored)" == "\(converted)", "seed \(seed): \(number) as \(type)")
                }
            }
        }
    }

    @Test func `most numbers are stored without a conversion, and those that a type does not hold are not`() {
        for type in [.integer16, .integer32, .integer64, .double, .float] as [AttributeType] {
            #expect(PlainNumber.null.stored(as: type) == .null)
            let expected: AttributeValue =
                switch type {
                case .double: .double(3)
                case .float: .float(3)
                default: .integer(3)
                }
            #expect(PlainNumber.integer(3).stored(as: type) == expected)
            #expect(PlainNumber.double(3).stored(as: type) == expected)
            #expect(PlainNumber.double(.nan).stored(as: type) == nil)
        }
        #expect(PlainNumber.integer(32_768).stored(as: .integer16) == nil)
        #expect(PlainNumber.integer(-2_147_483_649).stored(as: .integer32) == nil)
        #expect(PlainNumber.double(0.5).stored(as: .integer64) == nil)
        #expect(PlainNumber.double(0x1p63).stored(as: .integer64) == nil)
        #expect(PlainNumber.integer(9_007_199_254_740_993).stored(as: .double) == nil)
        #expect(PlainNumber.integer(16_777_217).stored(as: .float) == nil)
        #expect(PlainNumber.integer(1).stored(as: .decimal) == nil && PlainNumber.null.stored(as: .string) == nil)
    }

    @Test func `values of other kinds are no plain numbers, and a float is the double that it equals`() {
        #expect(PlainNumber(.float(0.1)) == .double(Double(Float(0.1))))
        #expect(PlainNumber(.null) == .null && PlainNumber(.integer(-4)) == .integer(-4))
        for value in [.decimal(1), .boolean(true), .string("1")] as [AttributeValue] {
            #expect(PlainNumber(value) == nil)
        }
    }
}
