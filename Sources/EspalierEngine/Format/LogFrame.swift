// Frames of the log: the 48-byte header before each page, commit record or padding, and the commit record.
//
// Invariants (on disk: never renumber)
//   1. A page frame's payload is the page without its gap: bytes 0..<holeOffset and holeOffset + holeByteCount..<end.
//   2. `payloadChecksum` is the page's own checksum (page frames), or XXH3-64 of the payload seeded with the salt.

/// Offsets of a frame header.
package enum FrameHeaderLayout {
    package static let type = 0  // u8
    package static let flags = 1  // u8, zero
    package static let headerByteCount = 2  // u16, 48
    package static let page = 4  // u32
    package static let payloadByteCount = 8  // u32
    package static let holeOffset = 12  // u16
    package static let holeByteCount = 14  // u16
    package static let lsn = 16  // u64
    package static let salt = 24  // u64
    package static let payloadChecksum = 32  // u64
    package static let chain = 40  // u64
    package static let byteCount = 48
}

/// The content of a frame.
package enum FrameType: UInt8, Sendable {
    case page = 1
    case commit = 2
    /// Fills a segment to its end.
    case padding = 3
    /// Reserved: no writer appends such a frame, and readers pass over it.
    case segmentStart = 4
}

/// The header of a frame: a trivial value.
package struct FrameHeader: Hashable, Sendable {
    package var type: FrameType
    package var page: PageNumber
    package var payloadByteCount: Int
    package var holeOffset: Int
    package var holeByteCount: Int
    package var lsn: UInt64
    package var salt: UInt64
    package var payloadChecksum: UInt64
    package var chain: UInt64

    /// A frame header without its chain value, which `encode` sets.
    package init(
        type: FrameType, page: PageNumber, payloadByteCount: Int, hole: Range<Int> = 0..<0, lsn: UInt64, salt: UInt64,
        payloadChecksum: UInt64
    ) {
        self.type = type
        self.page = page
        self.payloadByteCount = payloadByteCount
        holeOffset = hole.lowerBound
        holeByteCount = hole.count
        self.lsn = lsn
        self.salt = salt
        self.payloadChecksum = payloadChecksum
        chain = 0
        assert(payloadByteCount >= 0 && (hole.isEmpty || type == .page), "\(payloadByteCount) bytes of payload")
    }

    /// The size of the frame in bytes, header included.
    package var frameByteCount: Int { FrameHeaderLayout.byteCount + payloadByteCount }

    /// Writes the 48 bytes to `target`, and sets and returns the chain value that follows from `previousChain`.
    @discardableResult
    package mutating func encode(to target: PageView, at offset: Int = 0, previousChain: UInt64) -> UInt64 {
        assert(offset >= 0 && offset + FrameHeaderLayout.byteCount <= target.byteCount, "a frame at \(offset)")
        target.set(type.rawValue, at: offset + FrameHeaderLayout.type)
        target.set(UInt8(0), at: offset + FrameHeaderLayout.flags)
        target.set(UInt16(FrameHeaderLayout.byteCount), at: offset + FrameHeaderLayout.headerByteCount)
        target.set(page, at: offset + FrameHeaderLayout.page)
        target.set(UInt32(truncatingIfNeeded: payloadByteCount), at: offset + FrameHeaderLayout.payloadByteCount)
        target.set(UInt16(truncatingIfNeeded: holeOffset), at: offset + FrameHeaderLayout.holeOffset)
        target.set(UInt16(truncatingIfNeeded: holeByteCount), at: offset + FrameHeaderLayout.holeByteCount)
        target.set(lsn, at: offset + FrameHeaderLayout.lsn)
        target.set(salt, at: offset + FrameHeaderLayout.salt)
        target.set(payloadChecksum, at: offset + FrameHeaderLayout.payloadChecksum)
        chain = Checksum.of(target.bytes(offset, FrameHeaderLayout.chain), seed: previousChain)
        target.set(chain, at: offset + FrameHeaderLayout.chain)
        return chain
    }

    /// Reads a frame header; `nil` if its fields contradict each other (rule 62).
    ///
    /// The reader must check that the frame belongs at its place (LSN, salt, chain).
    ///
    /// - Parameter pageSize: the page size of the store, which determines the payload of a page frame.
    package init?(decoding bytes: RawSpan, pageSize: Int) {
        guard bytes.byteCount >= FrameHeaderLayout.byteCount,
            let type = FrameType(rawValue: bytes.loadUInt8(at: FrameHeaderLayout.type)),
            bytes.loadUInt8(at: FrameHeaderLayout.flags) == 0,
            bytes.loadUInt16(at: FrameHeaderLayout.headerByteCount) == UInt16(FrameHeaderLayout.byteCount)
        else { return nil }
        self.type = type
        page = bytes.loadUInt32(at: FrameHeaderLayout.page)
        payloadByteCount = Int(bytes.loadUInt32(at: FrameHeaderLayout.payloadByteCount))
        holeOffset = Int(bytes.loadUInt16(at: FrameHeaderLayout.holeOffset))
        holeByteCount = Int(bytes.loadUInt16(at: FrameHeaderLayout.holeByteCount))
        lsn = bytes.loadUInt64(at: FrameHeaderLayout.lsn)
        salt = bytes.loadUInt64(at: FrameHeaderLayout.salt)
        payloadChecksum = bytes.loadUInt64(at: FrameHeaderLayout.payloadChecksum)
        chain = bytes.loadUInt64(at: FrameHeaderLayout.chain)
        switch type {
        case .page:
            let isHoleRight =
                holeByteCount == 0
                ? holeOffset == 0 : holeOffset >= PageLayout.headerByteCount && holeOffset <= payloadByteCount
            guard isHoleRight, payloadByteCount == pageSize - holeByteCount, page != 0 else { return nil }
            return
        case .commit: guard payloadByteCount == CommitRecordLayout.byteCount else { return nil }
        case .segmentStart: guard payloadByteCount == 0 else { return nil }
        case .padding: break
        }
        guard page == 0, holeOffset == 0, holeByteCount == 0 else { return nil }
    }

    /// The offset of the first whole commit frame in `bytes`, as far as the fixed fields before its LSN tell.
    ///
    /// A search for commits in a damaged log reads every byte. So it looks for one byte, which the C library does for
    /// many bytes at a time, and compares the fields only around that byte.
    package static func firstCommit(in bytes: RawSpan) -> Int? {
        let frameByteCount = FrameHeaderLayout.byteCount + CommitRecordLayout.byteCount
        let start = UInt64(FrameType.commit.rawValue) | UInt64(FrameHeaderLayout.byteCount) << 16
        let payload = UInt64(CommitRecordLayout.byteCount)
        var offset = 0
        while offset + frameByteCount <= bytes.byteCount {
            guard let found = bytes.firstIndex(of: UInt8(payload), from: offset + FrameHeaderLayout.payloadByteCount)
            else { return nil }
            offset = found - FrameHeaderLayout.payloadByteCount
            guard offset + frameByteCount <= bytes.byteCount else { return nil }
            if bytes.loadUInt64(at: offset + FrameHeaderLayout.type) == start,
                bytes.loadUInt64(at: offset + FrameHeaderLayout.payloadByteCount) == payload
            {
                return offset
            }
            offset += 1
        }
        return nil
    }

    /// The chain value of the 48 header bytes in `bytes` after `previousChain`.
    package static func chain(of bytes: RawSpan, after previousChain: UInt64) -> UInt64 {
        bytes.checksum(of: 0..<FrameHeaderLayout.chain, seed: previousChain)
    }
}

/// Offsets of a commit record.
package enum CommitRecordLayout {
    package static let transactionID = 0  // u64
    package static let commitLSN = 8  // u64
    package static let durableLSN = 16  // u64
    package static let pageCount = 24  // u32
    package static let freeCount = 28  // u32
    package static let catalogRoot = 32  // u32
    package static let frameCount = 36  // u32
    package static let wallClock = 40  // u64, nanoseconds since 1970
    package static let userTag = 48  // u64
    package static let flags = 56  // u32, zero
    package static let nextTreeID = 60  // u32
    package static let reserved = 64  // 32 bytes, zero
    package static let byteCount = 96
}

/// The payload of a commit frame: the state of the store after the transaction.
package struct CommitRecord: Hashable, Sendable {
    package var transactionID: UInt64
    /// The logical position of the end of this commit frame.
    package var commitLSN: UInt64
    /// The highest position known to be durable when this record was made.
    package var durableLSN: UInt64
    package var pageCount: UInt32
    package var freeCount: UInt32
    package var catalogRoot: PageNumber
    /// The number of page frames of the transaction.
    package var frameCount: UInt32
    package var wallClock: UInt64
    package var userTag: UInt64
    package var nextTreeID: UInt32

    package init(
        transactionID: UInt64, commitLSN: UInt64, durableLSN: UInt64, pageCount: UInt32, freeCount: UInt32,
        catalogRoot: PageNumber, frameCount: UInt32, wallClock: UInt64, userTag: UInt64, nextTreeID: UInt32
    ) {
        self.transactionID = transactionID
        self.commitLSN = commitLSN
        self.durableLSN = durableLSN
        self.pageCount = pageCount
        self.freeCount = freeCount
        self.catalogRoot = catalogRoot
        self.frameCount = frameCount
        self.wallClock = wallClock
        self.userTag = userTag
        self.nextTreeID = nextTreeID
    }

    /// Writes the 96 bytes to `target` and returns their XXH3-64 seeded with `salt`.
    package func encode(to target: PageView, at offset: Int = 0, salt: UInt64) -> UInt64 {
        assert(offset >= 0 && offset + CommitRecordLayout.byteCount <= target.byteCount, "a record at \(offset)")
        target.clear(offset..<offset + CommitRecordLayout.byteCount)
        target.set(transactionID, at: offset + CommitRecordLayout.transactionID)
        target.set(commitLSN, at: offset + CommitRecordLayout.commitLSN)
        target.set(durableLSN, at: offset + CommitRecordLayout.durableLSN)
        target.set(pageCount, at: offset + CommitRecordLayout.pageCount)
        target.set(freeCount, at: offset + CommitRecordLayout.freeCount)
        target.set(catalogRoot, at: offset + CommitRecordLayout.catalogRoot)
        target.set(frameCount, at: offset + CommitRecordLayout.frameCount)
        target.set(wallClock, at: offset + CommitRecordLayout.wallClock)
        target.set(userTag, at: offset + CommitRecordLayout.userTag)
        target.set(nextTreeID, at: offset + CommitRecordLayout.nextTreeID)
        return Checksum.of(target.bytes(offset, CommitRecordLayout.byteCount), seed: salt)
    }

    /// Reads a commit record; `nil` if a field has an impossible value (rule 63).
    ///
    /// Its checksum is in the frame header.
    package init?(decoding bytes: RawSpan) {
        guard bytes.byteCount >= CommitRecordLayout.byteCount,
            bytes.isZero(in: CommitRecordLayout.reserved..<CommitRecordLayout.byteCount),
            bytes.loadUInt32(at: CommitRecordLayout.flags) == 0
        else { return nil }
        transactionID = bytes.loadUInt64(at: CommitRecordLayout.transactionID)
        commitLSN = bytes.loadUInt64(at: CommitRecordLayout.commitLSN)
        durableLSN = bytes.loadUInt64(at: CommitRecordLayout.durableLSN)
        pageCount = bytes.loadUInt32(at: CommitRecordLayout.pageCount)
        freeCount = bytes.loadUInt32(at: CommitRecordLayout.freeCount)
        catalogRoot = bytes.loadUInt32(at: CommitRecordLayout.catalogRoot)
        frameCount = bytes.loadUInt32(at: CommitRecordLayout.frameCount)
        wallClock = bytes.loadUInt64(at: CommitRecordLayout.wallClock)
        userTag = bytes.loadUInt64(at: CommitRecordLayout.userTag)
        nextTreeID = bytes.loadUInt32(at: CommitRecordLayout.nextTreeID)
        guard pageCount >= FixedPlace.initialPageCount, freeCount < pageCount, nextTreeID >= FixedPlace.firstTreeID,
            catalogRoot > FixedPlace.firstBitmap, catalogRoot < pageCount,
            max(transactionID, commitLSN) < CheckpointSlotLayout.counterEnd
        else { return nil }
    }
}

extension FrameHeader {
    /// Restores a page from the payload of its frame; the gap that the frame left out becomes zero.
    ///
    /// The decoder of the header has checked that the parts fill a page exactly.
    package func restorePage(from payload: PageView, to page: PageView) {
        assert(payloadByteCount + holeByteCount == page.byteCount, "a page of \(payloadByteCount) + \(holeByteCount)")
        page.copy(from: payload, at: 0, to: 0, count: holeOffset)
        page.clear(holeOffset..<holeOffset + holeByteCount)
        let rest = page.byteCount - holeOffset - holeByteCount
        page.copy(from: payload, at: holeOffset, to: holeOffset + holeByteCount, count: rest)
    }
}
