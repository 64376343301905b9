// FileFormat.md, section 8: the header of the log, the headers of its segments, the table of segments. Rules 60, 61,
// 64.

/// The content of a valid log header.
struct LogHeader {
    static let byteCount: UInt64 = 4096
    private static let magic: [UInt8] = Superblock.magic.dropLast() + [2]
    private static let segmentByteCountMin = 64 << 10

    let segmentByteCount: Int

    /// Reads the header at the start of a log of this store.
    ///
    /// - Parameter slot: the slot that must name this log; `nil` accepts any log of the store.
    init(_ bytes: [UInt8], _ superblock: Superblock, _ slot: CheckpointSlot?) throws(Breach) {
        guard bytes.count == Int(Self.byteCount) else { throw Breach(60, 0, "the log is shorter than its header") }
        guard bytes.starts(with: Self.magic) else { throw Breach(60, 0, "the log does not begin with its magic") }
        guard XXH3.hash(bytes, to: 504) == bytes.u64(504) else { throw Breach(60, 504, "the hash is wrong") }
        guard bytes.u16(16) == 1 else { throw Breach(60, 16, "the version of the log is not 1") }
        guard Int(bytes.u32(20)) == superblock.pageSize else {
            throw Breach(60, 20, "the page size differs from the store's")
        }
        guard bytes.bytes(24..<40) == superblock.storeIdentifier else {
            throw Breach(64, 24, "the log belongs to another store")
        }
        guard slot == nil || bytes.bytes(40..<56) == slot?.logIdentifier else {
            throw Breach(64, 40, "the log is not the one that the newest slot names")
        }
        segmentByteCount = Int(bytes.u32(56))
        guard segmentByteCount >= Self.segmentByteCountMin, segmentByteCount % 4096 == 0 else {
            throw Breach(60, 56, "a segment cannot have \(segmentByteCount) bytes")
        }
        if let stray = bytes.firstNonzero(in: 60..<504) {
            throw Breach(60, stray, "a reserved byte is not zero")
        }
    }

    /// The LSN of a segment's first frame; `nil` if it is 2^62 or more.
    func lsn(ofSegment sequence: UInt64) -> UInt64? {
        let start = sequence.multipliedReportingOverflow(by: UInt64(segmentByteCount))
        guard !start.overflow, start.partialValue < 1 << 62 else { return nil }
        return start.partialValue + UInt64(SegmentHeader.byteCount)
    }

    /// The offset in the file at which the segment at `place` begins.
    func offset(ofPlace place: Int) -> UInt64 { Self.byteCount + UInt64(place) * UInt64(segmentByteCount) }

    /// The offset in the file of the byte with this LSN.
    func offset(of lsn: UInt64, in segment: SegmentHeader) -> UInt64 {
        offset(ofPlace: segment.place) + lsn % UInt64(segmentByteCount)
    }
}

/// A valid segment header.
struct SegmentHeader {
    static let byteCount = 64

    let place: Int
    let sequence: UInt64
    let firstLSN: UInt64
    let salt: UInt64
    let chain: UInt64

    /// Reads the header at the start of the segment at `place`.
    init(_ bytes: [UInt8], place: Int, _ header: LogHeader, _ superblock: Superblock) throws(Breach) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Array("ESEG".utf8)),
            XXH3.hash(bytes, to: 56) == bytes.u64(56)
        else { throw Breach(61, 0, "the header of a segment does not match its hash") }
        guard Int(bytes.u32(4)) == place else { throw Breach(61, 4, "the segment states the number \(bytes.u32(4))") }
        guard bytes.u64(48) == 0 else { throw Breach(61, 48, "a reserved byte is not zero") }
        guard bytes.u64(40) == superblock.seed else { throw Breach(64, 40, "the segment belongs to another store") }
        self.place = place
        (sequence, firstLSN, salt, chain) = (bytes.u64(8), bytes.u64(16), bytes.u64(24), bytes.u64(32))
        guard header.lsn(ofSegment: sequence) == firstLSN else {
            throw Breach(61, 16, "segment \(sequence) does not begin with LSN \(firstLSN)")
        }
    }
}

/// The readable segments of a log, by sequence number.
struct SegmentTable {
    private(set) var headers: [UInt64: SegmentHeader] = [:]
    /// The places whose segment headers are not valid, with the reason.
    private(set) var unreadable: [(place: Int, breach: Breach)] = []

    init(_ log: any ByteSource, _ header: LogHeader, _ superblock: Superblock) throws(AuditFailure) {
        let byteCount = try log.byteCount()
        var place = 0
        while header.offset(ofPlace: place) < byteCount {
            let bytes = try log.read(at: header.offset(ofPlace: place), count: SegmentHeader.byteCount)
            do throws(Breach) {
                let segment = try SegmentHeader(bytes, place: place, header, superblock)
                headers[segment.sequence] = segment
            } catch {
                unreadable.append((place, error))
            }
            place += 1
        }
    }
}
