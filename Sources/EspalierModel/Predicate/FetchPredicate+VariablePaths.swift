// Replaces variables in conditions, and the paths that begin with them.
//
// Invariants
//   1. The variables that a SUBQUERY introduces are kept within it. The path to its collection is replaced by another
//      path, and by nothing else.

extension FetchPredicate {
    /// The condition with each path that begins with a variable replaced; those that begin with the variable of a
    /// SUBQUERY are kept.
    ///
    /// - Parameter replacement: a variable alone is a path of one component; `nil` = the path is kept.
    /// - Throws: the error of `replacement`.
    func replacingVariablePaths<Failure: Error>(
        bound: Set<String> = [], _ replacement: (FetchKeyPath) throws(Failure) -> FetchExpression?
    ) throws(Failure) -> FetchPredicate {
        switch self {
        case .constant: return self
        case .not(let predicate): return .not(try predicate.replacingVariablePaths(bound: bound, replacement))
        case .and(let predicates):
            return .and(
                try predicates.map { predicate throws(Failure) in
                    try predicate.replacingVariablePaths(bound: bound, replacement)
                })
        case .or(let predicates):
            return .or(
                try predicates.map { predicate throws(Failure) in
                    try predicate.replacingVariablePaths(bound: bound, replacement)
                })
        case .comparison(var comparison):
            comparison.left = try comparison.left.replacingVariablePaths(bound: bound, replacement)
            comparison.right = try comparison.right.replacingVariablePaths(bound: bound, replacement)
            return .comparison(comparison)
        }
    }
}

extension FetchExpression {
    fileprivate func replacingVariablePaths<Failure: Error>(
        bound: Set<String>, _ replacement: (FetchKeyPath) throws(Failure) -> FetchExpression?
    ) throws(Failure) -> FetchExpression {
        switch self {
        case .value, .evaluatedObject: return self
        case .keyPath(let path):
            guard let first = path.components.first, first.hasPrefix("$"), !bound.contains(first) else { return self }
            return try replacement(path) ?? self
        case .variable(let name):
            let first = "$" + name
            guard !bound.contains(first) else { return self }
            return try replacement(FetchKeyPath([first])) ?? self
        case .list(let elements):
            return .list(
                try elements.map { element throws(Failure) in
                    try element.replacingVariablePaths(bound: bound, replacement)
                })
        case .function(let name, let arguments):
            return .function(
                name,
                try arguments.map { argument throws(Failure) in
                    try argument.replacingVariablePaths(bound: bound, replacement)
                })
        case .conditional(let condition, let first, let second):
            return .conditional(
                try condition.replacingVariablePaths(bound: bound, replacement),
                try first.replacingVariablePaths(bound: bound, replacement),
                try second.replacingVariablePaths(bound: bound, replacement))
        case .subquery(let collection, let variable, let condition):
            // The variable of the SUBQUERY has no value yet where its collection is found.
            var path = collection
            let replaced = try FetchExpression.keyPath(collection).replacingVariablePaths(bound: bound, replacement)
            if case .keyPath(let other) = replaced { path = other }
            return .subquery(
                path, variable: variable,
                try condition.replacingVariablePaths(bound: bound.union(["$" + variable]), replacement))
        }
    }
}
