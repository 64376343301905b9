// A fetch on its way down: everything resolved against the model, nothing left to look up by name.

public import EspalierModel

/// A question to a store.
public struct StoreFetch: Sendable {
    /// The entity whose rows are wanted.
    public var entity: Entity
    /// Whether rows of entities that inherit from it are wanted too.
    public var includesSubentities: Bool
    /// The condition; `nil` = all rows.
    public var predicate: ResolvedPredicate?
    /// The order, most significant first; empty = ascending primary key, which is no promise to applications.
    public var sort: [ResolvedSortKey]
    /// How many matching rows are skipped.
    public var offset: Int
    /// The greatest number of rows; `nil` = all.
    public var limit: Int?

    /// Asks for rows of `entity`.
    public init(
        entity: Entity, includesSubentities: Bool = true, predicate: ResolvedPredicate? = nil,
        sort: [ResolvedSortKey] = [], offset: Int = 0, limit: Int? = nil
    ) {
        self.entity = entity
        self.includesSubentities = includesSubentities
        self.predicate = predicate
        self.sort = sort
        self.offset = offset
        self.limit = limit
    }
}
