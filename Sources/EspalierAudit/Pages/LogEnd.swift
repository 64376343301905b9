// FileFormat.md, section 8: the log ends where the chain breaks, unless a later commit says that the position of the
// break was durable. A log beside a store that was closed cleanly is searched in the same way (rule 12).
//
// Invariants
//   1. The log is read in pieces, so memory does not grow with the size of a segment.

/// A search for commits in a log that does not depend on the chain.
struct LogCommits {
    private static let pieceByteCount = 1 << 20

    let log: any ByteSource
    let header: LogHeader
    let segments: SegmentTable

    /// Whether a commit at or after `lsn` says that the log was durable beyond `lsn`.
    func hasAcknowledgedCommit(after lsn: UInt64) throws(AuditFailure) -> Bool {
        let byteCount = UInt64(header.segmentByteCount)
        for segment in segments.headers.values where segment.sequence >= lsn / byteCount {
            let start = Int(max(lsn, segment.firstLSN) - segment.sequence * byteCount)
            if try hasCommit(in: segment.place, from: start, of: segment, durable: lsn) { return true }
        }
        // A segment with a lost header is searched too: its frames carry their own LSNs.
        for (place, _) in segments.unreadable {
            if try hasCommit(in: place, from: SegmentHeader.byteCount, of: nil, durable: lsn) { return true }
        }
        return false
    }

    /// Whether the segment at `place` holds a commit with a durable LSN greater than `lsn`.
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
            // The next piece begins at the first offset whose frame does not fit into this piece.
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
            // A writer never produces such a record, so it does not count as a commit.
            return false
        }
    }
}
