// Rows and destination lists that were loaded ahead for whole cohorts and are not in an object yet (PS-29).
//
// Invariants
//   1. What is here equals what this context last read from or wrote to the store: a save, refresh or merge takes out
//      what it makes old.
//   2. An entry lives as long as some cohort that asked for it. It may go earlier: it is a cache.

import EspalierModel
import EspalierStore

/// Rows and lists by object ID, counted by the cohorts that use them.
final class RowCache {
    /// One to-many relationship of one object.
    struct ListKey: Hashable {
        let owner: ObjectID
        let slot: Int
    }
    private struct Counted<Content> {
        var content: Content
        var useCount = 1
    }

    private var rows = ObjectIDTable<Counted<ObjectSnapshot>>()
    private var lists: [ListKey: Counted<[ObjectID]>] = [:]

    func row(of id: ObjectID) -> ObjectSnapshot? { rows[id]?.content }

    func list(_ key: ListKey) -> [ObjectID]? { lists[key]?.content }

    func add(_ row: ObjectSnapshot) {
        let useCount = rows[row.id]?.useCount ?? 0
        rows.set(Counted(content: row, useCount: useCount + 1), for: row.id)
    }

    func add(_ list: [ObjectID], for key: ListKey) {
        let useCount = lists[key]?.useCount ?? 0
        lists[key] = Counted(content: list, useCount: useCount + 1)
    }

    func releaseRow(of id: ObjectID) {
        guard let counted = rows[id] else { return }
        if counted.useCount <= 1 {
            rows.remove(id)
        } else {
            rows.set(Counted(content: counted.content, useCount: counted.useCount - 1), for: id)
        }
    }

    func releaseList(_ key: ListKey) {
        guard let counted = lists[key] else { return }
        lists[key]?.useCount -= 1
        if counted.useCount <= 1 { lists[key] = nil }
    }

    /// Forgets the row and all lists of an object that has changed in the store.
    func invalidate(_ id: ObjectID, relationshipCount: Int) {
        rows.remove(id)
        guard !lists.isEmpty else { return }
        for slot in 0..<relationshipCount { lists[ListKey(owner: id, slot: slot)] = nil }
    }

    func removeAll() {
        rows = ObjectIDTable()
        lists = [:]
    }
}
