// One generation of an in-memory store: a copy of its state. A fetch tests every row, then sorts and cuts the result.

public import EspalierModel
internal import FoundationEssentials

/// The contents of an in-memory store after one of its saves.
public final class InMemorySnapshot: StoreSnapshot, BuiltInSnapshot {
    private let store: InMemoryStore
    private let copy: MemoryState
    /// Whether the caller holds the lock of the open store.
    private let isHeld: Bool

    init(_ store: InMemoryStore, _ state: MemoryState, isHeld: Bool = false) {
        (self.store, copy, self.isHeld) = (store, state, isHeld)
    }

    /// The number of the save.
    public var generation: UInt64 { copy.generation }
    /// Whether no save followed.
    public var isNewest: Bool { store.isNewest(generation) }

    var schema: StoreSchema { store.schema }
    private var model: ManagedObjectModel { store.model }

    /// The copy; throws `.closed` after the store was closed.
    func state() throws(StoreError) -> MemoryState {
        if !isHeld { try store.withState { _ throws(StoreError) in } }
        return copy
    }

    // MARK: Reading

    /// The rows that match, in order, within offset and limit.
    ///
    /// - Complexity: O(n) for n rows of the hierarchy, and O(m log m) for m that match: the store has no index.
    public func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        SnapshotList(try rows(fetch).lazy.map(\.snapshot))
    }

    /// The IDs of the rows that match, in order, within offset and limit.
    public func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try rows(fetch).map(\.id) }

    /// The number of rows that `fetch` matches, within its offset and limit.
    public func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        var unsorted = fetch
        unsorted.sort = []
        return try rows(unsorted).count
    }

    /// The rows with these IDs, in this order; `nil` where there is none.
    public func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        let state = try state()
        var snapshots: [ObjectSnapshot?] = []
        for id in ids {
            _ = try SaveChecks.entity(of: id, schema: schema, storeTag: store.storeTag)
            snapshots.append(state.row(id)?.snapshot)
        }
        return snapshots
    }

    /// The destinations of a to-many relationship for each owner; in the kept order if it is ordered, else by key.
    public func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        guard relationship.isToMany else {
            throw .invalidRequest(reason: "relationship \(relationship.name) is to-one; read it from the row")
        }
        let state = try state()
        var lists: [[ObjectID]] = []
        for owner in owners {
            let entity = try SaveChecks.entity(of: owner, schema: schema, storeTag: store.storeTag)
            guard entity.isKind(of: model.entities[relationship.declaredBy]) else {
                throw .invalidRequest(reason: "\(entity.name) has no relationship \(relationship.name)")
            }
            lists.append(state.destinations(of: owner, relationship))
        }
        return lists
    }

    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    ///
    /// - Complexity: O(log n); O(destinations) if the relationship is ordered.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        let list = try destinations(of: relationship, for: [owner])[0]
        _ = try SaveChecks.entity(of: destination, schema: schema, storeTag: store.storeTag)
        return relationship.isOrdered ? list.contains(destination) : list.hasInKeyOrder(destination)
    }

    /// The steps to answer `fetch`: always the same ones.
    public func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] {
        let root = model.entities[fetch.entity.root]
        var steps = ["read all \(try state().rows[root.index].count) rows of \(root.name)"]
        if fetch.predicate != nil { steps.append("test each row") }
        steps.append(fetch.sort.isEmpty ? "sort by primary key" : "sort by \(fetch.sort.count) sort keys")
        return steps
    }

    func rows(
        _ fetch: StoreFetch, excluding excluded: Set<ObjectID> = []
    ) throws(StoreError) -> [MemoryState.Row] {
        guard model.entity(named: fetch.entity.name) === fetch.entity else {
            throw .invalidRequest(reason: "entity \(fetch.entity.name) is not in the store's model")
        }
        guard fetch.offset >= 0, fetch.limit ?? 0 >= 0 else {
            throw .invalidRequest(reason: "offset \(fetch.offset) and limit \(fetch.limit ?? 0) must not be negative")
        }
        let state = try state()
        if let remaining = fetch.remaining {
            return remaining.compactMap { excluded.contains($0) ? nil : state.row($0) }
        }
        let wanted = fetch.includesSubentities ? Set(fetch.entity.family) : [fetch.entity.index]
        var matches: [(subject: MemoryRow, sortValues: [AttributeValue])] = []
        var steps = fetch.steps
        for (_, row) in state.rows[fetch.entity.root]
        where wanted.contains(row.entity) && fetch.keys.contains(row.id.key) && !excluded.contains(row.id) {
            try steps.count()
            let subject = MemoryRow(row: row, state: state, schema: schema)
            assert(row.id.key <= state.lastKeys[fetch.entity.root], "key \(row.id.key) was never allocated")
            guard try fetch.predicate?.evaluate(on: subject) ?? true else { continue }
            var sortValues: [AttributeValue] = []
            for key in fetch.sort { sortValues.append(try key.value(of: subject)) }
            matches.append((subject, sortValues))
        }
        matches.sort { left, right in
            for (index, key) in fetch.sort.enumerated() {
                let order = left.sortValues[index].compare(right.sortValues[index], options: key.options)
                if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
            }
            return left.subject.row.id.key < right.subject.row.id.key
        }
        return matches.dropFirst(fetch.offset).prefix(fetch.limit ?? Int.max).map(\.subject.row)
    }
}
