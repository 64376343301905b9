// The new entries of one index tree, which a save puts in last and in the order of their keys.
//
// One after another they go to neighbouring places of neighbouring leaves. In the order of the rows each goes to a leaf
// of its own, which has to be sought and, if the index is larger than the cache, read.
//
// Invariants
//   1. Keys and values lie one after another in one array; no entry has memory of its own.

struct IndexEntries {
    private struct Entry {
        /// The eight bytes behind those that all keys begin with, big-endian, zeros behind the end of the key.
        var head: UInt64
        let start: Int
        let keyByteCount: Int
    }

    /// Bytes of a value: see GroupKey.
    private static let valueByteCount = 3

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    /// How many bytes all keys begin with.
    private var prefixByteCount = 0

    /// Notes an entry.
    ///
    /// - Parameter value: `valueByteCount` bytes.
    mutating func append(_ key: [UInt8], _ value: [UInt8]) {
        if entries.isEmpty {
            prefixByteCount = key.count
        } else {
            let count = min(prefixByteCount, key.count)
            prefixByteCount = (0..<count).first { key[$0] != bytes[$0] } ?? count
        }
        entries.append(Entry(head: 0, start: bytes.count, keyByteCount: key.count))
        bytes.append(contentsOf: key)
        bytes.append(contentsOf: value)
    }

    /// Calls `body` for each entry in the order of their keys.
    consuming func forEachInOrder(
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) {
        sort()
        try bytes.withRawSpan { bytes throws(StoreError) in
            for entry in entries {
                let end = entry.start + entry.keyByteCount
                try body(bytes.extracting(entry.start..<end), bytes.extracting(end..<end + Self.valueByteCount))
            }
        }
    }

    private mutating func sort() {
        let prefixByteCount = prefixByteCount
        var sorted = entries
        bytes.withRawSpan { bytes in
            for index in sorted.indices {
                let key = bytes.extracting(sorted[index].start..<sorted[index].start + sorted[index].keyByteCount)
                sorted[index].head = key.head(from: prefixByteCount)
            }
            sorted.sort { left, right in
                if left.head != right.head { return left.head < right.head }
                let key = bytes.extracting(left.start..<left.start + left.keyByteCount)
                return key.precedes(bytes.extracting(right.start..<right.start + right.keyByteCount))
            }
        }
        entries = sorted
    }
}

extension RawSpan {
    /// The big-endian number in the eight bytes from `offset` on, as if zeros followed the last one.
    fileprivate func head(from offset: Int) -> UInt64 {
        guard offset + 8 > byteCount else { return bigEndianKey(at: offset) }
        var head: UInt64 = 0
        for index in 0..<8 { head = head << 8 | (offset + index < byteCount ? UInt64(byte(at: offset + index)) : 0) }
        return head
    }
}
