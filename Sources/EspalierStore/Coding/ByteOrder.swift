// The order of keys: unsigned bytes, shorter first.

extension [UInt8] {
    /// Whether these bytes come before `other` in the order of keys.
    func precedes(_ other: [UInt8]) -> Bool {
        let common = Swift.min(count, other.count)
        var offset = 0
        // Eight bytes at a time, read as big-endian numbers, compare like the bytes.
        while offset + 8 <= common {
            let left: UInt64 = number(at: offset)
            let right: UInt64 = other.number(at: offset)
            if left != right { return left.byteSwapped < right.byteSwapped }
            offset += 8
        }
        while offset < common {
            if self[offset] != other[offset] { return self[offset] < other[offset] }
            offset += 1
        }
        return count < other.count
    }

    /// The least bytes that come after everything that begins with these; `nil` if there are none.
    var successor: [UInt8]? {
        guard let last = lastIndex(where: { $0 < 0xFF }) else { return nil }
        var bytes = Array(self[...last])
        bytes[last] += 1
        return bytes
    }

    /// The big-endian number in the eight bytes at `offset`.
    func bigEndianKey(at offset: Int) -> UInt64 { number(at: offset, as: UInt64.self).byteSwapped }
}
