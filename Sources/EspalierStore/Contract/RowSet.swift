// A set of rows: a bit for each key, in blocks of 64 adjacent keys.
//
// Invariants
//   1. No part is empty, and no block of `blocks` except that of the last change (see 2).
//   2. `lastBits` is the block of the last change; the value that `blocks` has for it is older.
// Most rows are added and removed in the order of their keys: keeping the last block apart saves a search for them.

public import EspalierModel

/// A set of rows by ID, of which a cascade may remove a million.
///
/// A million rows with adjacent keys take a megabyte at most, where an array of their IDs takes 16; isolated rows take
/// about 50 bytes each. Iteration is by entity and ascending key.
public struct RowSet: Sendable, Sequence {
    /// The rows of one entity.
    private struct Part {
        let storeTag: UInt32
        let entityTag: UInt32
        var count = 0
        private var blocks: [UInt64: UInt64] = [:]
        private var last = UInt64.max
        private var lastBits: UInt64 = 0

        init(_ id: ObjectID) { (storeTag, entityTag) = (id.storeTag, id.entityTag) }

        func isOf(_ id: ObjectID) -> Bool { entityTag == id.entityTag && storeTag == id.storeTag }

        func contains(_ key: UInt64) -> Bool {
            let bits = key >> 6 == last ? lastBits : blocks[key >> 6] ?? 0
            return bits >> (key & 63) & 1 != 0
        }

        /// Adds or removes a row; returns whether that changes the set.
        mutating func set(_ isIn: Bool, _ key: UInt64) -> Bool {
            if key >> 6 != last {
                if last != .max { blocks[last] = lastBits == 0 ? nil : lastBits }
                (last, lastBits) = (key >> 6, blocks[key >> 6] ?? 0)
            }
            let bit: UInt64 = 1 << (key & 63)
            guard (lastBits & bit != 0) != isIn else { return false }
            lastBits ^= bit
            count += isIn ? 1 : -1
            assert(count >= 0 && contains(key) == isIn, "\(count) rows, of which \(key) is to be one: \(isIn)")
            return true
        }

        /// Asserts invariant 1; to be called in `assert`.
        ///
        /// O(blocks).
        func checkInvariants() -> Bool {
            assert(blocks.allSatisfy { $0.key == last || $0.value != 0 }, "invariant 1: a block is empty")
            let bitCount = sortedBlocks.reduce(0) { $0 + $1.bits.nonzeroBitCount }
            assert(bitCount == count, "\(bitCount) rows of an entity are in the set, \(count) were counted")
            return true
        }

        /// By ascending key.
        var sortedBlocks: [(high: UInt64, bits: UInt64)] {
            var all = blocks
            if last != .max { all[last] = lastBits == 0 ? nil : lastBits }
            return all.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        }
    }

    /// One for each entity: so few that they are searched one by one.
    private var parts: [Part] = []

    /// No rows.
    public init() {}

    /// Whether the set has no rows.
    public var isEmpty: Bool {
        assert(parts.allSatisfy { $0.count > 0 }, "invariant 1: a part is empty")
        return parts.isEmpty
    }

    /// The number of rows.
    ///
    /// - Complexity: O(entities).
    public var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// Whether the set has a row.
    ///
    /// - Complexity: O(1), because a set has rows of few entities.
    public func contains(_ id: ObjectID) -> Bool {
        for position in parts.indices where parts[position].isOf(id) { return parts[position].contains(id.key) }
        return false
    }

    /// Adds a row; returns whether the set did not have it before.
    ///
    /// - Complexity: O(1), likewise.
    @discardableResult
    public mutating func insert(_ id: ObjectID) -> Bool {
        for position in parts.indices where parts[position].isOf(id) { return parts[position].set(true, id.key) }
        parts.append(Part(id))
        return parts[parts.count - 1].set(true, id.key)
    }

    /// Removes a row, if the set has it.
    ///
    /// - Complexity: O(1), likewise.
    public mutating func remove(_ id: ObjectID) {
        guard let position = parts.firstIndex(where: { $0.isOf(id) }) else { return }
        _ = parts[position].set(false, id.key)
        if parts[position].count == 0 { parts.remove(at: position) }
    }

    /// The rows of both sets.
    func union(_ other: RowSet) -> RowSet {
        if other.isEmpty { return self }
        var union = self
        for id in other { union.insert(id) }
        assert(union.count >= Swift.max(count, other.count), "\(union.count) rows of \(count) and \(other.count)")
        return union
    }

    /// Those of the rows whose entities have one of these tags.
    ///
    /// - Complexity: O(entities).
    package func rows(ofEntities tags: Set<UInt32>) -> RowSet {
        var found = RowSet()
        found.parts = parts.filter { tags.contains($0.entityTag) }
        assert(found.count <= count, "\(found.count) of \(count) rows")
        return found
    }

    /// The tags of the entities of the rows.
    var entityTags: Set<UInt32> { Set(parts.lazy.map(\.entityTag)) }

    /// The rows by entity and ascending key.
    ///
    /// - Complexity: O(blocks × log blocks) to begin, O(1) for each row.
    public func makeIterator() -> AnyIterator<ObjectID> {
        assert(checkInvariants())
        let blocks = parts.sorted { ($0.storeTag, $0.entityTag) < ($1.storeTag, $1.entityTag) }.flatMap { part in
            part.sortedBlocks.map { (storeTag: part.storeTag, entityTag: part.entityTag, high: $0.high, bits: $0.bits) }
        }
        var (position, rest) = (0, blocks.first?.bits ?? 0)
        return AnyIterator {
            while rest == 0 {
                position += 1
                guard position < blocks.count else { return nil }
                rest = blocks[position].bits
            }
            let (block, low) = (blocks[position], UInt64(rest.trailingZeroBitCount))
            rest &= rest - 1
            return ObjectID(storeTag: block.storeTag, entityTag: block.entityTag, key: block.high << 6 | low)
        }
    }

    // MARK: Invariants

    /// Asserts the invariants of the header; to be called in `assert`.
    ///
    /// O(blocks).
    private func checkInvariants() -> Bool {
        for (position, part) in parts.enumerated() {
            assert(part.count > 0, "invariant 1: a part is empty")
            let isFirst =
                parts.firstIndex { $0.entityTag == part.entityTag && $0.storeTag == part.storeTag } == position
            assert(isFirst, "an entity has two parts")
            assert(part.checkInvariants())
        }
        return true
    }
}
