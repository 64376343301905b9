// The objects that a context retains because they are new, changed or deleted: one list for each kind.
//
// Invariants
//   1. An object is in at most one list of its context, and its `changePosition` is its place there. Inserting and
//      removing are O(1) and hash nothing (see Decisions, "Changed objects").
//   2. The order is that of insertion. At most half of the places are empty, unless there are fewer than 32.
//   3. Each object before `listedCount` is listed once by its entity, in the same order. A place that has become empty
//      stays listed until its entity is asked for: only who asks for an entity pays for its list.

import EspalierModel

/// Changed objects of one kind, in the order in which they changed.
struct ChangedObjects: Sequence {
    /// From this number of places on, at least half of them are in use.
    private static var longCount: Int { 32 }
    private var places: [ManagedObject?] = []
    private(set) var count = 0
    /// The number of objects of each entity, by the index of the entity.
    private var counts: [Int] = []
    /// The places of the objects of each entity, by the index of the entity.
    private var placesByEntity: [[UInt32]] = []
    /// The number of places that `placesByEntity` covers.
    private var listedCount = 0

    var isEmpty: Bool { count == 0 }

    /// Adds an object that is in no list.
    mutating func insert(_ object: ManagedObject) {
        object.changePosition = UInt32(places.count)
        places.append(object)
        add(1, object)
        // This place makes the list long, so the limit on empty places applies from now on.
        if places.count == Self.longCount, count * 2 < places.count { self = filtered { _ in true } }
    }

    private mutating func add(_ difference: Int, _ object: ManagedObject) {
        let index = object.withShape { $0.entity.index }
        if index >= counts.count { counts += Array(repeating: 0, count: index + 1 - counts.count) }
        counts[index] += difference
        count += difference
        assert(count >= 0 && counts[index] >= 0, "an object was removed that was not counted")
    }

    /// The number of objects of these entities.
    func count(of entities: [ManagedObjectModel.EntityIndex]) -> Int {
        entities.reduce(0) { $0 + ($1 < counts.count ? counts[$1] : 0) }
    }

    /// The objects of these entities, in the order of insertion.
    ///
    /// - Complexity: O(these objects + places of this list since the last call); with objects of several entities,
    ///   these are sorted by place.
    mutating func objects(of entities: [ManagedObjectModel.EntityIndex]) -> [ManagedObject] {
        guard count(of: entities) > 0 else { return [] }
        listPlaces()
        var (found, entityCount): ([UInt32], Int) = ([], 0)
        for entity in entities where entity < counts.count && counts[entity] > 0 {
            let listed = placesByEntity[entity]
            assert(StepCount.note(listed.count))
            let inUse = counts[entity] == listed.count ? listed : listed.filter { places[Int($0)] != nil }
            if inUse.count < listed.count { placesByEntity[entity] = inUse }
            found += inUse
            entityCount += 1
        }
        if entityCount > 1 { found.sort() }
        return found.compactMap { places[Int($0)] }
    }

    /// Lists the objects that were inserted since the last time.
    private mutating func listPlaces() {
        for position in listedCount..<places.count {
            guard let object = places[position] else { continue }
            let entity = object.withShape { $0.entity.index }
            while placesByEntity.count <= entity { placesByEntity.append([]) }
            placesByEntity[entity].append(UInt32(position))
        }
        listedCount = places.count
    }

    /// Removes an object, if it is in this list.
    mutating func remove(_ object: ManagedObject) {
        let position = Int(object.changePosition)
        guard position < places.count, places[position] === object else { return }
        places[position] = nil
        add(-1, object)
        if count * 2 < places.count, places.count >= Self.longCount { self = filtered { _ in true } }
    }

    /// The list of the objects that fulfill `isWanted`; their `changePosition` is now that in the new list.
    func filtered(_ isWanted: (ManagedObject) -> Bool) -> ChangedObjects {
        var kept = ChangedObjects()
        for object in self where isWanted(object) { kept.insert(object) }
        return kept
    }

    /// Sets the `changePosition` of all objects to their places in this list, after another copy of it was changed.
    func renumber() {
        for (position, object) in places.enumerated() { object?.changePosition = UInt32(position) }
    }

    /// Asserts the invariants; call it inside `assert`.
    func checkInvariants() -> Bool {
        assert(places.count { $0 != nil } == count, "invariant 2: \(count) objects are counted")
        let isShort = places.count < Self.longCount
        assert(isShort || count * 2 >= places.count, "invariant 2: \(count) of \(places.count) places")
        let listed = placesByEntity.flatMap(\.self).count { places[Int($0)] != nil }
        let coveredCount = places[..<listedCount].count { $0 != nil }
        assert(listed == coveredCount, "invariant 3: \(listed) of \(coveredCount) objects are listed by entity")
        for case (let position, let object?) in places.enumerated() {
            assert(object.changePosition == position, "invariant 1: \(object.storedID) has position \(position)")
        }
        return true
    }

    func makeIterator() -> Iterator { Iterator(rest: places.makeIterator()) }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: IndexingIterator<[ManagedObject?]>

        mutating func next() -> ManagedObject? {
            while let place = rest.next() {
                assert(StepCount.note())
                if let object = place { return object }
            }
            return nil
        }
    }
}
