// The write-ahead log: a ring of equal segments to which transactions are appended.
//
// Invariants
//   1. `position` is the logical position of the next frame. Segment s covers positions s x segmentByteCount and
//      following, so a position names its segment and its place in it, and no position is ever used twice for
//      frames that were kept: those that an append which failed, or a transaction that was given up, left behind are
//      overwritten.
//   2. `active` lists segments in use, oldest first, with consecutive sequence numbers; the last one is being filled.
//      `vacant` lists the others, which were written once before (overwriting costs 69 us, growing 191 us per commit);
//      only in recovery, which removes the log in the end, they are not.
//   3. A segment becomes vacant only when all of it is before the *durable* checkpoint (rule F3).
//   4. Space is there before frames are built (rule F8); a failed append leaves position, chain and ring as they were,
//      and what it wrote is overwritten by the next append or ignored by recovery.
//   5. Who appends holds the writer gate. The lock orders appending against the checkpoint's releasing.

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

    /// What an append changes, and what is restored if it fails.
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
                assert(segment.sequence + 1 == next.sequence, "invariant 2: \(next.sequence) follows a segment in use")
            }
            if let last = active.last {
                assert(last.sequence + 1 == nextSequence, "invariant 2: \(last.sequence) is the newest segment")
                assert(position > last.sequence * stride, "invariant 1: \(position) is before the segment being filled")
            }
            assert(position <= nextSequence * stride, "invariant 1: \(position) is behind the segment being filled")
            // One bit for each place: no segment is both in use and vacant, or twice in either.
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
    /// The commit with which this session of writing began, and its first segment.
    let session: (baseLSN: UInt64, firstSequence: UInt64)
    let lock = Monitor()
    var ring = Ring()
    var index = LogIndex(capacity: 1024)
    let buffer: ScratchBytes
    var buffered = 0
    var bufferOffset: UInt64 = 0

    /// A log over `file`, whose header was written, with no segment in use.
    ///
    /// - Parameter firstSequence: above all sequence numbers that were ever used.
    /// - Parameter chain: the chain value before the first frame, as the checkpoint slot states it.
    /// - Parameter baseLSN: the commit on which the first one builds.
    /// - Parameter inUse: places of segments that must be kept as they are.
    package init(
        file: any StorageFile, header: LogHeader, storeSeed: UInt64, fileSystem: any FileSystem, syncs: SyncGuard,
        segmentCount: Int, firstSequence: UInt64, chain: UInt64, baseLSN: UInt64, inUse: Set<UInt32> = []
    ) {
        session = (baseLSN, firstSequence)
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

    /// The log file's bytes: header and segments.
    package var byteCount: UInt64 { lock.withLock { fileOffset(ofPlace: UInt32(ring.segmentCount)) } }
    /// The logical position of the next frame.
    package var position: UInt64 { lock.withLock { ring.position } }
    /// The index that lists every version appended so far.
    package var currentIndex: LogIndex { lock.withLock { index } }

    func fileOffset(ofPlace place: UInt32) -> UInt64 {
        UInt64(LogHeaderLayout.byteCount) + UInt64(place) * UInt64(segmentByteCount)
    }

    /// The bytes that are left in the segment that is being filled.
    var remaining: Int {
        guard let last = ring.active.last else { return 0 }
        assert(ring.position <= (last.sequence + 1) * UInt64(segmentByteCount), "position \(ring.position)")
        return Int((last.sequence + 1) * UInt64(segmentByteCount) - ring.position)
    }

    // MARK: Space

    /// Makes sure that frames of `byteCount` bytes in all can be appended.
    ///
    /// - Parameter byteCountMax: the log file's greatest size.
    /// - Parameter lasting: whether segments that are added are made ready for many laps, which costs a write and a
    ///   sync of each; otherwise space is reserved for the frames only, so that it works on a disk with little room.
    /// - Returns: `false` if that would take the log beyond `byteCountMax`.
    /// - Throws: `diskFull`; then nothing has changed.
    package func reserve(
        _ byteCount: Int, byteCountMax: Int, lasting: Bool = true
    ) throws(StorageError) -> Bool {
        assert(byteCount >= 0, "\(byteCount) bytes")
        return try lock.withLock { () throws(StorageError) in
            for _ in 0..<segmentsMissing(for: byteCount) {
                let grown = fileOffset(ofPlace: UInt32(ring.segmentCount + 1))
                guard grown <= UInt64(byteCountMax) else { return false }
                try addSegment(needing: lasting ? nil : byteCount)
            }
            assert(segmentsMissing(for: byteCount) == 0, "invariant 4: \(byteCount) bytes are there")
            assert(checkInvariants())
            return true
        }
    }

    /// How many segments must become vacant, or be added, so that frames of `byteCount` bytes in all can be appended.
    private func segmentsMissing(for byteCount: Int) -> Int {
        // At the end of a segment up to one frame's bytes stay unused.
        let waste = FrameHeaderLayout.byteCount + geometry.pageSize
        let usable = segmentByteCount - SegmentHeaderLayout.byteCount - waste
        assert(usable > 0, "segments of \(segmentByteCount) bytes hold a frame")
        let missing = byteCount - max(remaining - waste, 0) - ring.vacant.count * usable
        return missing > 0 ? (missing + usable - 1) / usable : 0
    }

    /// How far a checkpoint must get so that frames of `byteCount` bytes can be appended to a log that cannot grow.
    ///
    /// - Returns: `nil` if there are not as many segments behind the one that is being filled.
    package func positionToRelease(for byteCount: Int) -> UInt64? {
        lock.withLock {
            let count = segmentsMissing(for: byteCount)
            guard count > 0 else { return 0 }
            guard count < ring.active.count else { return nil }
            return (ring.active[count - 1].sequence + 1) * UInt64(segmentByteCount)
        }
    }

    /// Adds a segment at the end of the file: reserved, written with zeros and synced once, outside any commit; or, if
    /// only `byteCount` bytes of frames are needed, reserved for them, the rest of it a hole.
    private func addSegment(needing byteCount: Int?) throws(StorageError) {
        assert(ring.segmentCount < Int(UInt32.max), "\(ring.segmentCount) segments")
        let start = fileOffset(ofPlace: UInt32(ring.segmentCount))
        let end = start + UInt64(segmentByteCount)
        if let byteCount {
            try file.allocate(to: min(start + UInt64(SegmentHeaderLayout.byteCount + byteCount), end))
            try file.truncate(to: end)
        } else {
            try file.allocate(to: end)
            try writeZeros(from: start)
        }
        ring.vacant.append(UInt32(ring.segmentCount))
        ring.segmentCount += 1
    }

    private func writeZeros(from start: UInt64) throws(StorageError) {
        let zeros = ScratchBytes(byteCount: min(segmentByteCount, 1 << 20))
        zeros.view(at: 0).clear(0..<zeros.byteCount)
        var done = 0
        while done < segmentByteCount {
            let count = min(zeros.byteCount, segmentByteCount - done)
            try zeros.write(0..<count, to: file, at: start + UInt64(done))
            done += count
        }
        try syncs.sync(file)
    }

    // MARK: Taking back

    /// Where the log ends, so that it can be taken back to here.
    package struct End: Sendable {
        let position: UInt64
        let chain: UInt64
        let nextSequence: UInt64
    }

    /// Where the log ends.
    package var end: End {
        lock.withLock { End(position: ring.position, chain: ring.chain, nextSequence: ring.nextSequence) }
    }

    /// Takes back what was appended since `end`: frames that no commit covers.
    ///
    /// Their positions are given out again, so no copy of them may be found in memory any more.
    package func takeBack(to end: End) {
        lock.withLock {
            assert(end.position <= ring.position && end.nextSequence <= ring.nextSequence, "the log ended at \(end)")
            assert(buffered == 0, "\(buffered) bytes are not written")
            var places: [UInt32] = []
            while let last = ring.active.last, last.sequence >= end.nextSequence {
                places.append(last.place)
                ring.active.removeLast()
            }
            // In the old order and before all others: a sequence number is used again only at the place that bears it
            // on the disk already, so that no two places claim the same one after a crash.
            ring.vacant.insert(contentsOf: places.reversed(), at: 0)
            ring.nextSequence = end.nextSequence
            ring.position = end.position
            ring.chain = end.chain
            assert(checkInvariants())
        }
    }

    // MARK: Releasing

    /// After a checkpoint became durable: frees segments that lie before `lsn`, and forgets versions before it.
    ///
    /// - Parameter kept: segments from this position on are kept, although no snapshot needs them.
    /// - Returns: the index until now and the smaller one, for the board.
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

    /// Asserts invariants 1 and 2, and that nothing waits to be written; to be called in `assert`, with the lock held.
    ///
    /// O(segments).
    func checkInvariants() -> Bool {
        assert(buffered == 0, "\(buffered) bytes are not written")
        assert(ring.position >= session.firstSequence * UInt64(segmentByteCount), "position \(ring.position)")
        return ring.checkInvariants(segmentByteCount: UInt64(segmentByteCount))
    }
}
