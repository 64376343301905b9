// The reasons why an open database refuses an operation.

/// A state of an open database, or of its files, in which it refuses an operation.
public enum DatabaseFault: Hashable, Sendable {
    /// The operation writes and the store was opened for reading only.
    case readOnly
    /// The database was closed.
    case closed
    /// The database cannot close: that many transactions are still open.
    case transactionsOpen(count: UInt32)
    /// A sync failed earlier, so nothing more may be written until the store is opened again.
    case poisoned(errno: Int32)
    /// The store's name no longer leads to the file that was opened: it was renamed, removed, compacted or restored.
    case storeReplaced
    /// The store file, or the log, was removed while the database was open: a commit would be lost.
    case removed(FileRole)
    /// Another process opened the database, and this process is a fork of it; `from` is that process's number.
    case forked(from: Int32)
}

extension DatabaseFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .readOnly:
            "The store can only be read: this process has it open with access .readOnly, or a newer version wrote it; "
                + "close its databases here and open it with access .readWrite, or use the newer version."
        case .closed: "The database was closed; open it again to use it."
        case .transactionsOpen(let count):
            "The database cannot be closed while transactions are open (\(count)); end them first."
        case .poisoned(let errno):
            "A sync to disk failed earlier (errno \(errno)); close the database and open it again, "
                + "which recovers the committed data."
        case .storeReplaced:
            "The file that was opened no longer has the store's name: it was renamed or removed, or another one took "
                + "its place; open the store again."
        case .removed(.log):
            "The store's log was removed while the store was open; close the database, which moves all commits into "
                + "the store file."
        case .removed:
            "The store file was removed while the store was open; make a backup to keep its contents, and open the "
                + "backup."
        case .forked(let pid):
            "Process \(pid) opened the database, and this process is a fork of it; open the store again here after "
                + "process \(pid) has closed it."
        }
    }
}
