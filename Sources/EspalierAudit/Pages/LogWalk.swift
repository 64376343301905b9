// FileFormat.md, section 8: the walk over the log from the newest slot to the last valid commit, and the decision
// whether the log ends there or is damaged.

/// The commits that the log adds to the store file.
struct LogWalk {
    /// The state after the last valid commit.
    private(set) var state: StoreState
    /// The offset in the log file of the newest frame of each page.
    private(set) var frames: [UInt32: UInt64] = [:]
    /// The LSN at which the last valid commit ends.
    private(set) var commitLSN: UInt64
    /// The LSN at which the walk began.
    private(set) var startLSN: UInt64 = 0
    /// The number of valid commits.
    private(set) var commitCount = 0
    /// The offset in the log file at which the walk ended; `endBytes` are the bytes there.
    private var end: UInt64 = 0
    private var endBytes: [UInt8] = []

    let log: any ByteSource
    let header: LogHeader
    let segments: SegmentTable
    private let superblock: Superblock
    private var pending: [(page: UInt32, offset: UInt64)] = []

    /// Walks the log that belongs to `slot`.
    init(
        _ log: any ByteSource, _ header: LogHeader, _ superblock: Superblock, _ slot: CheckpointSlot,
        _ findings: inout AuditFindings
    ) throws(AuditFailure) {
        (self.log, self.header, self.superblock) = (log, header, superblock)
        (state, commitLSN) = (slot.state, slot.lsn)
        segments = try SegmentTable(log, header, superblock)
        try walk(from: slot, &findings)
        endBytes = try bytesAtEnd()
    }

    private mutating func walk(from slot: CheckpointSlot, _ findings: inout AuditFindings) throws(AuditFailure) {
        guard let first = header.lsn(ofSegment: slot.firstSegment) else {
            return findings.add(11, .page(0, offset: 0), "the newest slot names an impossible segment")
        }
        var lsn = max(slot.lsn, first - UInt64(SegmentHeader.byteCount))
        startLSN = lsn
        var chain = slot.chain
        while true {
            do throws(LogFrameFailure) {
                let segment = try segment(at: &lsn, chain: chain)
                end = header.offset(of: lsn, in: segment)
                let frame = try LogFrame(log, at: end, expectation(segment, lsn, chain))
                try take(frame, at: end, lsn: lsn)
                (chain, lsn) = (frame.chain, lsn + UInt64(frame.byteCount))
            } catch {
                guard case .breach(let breach) = error else {
                    guard case .unreadable(let failure) = error else { return }
                    throw failure
                }
                let commits = LogCommits(log: log, header: header, segments: segments)
                if try commits.hasAcknowledgedCommit(after: lsn) {
                    findings.add(
                        breach.rule, .log(offset: end + UInt64(breach.offset)),
                        "\(breach.text), but a later commit says that this place was durable")
                }
                return
            }
        }
    }

    /// The segment that holds the next frame.
    ///
    /// Moves `lsn` to the next segment if no frame header fits any more, and past a segment header; rule 61.
    private mutating func segment(at lsn: inout UInt64, chain: UInt64) throws(LogFrameFailure) -> SegmentHeader {
        let byteCount = UInt64(header.segmentByteCount)
        if byteCount - lsn % byteCount < UInt64(LogFrame.headerByteCount) { lsn = (lsn / byteCount + 1) * byteCount }
        guard let segment = segments.headers[lsn / byteCount] else {
            end = header.offset(ofPlace: segments.unreadable.first?.place ?? 0)
            throw .breach(segments.unreadable.first?.breach ?? Breach(61, 0, "the next segment is missing"))
        }
        if lsn < segment.firstLSN {
            lsn = segment.firstLSN
            guard segment.chain == chain else {
                end = header.offset(ofPlace: segment.place)
                throw .breach(Breach(61, 32, "segment \(segment.sequence) does not continue the chain"))
            }
        }
        return segment
    }

    private func expectation(_ segment: SegmentHeader, _ lsn: UInt64, _ chain: UInt64) -> LogFrame.Expectation {
        let byteCount = UInt64(header.segmentByteCount)
        return LogFrame.Expectation(
            lsn: lsn, salt: segment.salt, chain: chain, room: Int(byteCount - lsn % byteCount),
            pageSize: superblock.pageSize, seed: superblock.seed)
    }

    private mutating func take(_ frame: LogFrame, at offset: UInt64, lsn: UInt64) throws(LogFrameFailure) {
        switch frame.kind {
        case .page:
            pending.append((frame.page, offset))
        case .commit:
            do throws(Breach) {
                let record = try CommitRecord.verified(
                    frame.payload, end: lsn + UInt64(frame.byteCount), pageFrameCount: pending.count, after: state)
                (state, commitLSN) = (record.state, record.commitLSN)
                // Page frames before these belong to a transaction that did not commit.
                for frame in pending.suffix(Int(record.pageFrameCount)) { frames[frame.page] = frame.offset }
            } catch {
                throw .breach(error)
            }
            pending.removeAll()
            commitCount += 1
        case .padding, .segmentStart: break
        }
    }

    // MARK: The newest version of a page

    /// The newest version of a page, if the log holds one.
    func page(_ number: UInt32) throws(AuditFailure) -> [UInt8]? {
        guard let offset = frames[number] else { return nil }
        let frame = try log.read(at: offset, count: LogFrame.headerByteCount)
        let payload = try log.read(at: offset + UInt64(LogFrame.headerByteCount), count: Int(frame.u32(8)))
        return LogFrame.pageImage(payload, frame.u16(12)..<frame.u16(12) + frame.u16(14))
    }

    /// Whether a writer has appended to the log: the bytes at the end of the walk differ from those read then.
    func hasGrown() throws(AuditFailure) -> Bool { try bytesAtEnd() != endBytes }

    private func bytesAtEnd() throws(AuditFailure) -> [UInt8] {
        try log.read(at: end, count: LogFrame.headerByteCount)
    }
}
