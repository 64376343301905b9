// Translates a predicate of Foundation to a condition of a fetch.
//
// Invariants
//   1. The condition holds for an object exactly if Foundation's `evaluate` gives true for it, apart from the cases
//      that Differences lists under SD-24 (where Swift would end the program or throw, mostly).
//   2. An expression without a counterpart is refused by name. Nothing is left out.
//   3. Translating executes no code of the application except key paths, comparisons and conversions of constants.
//   4. Equal predicates with equal constants give equal conditions: variables are numbered by their order.
// Not here: the rules of each kind of expression, which are in extensions of the kinds.

import EspalierModel
import FoundationEssentials

/// An expression of Foundation that has a counterpart in a fetch.
protocol TranslatableExpression {
    /// The expression as a term of a fetch.
    func term(_ translator: inout PredicateTranslator) throws(TranslationProblem) -> QueryTerm
}

struct PredicateTranslator {
    /// The deepest nesting of a predicate.
    static let depthMax = 200

    /// Whether transient properties are translated, for conditions that may be tested in memory.
    let readsTransients: Bool
    private var variables: [PredicateExpressions.VariableID: QueryTerm] = [:]
    private var variableCount = 0
    private var depth = 0

    init(readsTransients: Bool = false) { self.readsTransients = readsTransients }

    /// The condition that a predicate is for the objects of its class.
    ///
    /// - Complexity: O(size of the predicate).
    static func condition<Object: ManagedObject>(
        _ predicate: Predicate<Object>, readsTransients: Bool = false
    ) throws(TranslationProblem) -> FetchPredicate {
        var translator = PredicateTranslator(readsTransients: readsTransients)
        translator.bind(predicate.variable.key, to: .object([]))
        return try translator.condition(predicate.expression)
    }

    /// The value that an expression has for the objects of its class.
    ///
    /// - Complexity: O(size of the expression).
    static func value<Object: ManagedObject, Value>(
        _ expression: Expression<Object, Value>
    ) throws(TranslationProblem) -> FetchExpression {
        var translator = PredicateTranslator()
        translator.bind(expression.variable.key, to: .object([]))
        return try translator.value(expression.expression)
    }

    // MARK: Variables

    /// Lets a variable stand for a term.
    mutating func bind(_ variable: PredicateExpressions.VariableID, to term: QueryTerm) { variables[variable] = term }

    /// The term for which a variable stands.
    func term(of variable: PredicateExpressions.VariableID) -> QueryTerm? { variables[variable] }

    /// A new name for the members of a list.
    mutating func newVariable() -> String {
        variableCount += 1
        return "v\(variableCount)"
    }

    // MARK: Terms

    /// The translation of an expression.
    mutating func term(_ expression: any PredicateExpression) throws(TranslationProblem) -> QueryTerm {
        guard let expression = expression as? any TranslatableExpression else {
            throw TranslationProblem(
                "an expression of type \(type(of: expression))",
                "it is not one of Foundation's expressions; join conditions with FetchPredicate.and and .or instead")
        }
        guard depth < Self.depthMax else {
            throw TranslationProblem(
                "an expression nested more than \(Self.depthMax) levels deep",
                "join conditions with FetchPredicate.and and .or instead")
        }
        depth += 1
        defer { depth -= 1 }
        return try expression.term(&self)
    }

    /// The translation of an expression that is true or false.
    mutating func condition(_ expression: any PredicateExpression) throws(TranslationProblem) -> FetchPredicate {
        try condition(of: term(expression))
    }

    /// The translation of an expression that has a single value.
    mutating func value(_ expression: any PredicateExpression) throws(TranslationProblem) -> FetchExpression {
        try value(of: term(expression))
    }

    /// A term as a condition; nil counts as false.
    func condition(of term: QueryTerm) throws(TranslationProblem) -> FetchPredicate {
        switch term {
        case .condition(let condition, nil): return condition
        case .condition(let condition, let present?): return .both(present, condition)
        case .constant(let value):
            if case .boolean(let truth) = try QueryConstant.value(value) { return .constant(truth) }
            return .constant(false)
        case .value(let value): return compare(value, .equal, .value(.boolean(true)))
        case .object, .objects, .range:
            throw TranslationProblem("\(Self.description(of: term))", "a condition is needed here")
        }
    }

    /// A term as a single value.
    func value(of term: QueryTerm) throws(TranslationProblem) -> FetchExpression {
        switch term {
        case .value(let value): return value
        case .object(let path): return .path(path)
        case .constant(let value): return .value(try QueryConstant.value(value))
        case .condition(let condition, let present):
            let truth = FetchExpression.conditional(condition, .value(.boolean(true)), .value(.boolean(false)))
            return present.map { .conditional($0, truth, .value(.null)) } ?? truth
        case .objects, .range:
            throw TranslationProblem("\(Self.description(of: term))", "a single value is needed here")
        }
    }

    /// A term in words.
    static func description(of term: QueryTerm) -> String {
        switch term {
        case .constant(let value): "the constant \(value)"
        case .condition(let condition, _): "the condition \(condition)"
        case .value(let value): "\(value)"
        case .object(let path): "the object '\(path.isEmpty ? "SELF" : path.joined(separator: "."))'"
        case .objects(let members): "the list '\(members.path.joined(separator: "."))'"
        case .range: "a range"
        }
    }

    // MARK: Comparing

    /// A comparison of two values.
    ///
    /// Constants are compared here, and a choice is compared branch by branch: a planner sees plain comparisons.
    func compare(
        _ left: FetchExpression, _ operator: FetchPredicate.Comparison.Operator, _ right: FetchExpression,
        options: ComparisonOptions = []
    ) -> FetchPredicate {
        if case .value(let leftValue) = left, case .value(let rightValue) = right {
            if let truth = `operator`.holds(leftValue, rightValue) { return .constant(truth) }
        } else if case .value = left, let mirrored = `operator`.mirrored {
            return compare(right, mirrored, left, options: options)
        }
        if case .conditional(let condition, let first, let second) = left, right.isSimple {
            return choice(
                condition, compare(first, `operator`, right, options: options),
                compare(second, `operator`, right, options: options))
        }
        if case .conditional(let condition, let first, let second) = right, left.isSimple {
            return choice(
                condition, compare(left, `operator`, first, options: options),
                compare(left, `operator`, second, options: options))
        }
        return .comparison(.init(left, `operator`, right, options: options))
    }

    /// `first` where the condition holds, else `second`.
    func choice(_ condition: FetchPredicate, _ first: FetchPredicate, _ second: FetchPredicate) -> FetchPredicate {
        if case .constant(let truth) = condition { return truth ? first : second }
        return .either(.both(condition, first), .both(.opposite(condition), second))
    }
}

extension FetchExpression {
    /// Whether the expression may be repeated without cost.
    fileprivate var isSimple: Bool {
        switch self {
        case .value, .keyPath, .evaluatedObject, .variable: true
        case .list, .function, .conditional, .subquery: false
        }
    }
}

extension FetchPredicate.Comparison.Operator {
    /// Whether the operator holds between two constants; `nil` for operators that are not compared here.
    fileprivate func holds(_ left: AttributeValue, _ right: AttributeValue) -> Bool? {
        switch self {
        case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            return left.satisfies(self, right, [])
        case .contains, .beginsWith:
            guard case .string(let text) = left, case .string(let part) = right else { return false }
            return self == .contains ? Self.contains(text, part) : text.starts(with: part)
        case .between, .in, .endsWith, .like, .matches: return nil
        }
    }

    /// Whether the elements of `part` are in a collection, in a row; for texts the characters.
    private static func contains<Elements: Collection>(_ elements: Elements, _ part: Elements) -> Bool
    where Elements.Element: Equatable { elements.contains(part) }
}
