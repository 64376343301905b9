// Caches results of a predicate for the destinations of to-one relationships: the number of a manager's employees is
// computed once, not once for each employee.
//
// Invariants
//   1. A result depends only on the object at the end of the first step: the condition of a SUBQUERY reads nothing but
//      its elements and what these lead to.
//   2. A question is found only by the same question, although `==` holds 0 and -0, or two spellings of a text, for one
//      constant.
//   3. At most `countMax` truths and `countMax` values are kept; a full table is emptied.

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

        /// The condition of a SUBQUERY, by its identity (invariant 2).
        private struct Condition: Hashable {
            let box: PredicateBox

            static func == (left: Condition, right: Condition) -> Bool { left.box === right.box }
            func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(box)) }
        }

        private let path: ResolvedKeyPath
        private let condition: Condition?
        private let kind: Kind

        private init(_ way: WayBeyondFirst, _ kind: Kind) {
            (path, condition, self.kind) = (way.path, way.condition.map(Condition.init), kind)
        }

        init(_ aggregate: ResolvedExpression.Aggregate, _ way: WayBeyondFirst) {
            self.init(way, .aggregate(aggregate))
        }

        /// `nil` if the right side is computed, or if the comparison tells spellings of a text apart (invariant 2).
        init?(_ comparison: ResolvedComparison, _ way: WayBeyondFirst) {
            guard comparison.right.isConstant, !comparison.options.contains(.normalized) else { return nil }
            let options = Int(comparison.options.rawValue)
            self.init(
                way, .comparison(comparison.modifier, comparison.operator, comparison.right, options: options))
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

/// The way of a collection that begins with a to-one relationship: the same collection for all objects with the same
/// destination.
struct WayBeyondFirst {
    /// The slot of the first relationship.
    let slot: Int
    /// The whole way, of two steps or more.
    let path: ResolvedKeyPath
    /// The condition that the members must fulfil, if the collection is a SUBQUERY.
    let condition: PredicateBox?

    fileprivate init?(_ path: ResolvedKeyPath, condition: PredicateBox? = nil) {
        guard path.base == .evaluatedObject, path.steps.count > 1, path.isToMany, let first = path.steps.first,
            !first.isToMany
        else { return nil }
        (slot, self.path, self.condition) = (first.slot, path, condition)
    }
}

extension ResolvedExpression {
    /// The way of a collection whose members depend only on the object at the end of its first step, a to-one
    /// relationship; otherwise `nil`.
    var wayBeyondFirst: WayBeyondFirst? {
        switch self {
        case .path(let path): WayBeyondFirst(path)
        case .subquery(let path, let variable, let condition) where condition.outermostDepth >= variable:
            WayBeyondFirst(path, condition: condition)
        case .value, .values, .list, .aggregate, .function, .conditional, .subquery: nil
        }
    }

    fileprivate var isConstant: Bool {
        switch self {
        case .value, .values: true
        default: false
        }
    }
}
