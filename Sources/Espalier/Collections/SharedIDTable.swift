// A map from object IDs whose copies share what they have in common: the unsaved changes of a context, which every
// snapshot of its children keeps.
//
// Invariants
//   1. There is at most one entry per ID. It is in the leaf to which the bits of its hash lead, four for each level.
//   2. A node is a leaf with entries, or a branch with `fanOut` children. A leaf has at most `entryCountMax` entries,
//      unless it is `depthMax` levels deep.
//   3. The entries of 16 adjacent keys are in one leaf. Their hash is one multiplication with a random odd number of
//      the process: keys come from files, and the author of a file cannot predict which keys collide.
// A node that two copies share is copied when one of them changes: O(log n) nodes for a change.

import EspalierModel

/// A map from object IDs to values; to copy it is O(1), and a change of either copy afterwards O(log n).
struct SharedIDTable<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let id: ObjectID
        var value: Value
    }

    private struct Node: Sendable {
        var entries: [Entry] = []
        var children: [Node] = []
    }

    private static var fanOut: Int { 16 }
    private static var entryCountMax: Int { 32 }
    private static var depthMax: Int { 12 }

    private var root = Node()
    /// The number of entries.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Makes the branches for `count` entries, if the table is empty: then hardly an entry is moved by the division of
    /// a leaf later.
    ///
    /// - Complexity: O(log n); branches that are equal share their memory until they change.
    mutating func reserveCapacity(_ count: Int) {
        guard isEmpty else { return }
        var depth = 0
        while depth < Self.depthMax, count >> (4 * depth) > Self.entryCountMax { depth += 1 }
        root = Node()
        for _ in 0..<depth { root = Node(children: Array(repeating: root, count: Self.fanOut)) }
    }

    /// - Complexity: O(log n).
    subscript(id: ObjectID) -> Value? {
        count == 0 ? nil : Self.value(of: id, in: root, Self.hash(id))
    }

    private static func value(of id: ObjectID, in node: Node, _ hash: UInt64) -> Value? {
        guard node.children.isEmpty else { return value(of: id, in: node.children[child(hash)], hash << 4) }
        for entry in node.entries where entry.id == id { return entry.value }
        return nil
    }

    /// Sets the value of `id`; replaces an existing value.
    ///
    /// - Complexity: O(log n).
    mutating func set(_ value: Value, for id: ObjectID) {
        if Self.set(Entry(id: id, value: value), in: &root, Self.hash(id), depth: 0) { count += 1 }
        assert(self[id] != nil, "\(id) is not found in \(count) entries")
    }

    /// Returns whether the entry is one more.
    private static func set(_ entry: Entry, in node: inout Node, _ hash: UInt64, depth: Int) -> Bool {
        guard node.children.isEmpty else {
            return set(entry, in: &node.children[child(hash)], hash << 4, depth: depth + 1)
        }
        if let position = node.entries.firstIndex(where: { $0.id == entry.id }) {
            node.entries[position].value = entry.value
            return false
        }
        node.entries.append(entry)
        if node.entries.count > entryCountMax, depth < depthMax { divide(&node, depth) }
        return true
    }

    /// Makes a leaf a branch.
    private static func divide(_ node: inout Node, _ depth: Int) {
        node.children = Array(repeating: Node(), count: fanOut)
        for entry in node.entries {
            node.children[child(hash(entry.id) << UInt64(4 * depth))].entries.append(entry)
        }
        node.entries = []
        assert(node.children.count == fanOut && depth < depthMax, "invariant 2: a branch at depth \(depth)")
    }

    /// Removes the entry of `id`, if there is one.
    ///
    /// - Complexity: O(log n).
    mutating func remove(_ id: ObjectID) {
        guard count > 0, Self.remove(id, from: &root, Self.hash(id)) else { return }
        count -= 1
        if count == 0 { root = Node() }
        assert(count >= 0 && self[id] == nil, "invariant 1: \(id) is still found in \(count) entries")
    }

    /// Returns whether there was an entry.
    private static func remove(_ id: ObjectID, from node: inout Node, _ hash: UInt64) -> Bool {
        guard node.children.isEmpty else { return remove(id, from: &node.children[child(hash)], hash << 4) }
        guard let position = node.entries.firstIndex(where: { $0.id == id }) else { return false }
        node.entries.remove(at: position)
        return true
    }

    /// Calls `body` with each entry, in no certain order.
    ///
    /// - Complexity: O(n), if the table has not had many more entries before.
    func forEach(_ body: (ObjectID, Value) -> Void) { Self.forEach(in: root, body) }

    private static func forEach(in node: Node, _ body: (ObjectID, Value) -> Void) {
        for entry in node.entries { body(entry.id, entry.value) }
        for child in node.children { forEach(in: child, body) }
    }

    private static func hash(_ id: ObjectID) -> UInt64 {
        (id.key >> 4 ^ UInt64(id.entityTag) << 48 ^ UInt64(id.storeTag) << 40) &* tableMultiplier
    }

    /// The child to which the next bits of a hash lead.
    private static func child(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 60) }
}
