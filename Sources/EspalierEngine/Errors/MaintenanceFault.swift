// Why a backup, a compaction or another work on a whole store did not end with a result.

/// What is in the way of a work on a whole store.
public enum MaintenanceFault: UInt8, Sendable {
    /// There is a file at the path where a new one was to be made.
    case destinationExists
    /// The watcher of a long work ended it.
    case cancelled
    /// The log no longer holds all commits after the position; go on from an increment.
    case changesGone
}

extension MaintenanceFault: CustomStringConvertible {
    /// A complete sentence: what is wrong, and what would be right.
    public var description: String {
        switch self {
        case .destinationExists: "There is a file at the destination already; remove it or choose another name."
        case .cancelled: "The work was cancelled before its end; nothing was changed."
        case .changesGone:
            "The log no longer holds all commits after this position; bring the copy forward by an increment first."
        }
    }
}
