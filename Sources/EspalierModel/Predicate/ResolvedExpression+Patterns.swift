// Finds regular expressions in conditions and expressions: their evaluation has a limit of steps, so it can fail.

extension ResolvedPredicate.Node {
    /// Whether a comparison in the condition is one by a regular expression.
    fileprivate var hasRegularExpression: Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison):
            comparison.operator == .matches || comparison.left.hasRegularExpression
                || comparison.right.hasRegularExpression
        case .and(let nodes), .or(let nodes): nodes.contains { $0.hasRegularExpression }
        case .not(let node): node.hasRegularExpression
        }
    }
}

extension ResolvedExpression {
    /// Whether a condition within the expression compares with a regular expression.
    package var hasRegularExpression: Bool {
        switch self {
        case .value, .values, .path: false
        case .list(let parts), .function(_, let parts): parts.contains { $0.hasRegularExpression }
        case .aggregate(_, let part): part.hasRegularExpression
        case .conditional(let condition, let first, let second):
            condition.node.hasRegularExpression || first.hasRegularExpression || second.hasRegularExpression
        case .subquery(_, _, let condition): condition.node.hasRegularExpression
        }
    }
}
