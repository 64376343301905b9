// The write-ahead log: a ring of equal segments to which transactions are appended.
//
// Invariants
//   1. `position` is the logical position of the next frame. Segment s covers positions s x segmentByteCount and
//      following, so a position names its segment and its place in it, and no position is ever used twice for
//      frames that were kept.
//   2. `active` lists segments in use, oldest first, with consecutive sequence numbers; the last one is being filled.
//      `vacant` lists the others, all of them written once before (overwriting costs 69 us, growing 191 us per commit).
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
    /// - Parameter inUse: places of segments that must be kept as they are.
    package init(
        file: any StorageFile, header: LogHeader, storeSeed: UInt64, fileSystem: any FileSystem, syncs: SyncGuard,
        segmentCount: Int, firstSequence: UInt64, chain: UInt64, inUse: Set<UInt32> = []
    ) {
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
        return Int((last.sequence + 1) * UInt64(segmentByteCount) - ring.position)
    }

    // MARK: Space

    /// Makes sure that frames of `byteCount` bytes in all can be appended.
    ///
    /// - Parameter byteCountMax: the log file's greatest size.
    /// - Returns: `false` if that would take the log beyond `byteCountMax`.
    /// - Throws: `diskFull`; then nothing has changed.
    package func reserve(_ byteCount: Int, byteCountMax: Int) throws(StorageError) -> Bool {
        try lock.withLock { () throws(StorageError) in
            // At the end of a segment up to one frame's bytes stay unused.
            let usable =
                segmentByteCount - SegmentHeaderLayout.byteCount - FrameHeaderLayout.byteCount - geometry.pageSize
            var missing = byteCount - max(remaining - FrameHeaderLayout.byteCount - geometry.pageSize, 0)
            missing -= ring.vacant.count * usable
            while missing > 0 {
                let grown = fileOffset(ofPlace: UInt32(ring.segmentCount + 1))
                guard grown <= UInt64(byteCountMax) else { return false }
                try addSegment()
                missing -= usable
            }
            return true
        }
    }

    /// Adds a segment at the end of the file: reserved, written with zeros and synced once, outside any commit.
    func addSegment() throws(StorageError) {
        let start = fileOffset(ofPlace: UInt32(ring.segmentCount))
        try file.allocate(to: start + UInt64(segmentByteCount))
        let zeros = ScratchBytes(byteCount: min(segmentByteCount, 1 << 20))
        zeros.view(at: 0).clear(0..<zeros.byteCount)
        var done = 0
        while done < segmentByteCount {
            let count = min(zeros.byteCount, segmentByteCount - done)
            try zeros.write(0..<count, to: file, at: start + UInt64(done))
            done += count
        }
        try syncs.sync(file)
        ring.vacant.append(UInt32(ring.segmentCount))
        ring.segmentCount += 1
    }

    // MARK: Releasing

    /// After a checkpoint became durable: frees segments that lie before `lsn`, and forgets versions before it.
    ///
    /// - Returns: the index until now and the smaller one, for the board.
    package func release(before lsn: UInt64) -> (old: LogIndex, new: LogIndex) {
        lock.withLock {
            while ring.active.count > 1, (ring.active[0].sequence + 1) * UInt64(segmentByteCount) <= lsn {
                ring.vacant.append(ring.active.removeFirst().place)
            }
            let old = index
            index = old.copy(from: lsn, spare: 1024)
            return (old, index)
        }
    }
}
