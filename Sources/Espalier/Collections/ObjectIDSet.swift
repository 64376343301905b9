// A set of object IDs that is mostly small or filled in order, and large where many objects join one relationship.
//
// Invariants
//   1. `ids` holds no ID twice. Without `places` they ascend by creation, or are so few that they are searched.
//   2. `places` are allocated when neither is true any more. They say where each ID is, by open addressing with linear
//      probing, and at most half of them are in use. A removed ID leaves no gap before IDs that a search finds after
//      it.
//   3. An ID's place is chosen by one multiplication with a random odd number of the process: keys come from files.

import EspalierModel

/// IDs, each once.
struct ObjectIDSet: Sequence {
    /// As many are searched one by one.
    private static var searchedCountMax: Int { 16 }

    private(set) var ids: [ObjectID] = []
    /// 1 more than the position of an ID, 0 where a place is free; a power of two, or none.
    private var places: [UInt32] = []
    /// 64 less the number of bits of a place.
    private var shift: UInt64 = 64
    private var multiplier: UInt64 = 1
    private var isAscending = true

    init() {}

    init(_ ids: some Sequence<ObjectID>) { for id in ids { insert(id) } }

    var isEmpty: Bool { ids.isEmpty }
    var count: Int { ids.count }

    /// Makes room for `count` IDs in all.
    mutating func reserveCapacity(_ count: Int) { ids.reserveCapacity(count) }

    /// - Complexity: O(1), or O(log n) as long as IDs came in the order of their creation.
    func contains(_ id: ObjectID) -> Bool { position(of: id) != nil }

    /// Enters `id`; returns whether it was not there.
    ///
    /// - Complexity: O(1), hashing nothing in the order of creation: most come so.
    @discardableResult
    mutating func insert(_ id: ObjectID) -> Bool {
        if places.isEmpty, isAscending, ids.last.map({ ObjectID.inOrderOfCreation($0, id) }) ?? true {
            ids.append(id)
            return true
        }
        guard ids.last != id else { return false }
        // One that is out of order or comes again is followed by more of its kind, too many for a search each.
        if ids.count >= Swift.max(Self.searchedCountMax, places.count / 2) { layOut() }
        if places.isEmpty {
            guard position(of: id) == nil else { return false }
        } else {
            let place = place(of: id)
            guard places[place] == 0 else { return false }
            places[place] = UInt32(ids.count + 1)
        }
        isAscending = false
        ids.append(id)
        return true
    }

    /// Takes `id` out; returns whether it was there.
    ///
    /// - Complexity: O(1), and O(n) once.
    @discardableResult
    mutating func remove(_ id: ObjectID) -> Bool {
        guard let position = position(of: id) else { return false }
        isAscending = false
        if places.isEmpty, ids.count > Self.searchedCountMax { layOut() }
        let last = ids[ids.count - 1]
        if places.isEmpty {
            ids[position] = last
        } else {
            let (place, placeOfLast) = (place(of: id), place(of: last))
            ids[position] = last
            places[placeOfLast] = UInt32(position + 1)
            free(place)
        }
        ids.removeLast()
        return true
    }

    func makeIterator() -> IndexingIterator<[ObjectID]> { ids.makeIterator() }

    /// Gives every ID a place, with room for as many more.
    private mutating func layOut() {
        multiplier = tableMultiplier
        var bits: UInt64 = 6
        while 1 << bits < 4 * ids.count { bits += 1 }
        shift = 64 - bits
        places = Array(repeating: 0, count: 1 << bits)
        for (position, id) in ids.enumerated() { places[place(of: id)] = UInt32(position + 1) }
    }

    /// The place of `id`, or the free one where it would be.
    private func place(of id: ObjectID) -> Int {
        let mask = places.count - 1
        var place = home(of: id)
        while places[place] != 0, ids[Int(places[place]) - 1] != id { place = (place + 1) & mask }
        return place
    }

    private func home(of id: ObjectID) -> Int {
        let mixed = (id.key ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40) &* multiplier
        return Int(truncatingIfNeeded: mixed >> shift)
    }

    /// Frees a place; IDs that a search finds only across it move up.
    private mutating func free(_ place: Int) {
        let mask = places.count - 1
        var (gap, next) = (place, (place + 1) & mask)
        while places[next] != 0 {
            // One whose home lies between the gap and itself is found without the gap.
            if (next &- home(of: ids[Int(places[next]) - 1])) & mask >= (next &- gap) & mask {
                places[gap] = places[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        places[gap] = 0
    }

    private func position(of id: ObjectID) -> Int? {
        guard places.isEmpty else {
            let place = places[place(of: id)]
            return place == 0 ? nil : Int(place) - 1
        }
        guard isAscending, ids.count > Self.searchedCountMax else { return ids.firstIndex(of: id) }
        var (low, high) = (0, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ObjectID.inOrderOfCreation(ids[middle], id) { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == id ? low : nil
    }
}
