// What an application is told when old snapshots make its log grow.

/// Read transactions that do not see the newest commit keep much of the log from being reused.
///
/// At `byteCountMax` the oldest of them are given up, and their next read throws `snapshotExpired`.
public struct LogPressure: Sendable, Hashable {
    /// The read transaction that holds the log back.
    public struct Reader: Sendable, Hashable {
        /// What `beginRead(label:)` was told to call it.
        public let label: String?
        /// The newest commit it sees.
        public let transactionID: UInt64
        /// For how long it has been behind: since the first commit that it does not see.
        public let outdatedNanoseconds: UInt64
    }

    /// Log bytes that hold commits not yet in the store file.
    public let liveByteCount: UInt64
    /// Bytes of the log file.
    public let byteCount: UInt64
    /// Bytes that the log file never exceeds.
    public let byteCountMax: Int
    /// How many open read transactions do not see the newest commit.
    public let outdatedReaderCount: Int
    /// The oldest of them.
    public let oldestReader: Reader
}
