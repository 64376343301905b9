// Uniquing: which object stands for an ID in this context (MO-18).
//
// Invariants
//   1. At most one object per ID; an object is entered under its current ID only.
//   2. The registry keeps no object alive: an object takes itself out in `deinit`, before its memory is freed. Context
//      and objects share one isolation region, so nothing looks an object up while another thread destroys it.
//   3. Open addressing with linear probing, at most 3/4 full, no tombstones: every probe ends at a free place.

import EspalierModel

/// The objects of a context by ID.
struct ObjectRegistry {
    private struct Entry {
        var id: ObjectID?
        var reference = Unretained<ManagedObject>(nil)
    }

    private var entries: [Entry]
    private(set) var count = 0

    init() { entries = Array(repeating: Entry(), count: 16) }

    /// The object with this ID.
    ///
    /// - Complexity: O(1); the 16 bytes of an ID are mixed by one multiplication.
    subscript(id: ObjectID) -> ManagedObject? {
        entries[position(of: id)].reference.object
    }

    /// Enters an object whose ID is not entered yet.
    mutating func insert(_ object: ManagedObject) {
        if (count + 1) * 4 > entries.count * 3 { grow() }
        let position = position(of: object.storedID)
        precondition(entries[position].id == nil, "two objects for one ID")
        entries[position] = Entry(id: object.storedID, reference: Unretained(object))
        count += 1
    }

    /// Takes out the object with this ID, if there is one.
    mutating func remove(_ id: ObjectID) {
        var hole = position(of: id)
        guard entries[hole].id != nil else { return }
        count -= 1
        let mask = entries.count - 1
        var next = hole
        // Moves back what was pushed past the hole, so that no search stops too early.
        while true {
            next = (next + 1) & mask
            guard let moved = entries[next].id else { break }
            let home = Self.hash(moved) & mask
            if (next &- home) & mask >= (next &- hole) & mask {
                entries[hole] = entries[next]
                hole = next
            }
        }
        entries[hole] = Entry()
    }

    /// All objects, in no particular order.
    var objects: [ManagedObject] { entries.compactMap(\.reference.object) }

    /// Where `id` stands, or the free place where it would.
    private func position(of id: ObjectID) -> Int {
        let mask = entries.count - 1
        var position = Self.hash(id) & mask
        while let found = entries[position].id, found != id { position = (position + 1) & mask }
        return position
    }

    private static func hash(_ id: ObjectID) -> Int {
        let mixed = (id.key ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 24)
    }

    private mutating func grow() {
        let old = entries
        entries = Array(repeating: Entry(), count: old.count * 2)
        for entry in old {
            guard let id = entry.id else { continue }
            entries[position(of: id)] = entry
        }
    }
}
