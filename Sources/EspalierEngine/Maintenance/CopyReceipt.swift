// The progress and the result of copying a store.

/// The progress of a backup, a restore or a compaction.
public struct CopyProgress: Sendable, Hashable {
    /// Pages done so far.
    public let pagesDone: UInt64
    /// Pages to do.
    public let pageCount: UInt64
}

/// The content and the size of a copy.
public struct CopyReceipt: Sendable, Hashable {
    /// The newest transaction in it.
    public let transactionID: UInt64
    /// The log position of that transaction's commit, in bytes.
    public let lsn: UInt64
    /// Pages that were written.
    public let pagesWritten: UInt64
    /// Bytes of the file; parts of it may be holes that use no space.
    public let byteCount: UInt64
}

/// Called now and then while a store is copied; returning `false` ends the copy with `cancelled`.
public typealias CopyWatcher = (CopyProgress) -> Bool

/// Reports progress to a watcher.
struct CopyReport {
    let watcher: CopyWatcher?
    let pageCount: UInt64

    /// Reports `pagesDone`; throws `cancelled` if the watcher returns `false`.
    func advance(to pagesDone: UInt64) throws(StorageError) {
        guard let watcher else { return }
        let progress = CopyProgress(pagesDone: min(pagesDone, pageCount), pageCount: pageCount)
        assert(progress.pagesDone <= progress.pageCount, "\(progress.pagesDone) of \(progress.pageCount) pages")
        guard watcher(progress) else { throw .maintenance(.cancelled) }
    }
}
