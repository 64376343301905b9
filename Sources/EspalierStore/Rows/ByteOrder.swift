// The order of keys: unsigned bytes, shorter first.

extension RawSpan {
    /// Whether these bytes are before `other` in the order of keys.
    func precedes(_ other: RawSpan) -> Bool {
        let common = Swift.min(byteCount, other.byteCount)
        var offset = 0
        // Big-endian numbers of eight bytes have the same order as the bytes.
        while offset + 8 <= common {
            let left: UInt64 = number(at: offset)
            let right: UInt64 = other.number(at: offset)
            if left != right { return left.byteSwapped < right.byteSwapped }
            offset += 8
        }
        while offset < common {
            let (left, right) = (byte(at: offset), other.byte(at: offset))
            if left != right { return left < right }
            offset += 1
        }
        return byteCount < other.byteCount
    }

    /// Whether these bytes begin with `prefix`.
    func begins(with prefix: RawSpan) -> Bool {
        guard byteCount >= prefix.byteCount else { return false }
        var offset = 0
        while offset + 8 <= prefix.byteCount {
            guard number(at: offset, as: UInt64.self) == prefix.number(at: offset) else { return false }
            offset += 8
        }
        while offset < prefix.byteCount {
            guard byte(at: offset) == prefix.byte(at: offset) else { return false }
            offset += 1
        }
        return true
    }

    /// The big-endian number in the eight bytes at `offset`.
    func bigEndianKey(at offset: Int) -> UInt64 { number(at: offset, as: UInt64.self).byteSwapped }
}

extension [UInt8] {
    /// Whether these bytes are before `other` in the order of keys.
    func precedes(_ other: [UInt8]) -> Bool {
        withRawSpan { bytes in other.withRawSpan { bytes.precedes($0) } }
    }

    /// The least byte string after all those that begin with these bytes; `nil` if there is none.
    var successor: [UInt8]? {
        guard let last = lastIndex(where: { $0 < 0xFF }) else { return nil }
        var bytes = self
        bytes.removeLast(count - 1 - last)
        bytes[last] += 1
        assert(precedes(bytes), "a successor does not follow the bytes")
        return bytes
    }

    /// The big-endian number in the eight bytes at `offset`.
    func bigEndianKey(at offset: Int) -> UInt64 { number(at: offset, as: UInt64.self).byteSwapped }
}
