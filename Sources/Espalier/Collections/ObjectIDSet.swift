// A set of object IDs that is mostly small or filled in ascending order, and large where many objects share a
// relationship.
//
// Invariants
//   1. `ids` has no duplicates. Without `places`, the IDs ascend by creation, or are few enough for a linear search.
//   2. `places` are allocated when neither is true anymore. They map each ID to its position, by open addressing with
//      linear probing, and at most half of them are in use. Removing an ID leaves no gap in the probe sequence of
//      another.
//   3. One multiplication with a random odd number of the process hashes an ID: keys come from files. Both halves of
//      the product count: see Decisions, "Sets of IDs".
//   4. `sum` is kept only if somebody has asked for it. Sets with different sums differ. Different sets have the same
//      sum once in 2^64 pairs, and no file can choose them: the hashes depend on a random number of the process.

import EspalierModel

/// A set of IDs that keeps them in an array.
struct ObjectIDSet: Sequence {
    /// Up to this number of IDs, a search is linear.
    private static var searchedCountMax: Int { 16 }

    private(set) var ids: [ObjectID] = []
    /// 1 more than the position of an ID, or 0 if the place is free; the number of places is a power of two, or zero.
    private var places: [UInt32] = []
    private var multiplier: UInt64 = 1
    private var isAscending = true
    /// The sum of the hashes of all IDs; `nil` until `keepSum` asks for it.
    private var sum: UInt64?

    init() {}

    init(_ ids: some Sequence<ObjectID>) { for id in ids { insert(id) } }

    var isEmpty: Bool { ids.isEmpty }
    var count: Int { ids.count }

    /// Reserves memory for `count` IDs in total.
    mutating func reserveCapacity(_ count: Int) { ids.reserveCapacity(count) }

    /// - Complexity: O(1), or O(log n) as long as IDs were inserted in the order of their creation.
    func contains(_ id: ObjectID) -> Bool { position(of: id) != nil }

    /// Inserts `id`; returns whether it was absent.
    ///
    /// - Complexity: O(1). It hashes nothing while IDs ascend by creation, which is the common case.
    @discardableResult
    mutating func insert(_ id: ObjectID) -> Bool {
        if places.isEmpty, isAscending, ids.last.map({ ObjectID.inOrderOfCreation($0, id) }) ?? true {
            append(id)
            assert(checkInvariants())
            return true
        }
        guard ids.last != id else { return false }
        // After one ID that is out of order or repeated, more follow, too many for a linear search each.
        if ids.count >= Swift.max(Self.searchedCountMax, places.count / 2) { layOut() }
        if places.isEmpty {
            guard position(of: id) == nil else { return false }
        } else {
            let place = place(of: id)
            guard places[place] == 0 else { return false }
            places[place] = UInt32(ids.count + 1)
        }
        isAscending = false
        append(id)
        assert(checkInvariants())
        return true
    }

    /// Removes `id`; returns whether it was present.
    ///
    /// - Complexity: O(1), except for one O(n) allocation of `places`.
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
        if let former = sum { sum = former &- Self.hash(id) }
        assert(!contains(id) && checkInvariants(), "\(id) is still found")
        return true
    }

    private mutating func append(_ id: ObjectID) {
        ids.append(id)
        if let former = sum { sum = former &+ Self.hash(id) }
    }

    // MARK: Comparisons

    /// Keeps the sum from now on, so that this set can be compared again and again with what it is now.
    ///
    /// - Complexity: O(n) at the first call, else O(1).
    mutating func keepSum() {
        guard sum == nil else { return }
        assert(StepCount.note(ids.count))
        sum = ids.reduce(0) { $0 &+ Self.hash($1) }
    }

    /// Whether both have the same IDs, in whatever order.
    ///
    /// - Complexity: O(1) if both keep their sums, else O(n).
    func hasSameIDs(as other: ObjectIDSet) -> Bool {
        guard count == other.count else { return false }
        if let sum, let otherSum = other.sum { return sum == otherSum }
        assert(StepCount.note(count))
        return ids == other.ids || ids.allSatisfy { other.contains($0) }
    }

    private static func hash(_ id: ObjectID) -> UInt64 {
        mixed(mixed(id.key ^ tableMultiplier) ^ (UInt64(id.entityTag) << 32 | UInt64(id.storeTag)))
    }

    /// A number in which each bit depends on all bits of `bits`: sums of products alone would be equal too often.
    private static func mixed(_ bits: UInt64) -> UInt64 {
        let first = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        let second = (first ^ first >> 27) &* 0x94D0_49BB_1331_11EB
        return second ^ second >> 31
    }

    func makeIterator() -> IndexingIterator<[ObjectID]> { ids.makeIterator() }

    /// Allocates the places and enters every ID, with room for as many more.
    private mutating func layOut() {
        multiplier = tableMultiplier
        var bits: UInt64 = 6
        while 1 << bits < 4 * ids.count { bits += 1 }
        places = Array(repeating: 0, count: 1 << bits)
        for (position, id) in ids.enumerated() { places[place(of: id)] = UInt32(position + 1) }
        assert(places.count { $0 != 0 } == ids.count, "invariant 1: an ID is there twice")
    }

    /// Asserts the invariants, of long sets only those that cost nothing; call it inside `assert`.
    private func checkInvariants() -> Bool {
        assert(!places.isEmpty || isAscending || ids.count <= Self.searchedCountMax, "invariant 1: \(ids.count) IDs")
        assert(places.isEmpty || ids.count * 2 <= places.count, "invariant 2: \(ids.count) of \(places.count) places")
        guard ids.count <= Self.searchedCountMax else { return true }
        for (position, id) in ids.enumerated() {
            assert(self.position(of: id) == position, "\(id) is not found at \(position)")
        }
        return true
    }

    /// The place of `id`, or the free one where `insert` would put it.
    private func place(of id: ObjectID) -> Int {
        let mask = places.count - 1
        var place = home(of: id)
        while places[place] != 0, ids[Int(places[place]) - 1] != id { place = (place + 1) & mask }
        return place
    }

    private func home(of id: ObjectID) -> Int {
        let product = (id.key ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40).multipliedFullWidth(
            by: multiplier)
        return Int(truncatingIfNeeded: product.high ^ product.low) & (places.count - 1)
    }

    /// Frees a place and moves back the entries whose probe sequences cross it.
    private mutating func free(_ place: Int) {
        let mask = places.count - 1
        var (gap, next) = (place, (place + 1) & mask)
        while places[next] != 0 {
            // An entry whose home is between the gap (exclusive) and itself is found without crossing the gap.
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
