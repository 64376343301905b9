// What a predicate has found out about the objects that to-one relationships lead to: of a boss it is asked once how
// many members he has, and not once for each member.
//
// Invariants
//   1. An answer depends on the object at the end of the first step alone.
//   2. At most `countMax` answers are kept.

/// Answers about objects, while nothing changes; one thread uses it at a time.
package final class PredicateMemo {
    private static let countMax = 4096

    /// What is asked.
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

    /// Nothing is known.
    package init() {}

    /// Whether nothing is known.
    package var isEmpty: Bool { truths.isEmpty && values.isEmpty }

    /// Forgets everything.
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
    /// The slot of the to-one relationship that a path to many values begins with, and the path; `nil` for all else.
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
