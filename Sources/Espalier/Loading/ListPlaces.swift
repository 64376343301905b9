// The places of destinations in lists that are in memory, for lists that are searched often.
//
// Invariants
//   1. Every table is of a list that the cache has now: whoever adds or removes a list of an owner forgets its table.
//   2. A list gets a table at the second search in a row, so that a list that is searched once costs no memory.

import EspalierModel

/// The places of destinations in lists, by slot of the relationship and by owner.
struct ListPlaces {
    /// Up to this number of destinations, a search is linear.
    private static let searchedCountMax = 32

    private var tables = SlotValues<ObjectIDTable<ObjectIDTable<Int32>>>()
    /// The list that was searched last.
    private var lastSearch: (owner: ObjectID, slot: Int)?

    /// The index of `destination` in `list`, the list of `owner`; `nil` if it is not in it.
    ///
    /// - Complexity: O(1); O(n) for the first two searches in a row.
    mutating func index(
        of destination: ObjectID, in list: [ObjectID], of owner: ObjectID, at slot: Int
    ) -> Int? {
        guard list.count > Self.searchedCountMax else { return list.firstIndex(of: destination) }
        if let table = tables[slot]?[owner] {
            assert(table.count == list.count, "invariant 1: \(table.count) places for \(list.count) destinations")
            return table[destination].map(Int.init)
        }
        assert(StepCount.note(list.count))
        guard lastSearch?.owner == owner, lastSearch?.slot == slot else {
            lastSearch = (owner, slot)
            return list.firstIndex(of: destination)
        }
        var table = ObjectIDTable<Int32>()
        table.reserveCapacity(list.count)
        for (place, id) in list.enumerated() { table.set(Int32(place), for: id) }
        if !tables.contains(slot) { tables.set(ObjectIDTable(), at: slot) }
        tables.modify(slot) { $0.set(table, for: owner) }
        return table[destination].map(Int.init)
    }

    /// Forgets the lists of `owner` in every slot.
    mutating func forget(_ owner: ObjectID) {
        if lastSearch?.owner == owner { lastSearch = nil }
        tables.modifyAll { $0.remove(owner) }
    }

    /// Forgets the lists of `owners` in one slot.
    mutating func forget(_ owners: some Sequence<ObjectID>, at slot: Int) {
        tables.modify(slot) { table in
            for owner in owners { table.remove(owner) }
        }
    }
}
