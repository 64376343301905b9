// The objects that a context keeps because they are new, changed or deleted: one list for each.
//
// Invariants
//   1. An object is in at most one list of its context, and its `changePosition` says where: entering and leaving are
//      O(1) and hash nothing (a set of objects cost 12 % of an import).
//   2. Objects come in the order in which they entered; at most half of the places are empty.

/// Changed objects of one kind, in the order in which they changed.
struct ChangedObjects: Sequence {
    private var places: [ManagedObject?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Enters an object that is in no list.
    mutating func insert(_ object: ManagedObject) {
        object.changePosition = places.count
        places.append(object)
        count += 1
    }

    /// Takes an object out; does nothing if it is not here.
    mutating func remove(_ object: ManagedObject) {
        let position = object.changePosition
        guard position < places.count, places[position] === object else { return }
        places[position] = nil
        count -= 1
        if count * 2 < places.count, places.count >= 32 { keepOnly { _ in true } }
    }

    mutating func removeAll() { self = ChangedObjects() }

    /// Takes out the objects that do not fulfil `isWanted`.
    mutating func keepOnly(_ isWanted: (ManagedObject) -> Bool) {
        let old = self
        removeAll()
        for object in old where isWanted(object) { insert(object) }
    }

    /// Tells the objects their places in this list, of which another copy was changed meanwhile.
    func renumber() {
        for (position, object) in places.enumerated() { object?.changePosition = position }
    }

    func makeIterator() -> Iterator { Iterator(rest: places.makeIterator()) }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: IndexingIterator<[ManagedObject?]>

        mutating func next() -> ManagedObject? {
            while let place = rest.next() {
                if let object = place { return object }
            }
            return nil
        }
    }
}
