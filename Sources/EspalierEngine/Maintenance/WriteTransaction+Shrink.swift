// Making a store shorter in place, some pages at a time.

/// What a call of `shrink` did.
public struct ShrinkReceipt: Sendable, Hashable {
    /// How many pages it moved.
    public let pagesMoved: Int
    /// The pages of the store before it.
    public let pageCountBefore: UInt32
    /// The pages of the store after it.
    public let pageCount: UInt32
    /// Whether there is nothing left to move.
    public let isComplete: Bool
}

extension WriteTransaction {
    /// Moves pages from the end of the store to free places before them, so that the file can become shorter.
    ///
    /// After many removals call it until it `isComplete`, each time in a transaction of its own, so that other writers
    /// get their turn. The file is cut by the first checkpoint behind the commit that no older snapshot holds back.
    /// Unlike ``Database/compact(to:progress:)`` it needs no second file; pages stay as full as they are.
    ///
    /// - Parameter pageMax: how many pages are moved at most, at least 1. Each takes a page of log, and so does each
    ///   page that refers to a moved one: its parent, or the pages before it in a run of a long value.
    /// - Throws: `transaction(.failed)`, `transaction(.ended)`, `corruption`, `logFull`, `diskFull`, `io`.
    /// - Complexity: O(`pageMax` log n) pages; where a page of a long value is to be moved, the leaves of its tree.
    @discardableResult
    public mutating func shrink(movingAtMost pageMax: Int = 1024) throws(StorageError) -> ShrinkReceipt {
        try guarding { pages throws(StorageError) in
            let pageMax = max(pageMax, 1)
            let before = pages.pageCount
            try pages.trees.store(in: pages)
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
