// A hash table from object IDs to values: what contexts and saves look up once or more for every row.
//
// Invariants
//   1. At most one entry per ID.
//   2. Entries whose IDs share a chain stand in a row, each node leading to the next. Keys that are neighbours have
//      chains that are neighbours, and entries stand side by side in the order in which they came.
//   3. There are at least as many chains as entries. An entry that goes leaves a free node, which the next one takes:
//      where objects come and go, nothing piles up.
//   4. The 16 chains of 16 neighbouring keys are chosen by one multiplication with a random odd number of the process:
//      keys come from files, and nobody who writes a file can know which will meet.
// Rows come and go in the order of their keys: neighbours share cache lines. A dictionary would spend 20 ns on hashing
// alone. It is public because the compiler specializes a generic type of another module only then: unspecialized, it
// took half of a fetch.

/// An entry of a table, or a free node.
@usableFromInline
struct ObjectIDNode<Value> {
    @usableFromInline var id: ObjectID
    /// 1 more than the position of the next node of the chain, or of the next free one; 0: there is none.
    @usableFromInline var next: UInt32
    /// `nil` if it is free.
    @usableFromInline var value: Value?

    @inlinable
    init(_ id: ObjectID, next: UInt32, _ value: Value?) { (self.id, self.next, self.value) = (id, next, value) }
}

/// Values by object ID.
public struct ObjectIDTable<Value> {
    /// 1 more than the position of the first node of each chain, 0 where there is none; no chains, or a power of two.
    @usableFromInline var chains: [UInt32] = []
    @usableFromInline var nodes: [ObjectIDNode<Value>] = []
    /// 1 more than the position of the first free node.
    @usableFromInline var free: UInt32 = 0
    /// 64 less the number of bits that say which 16 chains: the high bits of a product depend on all bits of the ID.
    @usableFromInline var shift: UInt64 = 64
    @usableFromInline let multiplier: UInt64
    @usableFromInline var used = 0

    /// How many entries there are.
    @inlinable
    public var count: Int { used }

    /// A table without entries; it takes no memory before the first.
    @inlinable
    public init() { multiplier = tableMultiplier }

    /// The value of `id`.
    ///
    /// - Complexity: O(1).
    @inlinable
    public subscript(id: ObjectID) -> Value? {
        guard used > 0 else { return nil }
        let place = place(of: id, in: chains[chain(of: id)])
        return place == 0 ? nil : nodes[Int(place) - 1].value
    }

    /// Calls `body` with the value of `id`, if there is one, where it lies.
    ///
    /// - Complexity: O(1).
    @inlinable
    @inline(__always)
    public func withValue<R>(of id: ObjectID, _ body: (borrowing Value) -> R) -> R? {
        guard used > 0 else { return nil }
        let place = place(of: id, in: chains[chain(of: id)])
        return place == 0 ? nil : nodes[Int(place) - 1].value.map { body($0) }
    }

    /// Enters a value, in place of the one that `id` has.
    @inlinable
    public mutating func set(_ value: consuming Value, for id: ObjectID) {
        if used == chains.count { layOut(forCount: 2 * used) }
        let chain = chain(of: id)
        let first = chains[chain]
        let place = place(of: id, in: first)
        guard place == 0 else {
            nodes[Int(place) - 1].value = value
            return
        }
        used += 1
        if free == 0 {
            nodes.append(ObjectIDNode(id, next: first, value))
            chains[chain] = UInt32(nodes.count)
        } else {
            let position = Int(free) - 1
            chains[chain] = free
            free = nodes[position].next
            nodes[position].id = id
            nodes[position].next = first
            nodes[position].value = value
        }
    }

    /// Takes out the entry of `id`, if there is one.
    @inlinable
    public mutating func remove(_ id: ObjectID) {
        guard used > 0 else { return }
        let chain = chain(of: id)
        var (former, place): (UInt32, UInt32) = (0, chains[chain])
        while place != 0, nodes[Int(place) - 1].id != id { (former, place) = (place, nodes[Int(place) - 1].next) }
        guard place != 0 else { return }
        let next = nodes[Int(place) - 1].next
        if former == 0 { chains[chain] = next } else { nodes[Int(former) - 1].next = next }
        nodes[Int(place) - 1].next = free
        free = place
        used -= 1
        nodes[Int(place) - 1].value = nil
    }

    /// Makes room for `count` entries in all.
    @inlinable
    public mutating func reserveCapacity(_ count: Int) {
        nodes.reserveCapacity(count)
        if count > chains.count { layOut(forCount: count) }
    }

    // MARK: Places

    /// How many entries there is room for, free places among them.
    package var placeCount: Int { nodes.count }

    /// 1 more than the position of the node of `id` in the chain that begins with `first`; 0: it is not there.
    @inlinable
    @inline(__always)
    func place(of id: ObjectID, in first: UInt32) -> UInt32 {
        var place = first
        while place != 0, nodes[Int(place) - 1].id != id { place = nodes[Int(place) - 1].next }
        return place
    }

    @inlinable
    @inline(__always)
    func chain(of id: ObjectID) -> Int {
        let mixed = (id.key >> 4 ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40) &* multiplier
        return Int(truncatingIfNeeded: (mixed >> shift) << 4 | id.key & 15)
    }

    /// Makes as many chains, or more, and puts the nodes in use into them.
    @inlinable
    mutating func layOut(forCount count: Int) {
        let former = chains
        var bits: UInt64 = 4
        while count > 1 << bits { bits += 1 }
        shift = 64 - (bits - 4)
        chains = Array(repeating: 0, count: 1 << bits)
        for first in former {
            var place = first
            while place != 0 {
                let (chain, next) = (chain(of: nodes[Int(place) - 1].id), nodes[Int(place) - 1].next)
                nodes[Int(place) - 1].next = chains[chain]
                chains[chain] = place
                place = next
            }
        }
    }
}

extension ObjectIDNode: Sendable where Value: Sendable {}
extension ObjectIDTable: Sendable where Value: Sendable {}

/// Random and odd, the same for all tables of a process.
@usableFromInline package let tableMultiplier = UInt64.random(in: .min ... .max) | 1
