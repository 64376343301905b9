// What an application asks of a context: which objects, which of them, in what order.

/// All of a request but the class of its results: what a context passes on without a copy.
public struct FetchTerms: Sendable {
    /// The name of the entity, resolved when the request is executed (FR-01).
    public var entityName: String
    /// The condition; `nil` = all objects.
    public var predicate: FetchPredicate?
    /// The order, most significant key first; empty = undefined order (FR-28).
    public var sortKeys: [SortKey] = []
    /// The greatest number of results; 0 or less = no limit (FR-03).
    public var fetchLimit = 0
    /// How many results are skipped; 0 or less = none.
    public var fetchOffset = 0
    /// Whether objects of subentities are found too (FR-05).
    public var includesSubentities = true
    /// Whether unsaved changes of the context take part (FR-09).
    public var includesPendingChanges = true
    /// Whether results are faults whose rows are already in memory (FR-07).
    public var returnsObjectsAsFaults = true
    /// Relationships whose destinations are fetched together with the results (FR-10).
    public var relationshipKeyPathsForPrefetching: [String] = []

    /// The terms of a request for objects of the entity called `entityName`.
    @inlinable
    public init(entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = []) {
        self.entityName = entityName
        self.predicate = predicate
        self.sortKeys = sortKeys
    }
}

/// A request for objects of one entity (Behaviour FR-01 ...); `Result` is the class the caller wants to see.
///
/// What can be asked for stands in `FetchTerms`, and is read and written here: `request.fetchLimit = 10`.
@dynamicMemberLookup
public struct FetchRequest<Result>: Sendable {
    /// What is asked for.
    public var terms: FetchTerms

    /// A request for objects of the entity called `entityName`.
    @inlinable
    public init(entityName: String, predicate: FetchPredicate? = nil, sortKeys: [SortKey] = []) {
        terms = FetchTerms(entityName: entityName, predicate: predicate, sortKeys: sortKeys)
    }

    /// The same request for results of another class.
    @inlinable
    public init<Other>(_ request: FetchRequest<Other>) { terms = request.terms }

    /// A part of the terms.
    @inlinable
    public subscript<Value>(dynamicMember part: WritableKeyPath<FetchTerms, Value>) -> Value {
        get { terms[keyPath: part] }
        set { terms[keyPath: part] = newValue }
    }
}
