// Objects that to-one relationships have led to lately, kept so that the next relationship that leads there finds them.
//
// Invariants
//   1. At most `countMax` objects are kept; the one that has been kept longest gives way.
//   2. The context lets go of all of them at its next fetch, save or `processPendingChanges`: nobody can tell them from
//      objects that somebody else still uses for longer than a walk along some relationships takes.
// Going from many objects to the few that they all belong to made each of the few anew for each of the many: a third of
// the time.

/// The last objects that relationships have led to.
struct RecentDestinations {
    private static let countMax = 1024

    private var objects: [ManagedObject] = []
    /// Where the oldest is, once all places are taken.
    private var oldest = 0

    var isEmpty: Bool { objects.isEmpty }

    /// Keeps `object`; returns the one that gives way, which may end when the caller lets go of it.
    mutating func keep(_ object: ManagedObject) -> ManagedObject? {
        guard objects.count == Self.countMax else {
            if objects.isEmpty { objects.reserveCapacity(16) }
            objects.append(object)
            return nil
        }
        let former = objects[oldest]
        objects[oldest] = object
        oldest = (oldest + 1) % Self.countMax
        return former
    }

    /// Keeps nothing any more; returns what was kept.
    mutating func takeAll() -> [ManagedObject] {
        defer { self = RecentDestinations() }
        return objects
    }

    /// Takes the memory of a list whose objects have ended, for the next ones.
    mutating func reuse(_ memory: [ManagedObject]) {
        if objects.isEmpty { objects = memory }
    }
}

extension ManagedObjectContext {
    /// Keeps an object that a to-one relationship has led to.
    func keepDestination(_ object: ManagedObject) {
        // An object that ends may run code of the application, which may come back here: not while the list changes.
        let former = memory.recentDestinations.keep(object)
        withExtendedLifetime(former) {}
    }

    /// Lets go of the objects that relationships have led to.
    func forgetDestinations() {
        guard !memory.recentDestinations.isEmpty else { return }
        var kept = memory.recentDestinations.takeAll()
        kept.removeAll(keepingCapacity: true)
        memory.recentDestinations.reuse(kept)
    }
}
