// The state of a context that every use of an object reads or writes.
//
// Invariants
//   1. `inserted`, `updated` and `deleted` are disjoint, and each object's `state` says which set it is in.
//   2. No access to a member lasts while another one begins. No access calls hooks, closures or other code that leads
//      back to the context, and an object that leaves a set or a list is released after the access.
// Release builds trust the second invariant, and debug builds check it (`ManagedObjectContext.memory`): see Decisions,
// "Exclusive access".

import EspalierModel

/// The objects of a context, and counters of what it does.
struct ContextMemory {
    /// The objects in memory.
    var registry = ObjectRegistry()
    /// The objects that relationships have reached last.
    var recentDestinations = RecentDestinations()
    /// New objects.
    var inserted = ChangedObjects()
    /// Stored objects with changes.
    var updated = ChangedObjects()
    /// Objects that the next save deletes.
    var deleted = ChangedObjects()
    /// Additions to to-many sides of new objects that are not applied yet.
    var unreadInverses = UnreadInverses()
    /// The shapes of the context by the tag in IDs, which the context retains.
    var shapesByTag: [Unretained<EntityShape>] = []
    /// How often the context had to ask a store because a fault fired.
    var faultTrips = 0
    /// How many rows have come from stores.
    var rowsFetched = 0
    /// Whether a closure wants to know which objects change.
    var collectsChanges = false

    /// The largest number of objects that `checkInvariants` looks at: it runs at the end of every event.
    private static let checkedCountMax = 500

    /// Asserts the invariants; to be called in `assert`, where no call of the context is unfinished.
    func checkInvariants() -> Bool {
        guard registry.count + inserted.count + updated.count + deleted.count <= Self.checkedCountMax else {
            return true
        }
        assert(registry.checkInvariants())
        assert(inserted.checkInvariants() && updated.checkInvariants() && deleted.checkInvariants())
        let (own, others): (ManagedObject.State, ManagedObject.State) = ([.inserted, .updated, .deleted], [.ended])
        for object in inserted {
            let state = object.state.intersection(own.union(others))
            assert(state.subtracting(.updated) == .inserted, "invariant 1: \(object.storedID) is not new")
        }
        for object in updated {
            assert(object.state.intersection(own.union(others)) == .updated, "invariant 1: \(object.storedID)")
        }
        for object in deleted {
            assert(object.state.intersection([.deleted, .ended]) == .deleted, "invariant 1: \(object.storedID)")
        }
        for list in [inserted, updated, deleted] {
            for object in list {
                assert(registry.withObject(object.storedID) { $0 === object } == true, "\(object.storedID) is unknown")
            }
        }
        assert(faultTrips >= 0 && rowsFetched >= 0, "\(faultTrips) trips, \(rowsFetched) rows")
        return true
    }
}

extension ManagedObjectContext {
    /// Replaces one of the lists of changed objects.
    ///
    /// Objects that this releases may be freed and leave the registry: that happens after the access to the list.
    func replace(_ list: WritableKeyPath<ContextMemory, ChangedObjects>, by other: ChangedObjects) {
        var other = other
        swap(&memory[keyPath: list], &other)
        withExtendedLifetime(other) {}
    }
}
