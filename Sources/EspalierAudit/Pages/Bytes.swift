// Little-endian integers, read from untrusted bytes.
//
// Invariants
//   1. Every load is total: bytes beyond the end read as zero. The rules check whether that is allowed.

extension [UInt8] {
    func u8(_ offset: Int) -> UInt8 { indices.contains(offset) ? self[offset] : 0 }
    func u16(_ offset: Int) -> Int { Int(load(offset, as: UInt16.self)) }
    func u32(_ offset: Int) -> UInt32 { load(offset, as: UInt32.self) }
    func u64(_ offset: Int) -> UInt64 { load(offset, as: UInt64.self) }

    /// The bytes in the part of `range` that exists.
    func bytes(_ range: Range<Int>) -> [UInt8] { Array(self[range.clamped(to: indices)]) }

    /// The first offset in `range` whose byte is not zero.
    func firstNonzero(in range: Range<Int>) -> Int? {
        let range = range.clamped(to: indices)
        var offset = range.lowerBound
        // Most ranges are all zero, so the loop skips eight zero bytes at a time.
        while offset + 8 <= range.upperBound, u64(offset) == 0 { offset += 8 }
        while offset < range.upperBound, self[offset] == 0 { offset += 1 }
        return offset < range.upperBound ? offset : nil
    }

    /// The 64 bytes at `offset` as eight integers.
    func eightWords(_ offset: Int) -> SIMD8<UInt64> {
        guard offset >= 0, offset <= count - 64 else {
            return SIMD8((0..<8).map { u64(offset + 8 * $0) })
        }
        // SAFETY: in bounds by the guard above; every bit pattern is a valid vector of integers.
        let words = unsafe withUnsafeBytes { buffer in
            unsafe buffer.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
        }
        return UInt16(littleEndian: 1) == 1 ? words : SIMD8((0..<8).map { words[$0].byteSwapped })
    }

    private func load<Value: FixedWidthInteger>(_ offset: Int, as type: Value.Type) -> Value {
        guard offset >= 0, offset <= count - MemoryLayout<Value>.size else {
            return (0..<MemoryLayout<Value>.size).reduce(0) { $0 | Value(u8(offset + $1)) << (8 * $1) }
        }
        // SAFETY: in bounds by the guard above; every bit pattern is a valid integer.
        return unsafe withUnsafeBytes { buffer in
            unsafe Value(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
    }
}
