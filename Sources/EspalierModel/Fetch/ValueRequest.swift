// The request whose results are rows of values: columns, groups, conditions on groups, distinct rows.

/// A request for rows of values instead of objects (Behaviour FR-02, FR-12, FR-13, FR-18 to FR-20; Differences FR-11).
///
/// ```swift
/// var request = ValueRequest(
///     entityName: "Album", columns: ["artist.name", .sum("price", as: "total"), .count(as: "albums")])
/// request.propertiesToGroupBy = ["artist.name"]
/// request.havingPredicate = try FetchPredicate(format: "total > 100")
/// request.sortKeys = [SortKey("total", ascending: false)]
/// for row in try context.fetch(request) { print(row["artist.name"], row["total"]) }
/// ```
///
/// Without groups: a request with aggregates only has one row; beside other columns, each row has the aggregates of all
/// objects (FR-20). Rows without order are by creation, groups and distinct rows by their values.
///
/// Entity, condition, order, limit and offset are in `FetchTerms` and can be read and written here directly. A sort key
/// names a column, or a property of the entity: of groups and distinct rows only columns and the properties of groups.
@dynamicMemberLookup
public struct ValueRequest: Sendable {
    /// The entity, the condition on objects, the order and the limits.
    public var terms: FetchTerms
    /// The columns; empty = the properties of the groups, or all attributes and to-one relationships of the entity.
    public var propertiesToFetch: [FetchColumn]
    /// The properties whose values are equal within a group, or names of columns; empty = no groups.
    public var propertiesToGroupBy: [FetchColumn] = []
    /// The condition on groups; it may have aggregates, properties of the groups, and names of columns, also as
    /// `$name`.
    public var havingPredicate: FetchPredicate?
    /// Whether equal rows are returned once.
    public var returnsDistinctResults = false

    /// A request for values of the objects of an entity.
    public init(entityName: String, predicate: FetchPredicate? = nil, columns: [FetchColumn] = []) {
        self.init(FetchTerms(entityName: entityName, predicate: predicate), columns: columns)
    }

    /// A request for values of the objects that other terms describe.
    public init(_ terms: FetchTerms, columns: [FetchColumn] = []) {
        (self.terms, propertiesToFetch) = (terms, columns)
    }

    /// One property of the terms.
    public subscript<Value>(dynamicMember part: WritableKeyPath<FetchTerms, Value>) -> Value {
        get { terms[keyPath: part] }
        set { terms[keyPath: part] = newValue }
    }
}
