// A comparison at the far end of its key path: the test that a planner applies there before it follows the path
// backward, and that a context applies to changed objects there before it asks which rows lead to them.

extension ResolvedComparison {
    /// Whether an object passes whose left side is null, as it is where a path ends early.
    ///
    /// For a comparison with constants; `false` for others that compare one value with null.
    package var passesNull: Bool {
        switch (self.operator, right) {
        case (.notEqual, _), (.equal, .value(.null)): true
        case (.in, .values(let values)): values.contains(where: \.isNull)
        default: false
        }
    }

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

extension ResolvedPredicate {
    /// The condition that the object at the end of a way must fulfil for the tested object to fulfil this one, as a
    /// condition on objects of `entity`, the one at the end: the comparisons of its attributes with constants.
    ///
    /// `nil` if this condition compares nothing there that null would fail.
    package func condition(atEndOf way: [ResolvedKeyPath.Step], of entity: Entity) -> ResolvedPredicate? {
        let nodes = root.conditions.compactMap { node -> Node? in
            guard case .comparison(let comparison) = node, comparison.modifier == .direct, !comparison.passesNull,
                case .path(let path) = comparison.left, path.base == .evaluatedObject, path.steps == way
            else { return nil }
            return comparison.atEndOfPath.map(Node.comparison)
        }
        guard let first = nodes.first else { return nil }
        return ResolvedPredicate(root: nodes.count == 1 ? first : .and(nodes), of: entity)
    }
}
