// What those who copy a store are told: how far the copy is, and what it holds in the end.

/// How far a backup, a restore or a compaction is.
public struct CopyProgress: Sendable, Hashable {
    /// Pages that were looked at so far.
    public let pagesDone: UInt64
    /// Pages to look at.
    public let pageCount: UInt64
}

/// What a copy holds.
public struct CopyReceipt: Sendable, Hashable {
    /// The newest transaction in it.
    public let transactionID: UInt64
    /// The log position of that transaction's commit, in bytes.
    public let lsn: UInt64
    /// Pages that were written.
    public let pagesWritten: UInt64
    /// Bytes of the file; parts of it may be holes that take no space.
    public let byteCount: UInt64
}

/// Called now and then while a store is copied; returning `false` ends the copy with `cancelled`.
public typealias CopyWatcher = (CopyProgress) -> Bool

/// Tells a watcher how far the work is.
struct CopyReport {
    let watcher: CopyWatcher?
    let pageCount: UInt64

    /// Throws `cancelled` if the watcher wants no more.
    func advance(to pagesDone: UInt64) throws(StorageError) {
        guard let watcher else { return }
        let progress = CopyProgress(pagesDone: min(pagesDone, pageCount), pageCount: pageCount)
        guard watcher(progress) else { throw .maintenance(.cancelled) }
    }
}
