// A predicate bound to an entity: names made slots, types checked, constants converted.
//
// Invariants
//   1. A resolved predicate fits its entity: evaluating it needs no lookup by name and cannot meet an unknown key.

/// A condition that is checked against an entity and ready to be evaluated or planned.
public struct ResolvedPredicate: Sendable {
    /// The condition as it was asked.
    public let source: FetchPredicate

    package init(source: FetchPredicate) { self.source = source }
}

/// A sort key that is checked against an entity.
public struct ResolvedSortKey: Sendable {
    /// The key as it was asked.
    public let source: SortKey

    package init(source: SortKey) { self.source = source }
}
