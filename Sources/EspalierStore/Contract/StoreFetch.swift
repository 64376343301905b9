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
    /// The primary keys of the rows that are wanted: those that are left of a fetch that began with others
    /// (`FetchBatch`).
    public var keys = StoreFetch.allKeys

    /// Any primary key.
    static var allKeys: ClosedRange<UInt64> { 0...UInt64.max }

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

/// Some of the rows that a fetch finds, in its order.
public struct FetchBatch: Sendable {
    /// The first ones.
    public let rows: SnapshotList
    /// What asks for those behind them; `nil` if there are none.
    public let rest: StoreFetch?

    /// These rows, and what asks for more.
    public init(_ rows: SnapshotList, rest: StoreFetch? = nil) { (self.rows, self.rest) = (rows, rest) }
}
