// A set of page numbers: one bit per page, only for those parts of the store that have pages in the set.
//
// Invariants
//   1. Memory depends on the inserted pages, not on the page count that a file claims: 512 bytes for each part of 4,096
//      pages that has any, and 8 bytes for each part before the last of them (8 MiB at most). A page of a damaged store
//      can name pages in hundreds of parts.

/// A set of page numbers below a page count.
package struct PageSet: Sendable {
    private static let pagesPerPart = 1 << 12

    /// The bits of each part, up to the last that has any; empty if none of the part's pages is in the set.
    private var parts: [[UInt64]] = []
    /// Page numbers at or beyond this one cannot be in the set.
    package let pageCount: UInt32
    /// The number of pages in the set.
    package private(set) var count = 0

    /// An empty set for a store of `pageCount` pages.
    package init(pageCount: UInt32) { self.pageCount = pageCount }

    /// Whether `page` is in the set.
    package func contains(_ page: PageNumber) -> Bool {
        guard page < pageCount else { return false }
        let (part, bit) = Int(page).quotientAndRemainder(dividingBy: Self.pagesPerPart)
        return part < parts.count && !parts[part].isEmpty && parts[part][bit / 64] & (1 << UInt64(bit % 64)) != 0
    }

    /// A bit for each of the 64 pages from `first` on, a multiple of 64, that is in the set: the lowest for `first`.
    package func word(at first: UInt64) -> UInt64 {
        assert(first % 64 == 0, "page \(first)")
        guard first < UInt64(pageCount) else { return 0 }
        let (part, bit) = Int(first).quotientAndRemainder(dividingBy: Self.pagesPerPart)
        return part >= parts.count || parts[part].isEmpty ? 0 : parts[part][bit / 64]
    }

    /// Adds `page`; returns whether it is a page of the store that was not in the set.
    package mutating func insert(_ page: PageNumber) -> Bool {
        guard page < pageCount, !contains(page) else { return false }
        let (part, bit) = Int(page).quotientAndRemainder(dividingBy: Self.pagesPerPart)
        while parts.count <= part { parts.append([]) }
        if parts[part].isEmpty { parts[part] = [UInt64](repeating: 0, count: Self.pagesPerPart / 64) }
        parts[part][bit / 64] |= 1 << UInt64(bit % 64)
        count += 1
        assert(contains(page) && count <= pageCount, "page \(page) of \(pageCount) is not in the set")
        return true
    }
}
