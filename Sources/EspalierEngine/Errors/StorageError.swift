// The one error type of the engine: every case carries facts, none carries prose.
//
// Invariants
//   1. The payload is trivial and at most 16 bytes: throwing costs no allocation.
//   2. `description` is a complete sentence: what was wrong, where, and what would be right. The path is not in it;
//      whoever knows the path puts it in front.
//   3. Whatever a file, a disk or a caller's data can cause is thrown; traps are for the engine's own mistakes.

/// Why a storage operation failed: the family of operations that it happens to, and what is wrong.
///
/// Documentation of operations names what they throw without the family if that is enough: `noEntry` stands for
/// `argument(.noEntry)`.
public enum StorageError: Error, Equatable, Sendable {
    /// A call to the operating system failed.
    case io(IOFailure)
    /// A page or a log frame breaks a rule of the file format.
    case corruption(Corruption)
    /// The disk (or the page number space) is full; the store can be read, and written once there is room.
    case diskFull
    /// The path, or what it leads to, cannot be the place of a store.
    case path(PathFault)
    /// The store cannot be opened.
    case opening(OpeningFault)
    /// The open database takes no more of what it was asked for.
    case database(DatabaseFault)
    /// The transaction cannot begin, go on or commit.
    case transaction(TransactionFault)
    /// The operation cannot be carried out as it was asked for; nothing changed.
    case argument(ArgumentFault)
    /// A work on the whole store did not end with a result.
    case maintenance(MaintenanceFault)
    /// A backup or an increment cannot be used.
    case backup(BackupFault)

    /// Whether the error is about what the caller asked for: it is found before anything changes.
    var isAboutArguments: Bool {
        switch self {
        case .argument, .transaction(.ended), .transaction(.noSuchSavepoint): true
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
