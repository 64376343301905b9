// Walks through the parts of expressions and conditions.

extension FetchExpression {
    /// Calls `body` with this expression and, where it returns true, with the parts of which it is computed for the
    /// same object: not those within a SUBQUERY.
    func forEachPart(
        _ body: (FetchExpression) throws(FetchPredicateError) -> Bool
    ) throws(FetchPredicateError) {
        guard try body(self) else { return }
        switch self {
        case .value, .keyPath, .evaluatedObject, .variable, .subquery: break
        case .list(let parts), .function(_, let parts): for part in parts { try part.forEachPart(body) }
        case .conditional(let condition, let first, let second):
            try condition.forEachExpression { expression throws(FetchPredicateError) in
                try expression.forEachPart(body)
            }
            try first.forEachPart(body)
            try second.forEachPart(body)
        }
    }

    /// The same expression with an operator at the beginning of a path as an aggregate: `@sum.price` is `sum(price)`.
    var withLeadingAggregates: FetchExpression {
        switch self {
        case .keyPath(let path):
            let functions = ["@count": "count", "@sum": "sum", "@avg": "average", "@min": "min", "@max": "max"]
            guard let first = path.components.first, let function = functions[first] else { return self }
            let rest = path.components.count > 1 ? Array(path.components.dropFirst()) : ["SELF"]
            return .function(function, [.keyPath(FetchKeyPath(rest))])
        case .list(let parts): return .list(parts.map(\.withLeadingAggregates))
        case .function(let name, let parts): return .function(name, parts.map(\.withLeadingAggregates))
        case .conditional(let condition, let first, let second):
            return .conditional(
                condition.mappingExpressions(\.withLeadingAggregates), first.withLeadingAggregates,
                second.withLeadingAggregates)
        case .value, .evaluatedObject, .variable, .subquery: return self
        }
    }
}

extension FetchPredicate {
    /// Calls `body` with the sides of each comparison.
    func forEachExpression(
        _ body: (FetchExpression) throws(FetchPredicateError) -> Void
    ) throws(FetchPredicateError) {
        switch self {
        case .constant: break
        case .and(let parts), .or(let parts): for part in parts { try part.forEachExpression(body) }
        case .not(let part): try part.forEachExpression(body)
        case .comparison(let comparison):
            try body(comparison.left)
            try body(comparison.right)
        }
    }

    /// The same condition with other expressions on the sides of its comparisons.
    func mappingExpressions(_ change: (FetchExpression) -> FetchExpression) -> FetchPredicate {
        switch self {
        case .constant: return self
        case .and(let parts): return .and(parts.map { $0.mappingExpressions(change) })
        case .or(let parts): return .or(parts.map { $0.mappingExpressions(change) })
        case .not(let part): return .not(part.mappingExpressions(change))
        case .comparison(var comparison):
            (comparison.left, comparison.right) = (change(comparison.left), change(comparison.right))
            return .comparison(comparison)
        }
    }
}
