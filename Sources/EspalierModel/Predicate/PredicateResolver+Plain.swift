// Resolves the most frequent predicate, an equality, in fewer steps than `resolve`.
//
// Invariants
//   1. The result equals that of `resolve`, which handles all other predicates and every error.

extension PredicateResolver {
    /// The resolved form of `predicate` if it compares an attribute for equality with a constant that the attribute
    /// accepts; otherwise `nil`.
    ///
    /// See Decisions, "Plain equalities".
    static func plainEquality(_ predicate: FetchPredicate, of entity: Entity) -> ResolvedPredicate.Node? {
        guard case .comparison(let comparison) = predicate, comparison.operator == .equal,
            comparison.modifier == .direct,
            comparison.options.isDisjoint(with: [.localeSensitive, .numeric, .natural]),
            case .keyPath(let keyPath) = comparison.left, keyPath.components.count == 1,
            case .attribute(let slot)? = entity.property(named: keyPath.components[0]),
            case let attribute = entity.attributes[slot], !attribute.isTransient,
            case .value(let value) = comparison.right, attribute.type.accepts(value)
        else { return nil }
        let path = ResolvedKeyPath(
            base: .evaluatedObject, steps: [], terminal: .attribute(slot, type: attribute.type, elements: []))
        return .comparison(ResolvedComparison(.path(path), .equal, .value(value), .direct, comparison.options))
    }
}
