// A question to a store for values instead of rows.

public import EspalierModel

/// A question for values of rows: the rows, and the values that are read of them.
public struct StoreValueFetch: Sendable {
    /// The rows, their order and limit; the offset is 0: the context skips rows when it has those of all stores.
    public var rows: StoreFetch
    /// The values that are read of each row.
    public let values: ResolvedValues
    /// Rows that are left out, because the context has other values of them.
    public var excluded: Set<ObjectID> = []

    /// Asks for values of the rows that `predicate` describes.
    public init(_ values: ResolvedValues, includesSubentities: Bool = true, predicate: ResolvedPredicate? = nil) {
        self.values = values
        rows = StoreFetch(entity: values.entity, includesSubentities: includesSubentities, predicate: predicate)
        if let countMax = values.objectCountMax {
            rows.limit = countMax
            rows.sort = values.objectOrder ?? []
        }
    }

    /// Whether objects in the order of `rows` are in that of the request.
    package var isOrdered: Bool {
        !values.isGrouped && (values.objectOrder.map { $0.count == rows.sort.count } ?? false)
    }
}

extension StoreSnapshot {
    /// Reads all rows that match, and then the values of each.
    public func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        var all = fetch.rows
        if !fetch.excluded.isEmpty { all.limit = nil }
        var collector = ValueCollector(fetch.values)
        var (count, steps) = (0, all.steps)
        for row in try self.fetch(all) where !fetch.excluded.contains(row.id) && count < fetch.rows.limit ?? .max {
            try steps.count()
            guard let subject = SnapshotSubject(row, in: self, fetch.values.model) else { continue }
            try collector.add(subject)
            count += 1
        }
        collector.isInOrder = fetch.isOrdered
        return collector
    }

    /// The values of rows that this snapshot has returned; `isInOrder`: in the order of the request.
    package func values(
        _ values: ResolvedValues, of rows: SnapshotList, isInOrder: Bool
    ) throws(StoreError) -> ValueCollector {
        var collector = ValueCollector(values)
        for row in rows {
            guard let subject = SnapshotSubject(row, in: self, values.model) else { continue }
            try collector.add(subject)
        }
        collector.isInOrder = isInOrder
        return collector
    }

    /// The steps of a fetch of the rows.
    public func explain(_ fetch: StoreValueFetch) throws(StoreError) -> [String] { try explain(fetch.rows) }

    /// One step for each line of `explain`; the first one has the result's number of rows or groups, and the time.
    public func analyze(_ fetch: StoreValueFetch) throws(StoreError) -> PlanStep {
        let steps = try explain(fetch)
        let begun = ContinuousClock.now
        let count = try rowCount(of: fetch)
        return PlanStep(
            fetch.resultText, foundCount: count, duration: begun.duration(to: .now),
            sources: steps.map { PlanStep($0) })
    }

    /// The number of rows or groups that a question for values finds, by finding them.
    func rowCount(of fetch: StoreValueFetch) throws(StoreError) -> Int {
        let collector = try values(fetch)
        do { return try collector.rows().count } catch { throw .invalidPredicate(error) }
    }
}

extension StoreValueFetch {
    /// The result, in words.
    var resultText: String {
        (values.isGrouped ? "values of groups of " : "values of ") + rows.entity.name
            + (rows.limit.map { ", stop after \($0)" } ?? "")
    }
}

/// A row of any store, as expressions see it; other rows are read when they are needed.
struct SnapshotSubject: PredicateSubject {
    private let row: ObjectSnapshot
    private let snapshot: any StoreSnapshot
    private let model: ManagedObjectModel
    let entity: Entity

    init?(_ row: ObjectSnapshot, in snapshot: any StoreSnapshot, _ model: ManagedObjectModel) {
        guard let entity = model.entity(named: row.id.entityName) else { return nil }
        (self.row, self.snapshot, self.model, self.entity) = (row, snapshot, model, entity)
    }

    var objectID: ObjectID { row.id }

    func value(at slot: Int) throws(StoreError) -> AttributeValue { row.value(at: slot) }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is a list")
        return row.destination(at: slot)
    }

    func destination(at slot: Int) throws(StoreError) -> SnapshotSubject? {
        guard let id = try destinationID(at: slot) else { return nil }
        return try subjects([id]).first
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        assert(entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is no list")
        return try snapshot.destinations(of: entity.relationships[slot], for: [row.id]).first ?? []
    }

    func destinations(at slot: Int) throws(StoreError) -> [SnapshotSubject] { try subjects(destinationIDs(at: slot)) }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }

    private func subjects(_ ids: [ObjectID]) throws(StoreError) -> [SnapshotSubject] {
        try snapshot.snapshots(of: ids).compactMap { row in row.flatMap { SnapshotSubject($0, in: snapshot, model) } }
    }
}
