// Why a backup or an increment cannot be used.

/// What is wrong with a file that is to be restored, or with where it is to be applied.
public enum BackupFault: UInt8, Sendable {
    /// The file is no backup and no increment, or a backup that was written to since.
    case notABackup
    /// The file is an increment, but not as it was written.
    case damaged
    /// The increment belongs to another store, or to what the store was before it was compacted.
    case otherStore
    /// The increment begins later than the copy ends: increments between them are missing.
    case missingIncrement
    /// The increment begins earlier than the copy ends, or on another history: it was applied, or never fits.
    case otherBase
    /// The copy was left half updated; apply the same increment, or a later one with the same base, again.
    case unfinished
    /// The store was not closed cleanly, so part of it is in its log: it was written to, or is open.
    case notClosed
}

extension BackupFault: CustomStringConvertible {
    /// A complete sentence: what is wrong, and what would be right.
    public var description: String {
        switch self {
        case .notABackup: "The file is not an untouched backup of a store, nor an increment."
        case .damaged: "The increment is damaged; take the backup again."
        case .otherStore: "The backup is one of another store, or was made before the store was compacted."
        case .missingIncrement: "The increment begins after the end of the copy; apply the increments between first."
        case .otherBase: "The increment does not begin where the copy ends."
        case .unfinished: "An update of this copy was interrupted; apply the same increment, or a later one, again."
        case .notClosed:
            "The backup is a store that was not closed cleanly; open it and close it, or make a backup of it."
        }
    }
}
