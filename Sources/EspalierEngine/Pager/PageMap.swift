// A small hash map from page numbers to 32-bit values, for one owner: open addressing in one piece of memory.
//
// Invariants
//   1. Key 0 marks an empty place: page 0 is the superblock and is never mapped.
//   2. At most half of the places are taken, so a probe ends after about 1.5 steps.
//   3. Removal shifts later entries back, so no marks of removed entries are needed.

/// A hash map from page numbers to 32-bit values.
///
/// A class of plain words: of a structure within its owner, Swift would check the exclusivity at each use.
@safe
package final class PageMap {
    private var places: UnsafeMutablePointer<(key: UInt32, value: UInt32)>
    private var mask: Int
    /// Private, so that the compiler knows all its uses: else each search checked that nothing changes it meanwhile.
    private var used = 0

    /// How many pages are mapped.
    package var count: Int { used }

    /// An empty map.
    package init(minimumCapacity: Int = 4) {
        var capacity = 8
        while capacity < minimumCapacity * 2 { capacity *= 2 }
        mask = capacity - 1
        // SAFETY: owned by this map, freed in `deinit`; never read before it is initialised here.
        unsafe places = .allocate(capacity: capacity)
        unsafe places.initialize(repeating: (0, 0), count: capacity)
    }

    deinit {
        // SAFETY: the elements are trivial.
        unsafe places.deallocate()
    }

    /// The first place to look for `key`: Fibonacci hashing.
    @inline(__always)
    private func home(_ key: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(key) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    }

    /// The value of `page`, or `nil`.
    @inline(__always)
    package func value(of page: PageNumber) -> UInt32? {
        if used == 0 { return nil }
        var place = home(page)
        while true {
            // SAFETY: `place` is masked, so it is within the allocation; an empty place ends the probe (invariant 2).
            let entry = unsafe places[place]
            if entry.key == page { return entry.value }
            if entry.key == 0 { return nil }
            place = (place &+ 1) & mask
        }
    }

    /// Maps `page` to `value`.
    package func set(_ value: UInt32, for page: PageNumber) {
        precondition(page != 0, "page 0 is never mapped")
        if (used + 1) * 2 > mask + 1 { grow() }
        var place = home(page)
        // SAFETY: `place` is masked.
        while unsafe places[place].key != 0, unsafe places[place].key != page { place = (place &+ 1) & mask }
        if unsafe places[place].key == 0 { used += 1 }
        unsafe places[place] = (page, value)
        assert(used * 2 <= mask + 1, "invariant 2: \(used) of \(mask + 1) places are taken")
        assert(self.value(of: page) == value, "page \(page) is found at once")
    }

    /// Forgets `page`; returns the value it had.
    @discardableResult
    package func remove(_ page: PageNumber) -> UInt32? {
        guard let value = value(of: page) else { return nil }
        var hole = home(page)
        // SAFETY: all places are masked.
        while unsafe places[hole].key != page { hole = (hole &+ 1) & mask }
        var next = (hole &+ 1) & mask
        while unsafe places[next].key != 0 {
            // An entry may move into the hole unless that would put it before its home.
            let distance = (next &- home(unsafe places[next].key)) & mask
            if distance >= (next &- hole) & mask {
                unsafe places[hole] = unsafe places[next]
                hole = next
            }
            next = (next &+ 1) & mask
        }
        unsafe places[hole] = (0, 0)
        used -= 1
        assert(self.value(of: page) == nil, "page \(page) is mapped once")
        // All of a small map: here entries move.
        assert(mask > 31 || checkInvariants())
        return value
    }

    /// Forgets all pages.
    package func removeAll() {
        guard used > 0 else { return }
        // SAFETY: `mask + 1` places are allocated.
        unsafe places.update(repeating: (0, 0), count: mask + 1)
        used = 0
    }

    /// Calls `body` with each page and its value, in no particular order.
    package func forEach(_ body: (PageNumber, UInt32) -> Void) {
        for place in 0...mask {
            // SAFETY: `place` is within the allocation.
            let entry = unsafe places[place]
            if entry.key != 0 { body(entry.key, entry.value) }
        }
    }

    private func grow() {
        assert(used <= mask / 2 + 1, "\(used) of \(mask + 1) places were taken")
        let (old, oldCount) = unsafe (places, mask + 1)
        // SAFETY: as in `init`; the old memory is freed when everything in it has its new place.
        unsafe places = .allocate(capacity: oldCount * 2)
        unsafe places.initialize(repeating: (0, 0), count: oldCount * 2)
        mask = oldCount * 2 - 1
        for number in 0..<oldCount {
            let entry = unsafe old[number]
            guard entry.key != 0 else { continue }
            var place = home(entry.key)
            while unsafe places[place].key != 0 { place = (place &+ 1) & mask }
            unsafe places[place] = entry
        }
        unsafe old.deallocate()
        assert(checkInvariants())
    }

    // MARK: Invariants

    /// Asserts the invariants of the header; to be called in `assert`.
    ///
    /// O(places).
    func checkInvariants() -> Bool {
        assert((mask + 1).nonzeroBitCount == 1, "\(mask + 1) places")
        assert(used >= 0 && used * 2 <= mask + 1, "invariant 2: \(used) of \(mask + 1) places are taken")
        var count = 0
        forEach { page, value in
            count += 1
            assert(self.value(of: page) == value, "invariant 3: page \(page) is found from its home")
        }
        assert(count == used, "\(count) places are taken, \(used) were counted")
        return true
    }
}
