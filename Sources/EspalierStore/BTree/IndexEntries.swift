// The new entries of one index tree, which a save writes last, in the order of their keys.
//
// In this order successive entries go to the same leaf or to the next one. In the order of the rows each entry would go
// to a leaf of its own, which has to be found and, if the index is larger than the cache, read.
//
// Invariants
//   1. The keys are one after another in one array; no entry allocates memory of its own.

struct IndexEntries {
    private struct Entry {
        /// The eight bytes after the common prefix of all keys, big-endian, with zeros after the end of the key.
        var head: UInt64
        let start: Int
        let keyByteCount: UInt32
        let entityNumber: UInt16
        let isCut: Bool

        var range: Range<Int> { start..<start + Int(keyByteCount) }
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// The byte count of the common prefix of all keys.
    private var prefixByteCount = 0

    /// Whether there are no entries.
    var isEmpty: Bool { entries.isEmpty }

    /// Adds the entry of a row of this entity.
    ///
    /// - Parameter write: appends the key; returns whether its values were cut, which this method returns too.
    @inline(__always)
    @discardableResult
    mutating func append(entityNumber: UInt16, _ write: (inout [UInt8]) -> Bool) -> Bool {
        let start = bytes.count
        let isCut = write(&bytes)
        let count = bytes.count - start
        if entries.isEmpty { prefixByteCount = count }
        let prefixByteCount = prefixByteCount
        self.prefixByteCount = bytes.withRawSpan { bytes in
            let (first, new) = (bytes.extracting(0..<prefixByteCount), bytes.extracting(start..<start + count))
            if new.begins(with: first) { return prefixByteCount }
            return (0..<min(prefixByteCount, count)).first { first.byte(at: $0) != new.byte(at: $0) } ?? count
        }
        assert(self.prefixByteCount <= prefixByteCount, "a new key lengthens the common prefix")
        entries.append(
            Entry(head: 0, start: start, keyByteCount: UInt32(count), entityNumber: entityNumber, isCut: isCut))
        return isCut
    }

    /// Calls `body` with each key and its value, in the order of the keys.
    consuming func forEachInOrder(
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) {
        sort()
        assert(checkInvariants())
        var value = [UInt8](repeating: 0, count: GroupKey.entryValueByteCount)
        try bytes.withRawSpan { bytes throws(StoreError) in
            for entry in entries {
                GroupKey.writeEntryValue(entityNumber: entry.entityNumber, isCut: entry.isCut, to: &value)
                try value.withRawSpan { value throws(StoreError) in try body(bytes.extracting(entry.range), value) }
            }
        }
    }

    /// Asserts the invariant of the header, and the order; to be called in `assert`.
    private func checkInvariants() -> Bool {
        assert(
            entries.reduce(0) { $0 + Int($1.keyByteCount) } == bytes.count, "invariant 1: keys in \(bytes.count) bytes")
        bytes.withRawSpan { bytes in
            for (entry, next) in zip(entries, entries.dropFirst()) {
                let isAbove = bytes.extracting(next.range).precedes(bytes.extracting(entry.range))
                assert(!isAbove, "the entries are not in the order of their keys")
            }
        }
        return true
    }

    private mutating func sort() {
        let prefixByteCount = prefixByteCount
        // Taken out and put back, so that they are sorted where they are.
        var sorted: [Entry] = []
        swap(&sorted, &entries)
        bytes.withRawSpan { bytes in
            for index in sorted.indices {
                sorted[index].head = bytes.extracting(sorted[index].range).head(from: prefixByteCount)
            }
            sorted.sort { left, right in
                if left.head != right.head { return left.head < right.head }
                return bytes.extracting(left.range).precedes(bytes.extracting(right.range))
            }
        }
        entries = sorted
    }
}

extension RawSpan {
    /// The big-endian number in the eight bytes from `offset` on, as if zeros followed the last byte.
    fileprivate func head(from offset: Int) -> UInt64 {
        guard offset + 8 > byteCount else { return bigEndianKey(at: offset) }
        var head: UInt64 = 0
        for index in 0..<8 { head = head << 8 | (offset + index < byteCount ? UInt64(byte(at: offset + index)) : 0) }
        return head
    }
}
