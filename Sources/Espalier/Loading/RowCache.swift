// Rows and destination lists that were loaded in advance for whole cohorts and are not in an object yet (PS-29).
//
// Invariants
//   1. All entries are of the generation that the context reads (`ReadGeneration`). A save, refresh or merge removes
//      the entries that it makes obsolete. A move past another writer's commit empties the cache.
//   2. An entry lives at most as long as the cohort that requested it.

import EspalierModel
import EspalierStore

/// Rows and lists by object ID.
final class RowCache {
    private var rows = ObjectIDTable<ObjectSnapshot>()
    /// By slot of the to-many relationship, then by owner.
    private var lists: [ObjectIDTable<[ObjectID]>] = []

    /// The places of destinations in ordered lists.
    private var places = ListPlaces()

    /// The lengths of lists that were counted and not read, by slot and then by owner.
    private var counts = SlotValues<ObjectIDTable<Int>>()

    /// Incremented whenever rows that were read earlier may be obsolete: by a save, refresh or merge.
    private(set) var changeCount = 0

    func row(of id: ObjectID) -> ObjectSnapshot? { rows[id] }

    /// The destination of a to-one relationship in the row of `id`, if the cache has the row.
    func destination(of id: ObjectID, at slot: Int) -> ObjectID? {
        rows.withValue(of: id) { $0.destination(at: slot) } ?? nil
    }

    /// The destinations of a to-many relationship of `owner`.
    func list(of owner: ObjectID, at slot: Int) -> [ObjectID]? { slot < lists.count ? lists[slot][owner] : nil }

    /// The number of destinations of a to-many relationship of `owner`, if it is known.
    func count(of owner: ObjectID, at slot: Int) -> Int? { list(of: owner, at: slot)?.count ?? counts[slot]?[owner] }

    /// The index of `destination` in the list of `owner`, which the cache has.
    ///
    /// - Returns: `.some(nil)` if the destination is not in the list; `nil` if the cache does not have the list.
    /// - Complexity: O(1); O(n) for the first two searches in a row.
    func index(of destination: ObjectID, inListOf owner: ObjectID, at slot: Int) -> Int?? {
        guard let list = list(of: owner, at: slot) else { return nil }
        return .some(places.index(of: destination, in: list, of: owner, at: slot))
    }

    func add(_ row: consuming ObjectSnapshot) {
        let id = row.id
        assert(!id.isTemporary, "a row of a store with a temporary ID")
        rows.set(row, for: id)
    }

    /// Keeps a list for each owner.
    func add(_ found: [[ObjectID]], of owners: [ObjectID], at slot: Int) {
        assert(found.count == owners.count && slot >= 0, "\(found.count) lists of \(owners.count) owners")
        while lists.count <= slot { lists.append(ObjectIDTable()) }
        places.forget(owners, at: slot)
        Self.enter(found, of: owners, in: &lists[slot])
    }

    /// Keeps the count of a list.
    func add(count: Int, of owner: ObjectID, at slot: Int) {
        assert(count >= 0, "\(count) destinations")
        if !counts.contains(slot) { counts.set(ObjectIDTable(), at: slot) }
        counts.modify(slot) { $0.set(count, for: owner) }
    }

    func forgetCounts(of owners: ObjectIDSet, at slot: Int) {
        assert(StepCount.note(owners.count))
        counts.modify(slot) { for owner in owners { $0.remove(owner) } }
    }

    func forgetRows(of ids: [ObjectID]) {
        assert(StepCount.note(ids.count))
        for id in ids { rows.remove(id) }
    }

    func forgetLists(of owners: [ObjectID], at slot: Int) {
        assert(slot >= 0, "slot \(slot)")
        guard slot < lists.count else { return }
        places.forget(owners, at: slot)
        Self.remove(owners, from: &lists[slot])
    }

    // Both functions look up the table of a slot once for all owners.

    private static func enter(
        _ found: [[ObjectID]], of owners: [ObjectID], in table: inout ObjectIDTable<[ObjectID]>
    ) {
        assert(StepCount.note(owners.count))
        for (owner, list) in zip(owners, found) { table.set(list, for: owner) }
    }

    private static func remove(_ owners: [ObjectID], from table: inout ObjectIDTable<[ObjectID]>) {
        assert(StepCount.note(owners.count))
        for owner in owners { table.remove(owner) }
    }

    /// Forgets the row and all lists of an object that has changed in the store.
    func invalidate(_ id: ObjectID) {
        assert(StepCount.note())
        changeCount += 1
        rows.remove(id)
        for slot in lists.indices { lists[slot].remove(id) }
        places.forget(id)
        counts.modifyAll { $0.remove(id) }
    }

    /// Forgets the rows and lists of objects that a save has changed in the store, of all or of those that `isChosen`
    /// chooses.
    ///
    /// - Complexity: O(IDs); O(1) if the cache is empty.
    func invalidate(_ ids: some Sequence<ObjectID>, where isChosen: (ObjectID) -> Bool = { _ in true }) {
        changeCount += 1
        // Another writer's commit before this save has emptied the cache.
        if rows.isEmpty, lists.isEmpty, counts.isEmpty { return }
        for id in ids where isChosen(id) { invalidate(id) }
    }

    func removeAll() {
        changeCount += 1
        rows = ObjectIDTable()
        lists = []
        places = ListPlaces()
        counts = SlotValues()
    }
}
