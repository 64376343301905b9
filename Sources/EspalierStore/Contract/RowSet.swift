// A set of rows: a bit for each key, in blocks of 64 neighbours.
//
// Invariants
//   1. No block is empty.

public import EspalierModel

/// Rows by ID: what a cascade has removed may be a million of them.
///
/// A million rows whose keys are neighbours take a megabyte at most, where an array of their IDs takes 16; rows that
/// stand alone take about 50 bytes each. It goes through its rows by entity and ascending key.
public struct RowSet: Sendable, Sequence {
    private struct Block: Hashable, Comparable {
        let storeTag: UInt32
        let entityTag: UInt32
        let high: UInt64

        init(_ id: ObjectID) { (storeTag, entityTag, high) = (id.storeTag, id.entityTag, id.key >> 6) }

        static func < (left: Block, right: Block) -> Bool {
            (left.storeTag, left.entityTag, left.high) < (right.storeTag, right.entityTag, right.high)
        }
    }

    private var bits: [Block: UInt64] = [:]
    /// How many rows.
    public private(set) var count = 0

    /// No rows.
    public init() {}

    /// Whether there are none.
    public var isEmpty: Bool { count == 0 }

    /// Whether a row is in it.
    ///
    /// - Complexity: O(1).
    public func contains(_ id: ObjectID) -> Bool {
        !isEmpty && (bits[Block(id)] ?? 0) >> (id.key & 63) & 1 != 0
    }

    /// Takes a row in; returns whether it was not in it before.
    ///
    /// - Complexity: O(1).
    @discardableResult
    public mutating func insert(_ id: ObjectID) -> Bool {
        let bit: UInt64 = 1 << (id.key & 63)
        let old = bits[Block(id), default: 0]
        guard old & bit == 0 else { return false }
        bits[Block(id)] = old | bit
        count += 1
        return true
    }

    /// Takes a row out, if it is in it.
    ///
    /// - Complexity: O(1).
    public mutating func remove(_ id: ObjectID) {
        guard contains(id), let old = bits[Block(id)] else { return }
        let rest = old & ~(1 << (id.key & 63))
        bits[Block(id)] = rest == 0 ? nil : rest
        count -= 1
    }

    /// The rows of both.
    func union(_ other: RowSet) -> RowSet {
        if other.isEmpty { return self }
        var union = self
        for id in other { union.insert(id) }
        return union
    }

    /// The tags of the entities that rows are of.
    var entityTags: Set<UInt32> { Set(bits.keys.lazy.map(\.entityTag)) }

    /// The rows by entity and ascending key.
    ///
    /// - Complexity: O(blocks × log blocks) to begin, O(1) for each row.
    public func makeIterator() -> AnyIterator<ObjectID> {
        let blocks = bits.sorted { $0.key < $1.key }
        var (position, rest) = (0, blocks.first?.value ?? 0)
        return AnyIterator {
            while rest == 0 {
                position += 1
                guard position < blocks.count else { return nil }
                rest = blocks[position].value
            }
            let (block, low) = (blocks[position].key, UInt64(rest.trailingZeroBitCount))
            rest &= rest - 1
            return ObjectID(storeTag: block.storeTag, entityTag: block.entityTag, key: block.high << 6 | low)
        }
    }
}
