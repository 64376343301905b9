// The frames of a log that may be damaged anywhere: finds the page versions that its commits cover.
//
// Recovery ends at the first frame that does not fit (`LogScan`); salvage continues after it. It finds the next frame
// by the position that the frame states, which other bytes of its segment repeat only by accident. A frame counts if
// its salt and the checksum of its content are right. The chain value is not checked, because the damage breaks the
// chain.
//
// Invariants
//   1. A page version counts if a commit covers it: a commit states how many page frames before it are its own.
//   2. Segments that the slot no longer names count only if no slot is left.

/// The log of a damaged store.
final class DamagedLog {
    /// The layout of the segments in the file.
    struct Layout {
        let header: LogHeader?
        let segmentByteCount: UInt64
        /// The valid segment headers, in the order of their sequence numbers.
        let segments: [SegmentHeader]
        /// The store's hash seed, as the segments repeat it.
        var storeSeed: UInt64? { segments.last?.seedEcho }

        /// Finds the segments of a log file; if its header is damaged, it tries every place where a segment may begin.
        init(of file: any StorageFile) throws(StorageError) {
            header = try Engine.readLogHeader(of: file)
            let bytes = ScratchBytes(byteCount: SegmentHeaderLayout.byteCount)
            let step = header.map { UInt64($0.segmentByteCount) } ?? 4096
            var (found, size): ([SegmentHeader], UInt64) = ([], try file.size())
            var offset = UInt64(LogHeaderLayout.byteCount)
            while offset < size {
                let count = try bytes.read(0..<bytes.byteCount, from: file, at: offset)
                if let segment = bytes.with(0..<count, { SegmentHeader(decoding: $0) }) { found.append(segment) }
                let begin = UInt64(LogHeaderLayout.byteCount)
                let next = try file.nextData(from: offset + step)
                offset = max(offset + step, begin + (max(next, begin) - begin) / step * step)
            }
            size -= min(size, UInt64(LogHeaderLayout.byteCount))
            let stride = header.map { UInt64($0.segmentByteCount) } ?? Self.stride(of: found) ?? max(size, 1)
            assert(stride > 0, "segments of \(stride) bytes")
            segmentByteCount = stride
            segments = found.filter { segment in
                let start = segment.sequence.multipliedReportingOverflow(by: stride)
                return !start.overflow && start.partialValue < CheckpointSlotLayout.counterEnd
                    && (segment.startLSN == start.partialValue + UInt64(SegmentHeaderLayout.byteCount))
                    && UInt64(segment.index) <= size / stride
            }.sorted { $0.sequence < $1.sequence }
        }

        /// The size of the segments: the position of a segment is its sequence number times that size.
        private static func stride(of segments: [SegmentHeader]) -> UInt64? {
            for segment in segments where segment.sequence > 0 {
                let (start, header) = (segment.startLSN, UInt64(SegmentHeaderLayout.byteCount))
                guard start > header, (start - header) % segment.sequence == 0 else { continue }
                let stride = (start - header) / segment.sequence
                if stride > header, stride < 1 << 32 { return stride }
            }
            return nil
        }
    }

    /// The place of the newest version of each page that a commit covers.
    private(set) var versions: [PageNumber: LogPlace] = [:]
    /// The newest commit.
    private(set) var newestCommit: CommitRecord?
    private let file: any StorageFile
    private let geometry: StoreGeometry
    private let storeSeed: UInt64
    private let frameBytes: ScratchBytes
    private let page: ScratchPage
    /// Page frames that no commit has covered yet.
    private var pending: [(page: PageNumber, place: LogPlace)] = []
    /// How many of `pending` are before the last damage.
    private var pendingBeforeDamage = 0

    /// Walks the whole log; `nil` if it does not belong to the store, or if the store does not need it.
    init?(
        _ file: any StorageFile, _ layout: Layout, _ geometry: StoreGeometry, _ storeSeed: UInt64,
        storeIdentifier: [UInt8]?, slot: CheckpointSlot?, includesUncommitted: Bool
    ) throws(StorageError) {
        self.file = file
        self.geometry = geometry
        self.storeSeed = storeSeed
        frameBytes = ScratchBytes(byteCount: FrameHeaderLayout.byteCount + geometry.pageSize)
        page = ScratchPage(byteCount: geometry.pageSize)
        if let header = layout.header {
            guard header.pageSize == geometry.pageSize, storeIdentifier.map({ $0 == header.storeIdentifier }) ?? true
            else { return nil }
        }
        var first: UInt64 = 0
        if let slot, layout.header.map({ $0.logIdentifier == slot.logIdentifier }) ?? true {
            // Invariant 2. A log beside a clean slot may hold commits that do not count.
            if slot.isClean { return nil }
            first = slot.logStartSegment
        }
        var previous: UInt64?
        for segment in layout.segments where segment.sequence >= first && segment.seedEcho == storeSeed {
            if previous.map({ $0 + 1 != segment.sequence }) ?? false { noteDamage() }
            try walk(segment, layout.segmentByteCount)
            previous = segment.sequence
        }
        if includesUncommitted { cover(pending[...]) }
        pending = []
    }

    /// Reads the frame of page `number` at `place`; `false` if it is not there.
    func read(_ number: PageNumber, at place: LogPlace, to view: PageView) throws(StorageError) -> Bool {
        let count = try readFrame(at: place.fileOffset)
        guard let frame = decode(count), frame.type == .page, frame.page == number, frame.lsn == place.lsn else {
            return false
        }
        return restore(frame, count, to: view)
    }

    // MARK: Walking

    private func walk(_ segment: SegmentHeader, _ segmentByteCount: UInt64) throws(StorageError) {
        assert(segment.startLSN >= UInt64(SegmentHeaderLayout.byteCount), "a segment at \(segment.startLSN)")
        let start = UInt64(LogHeaderLayout.byteCount) + UInt64(segment.index) * segmentByteCount
        let base = segment.startLSN - UInt64(SegmentHeaderLayout.byteCount)
        var offset = UInt64(SegmentHeaderLayout.byteCount)
        while offset + UInt64(FrameHeaderLayout.byteCount) <= segmentByteCount {
            let count = try readFrame(at: start + offset)
            if let frame = decode(count), frame.lsn == base + offset, frame.salt == segment.salt,
                UInt64(frame.frameByteCount) <= segmentByteCount - offset,
                accept(frame, count, LogPlace(lsn: frame.lsn, fileOffset: start + offset))
            {
                offset += UInt64(frame.frameByteCount)
                continue
            }
            let next = try nextFrame(in: segment, start, from: offset + 1, segmentByteCount)
            guard let next else { return }
            noteDamage()
            offset = next
        }
    }

    private func readFrame(at offset: UInt64) throws(StorageError) -> Int {
        try frameBytes.read(0..<frameBytes.byteCount, from: file, at: offset)
    }

    private func decode(_ count: Int) -> FrameHeader? {
        assert(count >= 0 && count <= frameBytes.byteCount, "\(count) bytes of a frame")
        return frameBytes.with(0..<count) { FrameHeader(decoding: $0, pageSize: geometry.pageSize) }
    }

    /// The next place in a segment with the position and the salt that a frame there would have.
    private func nextFrame(
        in segment: SegmentHeader, _ start: UInt64, from first: UInt64, _ segmentByteCount: UInt64
    ) throws(StorageError) -> UInt64? {
        let base = segment.startLSN - UInt64(SegmentHeaderLayout.byteCount)
        var offset = first
        assert(offset > UInt64(SegmentHeaderLayout.byteCount), "no frames begin before \(offset)")
        while offset + UInt64(FrameHeaderLayout.byteCount) <= segmentByteCount {
            let count = try readFrame(at: start + offset)
            guard count >= FrameHeaderLayout.byteCount else { return nil }
            let last = UInt64(count - FrameHeaderLayout.byteCount)
            let found = frameBytes.with(0..<count) { bytes -> UInt64? in
                for place in 0...last
                where bytes.loadUInt64(at: Int(place) + FrameHeaderLayout.lsn) == base + offset + place
                    && bytes.loadUInt64(at: Int(place) + FrameHeaderLayout.salt) == segment.salt
                { return offset + place }
                return nil
            }
            if let found { return found }
            offset += last + 1
        }
        return nil
    }

    // MARK: The content of frames

    /// Records the content of a frame; returns `false` if it is damaged.
    private func accept(_ frame: FrameHeader, _ count: Int, _ place: LogPlace) -> Bool {
        switch frame.type {
        case .padding, .segmentStart: return true
        case .page:
            guard restore(frame, count, to: page.view) else { return false }
            pending.append((frame.page, place))
            return true
        case .commit:
            guard frame.frameByteCount <= count else { return false }
            let record = frameBytes.with(FrameHeaderLayout.byteCount..<frame.frameByteCount) { bytes -> CommitRecord? in
                let checksum = bytes.checksum(of: 0..<CommitRecordLayout.byteCount, seed: frame.salt)
                return checksum == frame.payloadChecksum ? CommitRecord(decoding: bytes) : nil
            }
            guard let record else { return false }
            commit(record)
            return true
        }
    }

    private func restore(_ frame: FrameHeader, _ count: Int, to view: PageView) -> Bool {
        assert(frame.type == .page && view.byteCount == geometry.pageSize, "a frame of page \(frame.page)")
        guard frame.frameByteCount <= count else { return false }
        frame.restorePage(from: frameBytes.view(at: FrameHeaderLayout.byteCount), to: view)
        return view.computedChecksum(number: frame.page, storeSeed: storeSeed) == frame.payloadChecksum
            && view.storedChecksum == frame.payloadChecksum && DamagedStore.isSound(view, frame.page)
    }

    private func noteDamage() { pendingBeforeDamage = pending.count }

    private func commit(_ record: CommitRecord) {
        assert(pendingBeforeDamage <= pending.count, "\(pendingBeforeDamage) of \(pending.count) frames")
        let behind = pending.count - pendingBeforeDamage
        var count = Int(record.frameCount)
        // At least one frame is missing where the damage is.
        if count > behind, pendingBeforeDamage > 0 { count -= 1 }
        assert(count >= 0, "a commit of \(count) frames")
        cover(pending.suffix(count))
        pending.removeAll(keepingCapacity: true)
        pendingBeforeDamage = 0
        if record.transactionID >= newestCommit?.transactionID ?? 0 { newestCommit = record }
    }

    private func cover(_ frames: ArraySlice<(page: PageNumber, place: LogPlace)>) {
        for (page, place) in frames where versions[page]?.lsn ?? 0 <= place.lsn { versions[page] = place }
    }
}
