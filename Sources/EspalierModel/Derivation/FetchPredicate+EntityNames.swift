// Whether a condition reads names of entities. These are a part of the model, not of the rows: another version of the
// model may give equal texts other answers, although no row has changed.

extension FetchPredicate {
    /// Whether the condition reads the name of an object's entity, or the names of a family of entities.
    ///
    /// Also true for an attribute called `entity`.
    ///
    /// - Complexity: O(length of the condition).
    package var readsEntityNames: Bool {
        switch self {
        case .constant: false
        case .comparison(let comparison): comparison.left.readsEntityNames || comparison.right.readsEntityNames
        case .and(let parts), .or(let parts): parts.contains { $0.readsEntityNames }
        case .not(let part): part.readsEntityNames
        }
    }
}

extension FetchExpression {
    fileprivate var readsEntityNames: Bool {
        switch self {
        case .value, .evaluatedObject, .variable: false
        case .keyPath(let path): path.components.contains("entity")
        case .list(let parts): parts.contains { $0.readsEntityNames }
        case .function(let name, let parts):
            GrammarFunction.normalized(name) == "entityFamily" || parts.contains { $0.readsEntityNames }
        case .conditional(let condition, let first, let second):
            condition.readsEntityNames || first.readsEntityNames || second.readsEntityNames
        case .subquery(let path, _, let condition):
            path.components.contains("entity") || condition.readsEntityNames
        }
    }
}
