// Numbers about an open store, for tools and tests.

/// Numbers about an open store.
public struct DatabaseStatistics: Sendable, Hashable {
    /// Pages of the store, free ones included.
    public var pageCount: UInt64 = 0
    /// Pages that are free.
    public var freePageCount: UInt64 = 0
    /// Bytes of the log file.
    public var logByteCount: UInt64 = 0
    /// Log bytes that hold commits not yet in the store file.
    public var logLiveByteCount: UInt64 = 0
    /// The number of the newest commit.
    public var transactionID: UInt64 = 0
    /// Open read transactions.
    public var snapshotCount = 0
    /// Pages that were read from a file, when they were asked for or ahead of a walk.
    public var cacheMisses: UInt64 = 0
    /// Pages the cache can hold.
    public var cachePageCapacity = 0
    /// Checkpoints made since the store was opened.
    public var checkpointCount: UInt64 = 0
    /// Syncs of any file since the store was opened.
    public var syncCount: UInt64 = 0
}

/// The result of a checkpoint.
public struct CheckpointResult: Sendable, Hashable {
    /// Pages copied from the log into the store file.
    public var pageCount = 0
    /// Whether the log holds no commit that is not in the store file.
    public var isComplete = false
}

/// Proof of a commit.
public struct CommitReceipt: Sendable, Hashable {
    /// The number of the transaction; numbers rise by one with each commit that changed something.
    public let transactionID: UInt64
    /// The log position of the commit.
    public let lsn: UInt64
}
