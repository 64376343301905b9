// The 32 bytes at the beginning of every page but the superblock's.
//
// Invariants (on disk: never renumber)
//   1. checksum = XXH3-64 of the page from byte 8 to its end, seeded with
//      storeSeed ^ (page number x 0x9E3779B185EBCA87).
//   2. The gap of a page (`holeRange`) is zero when the checksum is made, so that the log may leave it out.
//   3. `contentStart` is stored in 16 bits; 0 stands for 65,536.

/// Offsets of the fields of the page header.
package enum PageLayout {
    package static let checksum = 0  // u64
    package static let number = 8  // u32
    package static let type = 12  // u8
    package static let flags = 13  // u8
    package static let level = 14  // u8
    package static let reserved = 15  // u8, zero
    package static let lsn = 16  // u64
    package static let treeID = 24  // u32
    package static let cellCount = 28  // u16
    package static let contentStart = 30  // u16
    package static let headerByteCount = 32
}

/// The type of a page, as stored in its header.
package enum PageType: UInt8, Sendable, CaseIterable {
    case interiorBytes = 1
    case leafBytes = 2
    case leafInteger = 3
    case interiorInteger = 4
    case overflow = 5
    case bitmap = 6
    // 7 is reserved for pages of checksums.
    case free = 8
}

/// Bits of the page header's flags.
package enum PageFlags {
    /// The page is the root of its tree.
    package static let root: UInt8 = 1
}

extension PageView {
    /// The checksum as stored.
    package var storedChecksum: UInt64 { u64(PageLayout.checksum) }
    /// The page's own number as stored.
    package var storedNumber: PageNumber { u32(PageLayout.number) }
    /// The type byte as stored.
    @inline(__always)
    package var typeByte: UInt8 { u8(PageLayout.type) }
    /// The flag byte.
    package var flags: UInt8 { u8(PageLayout.flags) }
    /// The level of a tree page: 0 is a leaf.
    @inline(__always)
    package var level: Int { Int(u8(PageLayout.level)) }
    /// The level that is expected of the root of a tree: any.
    package static var anyLevel: Int { -1 }
    /// The logical log position of the page's newest frame.
    package var lsn: UInt64 { u64(PageLayout.lsn) }
    /// The tree the page belongs to.
    @inline(__always)
    package var treeID: UInt32 { u32(PageLayout.treeID) }
    /// Whether the page belongs to a tree and is no overflow page.
    var isTreePage: Bool {
        switch PageType(rawValue: typeByte) {
        case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger: true
        case .overflow, .bitmap, .free, nil: false
        }
    }
    /// The number of cells of a tree page.
    @inline(__always)
    package var cellCount: Int { Int(u16(PageLayout.cellCount)) }
    /// The offset where the cells begin (tree pages) or where the value ends (overflow pages).
    @inline(__always)
    package var contentStart: Int { Int(u16(PageLayout.contentStart) &- 1) &+ 1 }

    @inline(__always)
    package func setCellCount(_ count: Int) {
        assert(count >= 0 && count <= UInt16.max, "\(count) cells")
        set(UInt16(truncatingIfNeeded: count), at: PageLayout.cellCount)
    }
    @inline(__always)
    package func setContentStart(_ offset: Int) {
        assert(offset > 0 && offset <= byteCount, "cells from \(offset) of \(byteCount)")
        set(UInt16(truncatingIfNeeded: offset), at: PageLayout.contentStart)
    }

    /// Writes a page header; checksum and LSN stay zero until `seal`.
    package func formatHeader(number: PageNumber, type: PageType, level: Int, treeID: UInt32, flags: UInt8 = 0) {
        assert(level >= 0 && level < StoreGeometry.treeDepthMax, "page \(number) of level \(level)")
        clear(0..<PageLayout.headerByteCount)
        set(number, at: PageLayout.number)
        set(type.rawValue, at: PageLayout.type)
        set(flags, at: PageLayout.flags)
        set(UInt8(truncatingIfNeeded: level), at: PageLayout.level)
        set(treeID, at: PageLayout.treeID)
    }

    /// The bytes between slots and cells (tree pages) or after the value (overflow pages) that the log may leave out.
    ///
    /// Total: returns an empty range if the header makes no sense.
    package var holeRange: Range<Int> {
        let range: (start: Int, end: Int)
        switch PageType(rawValue: typeByte) {
        case .leafBytes, .interiorBytes, .leafInteger, .interiorInteger: range = (slotsEnd, contentStart)
        case .overflow: range = (contentStart, byteCount)
        case .free: range = (PageLayout.headerByteCount, byteCount)
        case .bitmap, nil: range = (0, 0)
        }
        assert(range.start >= 0, "a gap at \(range.start)")
        guard range.start < range.end, range.end <= byteCount else { return 0..<0 }
        return range.start..<range.end
    }

    /// Prepares the page to be written: clears its gap, sets `lsn`, and stores and returns the checksum.
    @discardableResult
    package func seal(lsn: UInt64, storeSeed: UInt64) -> UInt64 {
        clear(holeRange)
        set(lsn, at: PageLayout.lsn)
        let checksum = computedChecksum(number: storedNumber, storeSeed: storeSeed)
        set(checksum, at: PageLayout.checksum)
        assert(storedChecksum == checksum && self.lsn == lsn, "page \(storedNumber) is not sealed")
        return checksum
    }

    /// The checksum that the page should have if it is page `number`.
    package func computedChecksum(number: PageNumber, storeSeed: UInt64) -> UInt64 {
        Checksum.page(self, number: number, storeSeed: storeSeed)
    }
}
