// Open addressing: the order in which a table is searched for a key, and the moves after a removal. The owner of the
// table stores the entries; the page map, the log index and the buffer pool each have such a table.
//
// Invariants
//   1. The number of places is a power of two, and the owner fills at most half of them: so every search ends, after
//      about 1.5 steps on average.
//   2. A key is at its home place or after it, with no empty place between. A removal moves later entries back, so the
//      table needs no marks for removed entries.

/// The order in which the places of a table are searched for a key.
struct ProbeSequence {
    private let mask: Int

    /// For a table of up to `capacity` entries.
    ///
    /// - Parameter minimumCount: the least number of places, a power of two.
    init(capacity: Int, minimumCount: Int) {
        var count = minimumCount
        while count < capacity * 2 { count *= 2 }
        assert(count.nonzeroBitCount == 1, "\(count) places")
        mask = count - 1
    }

    /// The number of places.
    @inline(__always)
    var count: Int { mask &+ 1 }

    /// The place where the search for `key` begins, by Fibonacci hashing.
    @inline(__always)
    func home(_ key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask }

    /// The first place from `home` on for which `endsSearch` is `true`: that of the key, or an empty one.
    @inline(__always)
    func firstPlace(from home: Int, where endsSearch: (Int) -> Bool) -> Int {
        var place = home
        while !endsSearch(place) { place = (place &+ 1) & mask }
        return place
    }

    /// Moves later entries back into the place of a removed one, so that every search still finds them.
    ///
    /// - Parameters:
    ///   - gap: the place of the removed entry.
    ///   - homeAt: returns the home of the entry at a place; `nil` if the place is empty.
    ///   - move: copies an entry to another place.
    /// - Returns: the place that the caller must mark as empty.
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
