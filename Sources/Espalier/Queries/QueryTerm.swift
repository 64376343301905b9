// The parts of a predicate of Foundation while it is translated: what a subexpression means in terms of a fetch.
//
// Invariants
//   1. A condition or list that has a `present` is optional in Swift: it is nil unless `present` holds.
//   2. A value is null exactly where the Swift expression is nil.

import EspalierModel

/// A translated subexpression.
enum QueryTerm {
    /// A Swift value that no object influences; its use decides what it becomes.
    case constant(Any)
    /// A truth value.
    case condition(FetchPredicate, present: FetchPredicate?)
    /// A single value.
    case value(FetchExpression)
    /// The object at the end of a path of to-one relationships; an empty path is the object being tested.
    case object([String])
    /// Objects at the end of a to-many relationship.
    case objects(QueryMembers)
    /// The numbers, dates or texts between two bounds.
    case range(QueryRange)
}

/// The members of a to-many relationship, or those for which a condition holds.
struct QueryMembers {
    /// The path to the relationship.
    var path: [String]
    /// The condition, and the variable of a member in it.
    var filter: (variable: String, condition: FetchPredicate)?
    /// The condition under which the path is not cut off by an empty to-one relationship.
    var present: FetchPredicate?

    /// The number of members.
    var count: FetchExpression {
        guard let filter else { return .keyPath(FetchKeyPath(path + ["@count"])) }
        return .function(
            "count", [.subquery(FetchKeyPath(path), variable: filter.variable, filter.condition)])
    }
}

/// The bounds of a range; a missing one is open.
struct QueryRange {
    var lower: FetchExpression?
    var upper: FetchExpression?
    /// Whether the upper bound belongs to the range.
    var isClosed: Bool
}

/// The reason why an expression cannot be part of a fetch.
struct TranslationProblem: Error {
    /// The expression in words.
    let expression: String
    let reason: String

    init(_ expression: String, _ reason: String) { (self.expression, self.reason) = (expression, reason) }
}

extension FetchPredicate {
    /// Both conditions, with constants folded and nested ANDs joined.
    static func both(_ left: FetchPredicate, _ right: FetchPredicate) -> FetchPredicate {
        switch (left, right) {
        case (.constant(let truth), let other), (let other, .constant(let truth)): truth ? other : .constant(false)
        case (.and(let left), .and(let right)): .and(left + right)
        case (.and(let left), _): .and(left + [right])
        case (_, .and(let right)): .and([left] + right)
        default: .and([left, right])
        }
    }

    /// Either condition, with constants folded and nested ORs joined.
    static func either(_ left: FetchPredicate, _ right: FetchPredicate) -> FetchPredicate {
        switch (left, right) {
        case (.constant(let truth), let other), (let other, .constant(let truth)): truth ? .constant(true) : other
        case (.or(let left), .or(let right)): .or(left + right)
        case (.or(let left), _): .or(left + [right])
        case (_, .or(let right)): .or([left] + right)
        default: .or([left, right])
        }
    }

    /// The opposite condition.
    static func opposite(_ condition: FetchPredicate) -> FetchPredicate {
        switch condition {
        case .constant(let truth): .constant(!truth)
        case .not(let condition): condition
        default: .not(condition)
        }
    }

    /// Whether the condition is the constant `truth`.
    func isConstant(_ truth: Bool) -> Bool { self == .constant(truth) }
}

extension FetchExpression {
    /// The object or value at the end of a path; an empty path is the object being tested.
    static func path(_ names: [String]) -> FetchExpression {
        names.isEmpty ? .keyPath(FetchKeyPath(["SELF"])) : .keyPath(FetchKeyPath(names))
    }

    /// The condition that the expression has a value.
    var isPresent: FetchPredicate { .comparison(.init(self, .notEqual, .value(.null))) }

    /// Whether the expression is null wherever `other` is.
    func isNull(where other: FetchExpression) -> Bool {
        if self == other { return true }
        switch (self, other) {
        case (.keyPath(let path), .keyPath(let beginning)):
            return path.components.starts(with: beginning.components)
                && !path.components.contains { $0.hasPrefix("@") }
        case (.function(let name, let arguments), _):
            let isStrict = !["count", "sum", "objectFrom:withIndex:"].contains(name)
            return isStrict && arguments.contains { $0.isNull(where: other) }
        default: return false
        }
    }
}
