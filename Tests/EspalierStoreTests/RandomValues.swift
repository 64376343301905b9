// Random attribute values, among which difficult ones are frequent.

import EspalierModel
import Foundation
import TestSupport

extension SeededGenerator {
    /// A value of `type`, not null.
    mutating func value(of type: AttributeType) -> AttributeValue {
        switch type {
        case .integer16: .integer(Int64(pick([0, -1, .min, .max, Int16(truncatingIfNeeded: next())])))
        case .integer32: .integer(Int64(pick([0, -1, .min, .max, Int32(truncatingIfNeeded: next())])))
        case .integer64: .integer(pick([0, -1, .min, .max, Int64(truncatingIfNeeded: next())]))
        case .decimal: .decimal(decimal())
        case .double: .double(double())
        case .float: .float(Float(double()))
        case .date:
            .date(
                Date(timeIntervalSinceReferenceDate: pick([0, -1, 1e9, Double.random(in: -1e10...1e10, using: &self)])))
        case .string: .string(text())
        case .boolean: .boolean(Bool.random(using: &self))
        case .binary: .binary(bytes())
        case .transformable: .transformable(bytes())
        case .uuid: .uuid(uuid())
        case .uri: .uri(URL(string: "https://example.org/\(next() % 50)?q=\(next() % 5)") ?? URL(fileURLWithPath: "/"))
        case .composite: .composite(["x": .double(double()), "label": .string(text())])
        case .undefined, .objectID: .null
        }
    }

    /// A random element of `choices`.
    mutating func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(next() % UInt64(choices.count))] }

    /// `true` in one of `count` cases.
    mutating func oneIn(_ count: UInt64) -> Bool { next() % count == 0 }

    private mutating func double() -> Double {
        pick([
            0, -0.0, 1, -1, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.1,
            Double(bitPattern: next()), Double.random(in: -1000...1000, using: &self),
        ])
    }

    private mutating func decimal() -> Decimal {
        let digits = pick([0, 1, 10, 99, 12_345, Int(next() % 1_000_000_000)])
        let exponent = pick([0, 0, -2, -10, 5, 30, 100, -100])
        let number = Decimal(sign: oneIn(2) ? .minus : .plus, exponent: exponent, significand: Decimal(digits))
        return oneIn(20) ? Decimal.nan : number
    }

    private mutating func bytes() -> Data {
        Data((0..<pick([0, 1, 2, 3, 17])).map { _ in pick([0, 0xFF, 1, UInt8(truncatingIfNeeded: next())]) })
    }

    private mutating func uuid() -> UUID {
        let (high, low) = (next(), next())
        func byte(_ number: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: number >> (8 * UInt64(index))) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5), byte(high, 6),
                byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
                byte(low, 6), byte(low, 7)
            ))
    }

    private mutating func text() -> String {
        let pieces = [
            "", "a", "B", "ab", "é", "e\u{301}", "\u{0}", "\u{0}\u{FF}", "ß", "ö", "zz", "日本", "😀", "A", "\u{FFFF}",
        ]
        return (0..<pick([0, 1, 1, 2, 3, 6])).map { _ in pick(pieces) }.joined()
    }
}
