// The files of a store that was not closed; a test can change its log so that exactly one rule is broken.
//
// Invariants
//   1. A change of a frame also makes the chain of all later frames in the segment right again; a change of a segment
//      header also makes its checksum right again. Only the change itself is wrong afterwards.

import EspalierEngine
import TestSupport
import Testing

/// A store with commits in its log.
struct LogImage {
    /// A frame of the log.
    struct Frame {
        var header: FrameHeader
        let offset: Int
        let previousChain: UInt64
        /// The index of the segment's place in the file.
        let place: Int
    }

    static let segmentByteCount = 64 << 10
    var store: [UInt8]
    var log: [UInt8]
    private let pageSize = 4096

    static var options: DatabaseOptions {
        var options = DatabaseOptions()
        options.logSegmentByteCount = segmentByteCount
        return options
    }

    /// The present files of `system`.
    init(_ system: SimulatedFileSystem) throws {
        store = try #require(system.contents(of: "store"))
        log = try #require(system.contents(of: "store-wal"))
    }

    /// A store with `commits` commits in its log, each with one value of `byteCount` bytes.
    init(commits: Int, byteCount: Int = 1) throws {
        let system = SimulatedFileSystem(seed: 9)
        let database = try Database.open("store", in: system, options: Self.options)
        for key in 0..<UInt64(commits) {
            var write = try database.beginWrite()
            let tree = try write.tree(named: "t", orCreate: UInt64.self)
            try write.put([UInt8](repeating: UInt8(key), count: byteCount), for: key, in: tree)
            try write.commit()
        }
        try self.init(system)
    }

    /// A machine with these files.
    var machine: SimulatedFileSystem {
        let machine = SimulatedFileSystem(seed: 1)
        machine.replaceContents(of: "store", with: store)
        machine.replaceContents(of: "store-wal", with: log)
        return machine
    }

    /// The newest slot of the store.
    var slot: CheckpointSlot {
        get throws { try span(store, 0..<4096) { bytes throws(StorageError) in try CheckpointSlot.newest(in: bytes) } }
    }

    /// Walks the log as recovery does: in `files`, which must hold this image, or on a machine with these files.
    func scan(
        in files: (any FileSystem)? = nil
    ) throws -> (transactionID: UInt64, certainID: UInt64, versionCount: Int) {
        let system: any FileSystem = files ?? machine
        let file = try system.open("store-wal", role: .log, mode: .readOnly)
        let superblock = try span(store, 0..<4096) { bytes throws(StorageError) in try Superblock(decoding: bytes) }
        let header = try #require(try span(log, 0..<4096) { LogHeader(decoding: $0) })
        var scan = try LogScan(file: file, header: header, slot: slot, storeSeed: superblock.hashSeed)
        try scan.advance()
        return (scan.state.transactionID, scan.certainState.transactionID, scan.index.count)
    }

    /// The segments, by their place in the file; `nil` where no header is valid.
    var segments: [SegmentHeader?] {
        get throws {
            try stride(from: LogHeaderLayout.byteCount, to: log.count, by: Self.segmentByteCount).map {
                try span(log, $0..<$0 + SegmentHeaderLayout.byteCount) { SegmentHeader(decoding: $0) }
            }
        }
    }

    /// The frames of the segment at `place`.
    func frames(at place: Int) throws -> [Frame] {
        let start = LogHeaderLayout.byteCount + place * Self.segmentByteCount
        var chain = try #require(try segments[place]).previousChain
        var offset = start + SegmentHeaderLayout.byteCount
        var frames: [Frame] = []
        while offset + FrameHeaderLayout.byteCount <= start + Self.segmentByteCount {
            let decoded = try span(log, offset..<offset + FrameHeaderLayout.byteCount) {
                FrameHeader(decoding: $0, pageSize: pageSize)
            }
            guard let header = decoded else { break }
            frames.append(Frame(header: header, offset: offset, previousChain: chain, place: place))
            chain = header.chain
            offset += header.frameByteCount
        }
        return frames
    }

    /// Changes the header of `frame`; `breaksChain` leaves it with a chain value that does not follow from the one
    /// before.
    mutating func change(
        _ frame: Frame, breaksChain: Bool = false, _ body: (inout FrameHeader) throws -> Void
    ) throws {
        let all = try frames(at: frame.place)
        var chain = frame.previousChain ^ (breaksChain ? 1 : 0)
        for var later in all where later.offset >= frame.offset {
            if later.offset == frame.offset { try body(&later.header) }
            let bytes = ScratchBytes(byteCount: FrameHeaderLayout.byteCount)
            chain = later.header.encode(to: bytes.view(at: 0), previousChain: chain)
            let encoded = bytes.with(0..<bytes.byteCount) { $0.loadBytes(at: 0, count: $0.byteCount) }
            log.replaceSubrange(later.offset..<later.offset + encoded.count, with: encoded)
        }
    }

    /// Changes the commit record of `frame`, and makes the frame's checksum right again.
    mutating func changeCommit(_ frame: Frame, _ body: (inout CommitRecord) -> Void) throws {
        let start = frame.offset + FrameHeaderLayout.byteCount
        let end = start + CommitRecordLayout.byteCount
        var record = try #require(try span(log, start..<end) { CommitRecord(decoding: $0) })
        body(&record)
        let bytes = ScratchBytes(byteCount: CommitRecordLayout.byteCount)
        let checksum = record.encode(to: bytes.view(at: 0), salt: frame.header.salt)
        log.replaceSubrange(
            start..<end, with: bytes.with(0..<bytes.byteCount) { $0.loadBytes(at: 0, count: $0.byteCount) })
        try change(frame) { $0.payloadChecksum = checksum }
    }

    /// Changes the header of the segment at `place`.
    mutating func changeSegment(_ place: Int, _ body: (inout SegmentHeader) -> Void) throws {
        var header = try #require(try segments[place])
        body(&header)
        let start = LogHeaderLayout.byteCount + place * Self.segmentByteCount
        log.replaceSubrange(start..<start + SegmentHeaderLayout.byteCount, with: header.encoded())
    }

    private func span<R>(
        _ bytes: [UInt8], _ range: Range<Int>, _ body: (RawSpan) throws(StorageError) -> R
    ) throws -> R {
        // SAFETY: the span does not leave the closure.
        try unsafe Array(bytes[range]).withUnsafeBytes { try body(unsafe $0.bytes) }
    }
}
