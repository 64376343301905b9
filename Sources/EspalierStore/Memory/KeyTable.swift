// Values by number, in ascending order: a B-tree of arrays, of which copies share all nodes that neither has changed.
//
// Invariants
//   1. The keys of a node ascend, and there are at most `widthMax`. No node below the root is empty.
//   2. A leaf has a value for each key. A branch has a child for each key: all keys below a child are at least its key,
//      and less than the key of the next one.
//   3. A change copies the nodes from the root to one leaf that a copy of the table shares, and no others.
// A removal joins no nodes: a table from which much was removed is as deep as it was.

/// The most keys of a node.
private let widthMax = 64

/// A dictionary with numbers as keys, whose copies are cheap to change.
package struct KeyTable<Value: Sendable>: Sendable {
    fileprivate struct Node: Sendable {
        var keys: [UInt64] = []
        /// The values of a leaf, none of which is `nil`.
        var values: [Value?] = []
        /// The children of a branch; a leaf has none.
        var children: [Node] = []

        /// The position of the first key that is not less than `key`.
        func position(of key: UInt64) -> Int {
            var (low, high) = (0, keys.count)
            while low < high {
                let middle = (low + high) / 2
                if keys[middle] < key { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// The position of the child below which `key` is, if it is anywhere.
        func child(for key: UInt64) -> Int {
            assert(!children.isEmpty && keys.count == children.count, "invariant 2: \(children.count) children")
            let position = position(of: key)
            if position < keys.count, keys[position] == key { return position }
            return position > 0 ? position - 1 : 0
        }

        func value(for key: UInt64) -> Value? {
            guard children.isEmpty else { return children[child(for: key)].value(for: key) }
            assert(keys.count == values.count, "invariant 2: \(keys.count) keys of \(values.count) values")
            let position = position(of: key)
            return position < keys.count && keys[position] == key ? values[position] : nil
        }

        /// Changes the value of a key.
        ///
        /// - Returns: the difference in the number of values, and the second half of this node if it was too wide.
        mutating func update(_ key: UInt64, _ change: (inout Value?) -> Void) -> (difference: Int, split: Node?) {
            guard !children.isEmpty else { return updateLeaf(key, change) }
            let position = child(for: key)
            // A key before all others goes to the first child: if that is divided, the keys of this node must ascend.
            if key < keys[position] { keys[position] = key }
            let (difference, split) = children[position].update(key, change)
            if children[position].keys.isEmpty {
                keys.remove(at: position)
                children.remove(at: position)
            } else if let split {
                keys.insert(split.keys[0], at: position + 1)
                children.insert(split, at: position + 1)
            }
            assert(keys.count == children.count, "invariant 2: \(keys.count) keys of \(children.count) children")
            return (difference, splitOff(isLast: position + 2 == keys.count))
        }

        private mutating func updateLeaf(
            _ key: UInt64, _ change: (inout Value?) -> Void
        ) -> (difference: Int, split: Node?) {
            let position = position(of: key)
            if position < keys.count, keys[position] == key {
                change(&values[position])
                if values[position] != nil { return (0, nil) }
                keys.remove(at: position)
                values.remove(at: position)
                return (-1, nil)
            }
            var value: Value?
            change(&value)
            guard let value else { return (0, nil) }
            keys.insert(key, at: position)
            values.insert(value, at: position)
            assert(keys.count == values.count, "invariant 2: \(keys.count) keys of \(values.count) values")
            return (1, splitOff(isLast: position + 1 == keys.count))
        }

        /// Asserts invariants 1 and 2 for this node and those below it, whose keys must be in `bounds`.
        ///
        /// - Returns: the number of values.
        func checkedCount(in bounds: ClosedRange<UInt64>, isRoot: Bool) -> Int {
            assert(isRoot || !keys.isEmpty, "invariant 1: a node below the root is empty")
            assert(keys.count <= widthMax, "invariant 1: a node has \(keys.count) keys")
            assert(zip(keys, keys.dropFirst()).allSatisfy(<), "invariant 1: keys do not ascend")
            assert(keys.allSatisfy(bounds.contains), "invariant 2: a key is not in \(bounds)")
            guard !children.isEmpty else {
                assert(values.count == keys.count && !values.contains { $0 == nil }, "invariant 2: a key has no value")
                return values.count
            }
            assert(values.isEmpty && children.count == keys.count, "invariant 2: \(children.count) children")
            return keys.indices.reduce(0) { count, position in
                let next = position + 1 < keys.count ? keys[position + 1] - 1 : bounds.upperBound
                return count + children[position].checkedCount(in: keys[position]...next, isRoot: false)
            }
        }

        /// Takes the second half off a node that is too wide.
        ///
        /// - Parameter isLast: whether the last key is the new one: mostly keys ascend, and then nodes stay full.
        private mutating func splitOff(isLast: Bool) -> Node? {
            guard keys.count > widthMax else { return nil }
            let middle = isLast ? keys.count - 1 : keys.count / 2
            var split = Node(keys: Array(keys[middle...]))
            keys.removeSubrange(middle...)
            if children.isEmpty {
                split.values = Array(values[middle...])
                values.removeSubrange(middle...)
            } else {
                split.children = Array(children[middle...])
                children.removeSubrange(middle...)
            }
            assert(!keys.isEmpty && keys[keys.count - 1] < split.keys[0], "invariant 1: a node is divided at \(middle)")
            return split
        }
    }

    private var root = Node()
    /// The number of values.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// The greatest key; `nil` if there is none.
    package var lastKey: UInt64? {
        var node = root
        while let last = node.children.last { node = last }
        return node.keys.last
    }

    /// The value of a key.
    ///
    /// - Complexity: O(log n).
    package subscript(key: UInt64) -> Value? {
        get { root.value(for: key) }
        set { update(key) { $0 = newValue } }
    }

    /// Changes the value of a key in its place; `nil` is no value.
    ///
    /// - Complexity: O(log n), also if a copy of the table exists.
    package mutating func update(_ key: UInt64, _ change: (inout Value?) -> Void) {
        let (difference, split) = root.update(key, change)
        count += difference
        if let split {
            let first = root
            root = Node(keys: [first.keys[0], split.keys[0]], children: [first, split])
        }
        while root.children.count == 1 { root = root.children[0] }
        assert(count >= 0 && (count == 0) == root.keys.isEmpty, "invariant 1: \(count) values")
    }

    // MARK: Invariants

    /// Asserts invariants 1 and 2, and the number of values; to be called in `assert`.
    ///
    /// O(n).
    package func checkInvariants() -> Bool {
        let found = root.checkedCount(in: 0...UInt64.max, isRoot: true)
        assert(found == count, "\(found) values are in the table, \(count) were counted")
        assert(root.children.count != 1, "the root has one child")
        return true
    }
}

extension KeyTable: Sequence {
    package typealias Element = (key: UInt64, value: Value)

    /// The values by ascending key.
    package struct Iterator: IteratorProtocol {
        /// The branches above the leaf, each with the position of its next child.
        private var path: [(branch: Node, nextChild: Int)] = []
        private var leaf: Node
        /// The position of the next value in the leaf.
        private var position: Int

        fileprivate init(_ root: Node, from key: UInt64) {
            (leaf, position) = (root, 0)
            while !leaf.children.isEmpty {
                let child = leaf.child(for: key)
                path.append((leaf, child + 1))
                leaf = leaf.children[child]
            }
            position = leaf.position(of: key)
            assert(position == leaf.keys.count || leaf.keys[position] >= key, "a step begins before \(key)")
        }

        package mutating func next() -> (key: UInt64, value: Value)? {
            while position == leaf.keys.count {
                while let last = path.last, last.nextChild == last.branch.keys.count { path.removeLast() }
                guard let last = path.last else { return nil }
                path[path.count - 1].nextChild += 1
                leaf = last.branch.children[last.nextChild]
                while let first = leaf.children.first {
                    path.append((leaf, 1))
                    leaf = first
                }
                position = 0
            }
            defer { position += 1 }
            assert(leaf.children.isEmpty, "invariant 2: a branch is no leaf")
            guard let value = leaf.values[position] else { return nil }
            return (leaf.keys[position], value)
        }
    }

    package func makeIterator() -> Iterator { Iterator(root, from: 0) }

    /// The values whose keys are not less than `key`, by ascending key.
    package func values(from key: UInt64) -> IteratorSequence<Iterator> { IteratorSequence(Iterator(root, from: key)) }
}
