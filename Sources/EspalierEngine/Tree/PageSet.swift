// A set of page numbers: one bit per page of the store.

/// A set of page numbers below a page count.
package struct PageSet: Sendable {
    private var words: [UInt64]
    /// Page numbers at or beyond this one cannot be in the set.
    package let pageCount: UInt32
    /// How many pages are in the set.
    package private(set) var count = 0

    /// An empty set for a store of `pageCount` pages: `pageCount` / 8 bytes.
    package init(pageCount: UInt32) {
        self.pageCount = pageCount
        words = [UInt64](repeating: 0, count: Int(pageCount) / 64 + 1)
    }

    /// Whether `page` is in the set.
    package func contains(_ page: PageNumber) -> Bool {
        page < pageCount && words[Int(page) / 64] & (1 << UInt64(page % 64)) != 0
    }

    /// Adds `page`; returns whether it is a page of the store that was not in the set.
    package mutating func insert(_ page: PageNumber) -> Bool {
        guard page < pageCount, !contains(page) else { return false }
        words[Int(page) / 64] |= 1 << UInt64(page % 64)
        count += 1
        return true
    }
}
