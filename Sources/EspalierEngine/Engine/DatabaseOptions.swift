// The options for opening and creating a store.

/// The condition under which a commit returns.
public enum Durability: UInt8, Sendable {
    /// The commit survives a power loss: its log bytes were synced.
    case durable
    /// The commit is in the log, in order: after a power loss some newest commits may be missing, never one in between.
    case ordered
    /// The commit is in the log; used by stores in memory.
    ///
    /// On a file it is the same as `ordered`.
    case none
}

/// The effect of a checkpoint on the log.
public enum CheckpointMode: UInt8, Sendable {
    /// Copies the commits that every open snapshot sees into the store file; waits for no transaction.
    case passive
    /// Like `passive`, but waits for the open write transaction, and fails with `logFull` if an older snapshot keeps
    /// part of the log.
    case full
    /// Like `full`, and also removes the log; the next write transaction creates it again.
    case truncate
}

/// The thread that moves committed pages from the log into the store file.
public enum Checkpointing: UInt8, Sendable {
    /// The thread whose commit makes a checkpoint due.
    case inCommit
    /// A thread of the store for this purpose, from the first write until the store is closed.
    case background
}

/// The options for opening and creating a store.
public struct DatabaseOptions: Sendable {
    /// The ways to access a store.
    public enum Access: UInt8, Sendable {
        /// This process reads and writes; other processes can only read.
        case readWrite
        /// This database writes nothing, neither to the store nor beside it; it follows an unreplayed log in memory.
        case readOnly
        /// Like `readOnly`, without locks: the file must not change while it is open, and must have been closed
        /// cleanly.
        case immutable
    }

    /// The access of this process to the store.
    public var access: Access = .readWrite
    /// Whether a missing store is created.
    public var createIfMissing = true
    /// Bytes per page of a store that is created: a power of two, 4,096...65,536.
    ///
    /// The default is best for rows that are read and written one by one; stores that are mostly scanned gain from
    /// 16,384 (the article on the file format shows the measurement).
    public var pageSize = 4096
    /// Bytes of pages kept in memory: from 0 to the memory of the machine; less than 16 pages count as 16.
    ///
    /// A process uses about 24 MiB more with the default log sizes, however large the store is (`bench --memory 5`).
    public var cacheByteCount = 32 << 20
    /// The durability of a `commit()` that names none.
    public var durability = Durability.durable
    /// Bytes per log segment of a log that is created: a multiple of 4,096, from 64 KiB to 64 MiB; less than 8 pages
    /// count as 8.
    public var logSegmentByteCount = 4 << 20
    /// The number of log bytes not yet in the store file above which `onLogPressure` is called.
    public var logSoftCap = 64 << 20
    /// The maximum number of log bytes; before it is exceeded, the oldest snapshots expire.
    ///
    /// It also limits the changes of one transaction, which gets `logFull`: pages that do not fit into half of the
    /// cache are written to the log during the transaction, and again each time they change. 1 GiB of entries in
    /// ascending order uses 1.03 GiB of log.
    public var logByteCountMax = 4 << 30
    /// Bytes of new log after which a passive checkpoint is made.
    public var checkpointThreshold = 8 << 20
    /// The thread that makes passive checkpoints.
    ///
    /// With `background` no commit waits for a checkpoint, unless the log is at its cap. If the system cannot create a
    /// thread, `background` behaves like `inCommit`.
    public var checkpointing = Checkpointing.inCommit
    /// Called when old snapshots keep more than `logSoftCap` bytes of the log from being reused, and again with each
    /// `checkpointThreshold` bytes that follow.
    ///
    /// It runs on the thread that makes checkpoints, which holds no lock of the engine then. It may read and write,
    /// and ask other threads to end their transactions, but it must not open or close a store.
    public var onLogPressure: (@Sendable (LogPressure) -> Void)?
    /// Identifies the application's file type; stored when the store is created.
    public var applicationID: UInt32 = 0
    /// The application's schema version; stored when the store is created.
    public var applicationVersion: UInt32 = 0

    /// The defaults.
    public init() {}
}
