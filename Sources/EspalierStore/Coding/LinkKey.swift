// Keys of link trees: the lists of to-many relationships.
//
// Layout (big-endian, on disk)
//   unordered: owner's primary key (8 bytes) | destination's primary key (8)
//   ordered:   owner's primary key (8) | position (8) | destination's primary key (8)
//   value: entity number of the destination u16, little-endian.
// A relationship without inverse has a second tree, (destination, owner), whose values are the owners' entity numbers.
// Invariants
//   1. A list of an owner has each destination once. Positions of a list ascend, with or without gaps.

enum LinkKey {
    /// Bytes of an unordered entry's key.
    static let unorderedByteCount = 16
    /// Bytes of an ordered entry's key.
    static let orderedByteCount = 24
    /// Bytes of any entry's value.
    static let valueByteCount = 2

    static func unordered(_ owner: UInt64, _ destination: UInt64) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: unorderedByteCount)
        writeUnordered(owner, destination, to: &key)
        return key
    }

    /// Writes the key of an unordered entry over `key`, which has `unorderedByteCount` bytes.
    static func writeUnordered(_ owner: UInt64, _ destination: UInt64, to key: inout [UInt8]) {
        assert(key.count == unorderedByteCount, "the key of an unordered entry has \(key.count) bytes")
        key.write(owner.byteSwapped, at: 0)
        key.write(destination.byteSwapped, at: 8)
    }

    static func ordered(_ owner: UInt64, position: UInt64, _ destination: UInt64) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(orderedByteCount)
        key.append(bigEndian: owner)
        key.append(bigEndian: position)
        key.append(bigEndian: destination)
        assert(key.count == orderedByteCount, "the key of an ordered entry has \(key.count) bytes")
        return key
    }

    /// The value of an entry.
    static func value(entityNumber: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: entityNumber), UInt8(entityNumber >> 8)]
    }

    /// Writes the value of an entry over `value`, which has `valueByteCount` bytes.
    static func writeValue(entityNumber: UInt16, to value: inout [UInt8]) {
        assert(value.count == valueByteCount, "the value of an entry has \(value.count) bytes")
        value.write(entityNumber, at: 0)
    }
}
