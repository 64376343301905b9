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
    public var pageSize = 4096
    /// Bytes of pages kept in memory.
    public var cacheByteCount = 32 << 20
    /// What `commit()` waits for when it is not told.
    public var durability = Durability.durable
    /// Bytes per log segment of a log that is created: a multiple of 4,096, at least 64 KiB.
    public var logSegmentByteCount = 4 << 20
    /// Log bytes from which on a commit tries to make a checkpoint first and old readers are warned.
    public var logSoftCap = 64 << 20
    /// Log bytes that are never exceeded: the oldest snapshots are given up before.
    public var logByteCountMax = 1 << 30
    /// Bytes of new log after which a commit makes a passive checkpoint.
    public var checkpointThreshold = 4 << 20
    /// Identifies the application's file type; stored when the store is created.
    public var applicationID: UInt32 = 0
    /// The application's schema version; stored when the store is created.
    public var applicationVersion: UInt32 = 0

    /// The defaults.
    public init() {}
}
