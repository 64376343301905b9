// Checkpoint slots: the state of the store file as of the last checkpoint. Three slots are written in turn.
//
// Invariants (on disk: never renumber)
//   1. The slot with a valid checksum and the highest `sequence` counts; sequence n is written to slot n % 3.
//   2. A torn write can damage only the oldest slot. Two slots would not be enough: after a failed sync, slot n may be
//      in the system's memory only, where the next process reads it; if that process writes slot n + 1 and the write is
//      torn, slot n - 1 must still be on disk.

/// Offsets of the fields of a checkpoint slot.
package enum CheckpointSlotLayout {
    package static let sequence = 0  // u64
    package static let checkpointLSN = 8  // u64
    package static let transactionID = 16  // u64
    package static let pageCount = 24  // u32
    package static let freeCount = 28  // u32
    package static let catalogRoot = 32  // u32
    package static let flags = 36  // u32: bit 0 = closed cleanly
    package static let logIdentifier = 40  // 16 bytes
    package static let logStartSegment = 56  // u64
    package static let chainSeed = 64  // u64
    package static let nextTreeID = 72  // u32
    package static let reserved = 76
    package static let checksum = 504  // u64
    package static let byteCount = 512
    /// Sequence and transaction numbers and log positions are below this, so that sums of them cannot overflow.
    package static let counterEnd: UInt64 = 1 << 62
}

/// The content of a checkpoint slot.
package struct CheckpointSlot: Hashable, Sendable {
    /// Grows by one with each slot that is written.
    package var sequence: UInt64
    /// All commits up to this logical log position are in the store file.
    package var checkpointLSN: UInt64
    /// The newest transaction that is in the store file.
    package var transactionID: UInt64
    /// The number of pages of the store, free ones included.
    package var pageCount: UInt32
    /// The number of free pages.
    package var freeCount: UInt32
    /// The root of the catalog tree.
    package var catalogRoot: PageNumber
    /// Whether nothing was written after this checkpoint, so that the log need not be read.
    package var isClean: Bool
    /// The identifier of the log that continues from this checkpoint: 16 bytes.
    package var logIdentifier: [UInt8]
    /// The sequence number of the log's first segment that still counts.
    package var logStartSegment: UInt64
    /// The chain value at `checkpointLSN`.
    package var chainSeed: UInt64
    /// The number that the next tree gets.
    package var nextTreeID: UInt32

    package init(
        sequence: UInt64, checkpointLSN: UInt64, transactionID: UInt64, pageCount: UInt32, freeCount: UInt32,
        catalogRoot: PageNumber, isClean: Bool, logIdentifier: [UInt8], logStartSegment: UInt64, chainSeed: UInt64,
        nextTreeID: UInt32
    ) {
        precondition(logIdentifier.count == 16)
        self.sequence = sequence
        self.checkpointLSN = checkpointLSN
        self.transactionID = transactionID
        self.pageCount = pageCount
        self.freeCount = freeCount
        self.catalogRoot = catalogRoot
        self.isClean = isClean
        self.logIdentifier = logIdentifier
        self.logStartSegment = logStartSegment
        self.chainSeed = chainSeed
        self.nextTreeID = nextTreeID
    }

    /// The byte offset of this slot in page 0.
    package var byteOffset: Int { SuperblockLayout.slots[Int(sequence % 3)] }

    /// The 512 bytes of the slot.
    package func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: CheckpointSlotLayout.byteCount)
        record.store(sequence, at: CheckpointSlotLayout.sequence)
        record.store(checkpointLSN, at: CheckpointSlotLayout.checkpointLSN)
        record.store(transactionID, at: CheckpointSlotLayout.transactionID)
        record.store(pageCount, at: CheckpointSlotLayout.pageCount)
        record.store(freeCount, at: CheckpointSlotLayout.freeCount)
        record.store(catalogRoot, at: CheckpointSlotLayout.catalogRoot)
        record.store(UInt32(isClean ? 1 : 0), at: CheckpointSlotLayout.flags)
        record.store(logIdentifier, at: CheckpointSlotLayout.logIdentifier)
        record.store(logStartSegment, at: CheckpointSlotLayout.logStartSegment)
        record.store(chainSeed, at: CheckpointSlotLayout.chainSeed)
        record.store(nextTreeID, at: CheckpointSlotLayout.nextTreeID)
        record.seal(at: CheckpointSlotLayout.checksum)
        return record.bytes
    }

    /// Reads a slot from 512 bytes at `offset` of page 0; `nil` if it is not valid (rule 12).
    package init?(decoding bytes: RawSpan, at offset: Int) {
        guard bytes.byteCount >= offset + CheckpointSlotLayout.byteCount else { return nil }
        let slot = bytes.extracting(offset..<offset + CheckpointSlotLayout.byteCount)
        guard
            slot.loadUInt64(at: CheckpointSlotLayout.checksum) == slot.checksum(of: 0..<CheckpointSlotLayout.checksum)
        else { return nil }
        sequence = slot.loadUInt64(at: CheckpointSlotLayout.sequence)
        checkpointLSN = slot.loadUInt64(at: CheckpointSlotLayout.checkpointLSN)
        transactionID = slot.loadUInt64(at: CheckpointSlotLayout.transactionID)
        pageCount = slot.loadUInt32(at: CheckpointSlotLayout.pageCount)
        freeCount = slot.loadUInt32(at: CheckpointSlotLayout.freeCount)
        catalogRoot = slot.loadUInt32(at: CheckpointSlotLayout.catalogRoot)
        let flags = slot.loadUInt32(at: CheckpointSlotLayout.flags)
        isClean = flags & 1 != 0
        logIdentifier = slot.loadBytes(at: CheckpointSlotLayout.logIdentifier, count: 16)
        logStartSegment = slot.loadUInt64(at: CheckpointSlotLayout.logStartSegment)
        chainSeed = slot.loadUInt64(at: CheckpointSlotLayout.chainSeed)
        nextTreeID = slot.loadUInt32(at: CheckpointSlotLayout.nextTreeID)
        guard pageCount >= FixedPlace.initialPageCount, freeCount < pageCount, flags <= 1,
            catalogRoot > FixedPlace.firstBitmap, catalogRoot < pageCount, nextTreeID >= FixedPlace.firstTreeID,
            max(sequence, transactionID, checkpointLSN) < CheckpointSlotLayout.counterEnd,
            slot.isZero(in: CheckpointSlotLayout.reserved..<CheckpointSlotLayout.checksum)
        else { return nil }
    }

    /// The valid slot with the highest sequence in page 0.
    ///
    /// - Throws: `corruption(.noValidSlot)` if no slot is valid.
    package static func newest(in page: RawSpan) throws(StorageError) -> CheckpointSlot {
        var newest: CheckpointSlot?
        for place in SuperblockLayout.slots {
            guard let slot = CheckpointSlot(decoding: page, at: place), slot.byteOffset == place else { continue }
            if slot.sequence >= newest?.sequence ?? 0 { newest = slot }
        }
        guard let newest else {
            throw .corrupt(.noValidSlot, page: 0, byteOffset: SuperblockLayout.slots[0])
        }
        return newest
    }
}

extension CheckpointSlot {
    /// Whether no session has written to the copy: a session begins with a random chain value, but an untouched copy
    /// has none.
    private var hasNoSession: Bool { chainSeed == 0 && logIdentifier.contains { $0 != 0 } }

    /// Whether the store is a full backup that was never written to: its log identifier names the original.
    package var isUntouchedCopy: Bool { isClean && hasNoSession && logStartSegment == 0 }

    /// Whether the store is a backup whose update is unfinished: its first segment names the position it will reach.
    var isUnfinishedCopy: Bool { !isClean && hasNoSession }
}
