// A small hash map from page numbers to 32-bit values, for one owner: open addressing in one piece of memory.
//
// Invariants
//   1. Key 0 marks an empty place: page 0 is the superblock and is never mapped.
//   2. At most half of the places are taken, and a search from a page's home finds the page (`ProbeSequence`).

/// A hash map from page numbers to 32-bit values.
///
/// A class, because Swift would check exclusive access at each use of a struct stored in the owner.
@safe
package final class PageMap {
    private var places: UnsafeMutablePointer<(key: UInt32, value: UInt32)>
    private var probes: ProbeSequence
    /// Private, so that the compiler knows all its uses: otherwise each search would check for exclusive access.
    private var used = 0

    /// The number of mapped pages.
    package var count: Int { used }

    /// An empty map.
    package init(minimumCapacity: Int = 4) {
        probes = ProbeSequence(capacity: minimumCapacity, minimumCount: 8)
        // SAFETY: owned by this map, freed in `deinit`; never read before it is initialized here.
        unsafe places = .allocate(capacity: probes.count)
        unsafe places.initialize(repeating: (0, 0), count: probes.count)
    }

    deinit {
        // SAFETY: the elements are trivial.
        unsafe places.deallocate()
    }

    /// The place of `page`, or the empty one where the search for it ends.
    @inline(__always)
    private func place(of page: PageNumber) -> Int {
        probes.firstPlace(from: probes.home(UInt64(page))) { place in
            // SAFETY: `place` is within the allocation.
            let key = unsafe places[place].key
            return key == page || key == 0
        }
    }

    /// The value of `page`; `nil` if it is not mapped.
    @inline(__always)
    package func value(of page: PageNumber) -> UInt32? {
        if used == 0 { return nil }
        // SAFETY: the place is within the allocation.
        let entry = unsafe places[place(of: page)]
        return entry.key == page ? entry.value : nil
    }

    /// Maps `page` to `value`.
    package func set(_ value: UInt32, for page: PageNumber) {
        precondition(page != 0, "page 0 is mapped")
        if (used + 1) * 2 > probes.count { grow() }
        let place = place(of: page)
        // SAFETY: `place` is within the allocation.
        if unsafe places[place].key == 0 { used += 1 }
        unsafe places[place] = (page, value)
        assert(used * 2 <= probes.count, "invariant 2: \(used) of \(probes.count) places are taken")
        assert(self.value(of: page) == value, "page \(page) is not found")
    }

    /// Removes `page`; returns the value that it had.
    @discardableResult
    package func remove(_ page: PageNumber) -> UInt32? {
        guard let value = value(of: page) else { return nil }
        // SAFETY: here and below, all places are within the allocation.
        let hole = probes.closeGap(at: place(of: page)) { place in
            let key = unsafe places[place].key
            return key == 0 ? nil : probes.home(UInt64(key))
        } move: { from, to in
            unsafe places[to] = unsafe places[from]
        }
        unsafe places[hole] = (0, 0)
        used -= 1
        assert(self.value(of: page) == nil, "page \(page) is still mapped")
        // A removal moves entries, so a small map is checked whole.
        assert(probes.count > 32 || checkInvariants())
        return value
    }

    /// Removes all pages.
    package func removeAll() {
        guard used > 0 else { return }
        // SAFETY: `probes.count` places are allocated.
        unsafe places.update(repeating: (0, 0), count: probes.count)
        used = 0
    }

    /// Calls `body` with each page and its value, in no particular order.
    package func forEach(_ body: (PageNumber, UInt32) -> Void) {
        for place in 0..<probes.count {
            // SAFETY: `place` is within the allocation.
            let entry = unsafe places[place]
            if entry.key != 0 { body(entry.key, entry.value) }
        }
    }

    private func grow() {
        assert(used * 2 <= probes.count, "\(used) of \(probes.count) places were taken")
        // SAFETY: the pointer is only copied.
        let (old, oldCount) = unsafe (places, probes.count)
        probes = ProbeSequence(capacity: oldCount, minimumCount: oldCount)
        // SAFETY: as in `init`; the old memory is freed after all its entries were copied.
        unsafe places = .allocate(capacity: probes.count)
        unsafe places.initialize(repeating: (0, 0), count: probes.count)
        for number in 0..<oldCount {
            let entry = unsafe old[number]
            if entry.key != 0 { unsafe places[place(of: entry.key)] = entry }
        }
        unsafe old.deallocate()
        assert(checkInvariants())
    }

    // MARK: Invariants

    /// Asserts the invariants of the header; to be called in `assert`.
    ///
    /// O(places).
    func checkInvariants() -> Bool {
        assert(used >= 0 && used * 2 <= probes.count, "invariant 2: \(used) of \(probes.count) places are taken")
        var count = 0
        forEach { page, value in
            count += 1
            assert(self.value(of: page) == value, "invariant 2: page \(page) is not found from its home")
        }
        assert(count == used, "\(count) places are taken, \(used) were counted")
        return true
    }
}
