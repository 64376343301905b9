// A log in a real file, without a store: commits of pages of chosen sizes, and a copy of each committed page.
//
// Invariants
//   1. The contents of pages have no zero byte, so that zeros that are written over a frame are noticed.
//   2. `former` is the file at the last check. Each release follows a check, so that between two checks no place of the
//      file is used twice: a byte that is of no frame is zero, or `former` has it as a byte of an older frame.

import EspalierEngine
import Testing

final class LogBench {
    /// A page to be committed, and the end of its content in bytes: the frame has so many bytes and its header.
    typealias Content = (page: PageNumber, end: Int)

    /// A committed version of a page, with its bytes as they were logged.
    private struct Version {
        let page: PageNumber
        let place: LogPlace
        let bytes: [UInt8]
    }

    static let pageSize = 512
    /// The bytes of the largest frame.
    static let frameByteCountMax = FrameHeaderLayout.byteCount + pageSize
    /// The most pages of a commit.
    static let pageCountMax = 128
    private static let storeSeed: UInt64 = 5
    private static let chain: UInt64 = 11

    let log: Log
    private let file: any StorageFile
    private let header: LogHeader
    private let memory = ScratchBytes(byteCount: LogBench.pageCountMax * LogBench.pageSize)
    private var versions: [Version] = []
    /// The state after each commit since the checkpoint.
    private var states: [StoreState] = []
    private var slot: CheckpointSlot
    private var transactionID: UInt64 = 0
    private var former: [UInt8] = []

    /// A new log in a new file.
    init(_ path: String, segmentByteCount: Int) throws {
        header = LogHeader(
            pageSize: Self.pageSize, storeIdentifier: [UInt8](repeating: 1, count: 16),
            logIdentifier: [UInt8](repeating: 2, count: 16), segmentByteCount: segmentByteCount)
        file = try PosixFileSystem.shared.open(path, role: .log, mode: .createExclusively)
        let bytes = ScratchBytes(byteCount: LogHeaderLayout.byteCount)
        bytes.store(header.encoded(), at: 0)
        try bytes.write(0..<bytes.byteCount, to: file, at: 0)
        log = Log(
            file: file, header: header, storeSeed: Self.storeSeed, fileSystem: PosixFileSystem.shared,
            syncs: SyncGuard(), segmentCount: 0, firstSequence: 1, chain: Self.chain, baseLSN: 0)
        slot = CheckpointSlot(
            sequence: 1, checkpointLSN: 0, transactionID: 0, pageCount: 256, freeCount: 0,
            catalogRoot: FixedPlace.catalogRoot, isClean: false, logIdentifier: header.logIdentifier,
            logStartSegment: 1, chainSeed: Self.chain, nextTreeID: FixedPlace.firstTreeID)
    }

    deinit { try? file.close() }

    /// The bytes that are left in the segment that is being filled.
    var remaining: Int { log.segmentByteCount - Int(log.position % UInt64(log.segmentByteCount)) }

    /// Whether a place of the file has had more than one segment.
    var hasReusedSegments: Bool {
        let placeCount = (log.byteCount - UInt64(LogHeaderLayout.byteCount)) / UInt64(log.segmentByteCount)
        return log.position / UInt64(log.segmentByteCount) > placeCount
    }

    /// Reserves space, by default as much as the commit needs, and commits the pages.
    func commit(_ contents: [Content], reserving byteCount: Int? = nil) throws {
        let needed = contents.reduce(Log.commitByteCount) { $0 + FrameHeaderLayout.byteCount + $1.end }
        let isReserved = try log.reserve(byteCount ?? needed, byteCountMax: .max)
        #expect(isReserved, "no room for \(byteCount ?? needed) bytes")
        transactionID += 1
        var pages: [LoggedPage] = []
        for (number, content) in contents.enumerated() {
            let view = memory.view(at: number * Self.pageSize, byteCount: Self.pageSize)
            view.clear(0..<Self.pageSize)
            view.formatHeader(number: content.page, type: .overflow, level: 0, treeID: FixedPlace.firstTreeID)
            view.setContentStart(content.end)
            let start = Int(transactionID) * 31 + Int(content.page) * 7
            for offset in PageLayout.headerByteCount..<content.end {
                view.set(UInt8(truncatingIfNeeded: start + offset) | 1, at: offset)
            }
            pages.append(LoggedPage(number: content.page, view: view))
        }
        let record = CommitRecord(
            transactionID: transactionID, commitLSN: 0, durableLSN: 0, pageCount: slot.pageCount, freeCount: 0,
            catalogRoot: slot.catalogRoot, frameCount: 0, wallClock: 0, userTag: 0, nextTreeID: slot.nextTreeID)
        let appended = try log.appendCommit(
            pages, after: [], record: record, forgettingBefore: slot.checkpointLSN)
        for (page, place) in zip(pages, appended.places) {
            versions.append(
                Version(page: page.number, place: place, bytes: page.view.bytes(0, Self.pageSize).array))
        }
        states.append(appended.state)
    }

    /// Checks everything, then releases the segments before all but the last `keptCount` commits.
    func release(keeping keptCount: Int, _ place: String) throws {
        try check(place)
        guard let state = states.dropLast(keptCount).last else { return }
        slot.sequence += 1
        (slot.checkpointLSN, slot.transactionID, slot.chainSeed) = (state.commitLSN, state.transactionID, state.chain)
        slot.logStartSegment = state.commitLSN / UInt64(log.segmentByteCount)
        _ = log.release(before: state.commitLSN)
        versions.removeAll { $0.place.lsn < state.commitLSN }
        states.removeAll { $0.commitLSN <= state.commitLSN }
    }

    /// Compares the file with everything that was committed since the checkpoint.
    func check(_ place: String) throws {
        let byteCount = Int(try file.size())
        let image = ScratchBytes(byteCount: byteCount)
        let readCount = try image.read(0..<byteCount, from: file, at: 0)
        #expect(readCount == byteCount, "\(place)")
        checkPages(image, place)
        checkOtherBytes(image, place)
        former = image.with(0..<byteCount) { $0.loadBytes(at: 0, count: byteCount) }

        var scan = try LogScan(file: file, header: header, slot: slot, storeSeed: Self.storeSeed)
        try scan.advance()
        let (found, scanned) = (scan.state.transactionID, scan.index)
        #expect(found == transactionID, "\(place): recovery ends with commit \(found) of \(transactionID)")
        for (name, index) in [("recovery", scanned), ("the index", log.currentIndex)] {
            var (pages, places): ([PageNumber], [LogPlace]) = ([], [])
            index.forEach { page, version in
                pages.append(page)
                places.append(version)
            }
            let isRight = pages == versions.map(\.page) && places == versions.map(\.place)
            #expect(isRight, "\(place): \(name) has \(places.count) of \(versions.count) versions, or other ones")
        }
    }

    /// Compares each frame of a page with the bytes that were logged.
    private func checkPages(_ image: borrowing ScratchBytes, _ place: String) {
        let page = ScratchBytes(byteCount: Self.pageSize)
        for version in versions {
            let start = Int(version.place.fileOffset)
            let payload = start + FrameHeaderLayout.byteCount
            let frame = image.with(start..<payload) { FrameHeader(decoding: $0, pageSize: Self.pageSize) }
            guard let frame, frame.type == .page, frame.page == version.page, frame.lsn == version.place.lsn else {
                Issue.record("\(place): the frame of page \(version.page) at \(version.place) is not there")
                continue
            }
            frame.restorePage(from: image.view(at: payload), to: page.view(at: 0))
            let isWhole = page.view(at: 0).bytes(0, Self.pageSize).array == version.bytes
            #expect(isWhole, "\(place): page \(version.page) at \(version.place) has other bytes")
        }
    }

    /// Checks that each byte after the last frame of a segment is zero or of an older frame, also within padding.
    private func checkOtherBytes(_ image: borrowing ScratchBytes, _ place: String) {
        let length = log.segmentByteCount
        for start in stride(from: LogHeaderLayout.byteCount, to: image.byteCount, by: length) {
            var offset = start
            let segment = image.with(start..<start + SegmentHeaderLayout.byteCount) { SegmentHeader(decoding: $0) }
            if let segment {
                offset += SegmentHeaderLayout.byteCount
                while offset + FrameHeaderLayout.byteCount <= start + length {
                    let frame = image.with(offset..<offset + FrameHeaderLayout.byteCount) {
                        FrameHeader(decoding: $0, pageSize: Self.pageSize)
                    }
                    let lsn = segment.sequence * UInt64(length) + UInt64(offset - start)
                    guard let frame, frame.salt == segment.salt, frame.lsn == lsn else { break }
                    guard frame.type != .padding else {
                        offset += FrameHeaderLayout.byteCount
                        break
                    }
                    offset += frame.frameByteCount
                }
            }
            let rest = image.view(at: 0)
            for other in min(offset, start + length)..<start + length where rest.u8(other) != 0 {
                guard other < former.count, former[other] == rest.u8(other) else {
                    Issue.record("\(place): byte \(other) is \(rest.u8(other)), and neither zero nor of an older frame")
                    break
                }
            }
        }
    }
}
