// A hash table from object IDs to values, which contexts and saves look up at least once for every row.
//
// Invariants
//   1. There is at most one entry per ID.
//   2. The entries of a chain are linked: each node refers to the next. IDs with adjacent keys have adjacent chains,
//      and new nodes are appended in the order of insertion.
//   3. There are at least as many chains as entries. Removing an entry frees its node, and the next insertion reuses
//      it, so insertions and removals in turn do not grow the table.
//   4. The group of 16 chains for 16 adjacent keys is selected by one multiplication with a random odd number of the
//      process: keys come from files, and the author of a file cannot predict which keys collide.
// Rows are inserted and removed in key order, so neighbors share cache lines. Why not a dictionary, and why the type is
// public: see Decisions, "A table by object ID".

/// An entry of a table, or a free node.
@usableFromInline
struct ObjectIDNode<Value> {
    @usableFromInline var id: ObjectID
    /// 1 more than the index of the next node in the chain, or in the list of free nodes; 0 = none.
    @usableFromInline var next: UInt32
    /// `nil` if the node is free.
    @usableFromInline var value: Value?

    @inlinable
    init(_ id: ObjectID, next: UInt32, _ value: Value?) { (self.id, self.next, self.value) = (id, next, value) }
}

/// A map from object IDs to values.
public struct ObjectIDTable<Value> {
    /// 1 more than the index of the first node of each chain, 0 for an empty chain.
    ///
    /// The count is 0 or a power of two.
    @usableFromInline var chains: [UInt32] = []
    @usableFromInline var nodes: [ObjectIDNode<Value>] = []
    /// 1 more than the index of the first free node; 0 = none.
    @usableFromInline var free: UInt32 = 0
    /// 64 minus the number of bits that select a group of 16 chains.
    ///
    /// They are the high bits of the product, which depend on all bits of the ID.
    @usableFromInline var shift: UInt64 = 64
    @usableFromInline let multiplier: UInt64
    @usableFromInline var used = 0

    /// The number of entries.
    @inlinable
    public var count: Int { used }

    /// Whether there are no entries.
    @inlinable
    public var isEmpty: Bool { used == 0 }

    /// Makes an empty table, which allocates no memory.
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

    /// Calls `body` with the value of `id` in place, if there is one.
    ///
    /// - Complexity: O(1).
    @inlinable
    @inline(__always)
    public func withValue<R>(of id: ObjectID, _ body: (borrowing Value) -> R) -> R? {
        guard used > 0 else { return nil }
        let place = place(of: id, in: chains[chain(of: id)])
        return place == 0 ? nil : nodes[Int(place) - 1].value.map { body($0) }
    }

    /// Sets the value of `id`; replaces an existing value.
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

    /// Removes the entry of `id`, if there is one.
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

    /// Reserves memory for `count` entries in total.
    @inlinable
    public mutating func reserveCapacity(_ count: Int) {
        nodes.reserveCapacity(count)
        if count > chains.count { layOut(forCount: count) }
    }

    /// Calls `body` with each entry.
    ///
    /// - Complexity: O(the greatest number of entries that the table has had).
    @inlinable
    package func forEach<E: Error>(_ body: (ObjectID, Value) throws(E) -> Void) throws(E) {
        for node in nodes {
            if let value = node.value { try body(node.id, value) }
        }
    }

    // MARK: Places

    /// The number of nodes, including free ones.
    package var placeCount: Int { nodes.count }

    /// 1 more than the index of the node of `id` in the chain that begins with `first`; 0 = not found.
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

    /// Makes at least `count` chains, and links the nodes in use into them.
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

/// A random odd number, the same for all tables of a process.
@usableFromInline package let tableMultiplier = UInt64.random(in: .min ... .max) | 1
