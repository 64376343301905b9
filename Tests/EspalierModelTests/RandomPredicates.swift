// Random predicates over the music library's albums, for properties that must hold for all predicates.

import EspalierModel
import Foundation
import TestSupport

/// Makes random predicates, expressions and values from a seed.
struct RandomPredicates {
    let seed: UInt64
    private var generator: SeededGenerator

    init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &generator)]
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// Any predicate that the grammar can express; it need not fit an entity.
    mutating func predicate(depth: Int) -> FetchPredicate {
        switch number(0...(depth > 0 ? 7 : 3)) {
        case 0: return .constant(pick([true, false]))
        case 1...3:
            return .comparison(
                .init(
                    expression(depth: depth - 1), pick(FetchPredicate.Comparison.Operator.allCases),
                    expression(depth: depth - 1), modifier: pick([.direct, .any, .all, .none]),
                    options: pick([[], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized])))
        case 4, 5: return .and((0..<number(2...3)).map { _ in predicate(depth: depth - 1) })
        case 6: return .or((0..<number(2...3)).map { _ in predicate(depth: depth - 1) })
        default: return .not(predicate(depth: depth - 1))
        }
    }

    private mutating func expression(depth: Int) -> FetchExpression {
        switch number(0...(depth > 0 ? 9 : 4)) {
        case 0, 1: return .value(value())
        case 2: return .keyPath(keyPath())
        case 3: return .evaluatedObject
        case 4: return .variable(pick(["x", "name2", "_v"]))
        case 5, 6:
            let name = pick([
                "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:", "union:with:",
                "minus:with:",
                "modulus:by:",
            ])
            return .function(name, [expression(depth: depth - 1), expression(depth: depth - 1)])
        case 7:
            if pick([true, false]) {
                return .function(pick(["uppercase", "sum", "abs"]), [expression(depth: depth - 1)])
            }
            let index = pick([FetchExpression.value(.integer(2)), .value(.string("LAST")), .keyPath(keyPath())])
            return .function("objectFrom:withIndex:", [expression(depth: depth - 1), index])
        case 8: return .list((0..<number(0...3)).map { _ in expression(depth: depth - 1) })
        default:
            if pick([true, false]) {
                return .conditional(
                    predicate(depth: depth - 1), expression(depth: depth - 1), expression(depth: depth - 1))
            }
            return .subquery(keyPath(), variable: "t", predicate(depth: depth - 1))
        }
    }

    private mutating func keyPath() -> FetchKeyPath {
        FetchKeyPath(
            pick([["a"], ["a", "b"], ["in"], ["and", "or"], ["tracks", "@sum", "size"], ["$t", "name"], ["first"]]))
    }

    /// A value of any kind but composite.
    mutating func value() -> AttributeValue {
        switch number(0...12) {
        case 0: return .null
        case 1: return .integer(pick([0, 1, -1, 5, .max, .min, Int64(number(-100...100)), 1 << 53, (1 << 53) + 1]))
        case 2: return .double(pick([0, -0.0, 0.1, 1, 1e300, -1e-300, 0x1p53, .infinity, Double(number(-9...9)) / 4]))
        case 3: return .float(pick([0.1, 1, -2.5, .infinity]))
        case 4:
            return .decimal(
                pick([
                    Decimal(string: "0.1"), Decimal(string: "9007199254740993"), Decimal(1), Decimal(string: "-1e-20"),
                ])
                    ?? 0)
        case 5, 6:
            return .string(
                pick(["", "a", "A", "é", "e\u{301}", "É", "ß", "SS", "it's \"x\"\n\\", "ς", "σ", "\u{1}", "z"]))
        case 7: return .boolean(pick([true, false]))
        case 8: return .date(Date(timeIntervalSinceReferenceDate: pick([0, -1.5, 1e9, 0.1, -6e10, .infinity])))
        case 9: return .binary(Data((0..<number(0...3)).map { _ in UInt8(pick([0, 1, 255])) }))
        case 10: return .uuid(UUID(uuid: (UInt8(number(0...255)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
        case 11: return .uri(URL(fileURLWithPath: pick(["/a", "/b"])))
        default: return .transformable(Data([UInt8(number(0...255))]))
        }
    }

    /// A predicate that fits the music library's albums.
    mutating func condition(depth: Int) -> FetchPredicate {
        switch number(0...(depth > 0 ? 9 : 6)) {
        case 0...2:
            return .comparison(
                .init(
                    albumPath(["year"]), ordering(),
                    .value(pick([.null, .integer(1969), .integer(1970), .double(1968.5), .integer(0)]))))
        case 3:
            return .comparison(
                .init(
                    albumPath(pick([["title"], ["artist", "name"]])),
                    pick([.equal, .notEqual, .contains, .beginsWith, .like, .lessThan]),
                    .value(pick([.string("Abbey Road"), .string("a*"), .string("The"), .string("")])),
                    options: pick([[], .caseInsensitive])))
        case 4: return .comparison(.init(albumPath(["rating"]), ordering(), albumPath(pick([["price"], ["weight"]]))))
        case 5:
            return .comparison(
                .init(
                    albumPath(["tracks", "milliseconds"]), ordering(), .value(.integer(Int64(number(0...4) * 100_000))),
                    modifier: pick([.any, .all, .none])))
        case 6:
            return .comparison(
                .init(albumPath(["year"]), .in, .list([.value(.integer(1969)), .value(pick([.null, .integer(1)]))])))
        case 7: return .not(condition(depth: depth - 1))
        case 8: return .and([condition(depth: depth - 1), condition(depth: depth - 1)])
        default: return .or([condition(depth: depth - 1), condition(depth: depth - 1)])
        }
    }

    private func albumPath(_ components: [String]) -> FetchExpression { .keyPath(FetchKeyPath(components)) }

    private mutating func ordering() -> FetchPredicate.Comparison.Operator {
        pick([.equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual])
    }
}
