// The objects that have changed since observers were last notified: one event (MC-36).
//
// Invariants
//   1. An object that is inserted and then deleted or invalidated within one event is in no set.
//   2. A deleted or invalidated object is in no other set.

import EspalierModel

/// The changed objects of one event, which retains them.
struct EventChanges {
    private(set) var inserted: Set<ManagedObject> = []
    private(set) var updated: Set<ManagedObject> = []
    private(set) var refreshed: Set<ManagedObject> = []
    private(set) var deleted: Set<ManagedObject> = []
    private(set) var invalidated: Set<ManagedObject> = []
    /// The IDs of all objects that a reset made the context forget.
    private(set) var invalidatedAll: [ObjectID] = []

    init() {}

    /// The event that begins with a reset.
    init(afterResetOf ids: [ObjectID]) { invalidatedAll = ids }

    var isEmpty: Bool {
        inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty && invalidated.isEmpty
            && invalidatedAll.isEmpty
    }

    mutating func noteInserted(_ object: ManagedObject) {
        deleted.remove(object)
        inserted.insert(object)
        assert(
            !updated.contains(object) && !refreshed.contains(object), "a new object was changed before it was inserted")
    }

    mutating func noteUpdated(_ object: ManagedObject) {
        if !inserted.contains(object), !deleted.contains(object) { updated.insert(object) }
    }

    mutating func noteRefreshed(_ object: ManagedObject) {
        // A refresh restores an object that was deleted in this event.
        deleted.remove(object)
        if !inserted.contains(object) { refreshed.insert(object) }
    }

    mutating func noteDeleted(_ object: ManagedObject) { if !forget(object) { deleted.insert(object) } }

    mutating func noteInvalidated(_ object: ManagedObject) { if !forget(object) { invalidated.insert(object) } }

    /// Removes an object from all sets; returns whether this event had inserted it.
    private mutating func forget(_ object: ManagedObject) -> Bool {
        updated.remove(object)
        refreshed.remove(object)
        deleted.remove(object)
        return inserted.remove(object) != nil
    }
}
