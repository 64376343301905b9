// A validation rule in a form that is evaluated many times: patterns and conditions are compiled once.
//
// Invariants
//   1. A condition is resolved against an entity with one attribute, the value itself; it can lead nowhere else.
//   2. A value for which a regular expression takes too many steps breaks the rule, whatever the rest of the condition
//      says: the save that has it is refused, and nothing is stored that was not tested.

/// A rule of an attribute, ready to check values.
package struct PreparedRule: Sendable {
    /// The rule.
    package let rule: ValidationRule
    /// The names of the elements that lead from the attribute's value to the one that the rule is about.
    package let path: [String]
    /// The compiled pattern or condition.
    private let test: ResolvedPredicate?

    /// Prepares a rule for values of a type, which are elements of an attribute's value if there is a path.
    ///
    /// - Throws: `FetchPredicateError` for a condition that cannot be resolved, or an invalid pattern.
    package init(_ rule: ValidationRule, of type: AttributeType, at path: [String] = []) throws(FetchPredicateError) {
        (self.rule, self.path) = (rule, path)
        let value = FetchExpression.keyPath(FetchKeyPath([ValueSubject.name]))
        let condition: FetchPredicate
        switch rule.condition {
        case .minimum, .maximum, .minimumLength, .maximumLength:
            test = nil
            return
        case .pattern(let pattern):
            condition = .comparison(.init(value, .matches, .value(.string(pattern))))
        case .predicate(let format):
            condition = try FetchPredicate(format: format).replacingSelf(by: value)
        }
        let attribute = AttributeDescription(ValueSubject.name, type)
        let model = try? ManagedObjectModel(entities: [EntityDescription("Value", attributes: [attribute])])
        guard let model else {
            test = nil
            return
        }
        test = try ResolvedPredicate(condition, for: model.entities[0], in: model)
    }

    /// The value that the rule is about: an attribute's value or an element of it; null if there is none.
    ///
    /// - Complexity: O(elements of the path).
    package func part(of value: AttributeValue) -> AttributeValue {
        var part = value
        for name in path {
            guard case .composite(let parts) = part else { return .null }
            part = parts[name] ?? .null
        }
        return part
    }

    /// The name of the value that the rule is about, as in `home.zip`, for an attribute of this name.
    package func name(in attribute: String) -> String { ([attribute] + path).joined(separator: ".") }

    /// Whether an attribute's value follows the rule.
    ///
    /// - Complexity: O(length of the value), for limits of length; what a condition or pattern takes.
    package func holds(for value: AttributeValue) -> Bool {
        let value = path.isEmpty ? value : part(of: value)
        if value.isNull { return true }
        switch rule.condition {
        case .minimum(let limit): return value.satisfies(.greaterThanOrEqual, limit, [])
        case .maximum(let limit): return value.satisfies(.lessThanOrEqual, limit, [])
        case .minimumLength(let count): return value.length.map { $0 >= count } ?? true
        case .maximumLength(let count): return value.length.map { $0 <= count } ?? true
        case .pattern, .predicate:
            guard let test else { return true }
            do throws(FetchPredicateError) {
                return try test.evaluate(on: ValueSubject(value: value, entity: test.entity))
            } catch {
                return false
            }
        }
    }
}

extension AttributeDescription {
    /// The rules of the attribute and of its elements, at any depth; the model has checked them.
    package var preparedRules: [PreparedRule] { preparedRules(at: []) }

    private func preparedRules(at path: [String]) -> [PreparedRule] {
        validationRules.compactMap { try? PreparedRule($0, of: type, at: path) }
            + elements.flatMap { $0.preparedRules(at: path + [$0.name]) }
    }

    /// Sentences that say what is wrong with the rules of the attribute, for the checker of models.
    var ruleProblems: [String] {
        let single = validationRules.compactMap { rule -> String? in
            switch rule.condition {
            case .minimum(let limit), .maximum(let limit):
                if !type.hasKeyOrder || type == .boolean {
                    return "has a limit, but values of type \(type) have no order"
                }
                return limit.isNull || !accepts(limit)
                    ? "has a limit that is \(limit.kindDescription); a limit must be of type \(type)" : nil
            case .minimumLength(let count), .maximumLength(let count):
                if ![.string, .binary].contains(type) { return "has a limit of length, but its type is \(type)" }
                return count < 0 ? "has a limit of length of \(count); a length is 0 or more" : nil
            case .pattern where type != .string: return "has a pattern, but its type is \(type)"
            case .predicate where !type.hasKeyOrder:
                return "has a condition, but values of type \(type) cannot be compared"
            case .pattern, .predicate:
                do {
                    _ = try PreparedRule(rule, of: type)
                    return nil
                } catch {
                    return "has a rule that cannot be checked: \(error)"
                }
            }
        }
        return single + (single.isEmpty ? contradictions : [])
    }

    /// The limits that no value keeps together, of rules that make sense alone.
    private var contradictions: [String] {
        var (least, greatest): ([AttributeValue], [AttributeValue]) = ([], [])
        var (shortest, longest): ([Int], [Int]) = ([], [])
        for rule in validationRules {
            switch rule.condition {
            case .minimum(let limit): least.append(limit)
            case .maximum(let limit): greatest.append(limit)
            case .minimumLength(let count): shortest.append(count)
            case .maximumLength(let count): longest.append(count)
            case .pattern, .predicate: continue
            }
        }
        var problems: [String] = []
        func note(_ what: String, _ low: some CustomStringConvertible, _ high: some CustomStringConvertible) {
            problems.append(
                "has a least \(what) of \(low) and a greatest one of \(high), so no value fits; correct one of them")
        }
        for low in least {
            for high in greatest where low.satisfies(.greaterThan, high, []) {
                note("value", FetchExpression.value(low), FetchExpression.value(high))
            }
        }
        if let low = shortest.max(), let high = longest.min(), low > high { note("length", low, high) }
        return problems
    }
}

/// A value, as a condition reads it.
private struct ValueSubject: PredicateSubject {
    static let name = "value"
    let value: AttributeValue
    let entity: Entity

    /// The ID of no object.
    var objectID: ObjectID { ObjectID(storeTag: 0, entityTag: entity.tag, key: 1) }
    func value(at slot: Int) throws(FetchPredicateError) -> AttributeValue { value }
    func destination(at slot: Int) throws(FetchPredicateError) -> ValueSubject? { nil }
    func destinations(at slot: Int) throws(FetchPredicateError) -> [ValueSubject] { [] }
    func stopEvaluation(_ error: FetchPredicateError) throws(FetchPredicateError) { throw error }
}

extension AttributeValue {
    /// The number of characters of a text, or of bytes of binary data.
    fileprivate var length: Int? {
        switch self {
        case .string(let text): text.count
        case .binary(let bytes): bytes.count
        default: nil
        }
    }
}

extension FetchPredicate {
    /// The condition with another expression in the place of SELF.
    fileprivate func replacingSelf(by value: FetchExpression) -> FetchPredicate {
        switch self {
        case .constant: return self
        case .and(let parts): return .and(parts.map { $0.replacingSelf(by: value) })
        case .or(let parts): return .or(parts.map { $0.replacingSelf(by: value) })
        case .not(let part): return .not(part.replacingSelf(by: value))
        case .comparison(var comparison):
            comparison.left = comparison.left.replacingSelf(by: value)
            comparison.right = comparison.right.replacingSelf(by: value)
            return .comparison(comparison)
        }
    }
}

extension FetchExpression {
    fileprivate func replacingSelf(by value: FetchExpression) -> FetchExpression {
        switch self {
        case .evaluatedObject: value
        case .list(let elements): .list(elements.map { $0.replacingSelf(by: value) })
        case .function(let name, let arguments): .function(name, arguments.map { $0.replacingSelf(by: value) })
        case .conditional(let condition, let first, let second):
            .conditional(
                condition.replacingSelf(by: value), first.replacingSelf(by: value), second.replacingSelf(by: value))
        case .value, .keyPath, .variable, .subquery: self
        }
    }
}
