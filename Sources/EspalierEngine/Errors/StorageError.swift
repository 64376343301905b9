// The one error type of the engine: every case carries facts, none carries prose.
//
// Invariants
//   1. The payload is trivial and at most 16 bytes: throwing costs no allocation.
//   2. `description` is a complete sentence: what was wrong, where, and what would be right. The path is not in it;
//      whoever knows the path puts it in front.
//   3. Whatever a file, a disk or a caller's data can cause is thrown; traps are for the engine's own mistakes.

/// Why a storage operation failed.
public enum StorageError: Error, Equatable, Sendable {
    /// A call to the operating system failed.
    case io(IOFailure)
    /// A page or a log frame breaks a rule of the file format.
    case corruption(Corruption)
    /// The file is not a store at all.
    case notAStore(NotAStoreReason)
    /// The superblock is damaged, but its copy is intact: the store can be read, and repaired.
    case superblockDamaged
    /// The store's format version is not one this engine reads (0x00MMmmmm: major and minor).
    case unsupportedFormat(found: UInt32, supported: UInt32)
    /// The store uses incompatible features this engine does not know (their bits).
    case unsupportedFeatures(UInt64)
    /// There is no file at the path, and none was to be created.
    case noSuchStore
    /// The path, or what it leads to, cannot be the place of a store.
    case path(PathFault)
    /// A process, perhaps this one, holds the store; `pid` is 0 when it is unknown.
    case storeBusy(pid: Int32)
    /// The operation writes and the store was opened for reading only.
    case readOnly
    /// The database was closed.
    case closed
    /// The database cannot close: that many transactions are still open.
    case transactionsOpen(count: UInt32)
    /// This thread began a write transaction of the store that is still open: waiting for its end would never end.
    case alreadyWriting
    /// The transaction (or the cursor's transaction) has ended.
    case transactionEnded
    /// An earlier write transaction operation failed half-way; this transaction can only be rolled back.
    case transactionFailed
    /// A sync failed earlier, so nothing more may be written until the store is opened again.
    case poisoned(errno: Int32)
    /// The sync of this commit failed: after the next open it is there completely or not at all.
    case commitOutcomeUnknown
    /// The snapshot is gone: the log reached its cap and the oldest were given up, or another process overwrote what
    /// was being read; begin a new read transaction.
    case snapshotExpired
    /// The disk (or the page number space) is full; the store can be read, and written once there is room.
    case diskFull
    /// The log is full of commits that open snapshots still need.
    case logFull
    /// Acknowledged commits in the log are damaged from this logical position on.
    case logCorrupt(lsn: UInt64)
    /// The store was not closed cleanly, and there is no log beside it.
    case logMissing
    /// `immutable` was asked for, but the store was not closed cleanly: its log holds commits.
    case notClean
    /// The key is longer than the tree's limit.
    case keyTooLong(byteCount: UInt32, maximum: UInt32)
    /// The value is longer than the format can hold.
    case valueTooLarge(byteCount: UInt64)
    /// An integer key was used on a tree of bytes keys or the other way round.
    case wrongKeyKind(tree: UInt32)
    /// The tree does not exist in this snapshot (it was never created, or dropped).
    case noSuchTree(UInt32)
    /// The handle with this number names a tree of another store.
    case treeOfAnotherStore(UInt32)
    /// A tree must have a name.
    case emptyName
    /// A tree of that name exists already, with this id.
    case treeExists(UInt32)
    /// The savepoint is another transaction's, was released, or forgotten when an earlier one was gone back to.
    case noSuchSavepoint
    /// Only an empty tree can be loaded, and this one has entries.
    case treeNotEmpty(UInt32)
    /// The keys of entries to be loaded do not ascend; nothing was loaded.
    case keysNotAscending
    /// The cursor stands on no entry, or on one that its transaction has removed since.
    case noEntry
    /// An option has a value the engine cannot work with.
    case invalidOption(OptionName)
    /// There is a file at the path where a new one was to be made.
    case destinationExists
    /// The watcher of a long work ended it.
    case cancelled
    /// A backup or an increment cannot be used.
    case backup(BackupFault)
    /// The log no longer holds all commits after the position; go on from an increment.
    case changesGone
    /// The store's name is no longer that of the file that was opened: it was renamed, removed, compacted or restored.
    case storeReplaced
    /// The store file, or the log, was removed while the database was open: a commit would be lost.
    case removed(FileRole)
    /// The database was opened by another process (its number), of which this one is a fork.
    case forked(from: Int32)

    /// Whether the error is about what the caller asked for: it is found before anything changes.
    var isAboutArguments: Bool {
        switch self {
        case .keyTooLong, .valueTooLarge, .wrongKeyKind, .noSuchTree, .treeOfAnotherStore, .emptyName, .treeExists,
            .noEntry, .transactionEnded, .noSuchSavepoint, .treeNotEmpty, .keysNotAscending:
            true
        default: false
        }
    }

    /// Makes the error for a rule broken at `byteOffset` of `page`.
    package static func corrupt(
        _ rule: CorruptionRule, page: PageNumber, tree: UInt32 = 0, byteOffset: Int = 0, file: FileRole = .store
    ) -> StorageError {
        .corruption(
            Corruption(
                page: page, treeID: tree, byteOffset: UInt32(truncatingIfNeeded: byteOffset), rule: rule, file: file))
    }
}

/// Which of a store's files an error is about.
public enum FileRole: UInt8, Sendable {
    /// The file of pages.
    case store
    /// The write-ahead log beside it.
    case log
    /// The directory that holds both.
    case directory
    /// A file that is being made of a store: a backup, an increment, a compact store.
    case copy
}

/// The operation of the operating system that failed.
public enum IOOperation: UInt8, Sendable {
    case open, read, write, sync, size, truncate, allocate, lock, rename, remove, random, clock
}

/// A failed call to the operating system.
public struct IOFailure: Hashable, Sendable {
    /// What was attempted.
    public let operation: IOOperation
    /// On which file.
    public let file: FileRole
    /// The operating system's error number; 0 when it reported success but did less than asked.
    public let errno: Int32

    /// States a failed call.
    public init(operation: IOOperation, file: FileRole, errno: Int32) {
        self.operation = operation
        self.file = file
        self.errno = errno
    }
}

/// A broken rule of the file format, and where.
public struct Corruption: Hashable, Sendable {
    /// The page, or 0 for the superblock and for places in the log.
    public let page: PageNumber
    /// The tree that was being read, 0 when it is unknown.
    public let treeID: UInt32
    /// Offset of the offending bytes within the page (or within the log file).
    public let byteOffset: UInt32
    /// The rule that is broken.
    public let rule: CorruptionRule
    /// The file that holds the bytes.
    public let file: FileRole

    /// States a broken rule.
    public init(page: PageNumber, treeID: UInt32, byteOffset: UInt32, rule: CorruptionRule, file: FileRole) {
        self.page = page
        self.treeID = treeID
        self.byteOffset = byteOffset
        self.rule = rule
        self.file = file
    }
}

/// What a file is instead of a store.
public enum NotAStoreReason: UInt8, Sendable {
    case empty, tooShort, directory, notAFile, wrongMagic, textMangled, damagedSuperblock
}

/// An option of `DatabaseOptions`.
public enum OptionName: UInt8, Sendable {
    case pageSize, cacheByteCount, logSegmentByteCount, logSoftCap, logByteCountMax, checkpointThreshold
}
