// The reasons why a backup, a compaction or another operation on a whole store did not finish.

/// An obstacle to an operation on a whole store.
public enum MaintenanceFault: UInt8, Sendable {
    /// A file exists at the path of the file to be made.
    case destinationExists
    /// The progress closure of the operation returned `false`.
    case cancelled
    /// The log no longer holds all commits after the position; continue from an increment.
    case changesGone
}

extension MaintenanceFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .destinationExists: "A file exists at the destination already; remove it, or choose another name."
        case .cancelled: "The work was cancelled before it was complete; nothing was changed."
        case .changesGone:
            "The log no longer holds all commits after this position; update the copy with an increment first."
        }
    }
}
