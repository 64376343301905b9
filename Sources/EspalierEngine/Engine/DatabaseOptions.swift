// How a store is opened, and what it is created with.

/// When a commit may return.
public enum Durability: UInt8, Sendable {
    /// When it survives a power loss: its log bytes were synced.
    case durable
    /// When it is in the log, in order: after a power loss some newest commits may be gone, never one in between.
    case ordered
    /// When it is in the log; used by stores in memory.
    ///
    /// On a file it is the same as `ordered`.
    case none
}

/// What a checkpoint does with the log.
public enum CheckpointMode: UInt8, Sendable {
    /// Copies what no open snapshot hinders into the store file; waits for nobody.
    case passive
    /// As `passive`, and fails with `logFull` if an older snapshot keeps part of the log.
    case full
    /// As `full`, and shrinks the log to its smallest size.
    case truncate
}

/// Which thread moves committed pages from the log into the store file.
public enum Checkpointing: UInt8, Sendable {
    /// The one whose commit makes a checkpoint due.
    case inCommit
    /// One that the store has for this, from the first write until it is closed.
    case background
}

/// How a store is opened, and what it is created with.
public struct DatabaseOptions: Sendable {
    /// Who may change the store through this database.
    public enum Access: UInt8, Sendable {
        /// This process reads and writes; others are kept out, except readers.
        case readWrite
        /// Nothing is ever written, neither to the store nor beside it; an unreplayed log is followed in memory.
        case readOnly
        /// As `readOnly`, without locks: the file must not change while it is open, and must have been closed cleanly.
        case immutable
    }

    /// Who may change the store.
    public var access: Access = .readWrite
    /// Whether a missing store is created.
    public var createIfMissing = true
    /// Bytes per page of a store that is created: a power of two, 4,096...65,536.
    ///
    /// The default is the best for rows that are read and written one by one; stores that are mostly scanned gain from
    /// 16,384 (the article on the file format shows the measurement).
    public var pageSize = 4096
    /// Bytes of pages kept in memory: from 0 to the memory of the machine; less than 16 pages count as 16.
    ///
    /// A process takes about 24 MiB more with the default log sizes, however large the store is (`bench --memory 5`).
    public var cacheByteCount = 32 << 20
    /// What `commit()` waits for when it is not told.
    public var durability = Durability.durable
    /// Bytes per log segment of a log that is created: a multiple of 4,096, from 64 KiB to 64 MiB; less than 8 pages
    /// count as 8.
    public var logSegmentByteCount = 4 << 20
    /// Log bytes not yet in the store file from which on `onLogPressure` is called.
    public var logSoftCap = 64 << 20
    /// Log bytes that are never exceeded: the oldest snapshots are given up before.
    ///
    /// It bounds what one transaction can change, too, with `logFull`: pages that do not fit into half of the cache go
    /// to the log while the transaction is going on, and again each time they change. 1 GiB of entries in ascending
    /// order takes 1.03 GiB of log.
    public var logByteCountMax = 4 << 30
    /// Bytes of new log after which a passive checkpoint is made.
    public var checkpointThreshold = 8 << 20
    /// Which thread makes passive checkpoints.
    ///
    /// On `background` no commit waits for one, unless the log is at its cap. If the system has no thread to give, it
    /// is as `inCommit`.
    public var checkpointing = Checkpointing.inCommit
    /// Called when old snapshots keep more than `logSoftCap` bytes of the log from being reused, and again with each
    /// `checkpointThreshold` bytes that follow.
    ///
    /// It runs on the thread that makes checkpoints, which holds no lock of the engine then. It may read and write,
    /// and tell others to end their transactions, but not open or close a store.
    public var onLogPressure: (@Sendable (LogPressure) -> Void)?
    /// Identifies the application's file type; stored when the store is created.
    public var applicationID: UInt32 = 0
    /// The application's schema version; stored when the store is created.
    public var applicationVersion: UInt32 = 0

    /// The defaults.
    public init() {}
}
