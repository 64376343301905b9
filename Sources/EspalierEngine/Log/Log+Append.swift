// Appending to the log: frames are built in a buffer, one after the other; a write covers a segment or a full buffer.

/// A page to append to the log, which seals its bytes in place.
package struct LoggedPage {
    /// The page's number.
    package let number: PageNumber
    /// The page's bytes, owned by the transaction.
    package let view: PageView

    package init(number: PageNumber, view: PageView) {
        self.number = number
        self.view = view
    }

    /// The size of its frame in bytes.
    package var frameByteCount: Int { FrameHeaderLayout.byteCount + view.byteCount - view.holeRange.count }
}

extension Log {
    /// The size of a commit frame in bytes.
    package static let commitByteCount = FrameHeaderLayout.byteCount + CommitRecordLayout.byteCount

    /// Seals the pages and appends their frames; recovery ignores them unless a commit covers them.
    ///
    /// The caller has reserved space for them.
    ///
    /// - Returns: the place of each page's frame, in the order of `pages`.
    package func append(_ pages: [LoggedPage]) throws(StorageError) -> [LogPlace] {
        try lock.withLock { () throws(StorageError) in
            let saved = ring
            do throws(StorageError) {
                let places = try build(pages)
                try flush()
                assert(checkInvariants())
                return places
            } catch {
                undoAppend(restoring: saved)
                throw error
            }
        }
    }

    /// The place of each page's frame, the state after the commit, and the index that lists all versions.
    package typealias AppendedCommit = (places: [LogPlace], state: StoreState, index: LogIndex)

    /// Appends page frames and a commit frame that covers them and the frames in `earlier`.
    ///
    /// - Parameter earlier: versions of this transaction that were appended before, oldest first.
    /// - Parameter record: the state after the transaction; its `commitLSN` and `frameCount` are filled in here.
    /// - Parameter afterWriting: called when the file has the frames, before the index lists them; if it throws, the
    ///   append fails.
    package func appendCommit(
        _ pages: [LoggedPage], after earlier: [(page: PageNumber, place: LogPlace)], record: CommitRecord,
        forgettingBefore checkpoint: UInt64, afterWriting: () throws(StorageError) -> Void = {}
    ) throws(StorageError) -> AppendedCommit {
        try lock.withLock { () throws(StorageError) in
            let saved = ring
            do throws(StorageError) {
                let places = try build(pages)
                let state = try buildCommit(record, frameCount: earlier.count + pages.count)
                try flush()
                try afterWriting()
                if !index.hasRoom(for: earlier.count + pages.count) {
                    index = index.copy(from: checkpoint, spare: earlier.count + pages.count + index.count)
                }
                for version in earlier { index.append(version.page, at: version.place) }
                for (page, place) in zip(pages, places) { index.append(page.number, at: place) }
                assert(
                    state.commitLSN == ring.position && state.chain == ring.chain,
                    "the log does not end with the commit")
                assert(checkInvariants())
                return (places, state, index)
            } catch {
                undoAppend(restoring: saved)
                throw error
            }
        }
    }

    private func undoAppend(restoring saved: Ring) {
        assert(saved.position <= ring.position, "an append that failed began at \(saved.position)")
        ring = saved
        buffered = 0
        assert(checkInvariants())
    }

    // MARK: Building frames

    private func build(_ pages: [LoggedPage]) throws(StorageError) -> [LogPlace] {
        var places: [LogPlace] = []
        places.reserveCapacity(pages.count)
        for page in pages {
            try makeRoom(for: page.frameByteCount)
            places.append(LogPlace(lsn: ring.position, fileOffset: bufferOffset + UInt64(buffered)))
            assert(
                page.view.storedNumber == page.number, "page \(page.number) states the number \(page.view.storedNumber)"
            )
            let checksum = page.view.seal(lsn: ring.position, storeSeed: storeSeed)
            let hole = page.view.holeRange
            let payload = buffer.view(at: buffered + FrameHeaderLayout.byteCount)
            payload.copy(from: page.view, at: 0, to: 0, count: hole.lowerBound)
            payload.copy(
                from: page.view, at: hole.upperBound, to: hole.lowerBound, count: page.view.byteCount - hole.upperBound)
            addHeader(
                .page, page: page.number, payloadByteCount: page.view.byteCount - hole.count, hole: hole,
                checksum: checksum)
        }
        assert(places.count == pages.count, "\(places.count) of \(pages.count) frames")
        assert(zip(places, places.dropFirst()).allSatisfy { $0.lsn < $1.lsn }, "a frame does not follow the one before")
        return places
    }

    private func buildCommit(_ record: CommitRecord, frameCount: Int) throws(StorageError) -> StoreState {
        try makeRoom(for: Self.commitByteCount)
        var record = record
        record.frameCount = UInt32(frameCount)
        record.commitLSN = ring.position + UInt64(Self.commitByteCount)
        assert(record.freeCount < record.pageCount && record.catalogRoot < record.pageCount, "rule 63: the page count")
        assert(record.durableLSN < record.commitLSN, "rule 63: a commit at \(record.commitLSN) is durable already")
        let checksum = record.encode(
            to: buffer.view(at: buffered + FrameHeaderLayout.byteCount), salt: currentSalt)
        addHeader(.commit, page: 0, payloadByteCount: CommitRecordLayout.byteCount, hole: 0..<0, checksum: checksum)
        return StoreState(record, chain: ring.chain)
    }

    private var currentSalt: UInt64 { ring.active.last?.salt ?? 0 }

    /// Writes the frame header before the payload, which is already in the buffer, and advances past both.
    private func addHeader(
        _ type: FrameType, page: PageNumber, payloadByteCount: Int, hole: Range<Int>, checksum: UInt64
    ) {
        assert(
            buffered + FrameHeaderLayout.byteCount <= buffer.byteCount,
            "the header of a frame does not fit into the buffer")
        assert(FrameHeaderLayout.byteCount + payloadByteCount <= remaining, "a frame is in two segments")
        assert((type == .page) == (page != 0), "rule 62: a frame of page \(page)")
        var header = FrameHeader(
            type: type, page: page, payloadByteCount: payloadByteCount, hole: hole, lsn: ring.position,
            salt: currentSalt, payloadChecksum: checksum)
        ring.chain = header.encode(to: buffer.view(at: buffered), previousChain: ring.chain)
        buffered += header.frameByteCount
        ring.position += UInt64(header.frameByteCount)
    }

    /// Makes sure that the next frame fits into the segment and into the buffer.
    private func makeRoom(for frameByteCount: Int) throws(StorageError) {
        if remaining < frameByteCount {
            try closeSegment()
            openSegment()
        } else if buffered == 0 {
            locateBuffer()
        }
        if buffered + frameByteCount > buffer.byteCount { try flush() }
        assert(frameByteCount <= remaining && buffered + frameByteCount <= buffer.byteCount, "\(frameByteCount) bytes")
    }

    /// Finds the place of the empty buffer in the file.
    private func locateBuffer() {
        guard let last = ring.active.last else { return }
        // The position is in the last active segment, so that the subtraction does not underflow.
        bufferOffset = fileOffset(ofPlace: last.place) + ring.position - last.sequence * UInt64(segmentByteCount)
    }

    /// Fills the rest of the segment with a padding frame, if a header fits, and flushes the buffer.
    private func closeSegment() throws(StorageError) {
        let rest = remaining
        if rest >= FrameHeaderLayout.byteCount {
            if buffered == 0 { locateBuffer() }
            if buffered + FrameHeaderLayout.byteCount > buffer.byteCount { try flush() }
            // Only the header is written: the bytes that a padding frame covers are never read.
            let start = buffered
            addHeader(.padding, page: 0, payloadByteCount: rest - FrameHeaderLayout.byteCount, hole: 0..<0, checksum: 0)
            buffered = start + FrameHeaderLayout.byteCount
        }
        try flush()
        assert(remaining < FrameHeaderLayout.byteCount, "\(remaining) bytes of a segment are left")
    }

    /// Makes a vacant segment the one to fill; writes its header to the buffer, before its first frame.
    private func openSegment() {
        precondition(!ring.vacant.isEmpty, "no room was reserved")
        let segment = Segment(
            place: ring.vacant.removeFirst(), sequence: ring.nextSequence, salt: fileSystem.random())
        ring.nextSequence += 1
        ring.active.append(segment)
        let start = segment.sequence * UInt64(segmentByteCount)
        assert(ring.position <= start && buffered == 0, "invariant 1: a position is used twice")
        let header = SegmentHeader(
            index: segment.place, sequence: segment.sequence,
            startLSN: start + UInt64(SegmentHeaderLayout.byteCount), salt: segment.salt, previousChain: ring.chain,
            seedEcho: storeSeed)
        buffer.store(header.encoded(), at: 0)
        buffered = SegmentHeaderLayout.byteCount
        bufferOffset = fileOffset(ofPlace: segment.place)
        ring.position = start + UInt64(SegmentHeaderLayout.byteCount)
    }

    /// Writes the buffer to the file.
    private func flush() throws(StorageError) {
        guard buffered > 0 else { return }
        assert(bufferOffset >= UInt64(LogHeaderLayout.byteCount), "byte \(bufferOffset) is in the log's header")
        try buffer.write(0..<buffered, to: file, at: bufferOffset)
        bufferOffset += UInt64(buffered)
        buffered = 0
    }
}
