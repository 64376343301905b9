// The write-ahead log: a ring of equal segments to which transactions are appended.
//
// Invariants
//   1. `position` is the logical position of the next frame, in bytes. Segment s covers the positions from
//      s x segmentByteCount on, so a position determines its segment and its offset in it. No position is used twice
//      for frames that are kept: later frames overwrite those of a failed append or of a transaction that was rolled
//      back.
//   2. `active` lists the segments that were opened by this value, oldest first, with consecutive sequence numbers; the
//      last one is being filled. `vacant` lists the segments that may be opened next. Recovery leaves out of both lists
//      the segments that the newest slot still needs (`inUse`); otherwise each segment is in one of them.
//   3. A segment becomes vacant only when all of it is before the *durable* checkpoint (rule F3).
//   4. Space is reserved before frames are built (rule F8). A failed append leaves position, chain and ring as they
//      were, and the next append overwrites the bytes that it wrote. If the process ends before that, recovery ignores
//      these bytes, unless they are a whole commit that only seemed to fail: it then finds the commit.
//   5. When an append has written its frames, every byte of the segments that it used was written, those after its
//      frames as zeros, so that later writes to them are fast (see Decisions, "Segments that were written"). Two
//      segments are exceptions: recovery only reserves those that it adds, because it removes the log in the end; and
//      the first one of a new log is written in pieces, of which `zerosEnd` is the end.
//   6. A thread that appends holds the writer gate. `lock` orders its appends against the releases of a checkpoint.

// SAFETY: @unchecked Sendable, because `ring` and `index` are touched only while `lock` is held.
/// The log of an open store.
@safe
package final class Log: @unchecked Sendable {
    /// A segment in use.
    struct Segment {
        let place: UInt32
        let sequence: UInt64
        let salt: UInt64
    }

    /// The state that an append changes, and that is restored if the append fails.
    struct Ring {
        var active: [Segment] = []
        var vacant: [UInt32] = []
        var segmentCount = 0
        var nextSequence: UInt64 = 1
        var position: UInt64 = 0
        var chain: UInt64 = 0

        /// Asserts invariants 1 and 2; to be called in `assert`.
        ///
        /// O(segments).
        func checkInvariants(segmentByteCount stride: UInt64) -> Bool {
            for (segment, next) in zip(active, active.dropFirst()) {
                assert(
                    segment.sequence + 1 == next.sequence, "invariant 2: \(next.sequence) follows \(segment.sequence)")
            }
            if let last = active.last {
                assert(last.sequence + 1 == nextSequence, "invariant 2: \(last.sequence) is not the newest segment")
                assert(position > last.sequence * stride, "invariant 1: \(position) is before the segment being filled")
            }
            assert(position <= nextSequence * stride, "invariant 1: \(position) is after the segment being filled")
            // One bit for each place: no segment is in both lists, or twice in one.
            var places: UInt64 = 0
            for place in active.map(\.place) + vacant {
                assert(place < segmentCount, "segment \(place) of \(segmentCount)")
                assert(place > 63 || places & 1 << UInt64(place) == 0, "invariant 2: segment \(place) is there twice")
                if place < 64 { places |= 1 << UInt64(place) }
            }
            assert(active.count + vacant.count <= segmentCount, "\(active.count) + \(vacant.count) segments")
            return true
        }
    }

    /// The log file.
    package let file: any StorageFile
    /// Bytes per segment.
    package let segmentByteCount: Int
    /// 16 bytes that name this log file.
    package let identifier: [UInt8]
    let geometry: StoreGeometry
    let storeSeed: UInt64
    let fileSystem: any FileSystem
    let syncs: SyncGuard
    /// The commit on which this session of writing builds, the sequence number of its first segment, and the chain
    /// value before its first frame.
    let session: (baseLSN: UInt64, firstSequence: UInt64, chain: UInt64)
    let lock = Monitor()
    var ring = Ring()
    var index = LogIndex(capacity: 1024)
    let buffer: ScratchBytes
    var buffered = 0
    var bufferOffset: UInt64 = 0
    /// The end of the bytes of a new log's first segment that were filled with zeros in advance.
    ///
    /// The frames of the first append are written over space that is only reserved. `nil` for every other log, and once
    /// nothing is left to do.
    private var zerosEnd: Int?

    /// A log over `file`, whose header is already written, with no segment in use.
    ///
    /// - Parameter firstSequence: higher than all sequence numbers that were ever used.
    /// - Parameter chain: the chain value before the first frame, as the checkpoint slot states it.
    /// - Parameter baseLSN: the position of the commit on which the first new commit builds.
    /// - Parameter inUse: the places of segments that must not be overwritten.
    package init(
        file: any StorageFile, header: LogHeader, storeSeed: UInt64, fileSystem: any FileSystem, syncs: SyncGuard,
        segmentCount: Int, firstSequence: UInt64, chain: UInt64, baseLSN: UInt64, inUse: Set<UInt32> = []
    ) {
        session = (baseLSN, firstSequence, chain)
        self.file = file
        segmentByteCount = header.segmentByteCount
        identifier = header.logIdentifier
        geometry = StoreGeometry(pageSize: header.pageSize)
        self.storeSeed = storeSeed
        self.fileSystem = fileSystem
        self.syncs = syncs
        buffer = ScratchBytes(byteCount: max(1 << 20, 4 * geometry.pageSize))
        ring.segmentCount = segmentCount
        ring.vacant = (0..<UInt32(segmentCount)).filter { !inUse.contains($0) }
        ring.nextSequence = firstSequence
        ring.position = firstSequence * UInt64(segmentByteCount)
        ring.chain = chain
        assert(segmentByteCount > SegmentHeaderLayout.byteCount + FrameHeaderLayout.byteCount + geometry.pageSize)
        assert(checkInvariants())
    }

    /// The size of the log file in bytes: header and segments.
    package var byteCount: UInt64 { lock.withLock { fileOffset(ofPlace: UInt32(ring.segmentCount)) } }
    /// The logical position of the next frame.
    package var position: UInt64 { lock.withLock { ring.position } }
    /// The index that lists every version appended so far.
    package var currentIndex: LogIndex { lock.withLock { index } }

    func fileOffset(ofPlace place: UInt32) -> UInt64 {
        UInt64(LogHeaderLayout.byteCount) + UInt64(place) * UInt64(segmentByteCount)
    }

    /// The number of bytes left in the segment that is being filled.
    var remaining: Int {
        guard let last = ring.active.last else { return 0 }
        assert(ring.position <= (last.sequence + 1) * UInt64(segmentByteCount), "position \(ring.position)")
        return Int((last.sequence + 1) * UInt64(segmentByteCount) - ring.position)
    }

    // MARK: Space

    /// Makes sure that frames of `byteCount` bytes in all can be appended.
    ///
    /// - Parameter byteCountMax: the log file's greatest size.
    /// - Parameter fillingWithZeros: whether to write zeros to those parts of added segments that the frames leave,
    ///   which makes every later write to them faster; otherwise this method reserves space for the frames only, which
    ///   also works on a nearly full disk.
    /// - Returns: `false` if the log would become larger than `byteCountMax`.
    /// - Throws: `diskFull`; segments that were added before the error stay vacant.
    package func reserve(
        _ byteCount: Int, byteCountMax: Int, fillingWithZeros: Bool = true
    ) throws(StorageError) -> Bool {
        assert(byteCount >= 0, "\(byteCount) bytes")
        return try lock.withLock { () throws(StorageError) in
            if fillingWithZeros { try fillAhead(byteCount) }
            // At least this many bytes of frames go to added segments, if those before them are filled to their ends.
            var rest = byteCount - remaining - ring.vacant.count * segmentCapacity
            for _ in 0..<segmentsMissing(for: byteCount) {
                let grown = fileOffset(ofPlace: UInt32(ring.segmentCount + 1))
                guard grown <= UInt64(byteCountMax) else { return false }
                if fillingWithZeros {
                    try addSegment(writing: max(rest, 0))
                } else {
                    try addSegment(reserving: byteCount)
                }
                rest -= segmentCapacity
            }
            assert(segmentsMissing(for: byteCount) == 0, "invariant 4: \(byteCount) bytes are not reserved")
            assert(checkInvariants())
            return true
        }
    }

    /// The bytes of frames that a segment can hold.
    private var segmentCapacity: Int { segmentByteCount - SegmentHeaderLayout.byteCount }

    /// The bytes of the largest frame: up to this many at the end of a segment stay unused.
    private var waste: Int { FrameHeaderLayout.byteCount + geometry.pageSize }

    /// The number of segments that must become vacant, or be added, before frames of `byteCount` bytes can be appended.
    private func segmentsMissing(for byteCount: Int) -> Int {
        let usable = segmentCapacity - waste
        assert(usable > 0, "segments of \(segmentByteCount) bytes hold no frame")
        let missing = byteCount - max(remaining - waste, 0) - ring.vacant.count * usable
        return missing > 0 ? (missing + usable - 1) / usable : 0
    }

    /// The position that a checkpoint must reach before frames of `byteCount` bytes fit into a log that cannot grow.
    ///
    /// - Returns: 0 if they fit already; `nil` if too few segments are older than the one that is being filled.
    package func positionToRelease(for byteCount: Int) -> UInt64? {
        lock.withLock {
            let count = segmentsMissing(for: byteCount)
            guard count > 0 else { return 0 }
            guard count < ring.active.count else { return nil }
            return (ring.active[count - 1].sequence + 1) * UInt64(segmentByteCount)
        }
    }

    /// Adds a segment at the end of the file, into which the next append writes `byteCount` bytes of frames or more.
    ///
    /// The bytes after them are filled with zeros; those of the first segment of a new log in pieces (`fillAhead`),
    /// since a session may write little.
    private func addSegment(writing byteCount: Int) throws(StorageError) {
        let (start, end) = nextSegment
        try file.allocate(to: end)
        if ring.segmentCount == 0 {
            zerosEnd = 0
        } else {
            // The append leaves the last bytes if its next frame does not fit.
            let kept = SegmentHeaderLayout.byteCount + min(byteCount, segmentCapacity - waste)
            try writeZeros(start + UInt64(kept)..<end)
        }
        didAddSegment()
    }

    /// Adds a segment at the end of the file, reserves space for `byteCount` bytes of frames, and leaves the rest a
    /// hole.
    private func addSegment(reserving byteCount: Int) throws(StorageError) {
        let (start, end) = nextSegment
        try file.allocate(to: min(start + UInt64(SegmentHeaderLayout.byteCount + byteCount), end))
        try file.truncate(to: end)
        didAddSegment()
    }

    /// The offsets of the segment after the last one.
    private var nextSegment: (start: UInt64, end: UInt64) {
        let start = fileOffset(ofPlace: UInt32(ring.segmentCount))
        return (start, start + UInt64(segmentByteCount))
    }

    private func didAddSegment() {
        assert(ring.segmentCount < Int(UInt32.max), "\(ring.segmentCount) segments")
        ring.vacant.append(UInt32(ring.segmentCount))
        ring.segmentCount += 1
    }

    /// Fills as much space in the first segment of a new log as its frames take with those of the next append, with
    /// zeros, after the place of these frames.
    ///
    /// The frames of the first append need no zeros: the sync that makes the new file durable covers them.
    private func fillAhead(_ byteCount: Int) throws(StorageError) {
        guard let written = zerosEnd, let last = ring.active.last else { return }
        let inSegment = segmentByteCount - remaining
        guard last.place == 0, written < segmentByteCount, inSegment < segmentByteCount else {
            return zerosEnd = nil
        }
        let needed = inSegment + byteCount
        guard needed > written else { return }
        let end = min(max(2 * needed, 64 << 10), segmentByteCount)
        // The next frame may not fit into the last bytes, which earlier frames may have reached.
        let first = max(inSegment, min(needed, segmentByteCount - waste))
        let start = fileOffset(ofPlace: 0)
        if first < end { try writeZeros(start + UInt64(first)..<start + UInt64(end)) }
        zerosEnd = end
    }

    /// Writes zeros, which the sync of the commit that needed the space makes durable.
    private func writeZeros(_ range: Range<UInt64>) throws(StorageError) {
        let zeros = ScratchBytes(byteCount: min(range.count, 1 << 20))
        zeros.view(at: 0).clear(0..<zeros.byteCount)
        var start = range.lowerBound
        while start < range.upperBound {
            let count = min(zeros.byteCount, Int(range.upperBound - start))
            try zeros.write(0..<count, to: file, at: start)
            start += UInt64(count)
        }
    }

    // MARK: Removing uncommitted frames

    /// The end of the log at one time, to which `rewind` can return.
    package struct End: Sendable {
        let position: UInt64
        let chain: UInt64
        let nextSequence: UInt64
    }

    /// The current end of the log.
    package var end: End {
        lock.withLock { End(position: ring.position, chain: ring.chain, nextSequence: ring.nextSequence) }
    }

    /// Removes the frames appended since `end`, which no commit covers.
    ///
    /// Their positions are used again, so the buffer pool must no longer have pages under these positions.
    package func rewind(to end: End) {
        lock.withLock {
            assert(end.position <= ring.position && end.nextSequence <= ring.nextSequence, "the log ended at \(end)")
            assert(buffered == 0, "\(buffered) bytes are not written")
            var places: [UInt32] = []
            while let last = ring.active.last, last.sequence >= end.nextSequence {
                places.append(last.place)
                ring.active.removeLast()
            }
            // In the old order, before all others: a sequence number is used again only at the place that already has
            // it on disk, so that after a crash no two places claim the same number.
            ring.vacant.insert(contentsOf: places.reversed(), at: 0)
            ring.nextSequence = end.nextSequence
            ring.position = end.position
            ring.chain = end.chain
            assert(checkInvariants())
        }
    }

    // MARK: Releasing

    /// Frees the segments before `lsn`, a durable checkpoint, and replaces the index by one without older versions.
    ///
    /// - Parameter kept: segments from this position on are kept, although no snapshot needs them.
    /// - Returns: the old index and the smaller one, for the snapshot board.
    package func release(before lsn: UInt64, keepingFrom kept: UInt64? = nil) -> (old: LogIndex, new: LogIndex) {
        lock.withLock {
            assert(lsn <= ring.position, "a checkpoint at \(lsn) of \(ring.position)")
            let end = min(lsn, kept ?? lsn)
            while ring.active.count > 1, (ring.active[0].sequence + 1) * UInt64(segmentByteCount) <= end {
                ring.vacant.append(ring.active.removeFirst().place)
            }
            let old = index
            index = old.copy(from: lsn, spare: 1024)
            assert(checkInvariants())
            return (old, index)
        }
    }

    // MARK: Invariants

    /// Asserts invariants 1 and 2, and that the buffer is empty; to be called in `assert`, with the lock held.
    ///
    /// O(segments).
    func checkInvariants() -> Bool {
        assert(buffered == 0, "\(buffered) bytes are not written")
        assert(ring.position >= session.firstSequence * UInt64(segmentByteCount), "position \(ring.position)")
        return ring.checkInvariants(segmentByteCount: UInt64(segmentByteCount))
    }
}
