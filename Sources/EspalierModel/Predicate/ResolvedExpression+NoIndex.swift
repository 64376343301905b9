// Finds `noindex:` in conditions and expressions, which keeps a planner from using an index (Behaviour PR-16).

extension ResolvedPredicate.Node {
    /// Whether a part of the condition is marked with `noindex:`.
    package var avoidsIndexes: Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison): comparison.left.avoidsIndexes || comparison.right.avoidsIndexes
        case .and(let nodes), .or(let nodes): nodes.contains(where: \.avoidsIndexes)
        case .not(let node): node.avoidsIndexes
        }
    }
}

extension ResolvedExpression {
    /// Whether a part of the expression is marked with `noindex:`.
    package var avoidsIndexes: Bool {
        switch self {
        case .value, .values, .path: false
        case .list(let parts): parts.contains(where: \.avoidsIndexes)
        case .function(let function, let parts): function == .noIndex || parts.contains(where: \.avoidsIndexes)
        case .aggregate(_, let part): part.avoidsIndexes
        case .conditional(let condition, let first, let second):
            condition.node.avoidsIndexes || first.avoidsIndexes || second.avoidsIndexes
        case .subquery(_, _, let condition): condition.node.avoidsIndexes
        }
    }
}
