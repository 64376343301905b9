// A point in the history of a store: the end of a backup or an increment, and the beginning of the next increment.
//
// Invariants
//   1. Log positions are never used twice in the history of a store, and a copy that is written to is another store.
//      So store identifier, hash seed and log position together identify one state of all pages.

/// A commit of a store, as a backup or an increment of it remembers it.
public struct BackupPoint: Sendable, Hashable {
    /// The identifier of the store, 16 bytes.
    public let storeIdentifier: [UInt8]
    /// The number of the newest transaction.
    public let transactionID: UInt64
    /// The log position of its commit, in bytes.
    public let lsn: UInt64
    /// The number of increments between the full backup and this point.
    public let increments: UInt32
    let hashSeed: UInt64
    let pageSize: Int

    init(_ superblock: Superblock, origin: [UInt8], _ state: StoreState, increments: UInt32) {
        storeIdentifier = origin
        assert(origin.count == 16, "an identifier of \(origin.count) bytes")
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
        assert(storeIdentifier.count == 16, "an identifier of \(storeIdentifier.count) bytes")
        self.storeIdentifier = storeIdentifier
        self.transactionID = transactionID
        self.lsn = lsn
        self.increments = increments
        self.hashSeed = hashSeed
        self.pageSize = pageSize
    }

    /// The end of the backup or the increment at `path`; for a copy whose update was interrupted, the beginning of the
    /// update.
    ///
    /// - Throws: `backup(.notABackup)`, `backup(.damaged)`, `noSuchStore`, `io`.
    public init(of path: String) throws(StorageError) { try self.init(of: path, in: PosixFileSystem.shared) }

    /// The end of the backup or the increment at `path` of any file system.
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

    /// Whether both points are in the history of the same store.
    func isOfSameStore(as other: BackupPoint) -> Bool {
        storeIdentifier == other.storeIdentifier && hashSeed == other.hashSeed && pageSize == other.pageSize
    }

    /// Throws unless an increment that begins at this point can follow a copy that ends at `end`.
    func checkContinues(_ end: BackupPoint) throws(StorageError) {
        guard isOfSameStore(as: end) else { throw .backup(.otherStore) }
        guard lsn <= end.lsn else { throw .backup(.missingIncrement) }
        guard lsn == end.lsn, transactionID == end.transactionID else { throw .backup(.otherBase) }
    }
}
