// Fetches of child contexts: the stores search, and rows that the parent has changed are tested in memory.
//
// Invariants
//   1. As in a context with unsaved changes (PendingFetch), the store is asked for one more row for each object that
//      may be missing from its answer. Changed objects, and rows from which the predicate or the order leads to
//      changed objects, are removed from its answer and tested here.
//   2. Offset and limit are applied once, at the end.
//   3. The stores are asked for all levels of parents together (invariant 4 of OverlaySnapshot).

import EspalierModel
import EspalierStore
import FoundationEssentials

extension OverlaySnapshot {
    /// The changes that concern a fetch.
    private struct Concern {
        /// The changed objects of the fetched entities that are not deleted.
        var tested: [ObjectID] = []
        /// The changed and deleted objects that the stores may find.
        var hidden: [ObjectID] = []

        var isEmpty: Bool { tested.isEmpty && hidden.isEmpty }
    }

    func fetch(_ fetch: StoreFetch) throws(StoreError) -> SnapshotList {
        let (stores, concern) = try (stores(for: fetch), concern(of: fetch))
        if stores.count == 1, concern.isEmpty {
            let rows = try stores[0].snapshot.fetch(fetch)
            return showsStores ? rows : SnapshotList(rows.lazy.map(shownOfStore))
        }
        return SnapshotList(try joined(fetch, concern, stores))
    }

    func fetchBatch(_ fetch: StoreFetch, of count: Int) throws(StoreError) -> FetchBatch {
        let stores = try stores(for: fetch)
        // Changes that concern later batches only are looked for when these are read.
        var next = fetch
        next.found = fetch.found.map { $0.dropFirst(fetch.offset).prefix(count) }
        guard stores.count == 1, try concern(of: next).isEmpty else { return FetchBatch(try self.fetch(fetch)) }
        let batch = try stores[0].snapshot.fetchBatch(fetch, of: count)
        return showsStores ? batch : FetchBatch(SnapshotList(batch.rows.lazy.map(shownOfStore)), rest: batch.rest)
    }

    func values(_ fetch: StoreValueFetch) throws(StoreError) -> ValueCollector {
        let (stores, concern) = try (
            stores(for: fetch.rows), concern(of: fetch.rows, reading: fetch.values.inputs)
        )
        if stores.count == 1, concern.isEmpty { return try stores[0].snapshot.values(fetch) }
        var stored = fetch
        stored.excluded.formUnion(concern.hidden)
        var collector = ValueCollector(fetch.values)
        for store in stores { collector.merge(try store.snapshot.values(stored)) }
        let tested = concern.tested.filter { !fetch.excluded.contains($0) }
        for row in try matching(fetch.rows, tested) { try collector.add(row) }
        return collector
    }

    func fetchIDs(_ fetch: StoreFetch) throws(StoreError) -> [ObjectID] {
        let (stores, concern) = try (stores(for: fetch), concern(of: fetch))
        if stores.count == 1, concern.isEmpty { return try stores[0].snapshot.fetchIDs(fetch) }
        return try joined(fetch, concern, stores).map(\.id)
    }

    func count(_ fetch: StoreFetch) throws(StoreError) -> Int {
        let (stores, concern) = try (stores(for: fetch), concern(of: fetch))
        if stores.count == 1, concern.isEmpty { return try stores[0].snapshot.count(fetch) }
        var all = fetch
        (all.offset, all.limit, all.sort) = (0, nil, [])
        var hidden = all
        hidden.predicate =
            all.predicate?.holding(forOneOf: concern.hidden)
            ?? ResolvedPredicate(oneOf: concern.hidden, of: fetch.entity)
        hidden.found = nil
        var count = try matching(fetch, concern.tested).count
        for store in stores {
            count += try store.snapshot.count(all)
            if !concern.hidden.isEmpty { count -= try store.snapshot.count(hidden) }
        }
        return min(max(0, count - fetch.offset), fetch.limit ?? .max)
    }

    func explain(_ fetch: StoreFetch) throws(StoreError) -> [String] { try explain(fetch, as: .rows) }

    func explain(_ fetch: StoreFetch, as form: FetchForm) throws(StoreError) -> [String] {
        var lines: [String] = []
        for store in try stores(for: fetch) { lines += try store.snapshot.explain(fetch, as: form) }
        let concern = try concern(of: fetch)
        if !concern.isEmpty {
            lines.append("parent context: \(concern.hidden.count) rows hidden, \(concern.tested.count) objects tested")
        }
        return lines
    }

    func analyze(_ fetch: StoreFetch) throws(StoreError) -> PlanStep {
        var sources: [PlanStep] = []
        for store in try stores(for: fetch) { sources.append(try store.snapshot.analyze(fetch)) }
        let concern = try concern(of: fetch)
        let begun = ContinuousClock.now
        let count = try self.fetchIDs(fetch).count
        return PlanStep(
            "parent context: \(concern.hidden.count) rows hidden, \(concern.tested.count) objects tested",
            foundCount: count, duration: begun.duration(to: .now), sources: sources)
    }

    /// The stores that a fetch asks.
    ///
    /// - Throws: `StoreError.closed` if there are none: an empty list would mean that a store has answered.
    private func stores(for fetch: StoreFetch) throws(StoreError) -> [Base] {
        let asked = stores.filter { $0.takes(fetch.entity) && fetch.asks(storeTag: $0.storeTag) }
        guard !asked.isEmpty else { throw .closed }
        return asked
    }

    private func concern(
        of fetch: StoreFetch, reading expressions: [ResolvedExpression] = []
    ) throws(StoreError) -> Concern {
        var concern = Concern()
        guard hasChanges else { return concern }
        let family = fetch.includesSubentities ? fetch.entity.family : [fetch.entity.index]
        // Later batches have the rows that the first one has found, and no others.
        let found = fetch.found.map(Set.init)
        assert(StepCount.note(found?.count ?? 0))
        (concern.tested, concern.hidden) = changed(root: fetch.entity.root) { id in
            guard let entity = entity(of: id) else { return false }
            return family.contains(entity.index) && fetch.keys.contains(id.key) && found?.contains(id) ?? true
                && fetch.asks(storeTag: id.storeTag)
        }
        let leading = try leadingRows(of: fetch, reading: expressions).filter { found?.contains($0) ?? true }
        concern.tested += leading
        concern.hidden += leading
        return concern
    }

    /// The objects of a hierarchy that some level has changed, each once: those that are not deleted there, and those
    /// that are not new there, which a store may have.
    private func changed(
        root: Int, where isWanted: (ObjectID) -> Bool = { _ in true }
    ) -> (kept: [ObjectID], stored: [ObjectID]) {
        var (kept, stored): ([ObjectID], [ObjectID]) = ([], [])
        var (seenKept, seenStored) = (Set<ObjectID>(), Set<ObjectID>())
        // A single level has each object once.
        let isSingle = below == nil
        for level in levels {
            level.changes.entries[root].forEach { id, entry in
                guard isWanted(id) else { return }
                if entry.kind != .deleted, isSingle || seenKept.insert(id).inserted { kept.append(id) }
                if entry.kind != .inserted, isSingle || seenStored.insert(id).inserted { stored.append(id) }
            }
        }
        return (kept, stored)
    }

    /// The unchanged rows from which the predicate or order of a fetch leads to changed or deleted objects.
    private func leadingRows(
        of fetch: StoreFetch, reading expressions: [ResolvedExpression]
    ) throws(StoreError) -> [ObjectID] {
        var reach = PredicateReach(from: fetch.entity, in: model)
        reach.add(expressions)
        if let predicate = fetch.predicate { reach.add(predicate) }
        for key in fetch.sort { reach.add(key) }
        var ways: [(steps: [ResolvedKeyPath.Step], ids: [ObjectID])] = []
        for steps in reach.ways {
            guard let last = steps.last else { continue }
            ways.append((steps, changed(root: model.entities[last.destination].root).stored))
        }
        guard let predicate = ResolvedPredicate(ways, from: fetch.entity) else { return [] }
        var leading = StoreFetch(
            entity: fetch.entity, includesSubentities: fetch.includesSubentities, predicate: predicate)
        leading.keys = fetch.keys
        leading.isCancelled = fetch.isCancelled
        if let found = fetch.found { leading.predicate = predicate.holding(forOneOf: Array(found)) }
        var ids: [ObjectID] = []
        for store in try stores(for: fetch) { ids += try store.snapshot.fetchIDs(leading) }
        return ids.filter { !isChanged($0) }
    }

    /// Those of the objects that match.
    private func matching(_ fetch: StoreFetch, _ ids: [ObjectID]) throws(StoreError) -> [OverlayRow] {
        var found: [OverlayRow] = []
        for case let row? in try snapshots(of: ids) {
            guard let entity = entity(of: row.id) else { continue }
            let subject = OverlayRow(row: row, entity: entity, content: self)
            if try fetch.predicate?.evaluate(on: subject) ?? true { found.append(subject) }
        }
        return found
    }

    /// The matching rows, in one order.
    private func joined(
        _ fetch: StoreFetch, _ concern: Concern, _ stores: [Base]
    ) throws(StoreError) -> [ObjectSnapshot] {
        var wider = fetch
        wider.offset = 0
        wider.limit = fetch.limit.flatMap { limit in
            let (sum, overflows) = limit.addingReportingOverflow(fetch.offset)
            let (wider, overflowsAgain) = sum.addingReportingOverflow(concern.hidden.count)
            return overflows || overflowsAgain ? nil : wider
        }
        let hidden = Set(concern.hidden)
        var subjects = try matching(fetch, concern.tested)
        for store in stores {
            for row in try store.snapshot.fetch(wider) where !hidden.contains(row.id) {
                guard let entity = entity(of: row.id) else { continue }
                subjects.append(OverlayRow(row: shownOfStore(row), entity: entity, content: self))
            }
        }
        var entries: [(row: ObjectSnapshot, values: [AttributeValue])] = []
        for subject in subjects {
            var values: [AttributeValue] = []
            for key in fetch.sort { values.append(try key.value(of: subject)) }
            entries.append((subject.row, values))
        }
        entries.sort { left, right in
            for (position, key) in fetch.sort.enumerated() {
                let order = left.values[position].compare(right.values[position], options: key.options)
                if order != .orderedSame { return (order == .orderedAscending) == key.isAscending }
            }
            let (first, second) = (left.row.id, right.row.id)
            return (first.key, first.storeTag) < (second.key, second.storeTag)
        }
        return entries.dropFirst(fetch.offset).prefix(fetch.limit ?? .max).map(\.row)
    }
}

/// A row of a parent context, as predicates and sort keys see it.
private struct OverlayRow: PredicateSubject {
    let row: ObjectSnapshot
    let entity: Entity
    let content: OverlaySnapshot

    var objectID: ObjectID { row.id }

    func value(at slot: Int) throws(StoreError) -> AttributeValue {
        if content.hasChanges, let derivation = content.model.derivation(of: entity.attributes[slot]),
            let value = try derivation.value(on: self)
        {
            return value
        }
        return row.value(at: slot)
    }

    func destinationID(at slot: Int) throws(StoreError) -> ObjectID? { row.destination(at: slot) }

    func destination(at slot: Int) throws(StoreError) -> OverlayRow? {
        guard let id = row.destination(at: slot) else { return nil }
        return try subjects([id]).first
    }

    func destinationIDs(at slot: Int) throws(StoreError) -> [ObjectID] {
        try content.destinations(of: entity.relationships[slot], for: [row.id]).first ?? []
    }

    func destinations(at slot: Int) throws(StoreError) -> [OverlayRow] { try subjects(destinationIDs(at: slot)) }

    func stopEvaluation(_ error: FetchPredicateError) throws(StoreError) { throw .invalidPredicate(error) }

    private func subjects(_ ids: [ObjectID]) throws(StoreError) -> [OverlayRow] {
        try content.snapshots(of: ids).compactMap { row in
            guard let row, let entity = content.entity(of: row.id) else { return nil }
            return OverlayRow(row: row, entity: entity, content: content)
        }
    }
}
