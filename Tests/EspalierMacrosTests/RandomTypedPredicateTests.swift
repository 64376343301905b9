// Random predicates of Foundation over random records: `evaluate` is the oracle, in every kind of context.

import Espalier
import Foundation
import TestSupport
import Testing

private typealias Truth = any StandardPredicateExpression<Bool>
private typealias Whole = any StandardPredicateExpression<Int>
private typealias Text = any StandardPredicateExpression<String>
private typealias Build = PredicateExpressions

@Suite struct RandomTypedPredicateTests {
    @Test func `random predicates find what evaluate finds, saved in a file, in memory, and unsaved`() throws {
        let seed = testSeed(default: 19)
        let count = campaignCount("ESPALIER_TYPED_PREDICATES", default: 250)
        try withTemporaryFolder { folder in
            let shop = try RecordShop(count: 40, seed: seed, in: folder)
            var maker = PredicateMaker(random: SeededGenerator(seed: seed))
            var hitCount = 0
            for number in 0..<count {
                let predicate = maker.predicate()
                let wrong = try TypedPredicateTests.disagreements(predicate, in: shop)
                #expect(wrong.isEmpty, "predicate \(number), seed \(seed): \(wrong.joined(separator: "\n"))")
                let found = try shop.contexts[0].context.count(for: FetchRequest<Record>(predicate: predicate))
                if found > 0, found < 40 { hitCount += 1 }
            }
            #expect(hitCount > count / 4, "too many of the predicates are trivial, seed \(seed)")
        }
    }
}

/// Builds random expressions on a record.
private struct PredicateMaker {
    var random: SeededGenerator

    mutating func predicate() -> Predicate<Record> {
        Predicate<Record> { record in truth(of: record, depth: Int.random(in: 1...3, using: &random)) }
    }

    private mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    private mutating func text() -> String { trickyTexts[number(trickyTexts.count)] }

    // MARK: Conditions

    private mutating func truth(of record: Build.Variable<Record>, depth: Int) -> Truth {
        guard depth > 0 else { return leaf(of: record) }
        switch number(6) {
        case 0: return Self.both(truth(of: record, depth: depth - 1), truth(of: record, depth: depth - 1))
        case 1: return Self.either(truth(of: record, depth: depth - 1), truth(of: record, depth: depth - 1))
        case 2: return Self.opposite(truth(of: record, depth: depth - 1))
        case 3: return Self.same(truth(of: record, depth: depth - 1), truth(of: record, depth: 0))
        case 4:
            return Self.choice(
                leaf(of: record), truth(of: record, depth: depth - 1), truth(of: record, depth: depth - 1))
        default: return leaf(of: record)
        }
    }

    private mutating func leaf(of record: Build.Variable<Record>) -> Truth {
        switch number(9) {
        case 0: return Self.equal(whole(of: record, depth: 2), whole(of: record, depth: 1))
        case 1:
            let operators: [Build.ComparisonOperator] = [
                .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
            ]
            return Self.ordered(whole(of: record, depth: 2), whole(of: record, depth: 1), operators[number(4)])
        case 2: return Self.contains(text(of: record), text(of: record))
        case 3: return Self.starts(text(of: record), text(of: record))
        case 4: return Self.equal(text(of: record), text(of: record))
        case 5: return Self.ordered(text(of: record), text(of: record), .lessThan)
        case 6: return optional(of: record)
        case 7: return list(of: record)
        default: return Self.isIn((0...number(4)).map { $0 * 2 - 2 }, whole(of: record, depth: 1))
        }
    }

    private mutating func optional(of record: Build.Variable<Record>) -> Truth {
        let stars = Build.build_KeyPath(root: record, keyPath: \.stars)
        let born = Build.build_flatMap(Build.build_KeyPath(root: record, keyPath: \.singer)) {
            Build.build_KeyPath(root: $0, keyPath: \.born)
        }
        let constant: Int? = number(2) == 0 ? nil : number(4)
        switch number(5) {
        case 0: return Build.build_Equal(lhs: stars, rhs: Build.build_Arg(constant))
        case 1: return Build.build_NotEqual(lhs: born, rhs: Build.build_Arg(constant))
        case 2: return Build.build_Equal(lhs: stars, rhs: born)
        case 3:
            return Build.build_Equal(
                lhs: Build.build_KeyPath(root: record, keyPath: \.singer), rhs: Build.build_NilLiteral())
        default:
            let least = number(4)
            let isHigh = Build.build_flatMap(stars) {
                Build.build_Comparison(lhs: $0, rhs: Build.build_Arg(least), op: .greaterThan)
            }
            return Build.build_Equal(lhs: isHigh, rhs: Build.build_Arg(Optional(number(2) == 0)))
        }
    }

    private mutating func list(of record: Build.Variable<Record>) -> Truth {
        let songs = Build.build_KeyPath(root: record, keyPath: \.songs)
        let (least, word) = (number(5), text())
        let filtered = Build.build_filter(songs) {
            Build.build_Comparison(
                lhs: Build.build_KeyPath(root: $0, keyPath: \.length), rhs: Build.build_Arg(least), op: .lessThan)
        }
        switch number(4) {
        case 0:
            return Build.build_contains(songs) {
                Build.build_Comparison(
                    lhs: Build.build_KeyPath(root: $0, keyPath: \.length),
                    rhs: Build.build_KeyPath(root: record, keyPath: \.year), op: .greaterThan)
            }
        case 1:
            return Build.build_allSatisfy(songs) {
                Build.build_NotEqual(lhs: Build.build_KeyPath(root: $0, keyPath: \.name), rhs: Build.build_Arg(word))
            }
        case 2:
            return Build.build_contains(filtered) {
                Build.build_contains(Build.build_KeyPath(root: $0, keyPath: \.name), Build.build_Arg(word))
            }
        default: return Build.build_KeyPath(root: filtered, keyPath: \.isEmpty)
        }
    }

    // MARK: Values

    private mutating func whole(of record: Build.Variable<Record>, depth: Int) -> Whole {
        switch number(depth > 0 ? 10 : 4) {
        case 0: return Build.build_Arg(number(6) - 2)
        case 1: return Build.build_KeyPath(root: Build.build_KeyPath(root: record, keyPath: \.songs), keyPath: \.count)
        case 2:
            return Build.build_NilCoalesce(
                lhs: Build.build_KeyPath(root: record, keyPath: \.stars), rhs: Build.build_Arg(number(3)))
        case 3: return Build.build_KeyPath(root: record, keyPath: \.year)
        case 4: return Self.sum(whole(of: record, depth: depth - 1), whole(of: record, depth: depth - 1))
        case 5: return Self.product(whole(of: record, depth: depth - 1), whole(of: record, depth: depth - 1))
        case 6: return Self.remainder(whole(of: record, depth: depth - 1), Build.build_Arg(number(3) + 1))
        case 7: return Self.quotient(whole(of: record, depth: depth - 1), Build.build_Arg(number(3) + 1))
        case 8: return Self.negative(whole(of: record, depth: depth - 1))
        default: return Self.choice(leaf(of: record), whole(of: record, depth: 0), whole(of: record, depth: 0))
        }
    }

    private mutating func text(of record: Build.Variable<Record>) -> Text {
        switch number(5) {
        case 0, 1: return Build.build_KeyPath(root: record, keyPath: \.title)
        case 2: return Build.build_Arg(text())
        case 3:
            return Build.build_NilCoalesce(
                lhs: Build.build_KeyPath(root: record, keyPath: \.note), rhs: Build.build_Arg(text()))
        default:
            let name = Build.build_flatMap(Build.build_KeyPath(root: record, keyPath: \.singer)) {
                Build.build_KeyPath(root: $0, keyPath: \.name)
            }
            return Build.build_NilCoalesce(lhs: name, rhs: Build.build_KeyPath(root: record, keyPath: \.title))
        }
    }
}

// Each function opens its operands, whose types the generator does not know.
extension PredicateMaker {
    private static func both(
        _ left: some StandardPredicateExpression<Bool>, _ right: some StandardPredicateExpression<Bool>
    ) -> Truth {
        Build.build_Conjunction(lhs: left, rhs: right)
    }
    private static func either(
        _ left: some StandardPredicateExpression<Bool>, _ right: some StandardPredicateExpression<Bool>
    ) -> Truth {
        Build.build_Disjunction(lhs: left, rhs: right)
    }
    private static func opposite(_ truth: some StandardPredicateExpression<Bool>) -> Truth {
        Build.build_Negation(truth)
    }
    private static func same(
        _ left: some StandardPredicateExpression<Bool>, _ right: some StandardPredicateExpression<Bool>
    ) -> Truth {
        Build.build_Equal(lhs: left, rhs: right)
    }
    private static func equal<Value: Equatable>(
        _ left: some StandardPredicateExpression<Value>, _ right: some StandardPredicateExpression<Value>
    ) -> Truth { Build.build_Equal(lhs: left, rhs: right) }
    private static func ordered<Value: Comparable>(
        _ left: some StandardPredicateExpression<Value>, _ right: some StandardPredicateExpression<Value>,
        _ operator: Build.ComparisonOperator
    ) -> Truth { Build.build_Comparison(lhs: left, rhs: right, op: `operator`) }
    private static func choice<Value>(
        _ test: some StandardPredicateExpression<Bool>, _ first: some StandardPredicateExpression<Value>,
        _ second: some StandardPredicateExpression<Value>
    ) -> any StandardPredicateExpression<Value> { Build.build_Conditional(test, first, second) }
    private static func contains(
        _ text: some StandardPredicateExpression<String>, _ part: some StandardPredicateExpression<String>
    ) -> Truth {
        Build.build_contains(text, part)
    }
    private static func starts(
        _ text: some StandardPredicateExpression<String>, _ part: some StandardPredicateExpression<String>
    ) -> Truth {
        Build.build_starts(text, with: part)
    }
    private static func isIn(_ list: [Int], _ number: some StandardPredicateExpression<Int>) -> Truth {
        Build.build_contains(Build.build_Arg(list), number)
    }
    private static func sum(
        _ left: some StandardPredicateExpression<Int>, _ right: some StandardPredicateExpression<Int>
    ) -> Whole {
        Build.build_Arithmetic(lhs: left, rhs: right, op: .add)
    }
    private static func product(
        _ left: some StandardPredicateExpression<Int>, _ right: some StandardPredicateExpression<Int>
    ) -> Whole {
        Build.build_Arithmetic(lhs: left, rhs: right, op: .multiply)
    }
    private static func remainder(
        _ left: some StandardPredicateExpression<Int>, _ right: some StandardPredicateExpression<Int>
    ) -> Whole {
        Build.build_Remainder(lhs: left, rhs: right)
    }
    private static func quotient(
        _ left: some StandardPredicateExpression<Int>, _ right: some StandardPredicateExpression<Int>
    ) -> Whole {
        Build.build_Division(lhs: left, rhs: right)
    }
    private static func negative(_ number: some StandardPredicateExpression<Int>) -> Whole {
        Build.build_UnaryMinus(number)
    }
}
