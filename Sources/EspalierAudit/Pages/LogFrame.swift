// FileFormat.md, section 8: one frame of the log, and the commit record. Rules 62 and 63.

/// A frame whose header and payload are valid at its position in the log.
struct LogFrame {
    static let headerByteCount = 48

    /// The type of a frame.
    enum Kind: UInt8 {
        case page = 1
        case commit = 2
        case padding = 3
        case segmentStart = 4
    }

    /// The position of a frame, and the values that it must have there.
    struct Expectation {
        let lsn: UInt64
        let salt: UInt64
        let chain: UInt64
        /// The bytes from the frame's start to the end of the segment.
        let room: Int
        let pageSize: Int
        let seed: UInt64
    }

    let kind: Kind
    let page: UInt32
    let payload: [UInt8]
    let gap: Range<Int>
    let chain: UInt64

    var byteCount: Int { Self.headerByteCount + payload.count }

    /// Reads the frame at `offset` of `log`.
    init(_ log: any ByteSource, at offset: UInt64, _ expected: Expectation) throws(LogFrameFailure) {
        let header = try LogFrameFailure.reading { () throws(AuditFailure) in
            try log.read(at: offset, count: Self.headerByteCount)
        }
        do throws(Breach) {
            (kind, chain) = try Self.verified(header, expected)
        } catch {
            throw .breach(error)
        }
        page = header.u32(4)
        gap = header.u16(12)..<header.u16(12) + header.u16(14)
        let byteCount = Int(header.u32(8))
        guard kind != .padding else {
            payload = [UInt8](repeating: 0, count: byteCount)
            return
        }
        payload = try LogFrameFailure.reading { () throws(AuditFailure) in
            try log.read(at: offset + UInt64(Self.headerByteCount), count: byteCount)
        }
        do throws(Breach) {
            try checkPayload(header, byteCount: byteCount, expected)
        } catch {
            throw .breach(error)
        }
    }

    /// Verifies the 48 bytes of a header under rule 62.
    private static func verified(_ header: [UInt8], _ expected: Expectation) throws(Breach) -> (Kind, UInt64) {
        guard header.count == headerByteCount, header.u64(16) == expected.lsn else {
            throw Breach(62, 16, "no frame with the LSN of this place exists")
        }
        guard header.u64(24) == expected.salt else { throw Breach(62, 24, "the salt is not the segment's") }
        let chain = XXH3.hash(header, to: 40, seed: expected.chain)
        guard header.u64(40) == chain else { throw Breach(62, 40, "the chain is broken") }
        guard let kind = Kind(rawValue: header.u8(0)), header.u8(1) == 0, header.u16(2) == headerByteCount else {
            throw Breach(62, 0, "type, flags or header length are impossible")
        }
        let (payload, start, gap) = (Int(header.u32(8)), header.u16(12), header.u16(14))
        guard payload <= expected.room - headerByteCount else {
            throw Breach(62, 8, "a payload of \(payload) bytes extends beyond the segment")
        }
        let isRight =
            switch kind {
            case .page:
                payload + gap == expected.pageSize && start <= payload
                    && (gap == 0 ? start == 0 : start >= PageHeader.byteCount)
            case .commit: payload == CommitRecord.byteCount
            case .padding: payload == expected.room - headerByteCount
            case .segmentStart: payload == 0
            }
        guard isRight else {
            throw Breach(62, 8, "a payload of \(payload) bytes with a gap of \(gap) bytes at \(start) is impossible")
        }
        guard kind == .page || (header.u32(4) == 0 && start == 0 && gap == 0) else {
            throw Breach(62, 4, "fields that only page frames have are not zero")
        }
        return (kind, chain)
    }

    private func checkPayload(_ header: [UInt8], byteCount: Int, _ expected: Expectation) throws(Breach) {
        guard payload.count == byteCount else { throw Breach(62, 8, "the log ends within a payload") }
        switch kind {
        case .page:
            let image = pageImage
            guard image.u64(0) == header.u64(32), PageHeader(image).number == page else {
                throw Breach(62, 32, "the payload is not the page that the frame names")
            }
            guard PageHeader.checksum(of: image, number: page, seed: expected.seed) == header.u64(32) else {
                throw Breach(62, 32, "the page's checksum is wrong")
            }
            guard PageHeader(image).lsn == expected.lsn else { throw Breach(62, 16, "the page has another LSN") }
        case .commit:
            guard XXH3.hash(payload, seed: expected.salt) == header.u64(32) else {
                throw Breach(62, 32, "the commit record does not match its hash")
            }
        case .padding, .segmentStart: break
        }
    }

    /// The page with its gap filled with zeros.
    private var pageImage: [UInt8] { Self.pageImage(payload, gap) }

    /// The page, rebuilt from its logged bytes and the gap that the log leaves out.
    static func pageImage(_ payload: [UInt8], _ gap: Range<Int>) -> [UInt8] {
        Array(payload.prefix(gap.lowerBound)) + [UInt8](repeating: 0, count: gap.count)
            + payload.dropFirst(gap.lowerBound)
    }
}

/// The reason why a frame could not be read.
enum LogFrameFailure: Error {
    /// The frame breaks a rule; the offset of the breach is relative to the frame.
    case breach(Breach)
    /// The bytes could not be read.
    case unreadable(AuditFailure)

    static func reading(_ body: () throws(AuditFailure) -> [UInt8]) throws(LogFrameFailure) -> [UInt8] {
        do throws(AuditFailure) { return try body() } catch { throw .unreadable(error) }
    }
}

/// The payload of a commit frame.
struct CommitRecord {
    static let byteCount = 96

    let commitLSN: UInt64
    let durableLSN: UInt64
    let pageFrameCount: UInt32
    let state: StoreState

    init(_ bytes: [UInt8]) {
        (commitLSN, durableLSN, pageFrameCount) = (bytes.u64(8), bytes.u64(16), bytes.u32(36))
        state = StoreState(
            transaction: bytes.u64(0), pageCount: bytes.u32(24), freePageCount: bytes.u32(28),
            catalogRoot: bytes.u32(32), nextTree: bytes.u32(60))
    }

    /// Verifies the record of a frame under rule 63.
    ///
    /// The frame ends at `end` and follows `pageFrameCount` page frames.
    static func verified(
        _ bytes: [UInt8], end: UInt64, pageFrameCount: Int, after previous: StoreState
    ) throws(Breach) -> CommitRecord {
        let record = try verified(bytes, end: end)
        guard Int(record.pageFrameCount) <= pageFrameCount else {
            throw Breach(
                63, 84, "the commit states \(record.pageFrameCount) page frames, but only \(pageFrameCount) precede it")
        }
        guard record.state.transaction > previous.transaction else {
            throw Breach(63, 48, "transaction \(record.state.transaction) follows transaction \(previous.transaction)")
        }
        return record
    }

    /// Verifies the parts of rule 63 that need only the record, not the preceding frames.
    static func verified(_ bytes: [UInt8], end: UInt64) throws(Breach) -> CommitRecord {
        let record = CommitRecord(bytes)
        if let impossibility = record.state.impossibility { throw Breach(63, 48, "a commit with \(impossibility)") }
        guard record.commitLSN == end else { throw Breach(63, 56, "the commit LSN is not the end of the frame") }
        guard record.durableLSN <= end - UInt64(LogFrame.headerByteCount + byteCount) else {
            throw Breach(63, 64, "the durable LSN is not before the commit")
        }
        guard bytes.u32(56) == 0, bytes.firstNonzero(in: 64..<byteCount) == nil else {
            throw Breach(63, 104, "flags or reserved bytes are not zero")
        }
        return record
    }
}
