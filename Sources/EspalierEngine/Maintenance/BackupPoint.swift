// A moment in the history of a store: where a backup or an increment ends, and the next increment begins.
//
// Invariants
//   1. Log positions are never used twice in the history of a store, and a copy that is written to is another store.
//      So store identifier, hash seed and log position name one state of all pages.

/// A commit of a store, as a backup or an increment of it remembers it.
public struct BackupPoint: Sendable, Hashable {
    /// 16 bytes: the store whose history this is.
    public let storeIdentifier: [UInt8]
    /// The newest transaction.
    public let transactionID: UInt64
    /// The log position of its commit, in bytes.
    public let lsn: UInt64
    /// How many increments lie between the full backup and this point.
    public let increments: UInt32
    let hashSeed: UInt64
    let pageSize: Int

    init(_ superblock: Superblock, origin: [UInt8], _ state: StoreState, increments: UInt32) {
        storeIdentifier = origin
        transactionID = state.transactionID
        lsn = state.commitLSN
        self.increments = increments
        hashSeed = superblock.hashSeed
        pageSize = superblock.pageSize
    }

    init(
        storeIdentifier: [UInt8], hashSeed: UInt64, pageSize: Int, transactionID: UInt64, lsn: UInt64,
        increments: UInt32
    ) {
        self.storeIdentifier = storeIdentifier
        self.transactionID = transactionID
        self.lsn = lsn
        self.increments = increments
        self.hashSeed = hashSeed
        self.pageSize = pageSize
    }

    /// Where the backup or the increment at `path` ends; for a copy whose update was interrupted, where that began.
    ///
    /// - Throws: `backup(.notABackup)`, `backup(.damaged)`, `noSuchStore`, `io`.
    public init(of path: String) throws(StorageError) { try self.init(of: path, in: PosixFileSystem.shared) }

    /// Where the backup or the increment at `path` of any file system ends.
    package init(of path: String, in fileSystem: any FileSystem) throws(StorageError) {
        let file = try fileSystem.open(path, role: .copy, mode: .readOnly)
        if try IncrementHeader.isIncrement(file) {
            self = try IncrementFile(file).header.end
        } else {
            let (superblock, slot) = try Engine.readPage0(of: file)
            guard slot.isUntouchedCopy || slot.isUnfinishedCopy else { throw .backup(.notABackup) }
            self.init(superblock, origin: slot.logIdentifier, StoreState(slot), increments: 0)
        }
        try file.close()
    }

    /// Whether the history is that of `other`.
    func isOfSameStore(as other: BackupPoint) -> Bool {
        storeIdentifier == other.storeIdentifier && hashSeed == other.hashSeed && pageSize == other.pageSize
    }

    /// Throws unless what begins at this point can follow on what ends at `end`.
    func checkContinues(_ end: BackupPoint) throws(StorageError) {
        guard isOfSameStore(as: end) else { throw .backup(.otherStore) }
        guard lsn <= end.lsn else { throw .backup(.missingIncrement) }
        guard lsn == end.lsn, transactionID == end.transactionID else { throw .backup(.otherBase) }
    }
}

extension CheckpointSlot {
    /// A session always begins with random chain value; a copy that no session has touched has none.
    private var hasNoSession: Bool { chainSeed == 0 && logIdentifier.contains { $0 != 0 } }

    /// Whether the store is a full backup that nobody has written to: its log identifier names the original.
    package var isUntouchedCopy: Bool { isClean && hasNoSession && logStartSegment == 0 }

    /// Whether the store is a backup that is being brought forward: its first segment names the position it will reach.
    var isUnfinishedCopy: Bool { !isClean && hasNoSession }
}
