// Finds parts of conditions and expressions of which the evaluation can fail, or depends on the system.

extension ResolvedPredicate.Node {
    /// Whether a part of the condition divides text into characters: versions of Unicode divide the same text
    /// differently.
    var dividesText: Bool { hasPart({ $0.options.contains(.wholeCharacters) }, { $0 == .characterCount }) }

    /// Whether a comparison or a function in the condition passes a test.
    fileprivate func hasPart(
        _ isComparison: (ResolvedComparison) -> Bool, _ isFunction: (ResolvedFunction) -> Bool
    ) -> Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison):
            isComparison(comparison) || comparison.left.hasPart(isComparison, isFunction)
                || comparison.right.hasPart(isComparison, isFunction)
        case .and(let nodes), .or(let nodes): nodes.contains { $0.hasPart(isComparison, isFunction) }
        case .not(let node): node.hasPart(isComparison, isFunction)
        }
    }
}

extension ResolvedExpression {
    /// Whether a condition within the expression compares with a regular expression: its evaluation has a limit of
    /// steps.
    package var hasRegularExpression: Bool { hasPart({ $0.operator == .matches }, { _ in false }) }

    /// Whether a part of the expression divides text into characters.
    var dividesText: Bool { hasPart({ $0.options.contains(.wholeCharacters) }, { $0 == .characterCount }) }

    /// Whether a comparison or a function in the expression passes a test.
    fileprivate func hasPart(
        _ isComparison: (ResolvedComparison) -> Bool, _ isFunction: (ResolvedFunction) -> Bool
    ) -> Bool {
        switch self {
        case .value, .values, .path: false
        case .list(let parts): parts.contains { $0.hasPart(isComparison, isFunction) }
        case .function(let function, let parts):
            isFunction(function) || parts.contains { $0.hasPart(isComparison, isFunction) }
        case .aggregate(_, let part): part.hasPart(isComparison, isFunction)
        case .conditional(let condition, let first, let second):
            condition.node.hasPart(isComparison, isFunction) || first.hasPart(isComparison, isFunction)
                || second.hasPart(isComparison, isFunction)
        case .subquery(_, _, let condition): condition.node.hasPart(isComparison, isFunction)
        }
    }
}
