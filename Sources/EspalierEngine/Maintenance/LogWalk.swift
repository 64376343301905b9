// Reading the log of an open store from a commit on, while it is being written.

/// A walk over the commits in a live log.
struct LogWalk: ~Copyable {
    private let log: Log
    private let segments: [Log.Segment]
    private let storeSeed: UInt64
    private let frame: ScratchBytes
    private let page: ScratchBytes
    private var point: BackupPoint
    private var position: UInt64

    /// Begins after the commit at `point`.
    init(_ log: Log, after point: BackupPoint, storeSeed: UInt64) {
        self.log = log
        self.storeSeed = storeSeed
        self.point = point
        let (active, session) = log.lock.withLock { (log.ring.active, log.session) }
        segments = active
        // The session's first frame follows the commit that it began with, at whatever position that commit is.
        position = point.lsn == session.baseLSN ? session.firstSequence * UInt64(log.segmentByteCount) : point.lsn
        frame = ScratchBytes(byteCount: FrameHeaderLayout.byteCount + log.geometry.pageSize)
        page = ScratchBytes(byteCount: log.geometry.pageSize)
    }

    /// The next commit that ends at or before `end`; `nil` if there is none.
    ///
    /// - Throws: `changesGone` if the log does not hold the next frame.
    mutating func nextCommit(before end: UInt64) throws(StorageError) -> CommittedChange? {
        var frames: [CommittedChange.Page] = []
        while point.lsn < end {
            let header = try readFrame()
            switch header.type {
            case .padding, .segmentStart: position += UInt64(header.frameByteCount)
            case .page:
                frames.append(CommittedChange.Page(number: header.page, bytes: try restoredPage(header)))
                position += UInt64(header.frameByteCount)
            case .commit:
                position += UInt64(header.frameByteCount)
                return try change(try record(header), frames)
            }
        }
        return nil
    }

    /// Reads the frame at `position`, or at the beginning of the next segment if this one is full.
    private mutating func readFrame() throws(StorageError) -> FrameHeader {
        let stride = UInt64(log.segmentByteCount)
        if (position / stride + 1) * stride - position < UInt64(FrameHeaderLayout.byteCount) {
            position = (position / stride + 1) * stride
        }
        if position % stride < UInt64(SegmentHeaderLayout.byteCount) {
            position = position / stride * stride + UInt64(SegmentHeaderLayout.byteCount)
        }
        let sequence = position / stride
        guard let segment = segments.first(where: { $0.sequence == sequence }) else { throw .maintenance(.changesGone) }
        let inSegment = position % stride
        assert(inSegment >= UInt64(SegmentHeaderLayout.byteCount), "position \(position) is in a segment's header")
        let offset = log.fileOffset(ofPlace: segment.place) + inSegment
        let count = try frame.read(0..<min(frame.byteCount, Int(stride - inSegment)), from: log.file, at: offset)
        let pageSize = log.geometry.pageSize
        let header = frame.with(0..<count) { FrameHeader(decoding: $0, pageSize: pageSize) }
        guard let header, header.lsn == position, header.salt == segment.salt,
            header.type == .padding || header.frameByteCount <= count
        else { throw .maintenance(.changesGone) }
        return header
    }

    private func restoredPage(_ header: FrameHeader) throws(StorageError) -> [UInt8] {
        assert(header.type == .page && header.page != 0, "frame of page \(header.page)")
        let target = page.view(at: 0)
        header.restorePage(from: frame.view(at: FrameHeaderLayout.byteCount), to: target)
        guard target.computedChecksum(number: header.page, storeSeed: storeSeed) == header.payloadChecksum else {
            throw .maintenance(.changesGone)
        }
        return page.with(0..<page.byteCount) { $0.loadBytes(at: 0, count: $0.byteCount) }
    }

    private func record(_ header: FrameHeader) throws(StorageError) -> CommitRecord {
        assert(header.type == .commit && header.frameByteCount <= frame.byteCount, "a record of a commit")
        let range = FrameHeaderLayout.byteCount..<header.frameByteCount
        let record = frame.with(range) { span -> CommitRecord? in
            guard span.checksum(of: 0..<CommitRecordLayout.byteCount, seed: header.salt) == header.payloadChecksum
            else { return nil }
            return CommitRecord(decoding: span)
        }
        guard let record, record.commitLSN == position, record.transactionID == point.transactionID + 1 else {
            throw .maintenance(.changesGone)
        }
        return record
    }

    /// Makes the change of a commit from its own frames.
    ///
    /// The last `frameCount` frames before the commit belong to it; earlier ones belong to transactions that were
    /// rolled back.
    private mutating func change(
        _ record: CommitRecord, _ frames: [CommittedChange.Page]
    ) throws(StorageError) -> CommittedChange {
        guard Int(record.frameCount) <= frames.count else { throw .maintenance(.changesGone) }
        // A page that was spilled during the transaction may occur more than once: the last one counts.
        var newest: [PageNumber: CommittedChange.Page] = [:]
        for page in frames.suffix(Int(record.frameCount)) where page.number < record.pageCount {
            newest[page.number] = page
        }
        let base = point
        assert(record.commitLSN > base.lsn, "a commit at \(record.commitLSN) follows one at \(base.lsn)")
        point = BackupPoint(
            storeIdentifier: base.storeIdentifier, hashSeed: base.hashSeed, pageSize: base.pageSize,
            transactionID: record.transactionID, lsn: record.commitLSN, increments: base.increments)
        return CommittedChange(
            base: base, point: point, pages: newest.values.sorted { $0.number < $1.number },
            wallClock: record.wallClock, state: StoreState(record, chain: 0))
    }
}
