// One criterion of a sort order, as an application names it; `ResolvedSortKey` is the form bound to an entity.

/// One criterion of a sort order: a key path that ends in an attribute, or an expression, and a direction.
public struct SortKey: Sendable, Hashable {
    /// The attribute, directly or across to-one relationships; empty for an expression.
    public var keyPath: FetchKeyPath
    /// The expression by whose values objects are sorted, in the place of a key path.
    public var expression: FetchExpression?
    /// Whether smaller values come first; null precedes every value in ascending order (FR-27).
    public var isAscending: Bool
    /// The options for comparing text.
    public var options: FetchPredicate.Comparison.Options

    /// Sorts by the dotted key path `name`, which ends in an attribute.
    ///
    /// A request refuses a path that ends in an object, such as a relationship or `objectID`: objects have no order
    /// (PX-10).
    public init(_ name: String, ascending: Bool = true, options: FetchPredicate.Comparison.Options = []) {
        keyPath = FetchKeyPath(name.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
        isAscending = ascending
        self.options = options
    }

    /// Sorts by the values of an expression, such as `price * quantity` (FR-26).
    ///
    ///     SortKey(expression: try FetchExpression(format: "price * quantity"), ascending: false)
    ///
    /// The expression has one value for each object, and values of one kind: numbers, texts, dates, booleans, bytes,
    /// UUIDs or URIs. An index of the same expression has its order (FR-25).
    public init(
        expression: FetchExpression, ascending: Bool = true, options: FetchPredicate.Comparison.Options = []
    ) {
        (keyPath, self.expression) = (FetchKeyPath([]), expression)
        (isAscending, self.options) = (ascending, options)
    }

    /// The key path or the expression, as text.
    package var text: String { expression?.description ?? keyPath.components.joined(separator: ".") }
}
