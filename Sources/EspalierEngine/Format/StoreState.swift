// The state of the whole store after one commit: all that a snapshot needs besides the page versions.

/// The state of a store after a commit.
package struct StoreState: Hashable, Sendable {
    /// The newest transaction; 0 in a new store.
    package var transactionID: UInt64
    /// The log position after the commit; page versions before it belong to this state.
    package var commitLSN: UInt64
    /// The log's chain value at `commitLSN`.
    package var chain: UInt64
    /// Pages of the store, free ones included.
    package var pageCount: UInt32
    /// The number of free pages.
    package var freeCount: UInt32
    /// The root of the catalog tree.
    package var catalogRoot: PageNumber
    /// The number that the next tree gets.
    package var nextTreeID: UInt32

    /// The state that an increment describes; no log continues from it.
    init(
        transactionID: UInt64, commitLSN: UInt64, pageCount: UInt32, freeCount: UInt32, catalogRoot: PageNumber,
        nextTreeID: UInt32
    ) {
        self.transactionID = transactionID
        self.commitLSN = commitLSN
        chain = 0
        self.pageCount = pageCount
        self.freeCount = freeCount
        self.catalogRoot = catalogRoot
        self.nextTreeID = nextTreeID
    }

    /// The state that a checkpoint slot describes.
    package init(_ slot: CheckpointSlot) {
        transactionID = slot.transactionID
        commitLSN = slot.checkpointLSN
        chain = slot.chainSeed
        pageCount = slot.pageCount
        freeCount = slot.freeCount
        catalogRoot = slot.catalogRoot
        nextTreeID = slot.nextTreeID
    }

    /// The state that a commit record describes.
    ///
    /// - Parameter chain: the chain value after the commit frame.
    package init(_ record: CommitRecord, chain: UInt64) {
        transactionID = record.transactionID
        commitLSN = record.commitLSN
        self.chain = chain
        pageCount = record.pageCount
        freeCount = record.freeCount
        catalogRoot = record.catalogRoot
        nextTreeID = record.nextTreeID
    }
}
