// The reasons why a transaction cannot begin, continue or commit.

/// A fault of a transaction, or an obstacle to its commit.
public enum TransactionFault: UInt8, Sendable {
    /// This thread began a write transaction of the store that is still open; waiting for its end would block forever.
    case alreadyWriting
    /// The transaction (or the cursor's transaction) has ended.
    case ended
    /// An earlier write transaction operation failed half-way; this transaction can only be rolled back.
    case failed
    /// The snapshot has expired: the log reached its cap and the oldest snapshots were ended, or another process
    /// overwrote pages of the snapshot; begin a new read transaction.
    case snapshotExpired
    /// The log is full: open snapshots still need its commits, or the transaction is larger than the log's cap.
    case logFull
    /// A sync on which this commit depends failed: its own or one that it shares, that of a durable commit before it,
    /// or one of those with which the first commit of a session makes its log count, whatever its durability.
    ///
    /// Read transactions of this process do not see the commit, and it writes no other one. After the next open the
    /// commit is there completely or not at all.
    case commitOutcomeUnknown
    /// The savepoint belongs to another transaction, was released, or was discarded by a rollback to an earlier one.
    case noSuchSavepoint
}

extension TransactionFault: CustomStringConvertible {
    /// A complete sentence that names the fault and the remedy.
    public var description: String {
        switch self {
        case .alreadyWriting:
            "This thread has an open write transaction of this store; "
                + "end it before you begin another one, or run a full checkpoint."
        case .ended: "The transaction has ended; begin a new one."
        case .failed:
            "An earlier operation of this write transaction failed; roll the transaction back, completely or to a "
                + "savepoint."
        case .snapshotExpired:
            "The snapshot has expired: the log reached its cap, or another process overwrote the pages of the "
                + "snapshot; "
                + "begin a new read transaction."
        case .logFull:
            "The log has no room, or cannot be emptied: the transaction is larger than the cap, or a snapshot is open; "
                + "end open transactions, or raise logByteCountMax."
        case .commitOutcomeUnknown:
            "A sync on which this commit depends failed; close the store and open it again: it then has the whole "
                + "commit or none of it."
        case .noSuchSavepoint:
            "The savepoint is not open in this transaction: it was released, or a rollback to an earlier one "
                + "discarded it."
        }
    }
}
