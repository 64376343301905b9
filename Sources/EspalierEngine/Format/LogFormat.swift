// The structures of the log file: its header, the header of a segment, the header of a frame, the commit record.
//
// Invariants (on disk: never renumber)
//   1. The log = 4,096 bytes of header, then segments of equal size. A segment begins with 64 bytes of header.
//   2. `lsn` (logical byte position) grows strictly, also when the ring wraps around: a frame that is left from before
//      cannot match its place.
//   3. chain = XXH3-64 of bytes 0..<40 of the frame header, seeded with the chain value before it. The header contains
//      the checksum of its payload, so the chain covers both.

/// Offsets of the log file's header.
package enum LogHeaderLayout {
    package static let magic = 0  // 16 bytes
    package static let major = 16  // u16
    package static let minor = 18  // u16
    package static let pageSize = 20  // u32
    package static let storeIdentifier = 24  // 16 bytes
    package static let logIdentifier = 40  // 16 bytes
    package static let segmentByteCount = 56  // u32
    package static let reserved = 60
    package static let checksum = 504  // u64
    package static let recordByteCount = 512
    /// The size of the header, which is the offset of the first segment.
    package static let byteCount = 4096
    /// The least size of a segment; every size is a multiple of 4,096 bytes.
    package static let segmentByteCountMin = 64 << 10
}

/// The header of a log file.
package struct LogHeader: Hashable, Sendable {
    package var pageSize: Int
    package var storeIdentifier: [UInt8]
    package var logIdentifier: [UInt8]
    package var segmentByteCount: Int

    /// The header of a new log; both identifiers have 16 bytes.
    package init(pageSize: Int, storeIdentifier: [UInt8], logIdentifier: [UInt8], segmentByteCount: Int) {
        precondition(storeIdentifier.count == 16 && logIdentifier.count == 16)
        self.pageSize = pageSize
        self.storeIdentifier = storeIdentifier
        self.logIdentifier = logIdentifier
        self.segmentByteCount = segmentByteCount
    }

    /// The 4,096 bytes of the header.
    package func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: LogHeaderLayout.recordByteCount)
        record.store(FormatVersion.logMagic, at: LogHeaderLayout.magic)
        record.store(FormatVersion.major, at: LogHeaderLayout.major)
        record.store(FormatVersion.minor, at: LogHeaderLayout.minor)
        record.store(UInt32(pageSize), at: LogHeaderLayout.pageSize)
        record.store(storeIdentifier, at: LogHeaderLayout.storeIdentifier)
        record.store(logIdentifier, at: LogHeaderLayout.logIdentifier)
        record.store(UInt32(segmentByteCount), at: LogHeaderLayout.segmentByteCount)
        record.seal(at: LogHeaderLayout.checksum)
        return record.bytes + [UInt8](repeating: 0, count: LogHeaderLayout.byteCount - record.bytes.count)
    }

    /// Reads a log header; `nil` if it is not one of this format version (rule 60).
    package init?(decoding bytes: RawSpan) {
        guard bytes.byteCount >= LogHeaderLayout.recordByteCount,
            bytes.loadBytes(at: LogHeaderLayout.magic, count: 16) == FormatVersion.logMagic,
            bytes.loadUInt64(at: LogHeaderLayout.checksum) == bytes.checksum(of: 0..<LogHeaderLayout.checksum),
            bytes.loadUInt16(at: LogHeaderLayout.major) == FormatVersion.major
        else { return nil }
        pageSize = Int(bytes.loadUInt32(at: LogHeaderLayout.pageSize))
        storeIdentifier = bytes.loadBytes(at: LogHeaderLayout.storeIdentifier, count: 16)
        logIdentifier = bytes.loadBytes(at: LogHeaderLayout.logIdentifier, count: 16)
        segmentByteCount = Int(bytes.loadUInt32(at: LogHeaderLayout.segmentByteCount))
        // A segment holds at least its header, one page frame and one commit.
        let least =
            SegmentHeaderLayout.byteCount + pageSize + 2 * FrameHeaderLayout.byteCount
            + CommitRecordLayout.byteCount
        guard StoreGeometry.isValid(pageSize: pageSize), segmentByteCount % 4096 == 0,
            segmentByteCount >= max(least, LogHeaderLayout.segmentByteCountMin),
            bytes.isZero(in: LogHeaderLayout.reserved..<LogHeaderLayout.checksum)
        else { return nil }
    }
}

/// Offsets of a segment header.
package enum SegmentHeaderLayout {
    package static let magic = 0  // u32, "ESEG"
    package static let index = 4  // u32
    package static let sequence = 8  // u64
    package static let startLSN = 16  // u64
    package static let salt = 24  // u64
    package static let previousChain = 32  // u64
    package static let seedEcho = 40  // u64
    package static let reserved = 48  // u64, zero
    package static let checksum = 56  // u64
    package static let byteCount = 64
    /// The letters `ESEG` as a little-endian integer.
    package static let magicValue: UInt32 = 0x4745_5345
}

/// The header of a segment of the log.
package struct SegmentHeader: Hashable, Sendable {
    /// The segment's place in the file: 0, 1, ...
    package var index: UInt32
    /// Unique in the log: never used again, even if the place is.
    package var sequence: UInt64
    /// The logical position of the first frame.
    package var startLSN: UInt64
    /// Random; every frame of the segment repeats it.
    package var salt: UInt64
    /// The chain value before the first frame.
    package var previousChain: UInt64
    /// The store's hash seed.
    package var seedEcho: UInt64

    package init(
        index: UInt32, sequence: UInt64, startLSN: UInt64, salt: UInt64, previousChain: UInt64, seedEcho: UInt64
    ) {
        self.index = index
        self.sequence = sequence
        self.startLSN = startLSN
        self.salt = salt
        self.previousChain = previousChain
        self.seedEcho = seedEcho
    }

    /// The 64 bytes of the header.
    package func encoded() -> [UInt8] {
        var record = RecordBytes(byteCount: SegmentHeaderLayout.byteCount)
        record.store(SegmentHeaderLayout.magicValue, at: SegmentHeaderLayout.magic)
        record.store(index, at: SegmentHeaderLayout.index)
        record.store(sequence, at: SegmentHeaderLayout.sequence)
        record.store(startLSN, at: SegmentHeaderLayout.startLSN)
        record.store(salt, at: SegmentHeaderLayout.salt)
        record.store(previousChain, at: SegmentHeaderLayout.previousChain)
        record.store(seedEcho, at: SegmentHeaderLayout.seedEcho)
        record.seal(at: SegmentHeaderLayout.checksum)
        return record.bytes
    }

    /// Reads a segment header; `nil` if it is not valid (rule 61).
    package init?(decoding bytes: RawSpan) {
        guard bytes.byteCount >= SegmentHeaderLayout.byteCount,
            bytes.loadUInt32(at: SegmentHeaderLayout.magic) == SegmentHeaderLayout.magicValue,
            bytes.loadUInt64(at: SegmentHeaderLayout.reserved) == 0,
            bytes.loadUInt64(at: SegmentHeaderLayout.checksum) == bytes.checksum(of: 0..<SegmentHeaderLayout.checksum)
        else { return nil }
        index = bytes.loadUInt32(at: SegmentHeaderLayout.index)
        sequence = bytes.loadUInt64(at: SegmentHeaderLayout.sequence)
        startLSN = bytes.loadUInt64(at: SegmentHeaderLayout.startLSN)
        salt = bytes.loadUInt64(at: SegmentHeaderLayout.salt)
        previousChain = bytes.loadUInt64(at: SegmentHeaderLayout.previousChain)
        seedEcho = bytes.loadUInt64(at: SegmentHeaderLayout.seedEcho)
    }
}
