// What a context has in memory, and every use of an object touches.
//
// Invariants
//   1. `inserted`, `updated` and `deleted` are disjoint, and each object's `state` says which set it is in.
//   2. No access to a member lasts while another begins: none of them calls hooks, closures or anything else that leads
//      back to the context, and what leaves a set or a list ends after the access. That is why the context need not
//      check it at run time, as Swift does for the stored properties of classes; debug builds do, so that every test
//      looks for the access that breaks the rule (`ManagedObjectContext.memory`).
// The checks were 7 % of an import of 75,000 people.

import EspalierModel

/// The objects of a context, and counters of what it does.
struct ContextMemory {
    /// The objects in memory.
    var registry = ObjectRegistry()
    /// Those that relationships led to lately.
    var recentDestinations = RecentDestinations()
    /// New objects.
    var inserted = ChangedObjects()
    /// Stored objects with changes.
    var updated = ChangedObjects()
    /// Objects that the next save deletes.
    var deleted = ChangedObjects()
    /// Those of `inserted` and `updated` by values that fetches have asked for.
    var pendingValues = PendingValues()
    /// What to-many sides of new objects have not taken in yet.
    var unreadInverses = UnreadInverses()
    /// The shapes of the context by the tag in IDs, which the context retains.
    var shapesByTag: [Unretained<EntityShape>] = []
    /// How often the context had to ask a store because a fault fired.
    var faultTrips = 0
    /// How many rows have come from stores.
    var rowsFetched = 0
    /// Whether a closure wants to know which objects change.
    var collectsChanges = false
}

extension ManagedObjectContext {
    /// Puts another list in the place of one.
    ///
    /// Objects that this lets go of may end, and leave the registry then: after the access to the list.
    func replace(_ list: WritableKeyPath<ContextMemory, ChangedObjects>, by other: ChangedObjects) {
        var other = other
        memory.pendingValues.removeAll()
        swap(&memory[keyPath: list], &other)
        withExtendedLifetime(other) {}
    }
}
