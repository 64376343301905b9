// The objects that have changed since the children of a context have last read it.
//
// Invariants
//   1. If `count` is the number of changes that the context has counted since (`changeCount`), `ids` has every object
//      whose changes, row or state differs from what children have seen. Otherwise any object may differ: a change that
//      is not noted here is safe, and costs a look at all changed objects.
//   2. Unless `mayLackRows`, each stored object in `ids` had its row when it was noted.

import EspalierModel

/// The changed objects that children have not seen.
struct UnseenChanges {
    /// Whether changes are noted: children have read the context, and few objects have changed since.
    private(set) var isActive = false
    /// Some IDs several times, and some that an object does not have any more.
    private(set) var ids: [ObjectID] = []
    /// The number of noted changes.
    private(set) var count = 0
    /// Whether a noted object may have changes although its row is not in memory: only its lists have changed.
    private(set) var mayLackRows = false
    private var idCountMax = 0

    /// Forgets all changes: children have seen them.
    ///
    /// - Parameter changedCount: the number of changed objects. If a good part of as many changes again, to look at all
    ///   of them is as cheap.
    mutating func begin(beside changedCount: Int) {
        self = UnseenChanges()
        (isActive, idCountMax) = (true, 64 + changedCount / 8)
    }

    /// Notes a change of an object that the context has counted.
    mutating func note(_ id: ObjectID, lacksRow: Bool) {
        assert(isActive || ids.isEmpty && count == 0, "changes are kept without a reader")
        count += 1
        if lacksRow { mayLackRows = true }
        add(id)
    }

    /// Notes one change of all these objects that the context has counted.
    mutating func note(_ ids: some Sequence<ObjectID>) {
        count += 1
        for id in ids { add(id) }
    }

    /// Notes an object that has changed in addition to those of the last counted change.
    mutating func add(_ id: ObjectID) {
        guard isActive, ids.last != id else { return }
        guard ids.count < idCountMax else {
            self = UnseenChanges()
            return
        }
        ids.append(id)
        assert(ids.count <= idCountMax, "\(ids.count) IDs of \(idCountMax)")
    }
}
