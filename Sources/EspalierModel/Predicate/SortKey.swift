// One criterion of a sort order, as an application names it; `ResolvedSortKey` is the form bound to an entity.

/// One criterion of a sort order: a key path that ends in an attribute, and a direction.
public struct SortKey: Sendable, Hashable {
    /// The attribute, directly or across to-one relationships.
    public var keyPath: FetchKeyPath
    /// Whether smaller values come first; null precedes every value in ascending order (FR-27).
    public var isAscending: Bool
    /// The options for comparing text.
    public var options: FetchPredicate.Comparison.Options

    /// Sorts by the dotted key path `name`.
    public init(_ name: String, ascending: Bool = true, options: FetchPredicate.Comparison.Options = []) {
        keyPath = FetchKeyPath(name.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
        isAscending = ascending
        self.options = options
    }
}
