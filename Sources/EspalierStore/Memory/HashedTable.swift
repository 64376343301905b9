// Values by any key: a table of keys by their hashes, of which copies share what they have in common.
//
// Invariants
//   1. A key is in the bucket of its hash, once; no bucket is empty.

/// A dictionary whose copies are cheap to change (`KeyTable`).
package struct HashedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    fileprivate struct Entry: Sendable {
        let key: Key
        var value: Value?
    }

    private var buckets = KeyTable<[Entry]>()
    /// The number of values.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    private static func hash(of key: Key) -> UInt64 { UInt64(truncatingIfNeeded: key.hashValue) }

    /// The value of a key.
    ///
    /// - Complexity: O(log n).
    package subscript(key: Key) -> Value? {
        get { buckets[Self.hash(of: key)]?.first { $0.key == key }?.value }
        set { update(key) { $0 = newValue } }
    }

    /// Changes the value of a key in its place; `nil` is no value.
    ///
    /// - Complexity: O(log n), also if a copy of the table exists.
    package mutating func update(_ key: Key, _ change: (inout Value?) -> Void) {
        var difference = 0
        buckets.update(Self.hash(of: key)) { bucket in
            // Taken out, so that a bucket which no copy shares is changed in its place.
            var entries = bucket.take() ?? []
            assert(entries.allSatisfy { Self.hash(of: $0.key) == Self.hash(of: key) }, "invariant 1: another hash")
            difference -= entries.count
            let position = entries.firstIndex { $0.key == key } ?? entries.count
            if position == entries.count { entries.append(Entry(key: key, value: nil)) }
            change(&entries[position].value)
            if entries[position].value == nil { entries.remove(at: position) }
            difference += entries.count
            if !entries.isEmpty { bucket = entries }
        }
        count += difference
        assert(count >= buckets.count, "invariant 1: \(count) values in \(buckets.count) buckets")
    }

    // MARK: Invariants

    /// Asserts invariant 1 and the number of values; to be called in `assert`.
    ///
    /// O(n).
    package func checkInvariants() -> Bool {
        assert(buckets.checkInvariants())
        var found = 0
        for (hash, entries) in buckets {
            assert(!entries.isEmpty && entries.allSatisfy { $0.value != nil }, "invariant 1: a bucket is empty")
            assert(entries.allSatisfy { Self.hash(of: $0.key) == hash }, "invariant 1: a key is in a wrong bucket")
            assert(Set(entries.map(\.key)).count == entries.count, "invariant 1: a key is in a bucket twice")
            found += entries.count
        }
        assert(found == count, "\(found) values are in the table, \(count) were counted")
        return true
    }
}

extension HashedTable: Sequence {
    package typealias Element = (key: Key, value: Value)

    /// The values in no order.
    package struct Iterator: IteratorProtocol {
        fileprivate var buckets: KeyTable<[Entry]>.Iterator
        fileprivate var entries: [Entry] = []

        package mutating func next() -> (key: Key, value: Value)? {
            if entries.isEmpty { entries = buckets.next()?.value ?? [] }
            assert(entries.allSatisfy { $0.value != nil }, "a key has no value")
            guard let entry = entries.popLast(), let value = entry.value else { return nil }
            return (entry.key, value)
        }
    }

    package func makeIterator() -> Iterator { Iterator(buckets: buckets.makeIterator()) }
}
