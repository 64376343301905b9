// The condition of most fetches: an attribute of the object itself equals a constant.
//
// A resolved predicate detects it once, so that a planner need not examine the tree.

/// A condition that consists of one comparison: an attribute equals a constant.
package struct AttributeEquality: Sendable {
    /// The slot of the attribute, in the object being tested.
    package let slot: Int
    /// The constant.
    ///
    /// The attribute accepts it, so it has one position in the order of an index.
    package let value: AttributeValue

    /// Returns `nil` if `node` is another condition, or compares text with options.
    init?(_ node: ResolvedPredicate.Node) {
        guard case .comparison(let comparison) = node, comparison.operator == .equal, comparison.modifier == .direct,
            comparison.options.isEmpty,
            case .path(let path) = comparison.left, path.base == .evaluatedObject, path.steps.isEmpty,
            case .attribute(let slot, let type, let elements) = path.terminal, elements.isEmpty,
            type != .undefined, type != .objectID,
            case .value(let value) = comparison.right, type.accepts(value)
        else { return nil }
        (self.slot, self.value) = (slot, value)
    }
}
