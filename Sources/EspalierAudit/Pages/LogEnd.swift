// Section 8: where the chain breaks the log ends, unless a later commit says that what follows was durable. The same
// question is asked of a log beside a store that says it was closed cleanly (rule 12).
//
// Invariants
//   1. The log is read in pieces, so a segment of any size takes little memory.

/// The commits in a log, whether a chain leads to them or not.
struct LogCommits {
    private static let pieceByteCount = 1 << 20

    let log: any ByteSource
    let header: LogHeader
    let segments: SegmentTable

    /// Whether a commit behind `lsn` says that a position behind `lsn` was durable.
    func hasAcknowledgedCommit(behind lsn: UInt64) throws(AuditFailure) -> Bool {
        let byteCount = UInt64(header.segmentByteCount)
        for segment in segments.headers.values where segment.sequence >= lsn / byteCount {
            let start = Int(max(lsn, segment.firstLSN) - segment.sequence * byteCount)
            if try hasCommit(in: segment.place, from: start, of: segment, durable: lsn) { return true }
        }
        // A segment whose header is lost may hold what is sought as well: its frames say where they belong.
        for (place, _) in segments.unreadable {
            if try hasCommit(in: place, from: SegmentHeader.byteCount, of: nil, durable: lsn) { return true }
        }
        return false
    }

    /// Whether the segment at `place` holds a commit whose durable LSN lies behind `lsn`.
    private func hasCommit(
        in place: Int, from start: Int, of segment: SegmentHeader?, durable lsn: UInt64
    ) throws(AuditFailure) -> Bool {
        let frameByteCount = LogFrame.headerByteCount + CommitRecord.byteCount
        var pieceStart = start
        while pieceStart + frameByteCount <= header.segmentByteCount {
            let count = min(Self.pieceByteCount, header.segmentByteCount - pieceStart)
            let piece = try log.read(at: header.offset(ofPlace: place) + UInt64(pieceStart), count: count)
            guard piece.count >= frameByteCount else { return false }
            for index in 0...piece.count - frameByteCount where piece[index] == LogFrame.Kind.commit.rawValue {
                if isCommit(piece, at: index, offset: pieceStart + index, of: segment, durable: lsn) { return true }
            }
            // The next piece begins where a frame that this one cuts may begin.
            pieceStart += piece.count - frameByteCount + 1
        }
        return false
    }

    private func isCommit(
        _ piece: [UInt8], at index: Int, offset: Int, of segment: SegmentHeader?, durable: UInt64
    ) -> Bool {
        let (lsn, salt) = (piece.u64(index + 16), piece.u64(index + 24))
        let byteCount = UInt64(header.segmentByteCount)
        guard lsn % byteCount == UInt64(offset), lsn >= durable, segment.map({ $0.salt == salt }) ?? true,
            segment.map({ $0.sequence == lsn / byteCount }) ?? true, piece.u8(index + 1) == 0,
            piece.u16(index + 2) == LogFrame.headerByteCount, Int(piece.u32(index + 8)) == CommitRecord.byteCount,
            piece.u32(index + 4) == 0, piece.u32(index + 12) == 0
        else { return false }
        let payload = index + LogFrame.headerByteCount
        let end = payload + CommitRecord.byteCount
        guard XXH3.hash(piece, from: payload, to: end, seed: salt) == piece.u64(index + 32) else { return false }
        do throws(Breach) {
            let frameByteCount = UInt64(LogFrame.headerByteCount + CommitRecord.byteCount)
            return try CommitRecord.verified(piece.bytes(payload..<end), end: lsn + frameByteCount).durableLSN > durable
        } catch {
            // No commit was ever written so: it says nothing of what was durable.
            return false
        }
    }
}
