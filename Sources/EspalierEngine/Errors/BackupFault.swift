// The reasons why a backup or an increment cannot be used.

/// A fault of a backup or an increment, or of the copy that an increment is applied to.
public enum BackupFault: UInt8, Sendable {
    /// The file is neither a backup nor an increment, or it is a backup that was written to.
    case notABackup
    /// The file is an increment, but its bytes are not those that were written.
    case damaged
    /// The increment belongs to another store, or to this store before it was compacted.
    case otherStore
    /// The increment begins later than the copy ends: increments between them are missing.
    case missingIncrement
    /// The increment begins before the end of the copy, or in another history: it was applied, or can never be applied.
    case otherBase
    /// An update of the copy was interrupted; apply the same increment, or a later one with the same base, again.
    case unfinished
    /// The store was not closed cleanly, so part of it is in its log: it was written to, or is open.
    case notClosed
}

extension BackupFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .notABackup:
            "The file is neither an increment nor an unchanged backup; use a file that a backup made and nothing "
                + "changed."
        case .damaged: "The increment is damaged; make it again."
        case .otherStore:
            "The backup or increment belongs to another store, or to this store before it was compacted; make a full "
                + "backup."
        case .missingIncrement:
            "The increment begins after the end of the copy; apply the increments between them first."
        case .otherBase:
            "The increment does not begin where the copy ends: it was applied already, or the store's history has "
                + "changed "
                + "since; leave it out, or make a full backup."
        case .unfinished:
            "An update of this copy was interrupted; apply the same increment again, or one that ends later."
        case .notClosed:
            "The backup is a store that was not closed cleanly; open and close it, or make a backup of it."
        }
    }
}
