// The unchanged rows whose answer to a fetch may differ from the store's, because the predicate, the order or a column
// leads from them to changed or deleted objects, or to rows that cascades reach.
//
// Invariants
//   1. A to-one relationship that is compared as a whole matters only if the object at its end is deleted.
//   2. A way to a changed object is left out only if the predicate compares that object with constants, and neither its
//      stored values nor its unsaved ones pass: the store does not find the rows that lead there, and rightly so.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The rows of unchanged objects from which a fetch leads to changed or deleted objects, or to rows that cascades
    /// reach.
    ///
    /// - Complexity: O(rows that lead to these objects, and changed objects of the entities to which the fetch leads).
    ///   Where the predicate asks for values of an indexed attribute, only the changed objects count that have one of
    ///   the values, saved or unsaved.
    func leadingRows(
        of fetch: StoreFetch, reading expressions: [ResolvedExpression]
    ) throws(ContextError) -> [ObjectID] {
        guard !(memory.updated.isEmpty && memory.deleted.isEmpty) else { return [] }
        let reach = reach(of: fetch, reading: expressions)
        var ways: [(steps: [ResolvedKeyPath.Step], ids: [ObjectID])] = []
        var (changedByRoot, deletedByRoot): ([Int: [ObjectID]], [Int: [ObjectID]]) = ([:], [:])
        for steps in reach.ways {
            guard let last = steps.last else { continue }
            let root = model.entities[last.destination].root
            let family = model.entities[root].family
            if !reach.reads(atEndOf: steps) {
                if deletedByRoot[root] == nil { deletedByRoot[root] = deletedRows(in: family) }
                ways.append((steps, deletedByRoot[root] ?? []))
            } else if let asked = try changedRows(of: model.entities[last.destination], at: steps, for: fetch) {
                ways.append((steps, asked))
            } else {
                if changedByRoot[root] == nil { changedByRoot[root] = changedRows(in: family) }
                ways.append((steps, changedByRoot[root] ?? []))
            }
        }
        guard let predicate = ResolvedPredicate(ways, from: fetch.entity) else { return [] }
        var leading = StoreFetch(
            entity: fetch.entity, includesSubentities: fetch.includesSubentities, predicate: predicate)
        // A parent answers for all stores.
        leading.storeTags = fetch.storeTags
        var ids: [ObjectID] = []
        for position in generation.positions(for: fetch) {
            ids += try read(position, leading) { snapshot, leading throws(StoreError) in
                try snapshot.fetchIDs(leading)
            }
        }
        return ids.filter { !isTestedHere($0) }
    }

    /// The changed rows of `entity` that have the values, saved or unsaved, for which the predicate of a fetch asks at
    /// the end of a way; `nil` if all changed rows have to be listed.
    ///
    /// These are listed if they are few, if the predicate asks for no values there by which a store finds rows, or if
    /// as many stored rows have the values. A child does not search either: it would find the objects that its parent
    /// has changed, too, and join them for this.
    ///
    /// - Complexity: O(rows that have the values, but at most changed objects).
    private func changedRows(
        of entity: Entity, at way: [ResolvedKeyPath.Step], for fetch: StoreFetch
    ) throws(ContextError) -> [ObjectID]? {
        let changedCount =
            memory.updated.count(of: entity.family) + memory.deleted.count(of: entity.family)
            + reachedRows(in: entity.family).count
        guard changedCount >= PendingValues.countMin, parent == nil,
            let condition = fetch.predicate?.condition(atEndOf: way, of: entity),
            condition.asksIndexedValues(of: entity)
        else { return nil }
        let asked = StoreFetch(entity: entity, predicate: condition, limit: changedCount + 1)
        var ids: Set<ObjectID> = []
        for position in generation.positions(for: asked) {
            let stored = try read(position, asked) { snapshot, asked throws(StoreError) in
                try snapshot.fetchIDs(asked)
            }
            assert(StepCount.note(stored.count))
            guard stored.count <= changedCount else { return nil }
            for id in stored where isTestedHere(id) { ids.insert(id) }
        }
        for object in try pendingCandidates(for: asked) where !object.isInserted { ids.insert(object.storedID) }
        return Array(ids)
    }
}
