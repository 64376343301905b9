// Bitmap pages: one bit per page of the store, 1 = free.
//
// Invariants
//   1. The bitmap page that describes pages [first, first + pagesPerBitmap) is page first + 1; `first` is a multiple of
//      pagesPerBitmap. Bit i (bit i % 8 of byte 64 + i / 8) stands for page first + i.
//   2. `freeCount` is the number of bits that are 1.
//   3. Bits of the superblock, of bitmap pages and of pages at or beyond the page count of the store are 0.

/// Offsets of the fields of a bitmap page.
package enum BitmapLayout {
    package static let freeCount = 32  // u32
    package static let hint = 36  // u32: no bit below this one is 1
    package static let reserved = 40  // 24 bytes, zero
    package static let bits = 64
}

extension PageView {
    /// The stored number of free pages.
    package var bitmapFreeCount: Int { Int(u32(BitmapLayout.freeCount)) }
    /// The stored hint: no page whose bit is below it is free.
    package var bitmapHint: Int { Int(u32(BitmapLayout.hint)) }

    /// Sets the number of free pages and the hint.
    package func setBitmap(freeCount: Int, hint: Int) {
        assert(freeCount >= 0 && hint >= 0, "\(freeCount) free pages from \(hint) on")
        set(UInt32(truncatingIfNeeded: freeCount), at: BitmapLayout.freeCount)
        set(UInt32(truncatingIfNeeded: hint), at: BitmapLayout.hint)
    }

    /// Whether the page of bit `bit` is free.
    package func bitmapIsFree(_ bit: Int) -> Bool {
        assert(bit >= 0 && bit < bitmapWordCount * 64, "bit \(bit)")
        return u8(BitmapLayout.bits &+ bit / 8) & (1 << UInt8(truncatingIfNeeded: bit % 8)) != 0
    }

    /// Marks the page of bit `bit` free or used.
    ///
    /// Changes neither the count nor the hint.
    package func setBitmap(_ bit: Int, isFree: Bool) {
        assert(bit >= 0 && bit < bitmapWordCount * 64, "bit \(bit)")
        let mask: UInt8 = 1 << UInt8(truncatingIfNeeded: bit % 8)
        let offset = BitmapLayout.bits &+ bit / 8
        set(isFree ? u8(offset) | mask : u8(offset) & ~mask, at: offset)
    }

    /// Bits 64 x index to 64 x index + 63, lowest first.
    package func bitmapWord(_ index: Int) -> UInt64 { u64(BitmapLayout.bits &+ 8 &* index) }

    /// The number of 64-bit words of bits in a bitmap page.
    package var bitmapWordCount: Int { (byteCount &- BitmapLayout.bits) / 8 }

    /// The number of bits that are 1.
    package var bitmapPopulationCount: Int {
        var count = 0
        for index in 0..<bitmapWordCount { count &+= bitmapWord(index).nonzeroBitCount }
        return count
    }

    /// Formats this as a bitmap page without free pages.
    package func formatBitmap(number: PageNumber) {
        clear(0..<byteCount)
        formatHeader(number: number, type: .bitmap, level: 0, treeID: 0)
    }
}
