// The reason why a store cannot keep the answers of a condition or the values of an expression. Entries of indexes and
// derived counts follow from them; later fetches, and other processes, rely on them.
//
// Rules
//   1. A regular expression is refused: its evaluation has a limit of steps, and beyond it there is no answer. A store
//      would have to fail wherever it meets the row: in a save, a check, a rebuild and a migration. LIKE and the other
//      text operators have no such limit.
//   2. Text is not divided into characters (`characterCount`, `[w]`): each version of Unicode may divide the same text
//      differently, so a process with another standard library would look for other entries, and would subtract a
//      destination from a count to which it was never added.
//   3. The time is not read: it is another one at each evaluation.

extension FetchPredicate {
    /// Whether a store can keep the answers of the condition.
    package var canBeKept: Bool { keepingProblem == nil }

    /// The reason why no store can keep the answers of the condition; `nil` if a store can.
    var keepingProblem: String? {
        switch self {
        case .constant: nil
        case .comparison(let comparison): comparison.keepingProblem
        case .and(let parts), .or(let parts): parts.lazy.compactMap { $0.keepingProblem }.first
        case .not(let part): part.keepingProblem
        }
    }
}

extension FetchPredicate.Comparison {
    fileprivate var keepingProblem: String? {
        if self.operator == .matches {
            return "a regular expression may take too many steps for one text, and then it has no answer; use LIKE"
        }
        if options.contains(.wholeCharacters) { return FetchExpression.divisionProblem }
        return left.keepingProblem ?? right.keepingProblem
    }
}

extension FetchExpression {
    /// The reason why no store can keep the values of the expression; `nil` if a store can.
    var keepingProblem: String? {
        switch self {
        case .value, .keyPath, .evaluatedObject, .variable: nil
        case .list(let parts): parts.lazy.compactMap { $0.keepingProblem }.first
        case .function(let name, let parts):
            Self.keepingProblem(ofFunction: name) ?? parts.lazy.compactMap { $0.keepingProblem }.first
        case .conditional(let condition, let first, let second):
            condition.keepingProblem ?? first.keepingProblem ?? second.keepingProblem
        case .subquery(_, _, let condition): condition.keepingProblem
        }
    }

    private static func keepingProblem(ofFunction name: String) -> String? {
        switch GrammarFunction.normalized(name) {
        case "now": "the time is another one whenever it is asked for; compare with a constant"
        case "characterCount": divisionProblem
        default: nil
        }
    }

    fileprivate static let divisionProblem =
        "it divides text into characters, and versions of Unicode divide the same text differently; store the result "
        + "in an attribute"
}
