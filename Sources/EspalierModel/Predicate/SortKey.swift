// One criterion of an order, as an application names it; bound to an entity it is a `ResolvedSortKey`.

/// One criterion of an order: a key path that ends in an attribute, and a direction.
public struct SortKey: Sendable, Hashable {
    /// The attribute, directly or across to-one relationships.
    public var keyPath: FetchKeyPath
    /// Whether smaller values come first; "no value" comes before every value when ascending (FR-27).
    public var isAscending: Bool
    /// How text is compared.
    public var options: FetchPredicate.Comparison.Options

    /// Sorts by the dotted key path `name`.
    public init(_ name: String, ascending: Bool = true, options: FetchPredicate.Comparison.Options = []) {
        keyPath = FetchKeyPath(name.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
        isAscending = ascending
        self.options = options
    }
}
