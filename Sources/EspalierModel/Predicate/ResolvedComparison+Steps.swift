// A comparison seen from the far end of its key path: what a planner tests there before it goes the path backwards.

extension ResolvedComparison {
    /// The comparison of the attribute at the end of the left key path, as the object that has the attribute makes it.
    ///
    /// `nil` if the left side is not a key path across relationships that ends in an attribute, or if the right side
    /// looks at the object being tested.
    package var atEndOfPath: ResolvedComparison? {
        guard case .path(let path) = left, !path.steps.isEmpty, case .attribute = path.terminal else { return nil }
        switch right {
        case .value, .values: break
        case .list, .path, .aggregate, .function, .conditional, .subquery: return nil
        }
        return ResolvedComparison(
            .path(ResolvedKeyPath(base: .evaluatedObject, steps: [], terminal: path.terminal)), self.operator, right,
            .direct, options, pattern: pattern)
    }
}
