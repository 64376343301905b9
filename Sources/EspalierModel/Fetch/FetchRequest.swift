// The request of an application to a context: the objects, the conditions on them, and their order.

public import FoundationEssentials

/// The parts of a request except the class of its results, which a context passes on without a copy.
public struct FetchTerms: Sendable {
    /// The name of the entity, resolved when the request is executed (FR-01).
    public var entityName: String
    /// The condition; `nil` = all objects.
    public var predicate: FetchPredicate?
    /// The order, most significant key first; empty = undefined order (FR-28).
    public var sortKeys: [SortKey] = []
    /// The greatest number of results; 0 or less = no limit (FR-03).
    public var fetchLimit = 0
    /// The number of results to skip; 0 or less = none.
    public var fetchOffset = 0
    /// The identifiers of the stores whose objects are wanted; `nil` = all (FR-15).
    public var affectedStores: [UUID]?
    /// Whether the results include objects of subentities (FR-05).
    public var includesSubentities = true
    /// Whether the request includes unsaved changes of the context (FR-09).
    public var includesPendingChanges = true
    /// Whether results are faults whose rows are already in memory (FR-07).
    public var returnsObjectsAsFaults = true
    /// Whether the rows of the results are read with them (FR-06).
    ///
    /// With `false`, results are faults without rows: the first use of one reads the rows of all.
    public var includesPropertyValues = true
    /// The number of objects whose rows `fetchPages` reads at once; 0 or less = all (FR-04).
    public var fetchBatchSize = 0
    /// Whether results that are in use already adopt the newest values of their stores; unsaved changes are kept
    /// (FR-14).
    ///
    /// It holds for whatever returns objects: `fetch`, also with progress, `fetchPages` and `enumerate`. Requests for
    /// IDs, values and counts use no objects.
    public var shouldRefreshRefetchedObjects = false
    /// Relationships whose destinations are fetched together with the results, by dotted key paths from the entity of
    /// the request (FR-10).
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The terms of a request for objects of the entity called `entityName`.
    @inlinable
    public init(entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = []) {
        self.entityName = entityName
        self.predicate = predicate
        self.sortKeys = sortKeys
    }
}

/// A request for objects of one entity (Behaviour FR-01 ...); `Result` is the class of the results for the caller.
///
/// The terms are in `FetchTerms` and can be read and written here directly: `request.fetchLimit = 10`.
@dynamicMemberLookup
public struct FetchRequest<Result>: Sendable {
    /// The terms of the request.
    public var terms: FetchTerms

    /// Makes a request for objects of the entity called `entityName`.
    @inlinable
    public init(entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = []) {
        terms = FetchTerms(entityName: entityName, predicate: predicate, sortKeys: sortKeys)
    }

    /// Makes the same request for results of another class.
    @inlinable
    public init<Other>(_ request: FetchRequest<Other>) { terms = request.terms }

    /// One property of the terms.
    @inlinable
    public subscript<Value>(dynamicMember part: WritableKeyPath<FetchTerms, Value>) -> Value {
        get { terms[keyPath: part] }
        set { terms[keyPath: part] = newValue }
    }
}
