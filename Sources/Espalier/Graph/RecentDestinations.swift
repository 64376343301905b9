// The last objects that to-one relationships have reached, retained so that the next relationship to one of them finds
// it in memory.
//
// Invariants
//   1. At most `countMax` objects are retained. The one that has been retained longest is released first.
//   2. The context releases all of them at its next fetch, save or `processPendingChanges`. Until then the application
//      cannot distinguish them from objects that other code retains.
// Many objects usually refer to few: see Decisions, "Recent destinations".

/// The last objects that relationships have reached.
struct RecentDestinations {
    private static let countMax = 1024

    private var objects: [ManagedObject] = []
    /// The index of the oldest object, once the list is full.
    private var oldest = 0

    var isEmpty: Bool { objects.isEmpty }

    /// Retains `object`; returns the object that it replaces, which may end when the caller releases it.
    mutating func keep(_ object: ManagedObject) -> ManagedObject? {
        guard objects.count == Self.countMax else {
            if objects.isEmpty { objects.reserveCapacity(16) }
            objects.append(object)
            return nil
        }
        assert(oldest < objects.count, "invariant 1: place \(oldest) of \(objects.count)")
        let former = objects[oldest]
        objects[oldest] = object
        oldest = (oldest + 1) % Self.countMax
        return former
    }

    /// Empties the list; returns its objects.
    mutating func takeAll() -> [ManagedObject] {
        defer { self = RecentDestinations() }
        return objects
    }

    /// Adopts the memory of an emptied list.
    mutating func reuse(_ memory: [ManagedObject]) {
        assert(memory.isEmpty, "\(memory.count) objects are retained again")
        if objects.isEmpty { objects = memory }
    }
}

extension ManagedObjectContext {
    /// Retains an object that a to-one relationship has reached.
    func keepDestination(_ object: ManagedObject) {
        // Freeing an object may run application code that calls this again, so it happens after the access to the list.
        let former = memory.recentDestinations.keep(object)
        withExtendedLifetime(former) {}
    }

    /// Releases the objects that relationships have reached.
    func forgetDestinations() {
        guard !memory.recentDestinations.isEmpty else { return }
        var kept = memory.recentDestinations.takeAll()
        kept.removeAll(keepingCapacity: true)
        memory.recentDestinations.reuse(kept)
    }
}
