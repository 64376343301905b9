// Caches results of a predicate for the destinations of to-one relationships: the number of a manager's employees is
// computed once, not once for each employee.
//
// Invariants
//   1. A result depends only on the object at the end of the first step.
//   2. At most `countMax` truths and `countMax` values are kept; a full table is emptied.

/// Results for objects, valid while no object changes.
///
/// Not safe for concurrent use.
package final class PredicateMemo {
    private static let countMax = 4096

    /// The part of a predicate that a result belongs to.
    struct Question: Hashable {
        private enum Kind: Hashable {
            case aggregate(ResolvedExpression.Aggregate)
            case comparison(
                ResolvedComparison.Modifier, ResolvedComparison.Operator, ResolvedExpression, options: Int)
        }

        private let path: ResolvedKeyPath
        private let kind: Kind

        init(_ aggregate: ResolvedExpression.Aggregate, _ path: ResolvedKeyPath) {
            (self.path, kind) = (path, .aggregate(aggregate))
        }

        init(_ comparison: ResolvedComparison, _ path: ResolvedKeyPath) {
            self.path = path
            kind = .comparison(
                comparison.modifier, comparison.operator, comparison.right, options: Int(comparison.options.rawValue))
        }
    }

    private struct Key: Hashable {
        let question: Question
        let object: ObjectID
    }

    private var truths: [Key: Bool] = [:]
    private var values: [Key: AttributeValue] = [:]

    /// A memo without results.
    package init() {}

    /// Whether there are no results.
    package var isEmpty: Bool { truths.isEmpty && values.isEmpty }

    /// Removes all results.
    package func removeAll() { (truths, values) = ([:], [:]) }

    func truth(of question: Question, for object: ObjectID) -> Bool? {
        truths[Key(question: question, object: object)]
    }

    func value(of question: Question, for object: ObjectID) -> AttributeValue? {
        values[Key(question: question, object: object)]
    }

    func note(_ truth: Bool, of question: Question, for object: ObjectID) {
        if truths.count >= Self.countMax { truths = [:] }
        truths[Key(question: question, object: object)] = truth
    }

    func note(_ value: AttributeValue, of question: Question, for object: ObjectID) {
        if values.count >= Self.countMax { values = [:] }
        values[Key(question: question, object: object)] = value
    }
}

extension ResolvedExpression {
    /// The path of a to-many expression that begins with a to-one relationship, and that relationship's slot; otherwise
    /// `nil`.
    var wayBeyondFirst: (slot: Int, path: ResolvedKeyPath)? {
        guard case .path(let path) = self, path.base == .evaluatedObject, path.steps.count > 1, path.isToMany,
            let first = path.steps.first, !first.isToMany
        else { return nil }
        return (first.slot, path)
    }

    var isConstant: Bool {
        switch self {
        case .value, .values: true
        default: false
        }
    }
}
