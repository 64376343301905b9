// Conditions: AND, OR, NOT, equality, order, ranges and choices, and expressions that are reused.

import EspalierModel
import FoundationEssentials

extension PredicateExpressions.Conjunction: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .condition(.both(try translator.condition(lhs), try translator.condition(rhs)), present: nil)
    }
}

extension PredicateExpressions.Disjunction: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .condition(.either(try translator.condition(lhs), try translator.condition(rhs)), present: nil)
    }
}

extension PredicateExpressions.Negation: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .condition(.opposite(try translator.condition(wrapped)), present: nil)
    }
}

extension PredicateExpressions.Equal: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .condition(try translator.equality(lhs, rhs), present: nil)
    }
}

extension PredicateExpressions.NotEqual: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let equality = try translator.equality(lhs, rhs)
        guard case .comparison(var comparison) = equality, comparison.operator == .equal, comparison.modifier == .direct
        else { return .condition(.opposite(equality), present: nil) }
        comparison.operator = .notEqual
        return .condition(.comparison(comparison), present: nil)
    }
}

extension PredicateTranslator {
    /// The condition that two expressions are equal in Swift's sense: nil equals nil, and NaN equals nothing.
    fileprivate mutating func equality<Left: PredicateExpression, Right: PredicateExpression>(
        _ left: Left, _ right: Right
    ) throws(TranslationProblem) -> FetchPredicate where Left.Output: Equatable, Left.Output == Right.Output {
        let (leftTerm, rightTerm) = (try term(left), try term(right))
        switch (leftTerm, rightTerm) {
        case (.constant(let left as Left.Output), .constant(let right as Left.Output)): return .constant(left == right)
        case (.condition, _), (_, .condition): return try equalTruths(leftTerm, rightTerm)
        default: break
        }
        let (leftValue, rightValue) = (try value(of: leftTerm), try value(of: rightTerm))
        let equality = compare(leftValue, .equal, rightValue)
        guard Left.Output.self is any FloatingValue.Type else { return equality }
        for case .value(let constant) in [leftValue, rightValue] {
            return constant.isNaN ? .constant(false) : equality
        }
        // Two values that are NaN are equal in a store, but not in order.
        return .both(
            equality, .either(compare(leftValue, .lessThanOrEqual, rightValue), .opposite(leftValue.isPresent)))
    }

    /// The condition that two truth values, one of which is a condition, are equal.
    private func equalTruths(_ left: QueryTerm, _ right: QueryTerm) throws(TranslationProblem) -> FetchPredicate {
        let (left, right) = (try truth(of: left), try truth(of: right))
        let bothAbsent = FetchPredicate.both(.opposite(left.present), .opposite(right.present))
        return .either(
            .both(
                .both(left.present, right.present), choice(right.condition, left.condition, .opposite(left.condition))),
            bothAbsent)
    }

    /// A truth value as a condition, and the condition that it is not nil.
    func truth(of term: QueryTerm) throws(TranslationProblem) -> (condition: FetchPredicate, present: FetchPredicate) {
        switch term {
        case .condition(let condition, let present): return (condition, present ?? .constant(true))
        case .constant(let value):
            let value = try QueryConstant.value(value)
            return (.constant(value == .boolean(true)), .constant(!value.isNull))
        default:
            let value = try value(of: term)
            return (try condition(of: term), value.isPresent)
        }
    }
}

extension PredicateExpressions.Comparison: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (left, right) = (try translator.term(lhs), try translator.term(rhs))
        if case .constant(let left as LHS.Output) = left, case .constant(let right as LHS.Output) = right {
            return .condition(.constant(holds(left, right)), present: nil)
        }
        guard LHS.Output.self is any StoredInOrder.Type else {
            return .condition(try comparisonOfCases(left, right, translator), present: nil)
        }
        let condition = translator.compare(
            try translator.value(of: left), storedOperator, try translator.value(of: right))
        return .condition(condition, present: nil)
    }

    private func holds(_ left: LHS.Output, _ right: LHS.Output) -> Bool {
        switch op {
        case .lessThan: left < right
        case .lessThanOrEqual: left <= right
        case .greaterThan: left > right
        case .greaterThanOrEqual: left >= right
        @unknown default: false
        }
    }

    private var storedOperator: FetchPredicate.Comparison.Operator {
        switch op {
        case .lessThan: .lessThan
        case .lessThanOrEqual: .lessThanOrEqual
        case .greaterThan: .greaterThan
        case .greaterThanOrEqual: .greaterThanOrEqual
        @unknown default: .lessThan
        }
    }

    /// The comparison of an enum with a constant: the attribute is one of the cases for which Swift's comparison holds.
    private func comparisonOfCases(
        _ left: QueryTerm, _ right: QueryTerm, _ translator: PredicateTranslator
    ) throws(TranslationProblem) -> FetchPredicate {
        func cases<Value: CaseIterable & AttributeConvertible>(
            _ type: Value.Type, where isIncluded: (LHS.Output) -> Bool
        ) -> [AttributeValue] {
            type.allCases.filter { ($0 as? LHS.Output).map(isIncluded) ?? false }.map(\.attributeValue)
        }
        if let type = LHS.Output.self as? any (CaseIterable & AttributeConvertible).Type {
            if case .constant(let right as LHS.Output) = right {
                return translator.isOne(
                    try translator.value(of: left), of: cases(type) { holds($0, right) })
            }
            if case .constant(let left as LHS.Output) = left {
                return translator.isOne(try translator.value(of: right), of: cases(type) { holds(left, $0) })
            }
        }
        throw TranslationProblem(
            "a comparison of values of type \(LHS.Output.self)",
            "a store does not know the type's own order; compare an enum that is CaseIterable with a constant")
    }
}

/// A type that has values which are equal to none.
private protocol FloatingValue {}

extension Double: FloatingValue {}
extension Float: FloatingValue {}
extension Date: FloatingValue {}
extension Optional: FloatingValue where Wrapped: FloatingValue {}

/// A type whose order in Swift is the order of its attribute's values in a store.
private protocol StoredInOrder {}

extension Int: StoredInOrder {}
extension Int8: StoredInOrder {}
extension Int16: StoredInOrder {}
extension Int32: StoredInOrder {}
extension Int64: StoredInOrder {}
extension UInt8: StoredInOrder {}
extension UInt16: StoredInOrder {}
extension UInt32: StoredInOrder {}
extension Double: StoredInOrder {}
extension Float: StoredInOrder {}
extension Decimal: StoredInOrder {}
extension String: StoredInOrder {}
extension Date: StoredInOrder {}
extension UUID: StoredInOrder {}

extension PredicateExpressions.Range: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .range(QueryRange(lower: try translator.value(lower), upper: try translator.value(upper), isClosed: false))
    }
}

extension PredicateExpressions.ClosedRange: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        .range(QueryRange(lower: try translator.value(lower), upper: try translator.value(upper), isClosed: true))
    }
}

extension PredicateExpressions.RangeExpressionContains: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let (range, element) = (try translator.term(range), try translator.term(element))
        if case .constant(let range as RangeExpression.Output) = range,
            case .constant(let element as RangeExpression.Output.Bound) = element
        {
            return .condition(.constant(range.contains(element)), present: nil)
        }
        guard RangeExpression.Output.Bound.self is any StoredInOrder.Type, let bounds = try translator.range(of: range)
        else {
            throw TranslationProblem(
                "a range of values of type \(RangeExpression.Output.Bound.self)",
                "ranges are of numbers, texts, dates and UUIDs")
        }
        return .condition(translator.isWithin(bounds, try translator.value(of: element)), present: nil)
    }
}

extension PredicateTranslator {
    /// The bounds of a term that is a range; `nil` if it is none.
    func range(of term: QueryTerm) throws(TranslationProblem) -> QueryRange? {
        switch term {
        case .range(let range): return range
        case .constant(let value): return try QueryConstant.range(value)
        case .condition, .value, .object, .objects: return nil
        }
    }

    /// The condition that a value is within a range.
    func isWithin(_ range: QueryRange, _ value: FetchExpression) -> FetchPredicate {
        if case .value? = range.lower, case .value? = range.upper, range.isClosed, case .keyPath = value,
            let lower = range.lower, let upper = range.upper
        {
            return .comparison(.init(value, .between, .list([lower, upper])))
        }
        let isAbove = range.lower.map { compare(value, .greaterThanOrEqual, $0) } ?? .constant(true)
        let isBelow = range.upper.map { compare(value, range.isClosed ? .lessThanOrEqual : .lessThan, $0) }
        return .both(isAbove, isBelow ?? .constant(true))
    }

    /// The condition that a value is one of some constants, none of which equals NaN in Swift.
    func isOne(_ value: FetchExpression, of constants: [AttributeValue]) -> FetchPredicate {
        let constants = constants.filter { !$0.isNaN }
        if constants.isEmpty { return .constant(false) }
        switch value {
        case .value(let value): return .constant(constants.contains { $0.satisfies(.equal, value, []) })
        case .conditional(let condition, let first, let second):
            return choice(condition, isOne(first, of: constants), isOne(second, of: constants))
        default:
            if constants.count == 1 { return compare(value, .equal, .value(constants[0])) }
            return .comparison(.init(value, .in, .list(constants.map(FetchExpression.value))))
        }
    }
}

extension PredicateExpressions.Conditional: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        let test = try translator.condition(test)
        // A branch that no object takes need not be translatable, but a wrong one is better found than hidden.
        let (first, second) = (try translator.term(trueBranch), try translator.term(falseBranch))
        if case .constant(let truth) = test { return truth ? first : second }
        if Output.self == Bool.self {
            let condition = translator.choice(
                test, try translator.condition(of: first), try translator.condition(of: second))
            return .condition(condition, present: nil)
        }
        return .value(.conditional(test, try translator.value(of: first), try translator.value(of: second)))
    }
}

extension PredicateExpressions.ExpressionEvaluate: TranslatableExpression {
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm {
        guard let inner = try? expression.evaluate(PredicateBindings()) else {
            throw TranslationProblem("an expression within a predicate", "it must be a constant")
        }
        var terms: [QueryTerm] = []
        for expression in repeat each input { terms.append(try translator.term(expression)) }
        var place = 0
        for variable in repeat each inner.variable {
            translator.bind(variable.key, to: terms[place])
            place += 1
        }
        return try translator.term(inner.expression)
    }
}
