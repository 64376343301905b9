// The header of an increment file: which pages of a store follow, and between which commits they were written.
//
// Invariants (on disk: never renumber)
//   1. The file is a header of 4,096 bytes and `changedCount` whole pages in ascending order, nothing else.
//   2. The header is written last; its hash covers itself, and through `pagesHash` all pages.

/// Offsets of the fields of an increment's header.
enum IncrementLayout {
    static let magic = 0  // 16 bytes
    static let major = 16  // u16
    static let minor = 18  // u16
    static let pageSize = 20  // u32
    static let storeIdentifier = 24  // 16 bytes
    static let hashSeed = 40  // u64
    static let baseLSN = 48  // u64
    static let baseTransactionID = 56  // u64
    static let lsn = 64  // u64
    static let transactionID = 72  // u64
    static let pageCount = 80  // u32
    static let freeCount = 84  // u32
    static let catalogRoot = 88  // u32
    static let nextTreeID = 92  // u32
    static let changedCount = 96  // u32
    static let increments = 100  // u32
    static let pagesHash = 104  // u64
    static let reserved = 112
    static let checksum = 504  // u64
    static let recordByteCount = 512
    static let byteCount = 4096
}

/// The header of an increment.
struct IncrementHeader: Hashable, Sendable {
    /// The commit on which the increment builds.
    let base: BackupPoint
    /// The state of the store after the increment.
    let state: StoreState
    /// How many pages follow.
    var changedCount: UInt32
    /// The hash over all pages: the hash of each page is the seed of the next, and the store's hash seed is the first.
    var pagesHash: UInt64

    /// The commit with which the increment ends.
    var end: BackupPoint {
        BackupPoint(
            storeIdentifier: base.storeIdentifier, hashSeed: base.hashSeed, pageSize: base.pageSize,
            transactionID: state.transactionID, lsn: state.commitLSN, increments: base.increments + 1)
    }

    /// The bytes of the whole file.
    var fileByteCount: UInt64 { UInt64(IncrementLayout.byteCount) + UInt64(changedCount) * UInt64(base.pageSize) }

    init(base: BackupPoint, state: StoreState) {
        self.base = base
        self.state = state
        changedCount = 0
        pagesHash = base.hashSeed
    }

    /// The bytes before the first page.
    func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: IncrementLayout.recordByteCount)
        record.store(FormatVersion.incrementMagic, at: IncrementLayout.magic)
        record.store(FormatVersion.major, at: IncrementLayout.major)
        record.store(FormatVersion.minor, at: IncrementLayout.minor)
        record.store(UInt32(base.pageSize), at: IncrementLayout.pageSize)
        record.store(base.storeIdentifier, at: IncrementLayout.storeIdentifier)
        record.store(base.hashSeed, at: IncrementLayout.hashSeed)
        record.store(base.lsn, at: IncrementLayout.baseLSN)
        record.store(base.transactionID, at: IncrementLayout.baseTransactionID)
        record.store(state.commitLSN, at: IncrementLayout.lsn)
        record.store(state.transactionID, at: IncrementLayout.transactionID)
        record.store(state.pageCount, at: IncrementLayout.pageCount)
        record.store(state.freeCount, at: IncrementLayout.freeCount)
        record.store(state.catalogRoot, at: IncrementLayout.catalogRoot)
        record.store(state.nextTreeID, at: IncrementLayout.nextTreeID)
        record.store(changedCount, at: IncrementLayout.changedCount)
        record.store(base.increments, at: IncrementLayout.increments)
        record.store(pagesHash, at: IncrementLayout.pagesHash)
        record.seal(at: IncrementLayout.checksum)
        return record.bytes + [UInt8](repeating: 0, count: IncrementLayout.byteCount - record.bytes.count)
    }

    /// Whether a file begins with the magic bytes of an increment.
    static func isIncrement(_ file: any StorageFile) throws(StorageError) -> Bool {
        let bytes = ScratchBytes(byteCount: 16)
        let count = try bytes.read(0..<16, from: file, at: 0)
        return count == 16 && bytes.with(0..<16) { $0.loadBytes(at: 0, count: 16) } == FormatVersion.incrementMagic
    }

    /// Reads a header (rule I1).
    ///
    /// - Throws: `backup(.notABackup)`, `backup(.damaged)`, `unsupportedFormat`.
    init(decoding bytes: RawSpan) throws(StorageError) {
        guard bytes.byteCount >= 16, bytes.loadBytes(at: 0, count: 16) == FormatVersion.incrementMagic else {
            throw .backup(.notABackup)
        }
        guard bytes.byteCount == IncrementLayout.byteCount,
            bytes.loadUInt64(at: IncrementLayout.checksum) == bytes.checksum(of: 0..<IncrementLayout.checksum),
            bytes.isZero(in: IncrementLayout.reserved..<IncrementLayout.checksum),
            bytes.isZero(in: IncrementLayout.recordByteCount..<IncrementLayout.byteCount)
        else { throw .backup(.damaged) }
        let (major, minor) = (
            bytes.loadUInt16(at: IncrementLayout.major), bytes.loadUInt16(at: IncrementLayout.minor)
        )
        guard major == FormatVersion.major else {
            throw .opening(
                .unsupportedFormat(
                    found: UInt32(major) << 16 | UInt32(minor),
                    supported: UInt32(FormatVersion.major) << 16 | UInt32(FormatVersion.minor)))
        }
        base = BackupPoint(
            storeIdentifier: bytes.loadBytes(at: IncrementLayout.storeIdentifier, count: 16),
            hashSeed: bytes.loadUInt64(at: IncrementLayout.hashSeed),
            pageSize: Int(bytes.loadUInt32(at: IncrementLayout.pageSize)),
            transactionID: bytes.loadUInt64(at: IncrementLayout.baseTransactionID),
            lsn: bytes.loadUInt64(at: IncrementLayout.baseLSN),
            increments: bytes.loadUInt32(at: IncrementLayout.increments))
        state = StoreState(
            transactionID: bytes.loadUInt64(at: IncrementLayout.transactionID),
            commitLSN: bytes.loadUInt64(at: IncrementLayout.lsn),
            pageCount: bytes.loadUInt32(at: IncrementLayout.pageCount),
            freeCount: bytes.loadUInt32(at: IncrementLayout.freeCount),
            catalogRoot: bytes.loadUInt32(at: IncrementLayout.catalogRoot),
            nextTreeID: bytes.loadUInt32(at: IncrementLayout.nextTreeID))
        changedCount = bytes.loadUInt32(at: IncrementLayout.changedCount)
        pagesHash = bytes.loadUInt64(at: IncrementLayout.pagesHash)
        guard StoreGeometry.isValid(pageSize: base.pageSize), state.isPossible, changedCount < state.pageCount,
            base.lsn <= state.commitLSN, base.transactionID <= state.transactionID, base.increments < .max
        else { throw .backup(.damaged) }
    }
}

extension StoreState {
    /// Whether a valid slot can hold this state (rule 12).
    var isPossible: Bool {
        pageCount >= FixedPlace.initialPageCount && freeCount < pageCount && catalogRoot > FixedPlace.firstBitmap
            && catalogRoot < pageCount && nextTreeID >= FixedPlace.firstTreeID
            && max(transactionID, commitLSN) < CheckpointSlotLayout.counterEnd
    }
}
