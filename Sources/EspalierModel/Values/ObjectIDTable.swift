// A hash table from object IDs to values: what contexts and saves look up once or more for every object.
//
// Invariants
//   1. At most one entry per ID.
//   2. Open addressing with linear probing, at most 3/4 full, no tombstones: every search ends at a free place.
//   3. An ID is mixed by one multiplication with a random odd number of the process: keys come from files, and nobody
//      who writes a file can know which of them will meet.
// A dictionary hashes an ID in 20 ns, half of what looking it up costs; this does it in 2. It is public because the
// compiler specializes a generic type of another module only then: unspecialized, it took half of a fetch.

/// Values by object ID.
public struct ObjectIDTable<Value> {
    @usableFromInline
    struct Entry {
        /// 0, which is no key, where the place is free.
        @usableFromInline var key: UInt64 = 0
        @usableFromInline var tags: UInt64 = 0
        @usableFromInline var value: Value?

        @inlinable
        init() {}

        @inlinable
        init(_ id: ObjectID, _ value: Value) { (key, tags, self.value) = (id.key, id.tags, value) }
    }

    @usableFromInline var entries: [Entry]
    /// 64 less the number of bits of a place: the high bits of a product depend on all bits of the ID.
    @usableFromInline var shift: UInt64 = 60
    @usableFromInline let multiplier: UInt64
    @usableFromInline var used = 0

    /// How many entries there are.
    @inlinable
    public var count: Int { used }

    /// A table without entries.
    @inlinable
    public init() {
        entries = Array(repeating: Entry(), count: 16)
        multiplier = tableMultiplier
    }

    /// The value of `id`.
    ///
    /// - Complexity: O(1).
    @inlinable
    public subscript(id: ObjectID) -> Value? { entries[position(of: id)].value }

    /// Enters a value, in place of the one that `id` has.
    @inlinable
    public mutating func set(_ value: Value, for id: ObjectID) {
        if (used + 1) * 4 > entries.count * 3 { grow(to: used + 1) }
        let position = position(of: id)
        if entries[position].key == 0 { used += 1 }
        entries[position] = Entry(id, value)
    }

    /// Takes out the entry of `id`, if there is one.
    @inlinable
    public mutating func remove(_ id: ObjectID) {
        var hole = position(of: id)
        guard entries[hole].key != 0 else { return }
        used -= 1
        let mask = entries.count - 1
        var next = hole
        // Moves back what was pushed past the hole, so that no search stops too early.
        while true {
            next = (next + 1) & mask
            guard entries[next].key != 0 else { break }
            let home = home(entries[next].key, entries[next].tags)
            if (next &- home) & mask >= (next &- hole) & mask {
                entries[hole] = entries[next]
                hole = next
            }
        }
        entries[hole] = Entry()
    }

    /// Makes room for `count` entries in all.
    @inlinable
    public mutating func reserveCapacity(_ count: Int) {
        if count * 4 > entries.count * 3 { grow(to: count) }
    }

    /// All values, in no particular order.
    @inlinable
    public var values: some Sequence<Value> { entries.lazy.compactMap(\.value) }

    /// Where `id` stands, or the free place where it would.
    @inlinable
    func position(of id: ObjectID) -> Int {
        let mask = entries.count - 1
        let (key, tags) = (id.key, id.tags)
        var position = home(key, tags)
        while entries[position].key != 0, entries[position].key != key || entries[position].tags != tags {
            position = (position + 1) & mask
        }
        return position
    }

    @inlinable
    func home(_ key: UInt64, _ tags: UInt64) -> Int {
        let mixed = (key ^ tags << 48 ^ (tags >> 32) << 40) &* multiplier
        return Int(truncatingIfNeeded: mixed >> shift)
    }

    @inlinable
    mutating func grow(to count: Int) {
        let old = entries
        var placeCount = old.count
        while count * 4 > placeCount * 3 {
            placeCount *= 2
            shift -= 1
        }
        entries = Array(repeating: Entry(), count: placeCount)
        let mask = placeCount - 1
        for entry in old where entry.key != 0 {
            var position = home(entry.key, entry.tags)
            while entries[position].key != 0 { position = (position + 1) & mask }
            entries[position] = entry
        }
    }
}

extension ObjectIDTable: Sendable where Value: Sendable {}
extension ObjectIDTable.Entry: Sendable where Value: Sendable {}

extension ObjectID {
    /// Store and entity as one number.
    @inlinable var tags: UInt64 { UInt64(storeTag) << 32 | UInt64(entityTag) }
}

/// Random and odd, the same for all tables of a process.
@usableFromInline let tableMultiplier = UInt64.random(in: .min ... .max) | 1
