// The reading half of a store on an application's data: what the source leaves undone is done here (SD-32).
//
// Invariants
//   1. A source is never asked for a condition or an order that its query cannot express: those are left out, and the
//      rows tested here.
//   2. Rows are loaded only if the answer needs their values: to return, to test or to sort them.

public import EspalierModel
internal import FoundationEssentials

/// The contents of a store on an application's data, as one reader of the source shows them.
public final class IncrementalSnapshot: StoreSnapshot, BuiltInSnapshot {
    let store: IncrementalStore
    private let reader: any IncrementalReader
    /// The number of the moment.
    public let generation: UInt64

    init(_ store: IncrementalStore, _ reader: any IncrementalReader, generation: UInt64) {
        (self.store, self.reader, self.generation) = (store, reader, generation)
    }

    /// Whether no save followed, and the application has told of no other change.
    public var isNewest: Bool { store.isNewest(generation) }

    // MARK: Reading

    /// The rows that match, in order, within offset and limit.
    ///
    /// - Complexity: O(n log n) in the rows that the source returns, if it leaves sorting to the store.
    public func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        let found = try find(fetch)
        try found.reads.load(found.ids)
        assert(found.ids.count <= fetch.limit ?? .max, "\(found.ids.count) rows, and the limit is \(fetch.limit ?? 0)")
        let rows = try found.ids.map { id throws(StoreError) in try found.reads.existingRow(id) }
        if found.isTrusted {
            try store.checks.check(rows, matching: fetch) { row throws(StoreError) in try found.reads.subject(row.id) }
        }
        return SnapshotList(rows)
    }

    /// The IDs of the rows that match, in order, within offset and limit.
    public func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] { try find(fetch).ids }

    /// The number of rows that `fetch` matches, within its offset and limit.
    public func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        var unsorted = fetch
        unsorted.sort = []
        return try find(unsorted).ids.count
    }

    /// The rows with these IDs, in this order; `nil` where there is none.
    public func snapshots(of ids: [ObjectID]) throws(StoreError) -> [ObjectSnapshot?] {
        _ = try store.openGeneration()
        for id in ids { _ = try SaveChecks.entity(of: id, schema: store.schema, storeTag: store.storeTag) }
        guard !ids.isEmpty else { return [] }
        let rows = try store.ask { try reader.rows(ids) }
        try store.checks.check(rows, readBy: ids)
        try store.checkVersions(of: rows.compactMap { $0 }, in: generation)
        return rows
    }

    /// The destinations of a to-many relationship for each owner; in the kept order if it is ordered, else by key.
    public func destinations(
        of relationship: Relationship, for owners: [ObjectID]
    ) throws(StoreError) -> [[ObjectID]] {
        guard relationship.isToMany else {
            throw .invalidRequest(reason: "relationship \(relationship.name) is to-one; read it from the row")
        }
        _ = try store.openGeneration()
        return try owners.map { owner throws(StoreError) in
            let entity = try SaveChecks.entity(of: owner, schema: store.schema, storeTag: store.storeTag)
            guard entity.isKind(of: store.model.entities[relationship.declaredBy]) else {
                throw .invalidRequest(reason: "\(entity.name) has no relationship \(relationship.name)")
            }
            let list = try store.ask { try reader.destinations(of: relationship, for: owner) }
            try store.checks.check(list, of: relationship, for: owner)
            return relationship.isOrdered ? list : list.sorted { $0.key < $1.key }
        }
    }

    /// Whether `destination` is one of the destinations of a to-many relationship of `owner`.
    public func hasDestination(
        _ destination: ObjectID, of relationship: Relationship, for owner: ObjectID
    ) throws(StoreError) -> Bool {
        let list = try destinations(of: relationship, for: [owner])[0]
        _ = try SaveChecks.entity(of: destination, schema: store.schema, storeTag: store.storeTag)
        return list.contains(destination)
    }

    /// The steps that are left to the source, and those of the store.
    public func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] {
        let query = IncrementalQuery(fetch)
        var steps = ["ask \(store.type.rawValue) for rows of \(fetch.entity.name)"]
        if fetch.predicate != nil {
            steps.append(query.predicate.map { "let it filter by \($0), or test each row" } ?? "test each row")
        }
        if !query.sort.isEmpty { steps.append("let it sort by \(fetch.sort.count) sort keys, or sort the rows") }
        return steps
    }

    // MARK: Finding

    /// The rows that a fetch finds.
    private struct Found {
        var ids: [ObjectID]
        let reads: IncrementalReads
        /// Whether the source says that it has filtered or sorted.
        var isTrusted = false
    }

    private func find(_ fetch: StoreFetch) throws(StoreError) -> Found {
        guard store.model.entity(named: fetch.entity.name) === fetch.entity else {
            throw .invalidRequest(reason: "entity \(fetch.entity.name) is not in the store's model")
        }
        guard fetch.offset >= 0, fetch.limit ?? 0 >= 0 else {
            throw .invalidRequest(reason: "offset \(fetch.offset) and limit \(fetch.limit ?? 0) must not be negative")
        }
        _ = try store.openGeneration()
        let query = IncrementalQuery(fetch)
        let answer = try store.ask { try reader.find(query) }
        var found = Found(ids: [], reads: IncrementalReads(self))
        switch answer.rows {
        case .ids(let ids): found.ids = ids
        case .loaded(let rows):
            found.ids = rows.map(\.id)
            try store.check(rows, in: generation)
            for row in rows { found.reads.keep(row) }
        }
        let family = fetch.includesSubentities ? fetch.entity.family : [fetch.entity.index]
        try store.checks.check(found.ids, of: Set(family))
        let isFiltered = fetch.predicate == nil || answer.isFiltered && query.predicate != nil
        let isSorted = !query.sort.isEmpty && answer.isSorted
        found.isTrusted = answer.isFiltered || answer.isSorted
        let isCut = answer.isCut && query.isWhole
        if isCut {
            guard isFiltered, isSorted || fetch.sort.isEmpty else {
                throw store.broken("it has cut rows that it has not filtered and sorted")
            }
            guard found.ids.count <= query.limit ?? .max else {
                throw store.broken("\(found.ids.count) rows are more than the limit of \(query.limit ?? 0)")
            }
        }
        assert(!isCut || fetch.keys == StoreFetch.allKeys, "\(found.ids.count) rows are cut, and keys not tested")
        if fetch.keys != StoreFetch.allKeys { found.ids.removeAll { !fetch.keys.contains($0.key) } }
        if !isFiltered, let predicate = fetch.predicate { try filter(&found, predicate, fetch.steps) }
        guard !isCut else { return found }
        if !isSorted { try sort(&found, fetch.sort, fetch.steps) }
        found.ids = Array(found.ids.dropFirst(fetch.offset).prefix(fetch.limit ?? .max))
        return found
    }

    private func filter(
        _ found: inout Found, _ predicate: ResolvedPredicate, _ steps: FetchSteps
    ) throws(StoreError) {
        try found.reads.load(found.ids)
        var kept: [ObjectID] = []
        var steps = steps
        for id in found.ids {
            try steps.count()
            if try predicate.evaluate(on: found.reads.subject(id)) { kept.append(id) }
        }
        found.ids = kept
    }

    private func sort(_ found: inout Found, _ keys: [ResolvedSortKey], _ steps: FetchSteps) throws(StoreError) {
        guard !keys.isEmpty else { return found.ids.sort { $0.key < $1.key } }
        try found.reads.load(found.ids)
        var rows: [(id: ObjectID, values: [AttributeValue])] = []
        var steps = steps
        for id in found.ids {
            try steps.count()
            let subject = try found.reads.subject(id)
            rows.append((id, try keys.map { key throws(StoreError) in try key.value(of: subject) }))
        }
        rows.sort { left, right in
            keys.order(left.values, right.values).map { $0 == .orderedAscending } ?? (left.id.key < right.id.key)
        }
        found.ids = rows.map(\.id)
    }
}

extension IncrementalQuery {
    /// The part of a fetch that has names: a condition that a context has made of IDs is left out, and an order by an
    /// expression, and with them the limits.
    init(_ fetch: StoreFetch) {
        (entity, includesSubentities) = (fetch.entity, fetch.includesSubentities)
        // The source of a condition that was made of IDs is a constant.
        let isExpressible = fetch.predicate?.source != .constant(true)
        predicate = isExpressible ? fetch.predicate?.source : nil
        let sortsByPaths = fetch.sort.allSatisfy { $0.source.expression == nil }
        sort = sortsByPaths ? fetch.sort.map(\.source) : []
        isWhole = isExpressible && sortsByPaths && fetch.keys == StoreFetch.allKeys
        (offset, limit) = isWhole ? (fetch.offset, fetch.limit) : (0, nil)
    }
}
