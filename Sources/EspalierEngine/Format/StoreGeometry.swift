// Everything that follows from the page size: places of bitmap pages, and the limits of keys and cells.
//
// Invariants (on disk: never change them within a major version)
//   1. The page size of a store is a power of two from 4,096 to 65,536. Trees over an array of pages (tests) may be
//      as small as 512, so that a few entries cause splits.
//   2. A leaf can always hold two cells of the greatest size beside two fences of the greatest length; therefore a
//      split into two pages always exists.

/// The numbers that follow from a store's page size.
package struct StoreGeometry: Hashable, Sendable {
    /// Bytes per page.
    package let pageSize: Int

    /// The geometry of pages of `pageSize` bytes.
    ///
    /// - Parameter pageSize: a power of two, `testPageSizes` or `pageSizes`.
    package init(pageSize: Int) {
        precondition(
            Self.testPageSizes.contains(pageSize) && pageSize & (pageSize - 1) == 0, "page size \(pageSize)")
        self.pageSize = pageSize
    }

    /// The page sizes a store file may have (powers of two only).
    package static let pageSizes = 4096...65536
    /// The page sizes the tree itself can work with (powers of two only).
    package static let testPageSizes = 512...65536
    /// Whether `pageSize` is one that a store file may have.
    package static func isValid(pageSize: Int) -> Bool {
        pageSizes.contains(pageSize) && pageSize & (pageSize - 1) == 0
    }

    /// The greatest number of levels of a tree; a well-formed one of 2^32 pages has far fewer.
    package static let treeDepthMax = 24
    /// The greatest byte count of a value.
    package static let valueByteCountMax = Int(UInt32.max)

    /// The greatest byte count of a bytes key.
    package var keyByteCountMax: Int { (pageSize - 96) / 4 }
    /// The greatest byte count of a cell with its slot; an entry that needs more has its value in overflow pages.
    package var cellByteCountMax: Int { pageSize / 4 }
    /// The bytes of a value that one overflow page holds.
    package var overflowByteCount: Int { pageSize - OverflowLayout.payload }
    /// The number of pages that one bitmap page describes, itself included.
    package var pagesPerBitmap: Int { (pageSize - BitmapLayout.bits) * 8 }

    /// The bitmap page that describes `page`.
    package func bitmapPage(of page: PageNumber) -> PageNumber {
        let per = PageNumber(truncatingIfNeeded: pagesPerBitmap)
        assert(per > 1, "a bitmap page describes \(per) pages")
        return page / per * per + 1
    }
    /// The bit of `page` within its bitmap page.
    package func bitmapBit(of page: PageNumber) -> Int { Int(page) % pagesPerBitmap }
    /// Whether `page` is a bitmap page.
    package func isBitmapPage(_ page: PageNumber) -> Bool { bitmapBit(of: page) == 1 }
}

/// Pages and trees at fixed places.
package enum FixedPlace {
    /// The superblock's page.
    package static let superblock: PageNumber = 0
    /// The first bitmap page.
    package static let firstBitmap: PageNumber = 1
    /// The root of the catalog tree.
    package static let catalogRoot: PageNumber = 2
    /// The number of the catalog tree.
    package static let catalogTreeID: UInt32 = 1
    /// The number of the first tree that an application creates.
    package static let firstTreeID: UInt32 = 2
    /// The number of pages of an empty store: superblock, bitmap, catalog root.
    package static let initialPageCount: UInt32 = 3
}
