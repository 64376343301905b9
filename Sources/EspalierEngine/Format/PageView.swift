// A view of the bytes of one page in memory: a trivial value, no reference count, no class per page.
//
// Invariants
//   1. A view does not own its bytes: their owner (a pin, a scratch buffer) outlives the view.
//   2. Loads are not checked in release builds: a caller follows an offset that it read from a page only after
//      `PageValidation` accepted the page, or compares it with `byteCount` first.

/// The bytes of one page.
@safe
package struct PageView {
    /// The first byte.
    package let base: UnsafeMutableRawPointer
    /// The page size.
    package let byteCount: Int

    /// Views `byteCount` bytes from `base` on.
    @inline(__always)
    package init(base: UnsafeMutableRawPointer, byteCount: Int) {
        // SAFETY: the pointer is only kept; the owner of the bytes outlives the view (invariant 1).
        unsafe self.base = base
        self.byteCount = byteCount
    }

    @inline(__always)
    package func u8(_ offset: Int) -> UInt8 {
        assert(offset >= 0 && offset < byteCount, "byte \(offset) of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    @inline(__always)
    package func u16(_ offset: Int) -> UInt16 {
        assert(offset >= 0 && offset + 2 <= byteCount, "bytes \(offset) + 2 of \(byteCount)")
        // SAFETY: in bounds by invariant 2; any bit pattern is a valid integer.
        return unsafe UInt16(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }

    @inline(__always)
    package func u32(_ offset: Int) -> UInt32 {
        assert(offset >= 0 && offset + 4 <= byteCount, "bytes \(offset) + 4 of \(byteCount)")
        // SAFETY: in bounds by invariant 2; any bit pattern is a valid integer.
        return unsafe UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    package func u64(_ offset: Int) -> UInt64 {
        assert(offset >= 0 && offset + 8 <= byteCount, "bytes \(offset) + 8 of \(byteCount)")
        // SAFETY: in bounds by invariant 2; any bit pattern is a valid integer.
        return unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    package func set(_ value: UInt8, at offset: Int) {
        assert(offset >= 0 && offset < byteCount, "byte \(offset) of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
    }

    @inline(__always)
    package func set(_ value: UInt16, at offset: Int) {
        assert(offset >= 0 && offset + 2 <= byteCount, "bytes \(offset) + 2 of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt16.self)
    }

    @inline(__always)
    package func set(_ value: UInt32, at offset: Int) {
        assert(offset >= 0 && offset + 4 <= byteCount, "bytes \(offset) + 4 of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt32.self)
    }

    @inline(__always)
    package func set(_ value: UInt64, at offset: Int) {
        assert(offset >= 0 && offset + 8 <= byteCount, "bytes \(offset) + 8 of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        unsafe base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: UInt64.self)
    }

    /// Moves `count` bytes within the page; the ranges may overlap.
    @inline(__always)
    package func move(from source: Int, to target: Int, count: Int) {
        assert(count >= 0 && source >= 0 && target >= 0 && max(source, target) + count <= byteCount)
        // SAFETY: both ranges are in bounds by invariant 2; `copyMemory` allows overlap.
        unsafe (base + target).copyMemory(from: base + source, byteCount: count)
    }

    /// Copies `count` bytes of `other` to `target` in this page.
    @inline(__always)
    package func copy(from other: PageView, at source: Int, to target: Int, count: Int) {
        assert(count >= 0 && target >= 0 && target + count <= byteCount)
        assert(source >= 0 && source + count <= other.byteCount)
        // SAFETY: both ranges are in bounds by invariant 2.
        unsafe (base + target).copyMemory(from: other.base + source, byteCount: count)
    }

    /// Copies `bytes` to `offset`.
    @inline(__always)
    package func copy(_ bytes: ByteString, to offset: Int) {
        assert(offset >= 0 && offset + bytes.count <= byteCount)
        // SAFETY: the target is in bounds by invariant 2, the source by the caller's promise.
        unsafe (base + offset).copyMemory(from: bytes.base, byteCount: bytes.count)
    }

    /// Sets the bytes in `range` to zero.
    package func clear(_ range: Range<Int>) {
        assert(range.lowerBound >= 0 && range.upperBound <= byteCount)
        // SAFETY: in bounds by invariant 2.
        unsafe (base + range.lowerBound).initializeMemory(as: UInt8.self, repeating: 0, count: range.count)
    }

    /// The `count` bytes from `offset` on.
    @inline(__always)
    package func bytes(_ offset: Int, _ count: Int) -> ByteString {
        assert(offset >= 0 && count >= 0 && offset + count <= byteCount, "bytes \(offset) + \(count) of \(byteCount)")
        // SAFETY: in bounds by invariant 2.
        return unsafe ByteString(base: UnsafeRawPointer(base + offset), count: count)
    }
}

/// A view of bytes, compared as unsigned bytes.
///
/// A trivial value that does not own the bytes; their owner must outlive it.
@safe
package struct ByteString {
    /// The first byte.
    package let base: UnsafeRawPointer
    /// The number of bytes.
    package let count: Int

    /// Views `count` bytes from `base` on.
    @inline(__always)
    package init(base: UnsafeRawPointer, count: Int) {
        // SAFETY: the pointer is only kept; the caller keeps the bytes as long as it uses this value.
        unsafe self.base = base
        self.count = count
    }

    /// Views a buffer; an empty buffer may have no address.
    @inline(__always)
    package init(_ buffer: UnsafeRawBufferPointer) {
        // SAFETY: an empty string is never read, so any address is valid for it.
        unsafe base = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
        count = buffer.count
    }

    /// The byte at `index`.
    @inline(__always)
    package subscript(index: Int) -> UInt8 {
        assert(index >= 0 && index < count)
        // SAFETY: in bounds by the caller's promise.
        return unsafe base.load(fromByteOffset: index, as: UInt8.self)
    }

    /// The bytes after the first `length`.
    @inline(__always)
    package func dropping(_ length: Int) -> ByteString {
        assert(length >= 0 && length <= count)
        // SAFETY: in bounds by the line above.
        return unsafe ByteString(base: base + length, count: count &- length)
    }

    /// The first `length` bytes.
    @inline(__always)
    package func prefix(_ length: Int) -> ByteString {
        assert(length >= 0 && length <= count)
        // SAFETY: in bounds by the line above.
        return unsafe ByteString(base: base, count: length)
    }

    /// The first four bytes as a big-endian integer, padded with zeros: it orders as the bytes do.
    @inline(__always)
    package var head: UInt32 {
        // SAFETY: each load is within `count`.
        if count >= 4 { return unsafe UInt32(bigEndian: base.loadUnaligned(as: UInt32.self)) }
        var head: UInt32 = 0
        for index in 0..<count { head |= UInt32(self[index]) << UInt32(24 &- 8 &* index) }
        return head
    }

    /// The length of the common prefix with `other`, in bytes.
    package func commonPrefix(with other: ByteString) -> Int {
        let limit = min(count, other.count)
        var index = 0
        while index &+ 8 <= limit {
            // SAFETY: `index + 8` is within both strings.
            let mine = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let its = unsafe UInt64(littleEndian: other.base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let difference = mine ^ its
            if difference != 0 { return index &+ difference.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < limit, self[index] == other[index] { index &+= 1 }
        return index
    }

    /// Negative, zero or positive if these bytes are less than, equal to or greater than `other`.
    @inline(__always)
    package func compare(_ other: ByteString) -> Int {
        let limit = min(count, other.count)
        var index = 0
        while index &+ 8 <= limit {
            let order = compareWords(other, at: index, as: UInt64.self)
            if order != 0 { return order }
            index &+= 8
        }
        if index < limit {
            if limit >= 8 {
                // The last eight bytes again: those before `index` are known to be equal.
                let order = compareWords(other, at: limit &- 8, as: UInt64.self)
                return order != 0 ? order : count &- other.count
            }
            if limit &- index >= 4 {
                let order = compareWords(other, at: index, as: UInt32.self)
                if order != 0 { return order }
                index &+= 4
            }
            while index < limit {
                if self[index] != other[index] { return Int(self[index]) &- Int(other[index]) }
                index &+= 1
            }
        }
        return count &- other.count
    }

    /// Compares one word at `index` of both strings.
    @inline(__always)
    private func compareWords<Word: FixedWidthInteger>(_ other: ByteString, at index: Int, as _: Word.Type) -> Int {
        assert(index >= 0 && index + Word.bitWidth / 8 <= min(count, other.count))
        // SAFETY: the word is within both strings, as the caller made sure.
        let mine = unsafe Word(bigEndian: base.loadUnaligned(fromByteOffset: index, as: Word.self))
        let its = unsafe Word(bigEndian: other.base.loadUnaligned(fromByteOffset: index, as: Word.self))
        return mine == its ? 0 : (mine < its ? -1 : 1)
    }

    /// Whether the bytes are the same as those of `other`.
    @inline(__always)
    package func equals(_ other: ByteString) -> Bool { count == other.count && compare(other) == 0 }

    /// A copy of the bytes.
    package var array: [UInt8] {
        // SAFETY: `count` bytes can be read by the caller's promise.
        unsafe [UInt8](UnsafeRawBufferPointer(start: base, count: count))
    }
}
