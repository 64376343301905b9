// A comparison at the far end of its key path: the test that a planner applies there before it follows the path
// backward.

extension ResolvedComparison {
    /// The comparison of the attribute at the end of the left key path, as a comparison of the object that has the
    /// attribute.
    ///
    /// `nil` if the left side is not a key path across relationships that ends in an attribute, or if the right side is
    /// not constant.
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
