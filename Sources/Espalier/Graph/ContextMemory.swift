// The state of a context that every use of an object reads or writes.
//
// Invariants
//   1. `inserted`, `updated` and `deleted` are disjoint, and each object's `state` says which set it is in.
//   2. No access to a member lasts while another one begins. An access calls no hooks, closures or other code that can
//      reach the context again. An object that is removed from a set or a list is released after the access.
// Release builds rely on the second invariant, and debug builds check it (`ManagedObjectContext.memory`): see
// Decisions, "Exclusive access".

import EspalierModel

/// The objects of a context, and counters of what it does.
struct ContextMemory {
    /// The objects in memory.
    var registry = ObjectRegistry()
    /// The last objects that relationships have reached, retained.
    var recentDestinations = RecentDestinations()
    /// New objects.
    var inserted = ChangedObjects()
    /// Stored objects with changes.
    var updated = ChangedObjects()
    /// Objects that the next save deletes.
    var deleted = ChangedObjects()
    /// The objects of `inserted` and `updated`, by the attribute values for which fetches have asked.
    var pendingValues = PendingValues()
    /// The rows that cascades reach, and the relationships that may lead to what is deleted.
    var reached = ReachedRows()
    /// The places of the relationship that was read last beside what is deleted; `nil` if there was none.
    var hiddenPlaces: HiddenPlaces?
    /// Additions to to-many sides of new objects that are not applied yet.
    var unreadInverses = UnreadInverses()
    /// The changed objects that children have not seen yet.
    var unseen = UnseenChanges()
    /// The shapes, by the entity tag of an ID; the context retains them.
    var shapesByTag: [Unretained<EntityShape>] = []
    /// The number of reads from stores that firing faults have caused.
    var faultTrips = 0
    /// The number of rows that stores have returned.
    var rowsFetched = 0
    /// Whether `pendingValues`, `unseen`, a `ChangeWatch` or an observer may have to learn of each change.
    private(set) var hasListeners = false
    /// Whether an observer needs the set of changed objects.
    var collectsChanges = false { didSet { updateListeners() } }
    /// Whether a change has to be noted before it is made: for an undo, or for the record of the event.
    var notesChanges = false
    /// Whether a `ChangeWatch` wants to know which objects change.
    var watchesChanges = false { didSet { updateListeners() } }
    /// Whether objects are observed.
    var hasObserved = false
    /// Whether faults may adopt rows up to some age only.
    var limitsAge = false
    /// Whether requests to stores are logged.
    var logsRequests = false

    /// `checkInvariants` returns without a check if there are more objects than this: it runs at the end of every
    /// event.
    private static let checkedCountMax = 500

    private var listens: Bool { pendingValues.isActive || unseen.isActive || watchesChanges || collectsChanges }

    /// Call it after one of the listeners has become active.
    mutating func updateListeners() { hasListeners = listens }

    /// Asserts the invariants; call it inside `assert`, and only while no call of the context is unfinished.
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
                assert(object.checkInvariants())
            }
        }
        assert(hasListeners || !listens, "a listener does not learn of changes")
        assert(faultTrips >= 0 && rowsFetched >= 0, "\(faultTrips) trips, \(rowsFetched) rows")
        return true
    }
}

extension ManagedObjectContext {
    /// Counts a change of one object, which children have not seen and hooks may have made.
    @inline(__always)
    func countChange(of object: ManagedObject) {
        changeCount &+= 1
        if memory.hasListeners { tellListeners(of: object) }
    }

    @inline(never)
    func tellListeners(of object: ManagedObject) {
        if memory.unseen.isActive { memory.unseen.note(object.storedID, lacksRow: object.needsRow) }
        if memory.watchesChanges { saveRun?.changeWatch?.note(object) }
    }

    /// Replaces what is known of the rows that cascades reach; the rows themselves are found again when something asks.
    ///
    /// Objects may have been made for some of these rows, and the others may be of another generation.
    func replaceReached(by other: ReachedRows) {
        var other = other
        other.forgetRows()
        other.succeed(memory.reached)
        swap(&memory.reached, &other)
        // Objects are released after the access.
        withExtendedLifetime(other) {}
    }

    /// Replaces one of the lists of changed objects.
    ///
    /// The objects that this releases are freed, and leave the registry, only after the access to the list.
    func replace(_ list: WritableKeyPath<ContextMemory, ChangedObjects>, by other: ChangedObjects) {
        var other = other
        memory.pendingValues.removeAll()
        memory.updateListeners()
        swap(&memory[keyPath: list], &other)
        withExtendedLifetime(other) {}
    }
}
