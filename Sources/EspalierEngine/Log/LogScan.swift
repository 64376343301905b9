// Scans a log from a checkpoint on, to find its commits and its end.
//
// Invariants
//   1. A frame counts only if its position, its segment's salt, the chain and the checksum of its payload all match;
//      the first frame that does not is the end of the log ("the break").
//   2. A page version counts only if a later commit covers it: a commit states how many of the preceding page frames
//      it covers. Earlier ones, of transactions that were rolled back, do not count.
//   3. If a commit beyond the break states that positions beyond the break were durable, commits are damaged that may
//      have been acknowledged: `logCorrupt`. Otherwise the break is where a power loss tore the log.
//   4. A later call can continue the scan from its end (for a reader that follows a writing process).
// Memory: one window of 1 MiB, and 24 bytes per page version.

/// A scan of the frames of a log file.
package struct LogScan: ~Copyable {
    /// The place of a segment in the file, and its header.
    struct Place {
        let index: UInt32
        let header: SegmentHeader
    }

    /// The number of bytes of a segment that are read at a time.
    private static let windowByteCount = 1 << 20

    let file: any StorageFile
    let header: LogHeader
    let geometry: StoreGeometry
    let storeSeed: UInt64
    private var places: [UInt64: Place] = [:]
    /// The places in the file whose segment headers are not valid.
    private var unreadablePlaces: [UInt32] = []
    private let window: ScratchBytes
    private let page: ScratchBytes
    private var windowStart: UInt64 = 0
    private var windowCount = 0
    private var pending: [(page: PageNumber, place: LogPlace)] = []

    /// The state of the newest commit found; initially that of the checkpoint.
    package private(set) var state: StoreState
    /// The state of the newest commit known to be durable: later commits may be in the system's memory only.
    package private(set) var certainState: StoreState
    private var uncertainStates: [StoreState] = []
    private var durableLSN: UInt64
    /// The versions that commits cover.
    package private(set) var index = LogIndex(capacity: 256)
    /// The position of the next frame.
    package private(set) var position: UInt64
    private var chain: UInt64
    /// The sequence number of the segment that is being scanned.
    private var sequence: UInt64
    private var segment: Place?
    private var sequenceMax: UInt64 = 0

    /// Prepares a scan from the checkpoint that `slot` describes.
    ///
    /// - Throws: `corruption(.superblockField)` if a position in the slot is out of range.
    package init(
        file: any StorageFile, header: LogHeader, slot: CheckpointSlot, storeSeed: UInt64
    ) throws(StorageError) {
        self.file = file
        self.header = header
        self.storeSeed = storeSeed
        geometry = StoreGeometry(pageSize: header.pageSize)
        window = ScratchBytes(byteCount: Self.windowByteCount)
        page = ScratchBytes(byteCount: header.pageSize)
        state = StoreState(slot)
        certainState = state
        durableLSN = slot.checkpointLSN
        chain = slot.chainSeed
        let stride = UInt64(header.segmentByteCount)
        // The checkpoint may be older than the log's first segment: the log was created again after it.
        let start = slot.logStartSegment.multipliedReportingOverflow(by: stride)
        guard !start.overflow, start.partialValue < 1 << 62, slot.checkpointLSN < 1 << 62 else {
            throw .corrupt(.superblockField, page: 0, byteOffset: slot.byteOffset)
        }
        position = max(slot.checkpointLSN, start.partialValue)
        sequence = position / stride
        assert(stride > 0 && position >= slot.checkpointLSN, "position \(position)")
    }

    /// Continues the scan to the current end of the log.
    ///
    /// - Throws: `logCorrupt`, or what reading the file throws.
    package mutating func advance() throws(StorageError) {
        // The bytes read before may have been half of a write of the process that is followed.
        windowCount = 0
        try readSegmentHeaders()
        var tail = (position: position, chain: chain, sequence: sequence)
        pending.removeAll(keepingCapacity: true)
        segment = nil
        while try enterSegment() {
            while try stepOverFrame() {
                if pending.isEmpty { tail = (position, chain, sequence) }
            }
            guard isAtSegmentEnd else { break }
            sequence += 1
        }
        let breakLSN = position
        try checkNothingDurable(beyond: breakLSN)
        // The next call begins after the last commit, and reads frames without a commit again.
        (position, chain, sequence) = tail
        assert(position <= breakLSN, "invariant 4: the next walk begins at \(position), this one ended at \(breakLSN)")
        assert(certainState.commitLSN <= state.commitLSN, "the certain state is newer than the newest one")
    }

    /// The highest sequence number of any valid segment header in the file, 0 if there is none.
    package mutating func findSequenceMax() throws(StorageError) -> UInt64 {
        try readSegmentHeaders()
        return sequenceMax
    }

    /// Whether a commit anywhere in the file states that positions after `lsn` were durable.
    package mutating func holdsDurableCommit(after lsn: UInt64) throws(StorageError) -> Bool {
        try readSegmentHeaders()
        let first = lsn / UInt64(header.segmentByteCount)
        // In order, so that the same log always causes the same reads.
        for sequence in places.keys.sorted() where sequence >= first {
            guard let place = places[sequence] else { continue }
            var start = max(lsn, place.header.startLSN)
            windowCount = 0
            while let found = try nextCommit(from: start, in: place) {
                if found.record.durableLSN > lsn { return true }
                start = found.lsn + 1
            }
        }
        return false
    }

    /// The places in the file of the segments that hold position `lsn` or later ones.
    package func placesInUse(from lsn: UInt64) -> Set<UInt32> {
        let first = lsn / UInt64(header.segmentByteCount)
        return Set(places.values.filter { $0.header.sequence >= first }.map(\.index))
    }

    /// Whether the log has the segment of the checkpoint of `slot`, whose frames were durable before the slot.
    ///
    /// Also `true` if the log need not have it: for a checkpoint before the log's first segment, or at the end of one.
    package mutating func holdsCheckpoint(of slot: CheckpointSlot) throws(StorageError) -> Bool {
        try readSegmentHeaders()
        let (sequence, rest) = slot.checkpointLSN.quotientAndRemainder(dividingBy: UInt64(header.segmentByteCount))
        return sequence != slot.logStartSegment || rest == 0 || places[sequence] != nil
    }

    // MARK: Segments

    private mutating func readSegmentHeaders() throws(StorageError) {
        places.removeAll(keepingCapacity: true)
        unreadablePlaces.removeAll(keepingCapacity: true)
        let stride = UInt64(header.segmentByteCount)
        let size = try file.size()
        guard size > UInt64(LogHeaderLayout.byteCount) else { return }
        // A last segment that is not complete can still hold frames, if the file was cut.
        let count = (size - UInt64(LogHeaderLayout.byteCount) + stride - 1) / stride
        for index in 0..<count {
            let offset = UInt64(LogHeaderLayout.byteCount) + index * stride
            let read = try page.read(0..<SegmentHeaderLayout.byteCount, from: file, at: offset)
            guard let found = page.with(0..<read, { SegmentHeader(decoding: $0) }), found.seedEcho == storeSeed,
                UInt64(found.index) == index, found.sequence < 1 << 62 / stride,
                found.startLSN == found.sequence * stride + UInt64(SegmentHeaderLayout.byteCount)
            else {
                unreadablePlaces.append(UInt32(truncatingIfNeeded: index))
                continue
            }
            sequenceMax = max(sequenceMax, found.sequence)
            places[found.sequence] = Place(index: found.index, header: found)
        }
    }

    /// Begins to scan segment `sequence`; `false` if the file does not have it or it does not continue the log.
    private mutating func enterSegment() throws(StorageError) -> Bool {
        guard let place = places[sequence] else { return false }
        let start = place.header.startLSN
        if position < start {
            guard place.header.previousChain == chain else { return false }
            position = start
        }
        segment = place
        windowCount = 0
        return true
    }

    /// Whether the rest of the segment is too short for another frame.
    private var isAtSegmentEnd: Bool {
        segment != nil
            && position + UInt64(FrameHeaderLayout.byteCount) > (sequence + 1) * UInt64(header.segmentByteCount)
    }

    /// The byte offset in the file of a position of a segment.
    private func fileOffset(of position: UInt64, in place: Place) -> UInt64 {
        let stride = UInt64(header.segmentByteCount)
        return UInt64(LogHeaderLayout.byteCount) + UInt64(place.index) * stride + position
            - place.header.sequence * stride
    }

    // MARK: Frames

    /// Reads `count` bytes from `position` on into the window, if the file has them; returns their range in it.
    private mutating func look(at position: UInt64, count: Int, in place: Place) throws(StorageError) -> Range<Int> {
        if windowCount == 0 || position < windowStart || position + UInt64(count) > windowStart + UInt64(windowCount) {
            let left = Int((place.header.sequence + 1) * UInt64(header.segmentByteCount) - position)
            windowStart = position
            windowCount = try window.read(
                0..<min(left, window.byteCount), from: file, at: fileOffset(of: position, in: place))
        }
        assert(position >= windowStart && windowCount <= window.byteCount, "position \(position) is not in the window")
        let start = Int(position - windowStart)
        return start..<min(start + count, windowCount)
    }

    /// Checks the frame at `position` and advances past it; `false` at the break and at the end of a segment.
    private mutating func stepOverFrame() throws(StorageError) -> Bool {
        guard let segment, !isAtSegmentEnd else { return false }
        let bytes = try look(at: position, count: FrameHeaderLayout.byteCount, in: segment)
        let previous = chain
        let decoded = window.with(bytes) { span -> FrameHeader? in
            guard let frame = FrameHeader(decoding: span, pageSize: geometry.pageSize),
                frame.chain == FrameHeader.chain(of: span, after: previous)
            else { return nil }
            return frame
        }
        guard let frame = decoded, frame.lsn == position, frame.salt == segment.header.salt else { return false }
        guard try acceptPayload(of: frame, in: segment) else { return false }
        chain = frame.chain
        position += UInt64(frame.frameByteCount)
        assert(position <= (sequence + 1) * UInt64(header.segmentByteCount), "a frame is in two segments")
        return true
    }

    /// Verifies the payload of a frame, and records its page version or commit; `false` if it is not valid.
    private mutating func acceptPayload(of frame: FrameHeader, in place: Place) throws(StorageError) -> Bool {
        switch frame.type {
        case .padding:
            return frame.lsn + UInt64(frame.frameByteCount) == (sequence + 1) * UInt64(header.segmentByteCount)
        case .segmentStart:
            return true
        case .page:
            let bytes = try look(at: frame.lsn, count: frame.frameByteCount, in: place)
            guard bytes.count == frame.frameByteCount else { return false }
            let target = page.view(at: 0, byteCount: geometry.pageSize)
            frame.restorePage(
                from: window.view(at: bytes.lowerBound + FrameHeaderLayout.byteCount), to: target)
            let checksum = target.computedChecksum(number: frame.page, storeSeed: storeSeed)
            guard checksum == frame.payloadChecksum, target.storedChecksum == checksum,
                target.storedNumber == frame.page, target.lsn == frame.lsn
            else { return false }
            let fileOffset = fileOffset(of: frame.lsn, in: place)
            pending.append((frame.page, LogPlace(lsn: frame.lsn, fileOffset: fileOffset)))
            return true
        case .commit:
            guard let record = try commitRecord(of: frame, in: place), Int(record.frameCount) <= pending.count,
                record.transactionID > state.transactionID
            else { return false }
            let covered = pending.suffix(Int(record.frameCount))
            if !index.hasRoom(for: covered.count) {
                index = index.copy(from: 0, spare: covered.count + index.count)
            }
            assert(covered.count == Int(record.frameCount), "invariant 2: a commit covers \(record.frameCount) frames")
            for version in covered { index.append(version.page, at: version.place) }
            pending.removeAll(keepingCapacity: true)
            state = StoreState(record, chain: frame.chain)
            durableLSN = max(durableLSN, record.durableLSN)
            uncertainStates.append(state)
            while let first = uncertainStates.first, first.commitLSN <= durableLSN {
                certainState = uncertainStates.removeFirst()
            }
            return true
        }
    }

    /// The commit record after a frame header, if its checksum matches and its fields are possible at this position.
    private mutating func commitRecord(of frame: FrameHeader, in place: Place) throws(StorageError) -> CommitRecord? {
        let bytes = try look(at: frame.lsn, count: frame.frameByteCount, in: place)
        guard bytes.count == frame.frameByteCount, frame.payloadByteCount >= CommitRecordLayout.byteCount else {
            return nil
        }
        return window.with(bytes.lowerBound + FrameHeaderLayout.byteCount..<bytes.upperBound) { span in
            guard
                span.checksum(of: 0..<CommitRecordLayout.byteCount, seed: frame.salt) == frame.payloadChecksum,
                let record = CommitRecord(decoding: span),
                record.commitLSN == frame.lsn + UInt64(frame.frameByteCount), record.durableLSN <= frame.lsn
            else { return nil }
            return record
        }
    }

    // MARK: Torn or damaged?

    /// Invariant 3: looks for commits after the break that prove that the break is damage.
    private mutating func checkNothingDurable(beyond breakLSN: UInt64) throws(StorageError) {
        let later = places.values.filter { $0.header.sequence >= breakLSN / UInt64(header.segmentByteCount) }
        for place in later.sorted(by: { $0.header.sequence < $1.header.sequence }) {
            var start = max(breakLSN, place.header.startLSN)
            windowCount = 0
            while let found = try nextCommit(from: start, in: place) {
                if found.record.durableLSN > breakLSN { throw .opening(.logCorrupt(lsn: breakLSN)) }
                start = found.lsn + 1
            }
        }
        // The header of the next segment may be damaged. Its frames state their own positions.
        guard places[sequence] == nil else { return }
        let startLSN = sequence * UInt64(header.segmentByteCount) + UInt64(SegmentHeaderLayout.byteCount)
        for index in unreadablePlaces {
            let segment = SegmentHeader(
                index: index, sequence: sequence, startLSN: startLSN, salt: 0, previousChain: 0, seedEcho: 0)
            var start = startLSN
            windowCount = 0
            while let found = try nextCommit(from: start, in: Place(index: index, header: segment), anySalt: true) {
                if found.record.durableLSN > breakLSN { throw .opening(.logCorrupt(lsn: breakLSN)) }
                start = found.lsn + 1
            }
        }
    }

    /// The first whole commit frame of a segment at or after position `start`, whatever bytes are before it.
    ///
    /// The window is of this segment already, or empty: one that was read anew for each commit would let a log of small
    /// commits be read a thousand times.
    private mutating func nextCommit(
        from start: UInt64, in place: Place, anySalt: Bool = false
    ) throws(StorageError) -> (lsn: UInt64, record: CommitRecord)? {
        let frameByteCount = FrameHeaderLayout.byteCount + CommitRecordLayout.byteCount
        let end = (place.header.sequence + 1) * UInt64(header.segmentByteCount)
        var position = start
        while position + UInt64(frameByteCount) <= end {
            let bytes = try look(at: position, count: frameByteCount, in: place)
            guard bytes.count == frameByteCount else { return nil }
            let candidate = window.with(bytes.lowerBound..<windowCount) { FrameHeader.firstCommit(in: $0) }
            guard let candidate else {
                position = windowStart + UInt64(windowCount - frameByteCount + 1)
                continue
            }
            position += UInt64(candidate)
            let found = try look(at: position, count: frameByteCount, in: place)
            let frame = window.with(found) { FrameHeader(decoding: $0, pageSize: geometry.pageSize) }
            if let frame, frame.lsn == position, anySalt || frame.salt == place.header.salt,
                let record = try commitRecord(of: frame, in: place)
            {
                return (position, record)
            }
            position += 1
        }
        return nil
    }
}
