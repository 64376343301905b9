// Uniquing: the one object for each ID in this context (MO-18).
//
// Invariants
//   1. There is at most one object per ID; an object is entered only under its current ID.
//   2. The registry retains no object, unless the application asks for it (MC-33): an object removes itself in
//      `deinit`, before its memory is freed. Context and objects share one isolation region, so no thread looks up an
//      object that another thread destroys.
//   3. Objects whose IDs share a chain form a linked list (`ManagedObject.nextInRegistry`). Neighboring keys have
//      neighboring chains, because rows are mostly loaded and freed in the order of their keys.
//   4. One multiplication with a random odd number of the process chooses the 16 chains of 16 neighboring keys. Keys
//      come from files, and the author of a file cannot know which keys will share a chain.
// Linked lists and not a table with entries: see Decisions, "The registry".

import EspalierModel

/// The objects of a context by ID.
struct ObjectRegistry {
    /// The first object of each chain; the number of chains is zero, or a power of two of at least 16.
    private var chains: [Unretained<ManagedObject>] = []
    /// 64 minus the number of bits that select a group of 16 chains.
    private var shift: UInt64 = 64
    private let multiplier = tableMultiplier
    /// The number of objects.
    private(set) var count = 0
    /// How often an object was entered: as long as it is the same, an ID that had no object has none.
    private(set) var edition: UInt64 = 0
    /// All objects, if the application wants the context to retain them; otherwise `nil`.
    private var retained: Set<ManagedObject>?

    /// The object with this ID.
    ///
    /// - Complexity: O(1).
    @inline(__always)
    subscript(id: ObjectID) -> ManagedObject? { entry(id).object }

    /// Calls `body` with the object with this ID, if there is one; it is not retained and must not end during `body`.
    @inline(__always)
    func withObject<R>(_ id: ObjectID, _ body: (ManagedObject) -> R) -> R? { entry(id).withObject(body) }

    @inline(__always)
    private func entry(_ id: ObjectID) -> Unretained<ManagedObject> {
        guard count > 0 else { return Unretained(nil) }
        var entry = chains[chain(of: id)]
        while let (isWanted, next) = entry.withObject({ ($0.storedID == id, $0.nextInRegistry) }), !isWanted {
            entry = next
        }
        return entry
    }

    @inline(__always)
    private func chain(of id: ObjectID) -> Int {
        let mixed = (id.key >> 4 ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40) &* multiplier
        return Int(truncatingIfNeeded: (mixed >> shift) << 4 | id.key & 15)
    }

    /// Enters an object; there must be none with its ID.
    mutating func insert(_ object: ManagedObject) {
        let isNew = insertIfAbsent(object)
        precondition(isNew, "two objects for one ID")
    }

    /// Enters an object unless there is one with its ID; returns whether it was entered.
    ///
    /// - Parameter known: the edition at which there was none, if the caller has looked: the same one needs no search.
    @inline(__always)
    mutating func insertIfAbsent(_ object: ManagedObject, since known: UInt64? = nil) -> Bool {
        assert(
            object.managedObjectContext != nil, "an object without a context is registered"
        )
        if count == chains.count { layOut(forCount: 4 * count) }
        guard known == edition || entry(object.storedID).isNil else { return false }
        assert(entry(object.storedID).isNil, "invariant 1: \(object.storedID) has an object")
        enter(object)
        count += 1
        edition &+= 1
        if retained != nil { retain(object) }
        return true
    }

    @inline(never)
    private mutating func retain(_ object: ManagedObject) { retained?.insert(object) }

    /// Whether the registry retains its objects, against the second invariant, because the application wants it.
    var retainsObjects: Bool { retained != nil }

    /// Retains all objects from now on.
    mutating func retainObjects() { retained = retained ?? objectSet }

    /// Retains no object any more; returns those that were retained, for the caller to release after the access.
    mutating func releaseObjects() -> Set<ManagedObject>? {
        defer { retained = nil }
        return retained
    }

    @inline(__always)
    private mutating func enter(_ object: ManagedObject) {
        let chain = chain(of: object.storedID)
        object.nextInRegistry = chains[chain]
        chains[chain] = Unretained(object)
    }

    /// Reserves memory for `count` objects in total.
    mutating func reserveCapacity(_ count: Int) {
        if count > chains.count { layOut(forCount: count) }
    }

    @inline(never)
    private mutating func layOut(forCount count: Int) {
        let former = chains
        var bits: UInt64 = 4
        while count > 1 << bits { bits += 1 }
        shift = 64 - (bits - 4)
        chains = Array(repeating: Unretained(nil), count: 1 << bits)
        for first in former {
            var entry = first
            while let next = entry.withObject({ object in
                let next = object.nextInRegistry
                enter(object)
                return next
            }) { entry = next }
        }
    }

    /// Gives an object its permanent ID; removes and returns another object that was entered under this ID.
    mutating func rename(_ object: ManagedObject, _ id: ObjectID) -> ManagedObject? {
        guard object.storedID != id else { return nil }
        // The object may not be entered: a hook may have made the context forget its objects.
        remove(object)
        object.storedID = id
        if insertIfAbsent(object) { return nil }
        let other = self[id]
        if let other { remove(other) }
        insert(object)
        return other
    }

    /// Removes an object, if it is entered.
    @inline(__always)
    mutating func remove(_ object: ManagedObject) {
        guard count > 0 else { return }
        if retained != nil { release(object) }
        let (chain, removed) = (chain(of: object.storedID), Unretained(object))
        var entry = chains[chain]
        if entry.isSame(as: removed) {
            chains[chain] = object.nextInRegistry
            count -= 1
            return
        }
        while let next = entry.withObject({ $0.nextInRegistry }) {
            if next.isSame(as: removed) {
                entry.withObject { $0.nextInRegistry = object.nextInRegistry }
                count -= 1
                return
            }
            entry = next
        }
    }

    // The caller retains the object: nothing is freed during the access.
    @inline(never)
    private mutating func release(_ object: ManagedObject) { retained?.remove(object) }

    /// Asserts the invariants; call it inside `assert`.
    ///
    /// - Complexity: O(objects) as long as chains are short, which the hash makes likely.
    func checkInvariants() -> Bool {
        var found = 0
        for (position, first) in chains.enumerated() {
            var ids: [ObjectID] = []
            var entry = first
            while let (id, next) = entry.withObject({ ($0.storedID, $0.nextInRegistry) }) {
                assert(chain(of: id) == position, "invariant 3: \(id) is in chain \(position)")
                assert(!ids.contains(id), "invariant 1: two objects have the ID \(id)")
                ids.append(id)
                entry = next
            }
            found += ids.count
        }
        assert(found == count, "\(count) objects are counted, \(found) are in chains")
        assert(chains.isEmpty || chains.count >= 16 && chains.count & (chains.count - 1) == 0, "\(chains.count) chains")
        return true
    }

    /// All objects, in no particular order.
    var objects: [ManagedObject] {
        var objects: [ManagedObject] = []
        objects.reserveCapacity(count)
        forEach { objects.append($0) }
        return objects
    }

    /// All objects as a set, for which no array is made before: an array would retain and release each once more, and
    /// many objects outgrow the caches of the processor.
    var objectSet: Set<ManagedObject> {
        var objects = Set<ManagedObject>(minimumCapacity: count)
        forEach { objects.insert($0) }
        return objects
    }

    /// Calls `body` with each object; it must not enter or remove any.
    private func forEach(_ body: (ManagedObject) -> Void) {
        for first in chains {
            var entry = first
            while let object = entry.object {
                body(object)
                entry = object.nextInRegistry
            }
        }
    }
}
