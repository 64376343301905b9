// Tables with open addressing: where a key is sought, and what moves when one goes. What lies at the places is its
// owner's; the page map, the log index and the buffer pool have such a table each.
//
// Invariants
//   1. There is a power of two of places, of which the owner fills half at most: so every search ends, after about 1.5
//      steps.
//   2. A key lies at its home or after it, with no empty place between. Removal moves later entries back, so no marks
//      of removed entries are needed.

/// The order in which the places of a table are searched for a key.
struct ProbeSequence {
    private let mask: Int

    /// For a table of up to `capacity` entries.
    init(capacity: Int, minimumCount: Int) {
        var count = minimumCount
        while count < capacity * 2 { count *= 2 }
        assert(count.nonzeroBitCount == 1, "\(count) places")
        mask = count - 1
    }

    /// How many places there are.
    @inline(__always)
    var count: Int { mask &+ 1 }

    /// Where the search for a key begins: Fibonacci hashing.
    @inline(__always)
    func home(_ key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask }

    /// The first place from `home` on where the search ends, as `endsSearch` says: at the key, or at an empty place.
    @inline(__always)
    func firstPlace(from home: Int, where endsSearch: (Int) -> Bool) -> Int {
        var place = home
        while !endsSearch(place) { place = (place &+ 1) & mask }
        return place
    }

    /// Moves entries back into the place of one that goes, so that every search still finds them.
    ///
    /// - Parameters:
    ///   - homeAt: the home of the entry at a place; `nil` if it is empty.
    ///   - move: copies an entry to another place.
    /// - Returns: the place that is to be empty now.
    @inline(__always)
    func closeGap(at gap: Int, homeAt: (Int) -> Int?, move: (_ from: Int, _ to: Int) -> Void) -> Int {
        var hole = gap
        var next = (hole &+ 1) & mask
        while let home = homeAt(next) {
            // An entry may move into the hole unless that would put it before its home.
            let distance = (next &- home) & mask
            if distance >= (next &- hole) & mask {
                move(next, hole)
                hole = next
            }
            next = (next &+ 1) & mask
        }
        return hole
    }
}
