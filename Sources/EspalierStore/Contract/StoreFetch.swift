// A fetch as a store gets it: everything is resolved against the model, no name is left to look up.

public import EspalierModel

/// A question to a store.
public struct StoreFetch: Sendable {
    /// The entity whose rows are wanted.
    public var entity: Entity
    /// Whether rows of entities that inherit from it are wanted too.
    public var includesSubentities: Bool
    /// The condition; `nil` = all rows.
    public var predicate: ResolvedPredicate? { didSet { isRepeated = false } }
    /// The order, most significant first; empty = ascending primary key, which is no promise to applications.
    public var sort: [ResolvedSortKey]
    /// How many matching rows are skipped.
    public var offset: Int
    /// The greatest number of rows; `nil` = all.
    public var limit: Int?
    /// The range of primary keys that are read; narrower than `allKeys` only in `FetchBatch.rest`.
    public var keys = StoreFetch.allKeys

    /// The rows that a former batch has found and not returned, in the order of the fetch; `nil` = they are to be
    /// found.
    ///
    /// They are the answer, as far as they still exist: condition and order were applied when they were found. Only
    /// `FetchBatch.rest` has them, for the store that made it.
    package var found: ArraySlice<ObjectID>?

    /// The tags of the stores that are asked; `nil` = all.
    ///
    /// A store that is asked ignores them.
    package var storeTags: Set<UInt32>?

    /// Whether the resolved condition is kept for the next fetch with the same one, so that a store may keep what it
    /// finds out about it; another condition is not.
    package var isRepeated = false

    /// Whether the answer is no longer wanted; `nil` if the fetch cannot be cancelled.
    ///
    /// The stores of this package ask it while they visit rows and entries, on the thread that reads, and then throw
    /// `.fetchCancelled`.
    package var isCancelled: (@Sendable () -> Bool)?

    /// The steps of a loop that answers the fetch.
    var steps: FetchSteps { FetchSteps(isCancelled) }

    /// Those of `found` that are within offset and limit.
    var remaining: ArraySlice<ObjectID>? { found.map { $0.dropFirst(offset).prefix(limit ?? .max) } }

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

    /// Whether the store with this tag is asked; `nil` stands for a source of the objects of all stores.
    package func asks(storeTag: UInt32?) -> Bool {
        storeTags.map { tags in storeTag.map(tags.contains) ?? true } ?? true
    }
}

/// Some of the rows that a fetch finds, in its order.
public struct FetchBatch: Sendable {
    /// The first rows.
    public let rows: SnapshotList
    /// The fetch for the rows after them; `nil` if there are none.
    public let rest: StoreFetch?

    /// A batch of these rows, and the fetch for more.
    public init(_ rows: SnapshotList, rest: StoreFetch? = nil) { (self.rows, self.rest) = (rows, rest) }
}
