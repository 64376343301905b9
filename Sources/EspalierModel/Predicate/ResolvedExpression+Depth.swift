// Finds the objects from which the paths of a condition begin: a SUBQUERY whose condition reads only its own elements
// has the same result wherever its collection is the same.

extension ResolvedKeyPath.Base {
    /// How far inside of enclosing SUBQUERYs the object belongs: -1 for the tested object, and the number of the
    /// SUBQUERY for one of its elements.
    var depth: Int {
        switch self {
        case .evaluatedObject: -1
        case .variable(let number): number
        }
    }
}

extension ResolvedPredicate.Node {
    /// The least depth of an object from which a path in the condition begins; `Int.max` if there is no path.
    ///
    /// - Complexity: O(size of the condition); conditions within expressions have noted theirs.
    var outermostDepth: Int {
        switch self {
        case .constant: .max
        case .comparison(let comparison): min(comparison.left.outermostDepth, comparison.right.outermostDepth)
        case .and(let nodes), .or(let nodes): nodes.reduce(.max) { min($0, $1.outermostDepth) }
        case .not(let node): node.outermostDepth
        }
    }
}

extension ResolvedExpression {
    fileprivate var outermostDepth: Int {
        switch self {
        case .value, .values: .max
        case .path(let path): path.base.depth
        case .list(let parts), .function(_, let parts): parts.reduce(.max) { min($0, $1.outermostDepth) }
        case .aggregate(_, let part): part.outermostDepth
        case .conditional(let condition, let first, let second):
            min(condition.outermostDepth, first.outermostDepth, second.outermostDepth)
        case .subquery(let collection, _, let condition): min(collection.base.depth, condition.outermostDepth)
        }
    }
}
