// Little-endian integers in bytes: checked loads from untrusted spans, and stores into records that are being built.
//
// Invariants
//   1. A load outside its span traps: decoders compare lengths before they load, so no file can cause it.

extension RawSpan {
    /// The byte at `offset`.
    package func loadUInt8(at offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < byteCount, "byte \(offset) of \(byteCount)")
        // SAFETY: in bounds by the line above; every bit pattern is a valid UInt8.
        return unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    /// The little-endian 16-bit integer at `offset`.
    package func loadUInt16(at offset: Int) -> UInt16 {
        precondition(offset >= 0 && offset <= byteCount &- 2, "bytes \(offset) + 2 of \(byteCount)")
        // SAFETY: in bounds by the line above; every bit pattern is a valid UInt16.
        return unsafe UInt16(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    /// The little-endian 32-bit integer at `offset`.
    package func loadUInt32(at offset: Int) -> UInt32 {
        precondition(offset >= 0 && offset <= byteCount &- 4, "bytes \(offset) + 4 of \(byteCount)")
        // SAFETY: in bounds by the line above; every bit pattern is a valid UInt32.
        return unsafe UInt32(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The little-endian 64-bit integer at `offset`.
    package func loadUInt64(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= byteCount &- 8, "bytes \(offset) + 8 of \(byteCount)")
        // SAFETY: in bounds by the line above; every bit pattern is a valid UInt64.
        return unsafe UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// A copy of `count` bytes from `offset` on.
    package func loadBytes(at offset: Int, count: Int) -> [UInt8] {
        // SAFETY: the bytes are copied within the closure.
        unsafe extracting(offset..<offset + count).withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// The offset of the first `value` at or after `start`.
    package func firstIndex(of value: UInt8, from start: Int) -> Int? {
        // SAFETY: the buffer is used only within the closure.
        unsafe extracting(start..<byteCount).withUnsafeBytes { bytes in
            unsafe Platform.firstIndex(of: value, in: bytes).map { start + $0 }
        }
    }

    /// Whether all bytes in `range` are zero.
    package func isZero(in range: Range<Int>) -> Bool {
        for offset in range where loadUInt8(at: offset) != 0 { return false }
        return true
    }

    /// The XXH3-64 of the bytes in `range`.
    package func checksum(of range: Range<Int>, seed: UInt64 = 0) -> UInt64 {
        // SAFETY: the buffer is used only within the closure.
        unsafe extracting(range).withUnsafeBytes { bytes in
            unsafe Checksum.of(bytes, seed: seed)
        }
    }
}

/// A record of a fixed number of bytes that is being built; bytes that are never stored stay zero.
package struct RecordBytes {
    /// The bytes so far.
    package private(set) var bytes: [UInt8]

    /// Begins a record of `byteCount` zero bytes.
    package init(byteCount: Int) {
        assert(byteCount > 0, "a record of \(byteCount) bytes")
        bytes = [UInt8](repeating: 0, count: byteCount)
    }

    /// Stores `value` little-endian at `offset`.
    package mutating func store(_ value: some FixedWidthInteger, at offset: Int) {
        assert(offset >= 0 && offset + value.bitWidth / 8 <= bytes.count, "byte \(offset) of \(bytes.count)")
        for index in 0..<(value.bitWidth / 8) {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
        }
    }

    /// Stores `content` at `offset`.
    package mutating func store(_ content: [UInt8], at offset: Int) {
        assert(offset >= 0 && offset + content.count <= bytes.count, "\(content.count) bytes at \(offset)")
        bytes.replaceSubrange(offset..<offset + content.count, with: content)
    }

    /// Stores the XXH3-64 of all bytes before `offset` at `offset`.
    package mutating func seal(at offset: Int) {
        assert(offset > 0 && offset + 8 <= bytes.count, "a checksum at \(offset) of \(bytes.count)")
        // SAFETY: reading any initialized bytes is safe; the span only loses its element type.
        unsafe store(bytes.span.bytes.checksum(of: 0..<offset), at: offset)
    }
}
