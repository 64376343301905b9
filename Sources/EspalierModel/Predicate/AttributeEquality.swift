// The condition of most fetches: an attribute of the object itself has one value.
//
// A resolved predicate recognizes it once; a planner goes by that and looks for no other conditions.

/// A condition that says nothing but that an attribute equals a constant.
package struct AttributeEquality: Sendable {
    /// The attribute, of the object that is tested.
    package let slot: Int
    /// The constant, which the attribute can hold: it has one place in the order of an index.
    package let value: AttributeValue

    /// `nil` if `node` says anything else, or compares text otherwise than scalar by scalar.
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
