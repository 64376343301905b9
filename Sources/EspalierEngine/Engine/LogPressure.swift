// The report to the application that old snapshots make its log grow.

/// A report of read transactions that do not see the newest commit and keep much of the log from being reused.
///
/// When the log reaches `byteCountMax`, the oldest of them expire, and their next read throws `snapshotExpired`.
public struct LogPressure: Sendable, Hashable {
    /// The read transaction that holds the log back.
    public struct Reader: Sendable, Hashable {
        /// The label passed to `beginRead(label:)`.
        public let label: String?
        /// The newest commit it sees.
        public let transactionID: UInt64
        /// The time since the first commit that it does not see, in nanoseconds.
        public let outdatedNanoseconds: UInt64
    }

    /// Log bytes that hold commits not yet in the store file.
    public let liveByteCount: UInt64
    /// Bytes of the log file.
    public let byteCount: UInt64
    /// The maximum size of the log file, in bytes.
    public let byteCountMax: Int
    /// How many open read transactions do not see the newest commit.
    public let outdatedReaderCount: Int
    /// The oldest of them.
    public let oldestReader: Reader
}
