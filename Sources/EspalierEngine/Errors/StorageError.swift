// The one error type of the engine: every case carries facts, none carries prose.
//
// Invariants
//   1. The payload is trivial and at most 16 bytes: throwing costs no allocation.
//   2. `description` is a complete sentence that names the fault, its place and the remedy. It does not contain the
//      path; a caller that knows the path puts it in front.
//   3. The engine throws for every fault that a file, a disk or a caller's data can cause; it traps only for its own
//      mistakes.

/// The reason why a storage operation failed: a family of operations, and the fault within it.
///
/// The documentation of an operation names an error without its family if the name is clear: `noEntry` means
/// `argument(.noEntry)`.
public enum StorageError: Error, Equatable, Sendable {
    /// A call to the operating system failed.
    case io(IOFailure)
    /// A page or a log frame breaks a rule of the file format.
    case corruption(Corruption)
    /// The disk (or the page number space) is full; the store can be read, and written once there is room.
    case diskFull
    /// The path, or the file it leads to, cannot hold a store.
    case path(PathFault)
    /// The store cannot be opened.
    case opening(OpeningFault)
    /// The open database refuses the operation.
    case database(DatabaseFault)
    /// The transaction cannot begin, continue or commit.
    case transaction(TransactionFault)
    /// The operation cannot use its arguments; nothing changed.
    case argument(ArgumentFault)
    /// An operation on the whole store did not finish.
    case maintenance(MaintenanceFault)
    /// A backup or an increment cannot be used.
    case backup(BackupFault)

    /// Whether the error is about the caller's arguments; such an error is found before anything changes.
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

/// The file of a store that an error is about.
public enum FileRole: UInt8, Sendable {
    /// The file of pages.
    case store
    /// The write-ahead log beside it.
    case log
    /// The directory that holds both.
    case directory
    /// A file that is being made from a store: a backup, an increment, a compact store.
    case copy
    /// A file without a name that has data of one operation, such as a large sort.
    case scratch
}

/// The operation of the operating system that failed.
public enum IOOperation: UInt8, Sendable {
    case open, read, write, sync, size, truncate, allocate, lock, rename, remove, random, clock, permissions
}

/// A failed call to the operating system.
public struct IOFailure: Hashable, Sendable {
    /// The operation that was attempted.
    public let operation: IOOperation
    /// The file that the operation was for.
    public let file: FileRole
    /// The operating system's error number; 0 when it reported success but did less than asked.
    public let errno: Int32

    /// Creates the description of a failed call.
    public init(operation: IOOperation, file: FileRole, errno: Int32) {
        self.operation = operation
        self.file = file
        self.errno = errno
    }
}

/// A broken rule of the file format, and its place.
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

    /// Creates the description of a broken rule.
    public init(page: PageNumber, treeID: UInt32, byteOffset: UInt32, rule: CorruptionRule, file: FileRole) {
        self.page = page
        self.treeID = treeID
        self.byteOffset = byteOffset
        self.rule = rule
        self.file = file
    }
}
