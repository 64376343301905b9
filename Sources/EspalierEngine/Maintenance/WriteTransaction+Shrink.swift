// The shrink of a store in place, some pages at a time.

/// The result of a call of `shrink`.
public struct ShrinkReceipt: Sendable, Hashable {
    /// How many pages it moved.
    public let pagesMoved: Int
    /// The page count of the store before it.
    public let pageCountBefore: UInt32
    /// The page count of the store after it.
    public let pageCount: UInt32
    /// Whether there is nothing left to move.
    public let isComplete: Bool
}

extension WriteTransaction {
    /// Moves pages from the end of the store to free places before them, so that the file can become shorter.
    ///
    /// After many removals call it until it `isComplete`, each time in a transaction of its own, so that other writers
    /// get their turn. The first checkpoint after the commit that no older snapshot holds back truncates the file.
    /// Unlike ``Database/compact(to:progress:)`` it needs no second file; pages stay as full as they are.
    ///
    /// - Parameter pageMax: the maximum number of pages to move, at least 1. Each moved page uses a page of log, and so
    ///   does each page that refers to one: its parent, or the pages before it in a run of a long value.
    /// - Throws: `transaction(.failed)`, `transaction(.ended)`, `corruption`, `logFull`, `diskFull`, `io`.
    /// - Complexity: O(`pageMax` log n) pages; if a page of a long value moves, also the leaves of its tree.
    @discardableResult
    public mutating func shrink(movingAtMost pageMax: Int = 1024) throws(StorageError) -> ShrinkReceipt {
        try change { pages throws(StorageError) in
            let pageMax = max(pageMax, 1)
            let before = pages.pageCount
            try pages.trees.writeChangedRecords(to: pages)
            var shrink = try Shrink(pages, pageMax: pageMax)
            pages.trees.forgetHints()
            pages.treeChangeCount &+= 1
            try shrink.run()
            return ShrinkReceipt(
                pagesMoved: shrink.moveCount, pageCountBefore: before, pageCount: pages.pageCount,
                isComplete: shrink.isComplete(pageMax: pageMax))
        }
    }
}
