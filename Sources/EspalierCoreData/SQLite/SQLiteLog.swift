// The write-ahead log beside a SQLite file (https://www.sqlite.org/fileformat2.html, section 4).
//
// Invariants
//   1. A frame counts exactly if it and all frames before it have the salts of the log's header and right checksums,
//      and it or a later such frame commits.
//   2. Memory: 12 bytes and some overhead for each page that is in the log; frames are read one by one.

import EspalierEngine

/// The newest committed pages of a log.
struct SQLiteLog {
    static let headerByteCount = 32
    static let frameHeaderByteCount = 24

    /// The number of pages of the file after the last commit, as the commit claims it.
    let pageCount: UInt32
    private let input: SQLiteInput
    private let pageSize: Int
    /// By page: the offset of the newest committed content.
    private let offsets: [UInt32: UInt64]

    /// The header of the log, if the file is one; SQLite treats a file without a valid header as an empty log.
    struct Header {
        let pageSize: Int
        let salts: [UInt8]
        var checksum: SQLiteLogChecksum

        init?(_ input: SQLiteInput) throws(SQLiteFileError) {
            let bytes = try input.bytes(at: 0, count: SQLiteLog.headerByteCount)
            guard bytes.count == SQLiteLog.headerByteCount else { return nil }
            let magic = bytes.sqliteUInt32(at: 0)
            guard magic & ~1 == 0x377F_0682 else { return nil }
            checksum = SQLiteLogChecksum(isBigEndian: magic & 1 == 1)
            checksum.add(bytes, 0..<24)
            guard checksum.first == bytes.sqliteUInt32(at: 24), checksum.second == bytes.sqliteUInt32(at: 28) else {
                return nil
            }
            let version = bytes.sqliteUInt32(at: 4)
            guard version == 3_007_000 else {
                throw SQLiteFileError(path: input.path, .log, "the log has version \(version), not 3007000")
            }
            pageSize = Int(bytes.sqliteUInt32(at: 8))
            salts = Array(bytes[16..<24])
        }
    }

    /// The committed part of the log at `input`; `nil` if nothing in it is committed.
    init?(_ input: SQLiteInput, pageSize: Int) throws(SQLiteFileError) {
        guard let header = try Header(input) else { return nil }
        guard header.pageSize == pageSize else {
            throw SQLiteFileError(
                path: input.path, .log,
                "pages of the log have \(header.pageSize) bytes, but pages of the file have \(pageSize)")
        }
        var checksum = header.checksum
        var offsets: [UInt32: UInt64] = [:]
        var open: [(page: UInt32, offset: UInt64)] = []
        var committed: UInt32?
        let frameByteCount = Self.frameHeaderByteCount + pageSize
        var offset = UInt64(Self.headerByteCount)
        while true {
            let frame = try input.bytes(at: offset, count: frameByteCount)
            guard frame.count == frameByteCount, frame[8..<16] == header.salts[...] else { break }
            checksum.add(frame, 0..<8)
            checksum.add(frame, Self.frameHeaderByteCount..<frameByteCount)
            let page = frame.sqliteUInt32(at: 0)
            guard page != 0, checksum.first == frame.sqliteUInt32(at: 16),
                checksum.second == frame.sqliteUInt32(at: 20)
            else { break }
            open.append((page, offset + UInt64(Self.frameHeaderByteCount)))
            let count = frame.sqliteUInt32(at: 4)
            if count != 0 {
                for (page, offset) in open { offsets[page] = offset }
                open.removeAll(keepingCapacity: true)
                committed = count
            }
            offset += UInt64(frameByteCount)
        }
        guard let committed else { return nil }
        (pageCount, self.input, self.pageSize, self.offsets) = (committed, input, pageSize, offsets)
    }

    /// The number of the file's pages that only the log has, if the file itself has the first `count` pages.
    ///
    /// - Complexity: O(pages in the log).
    func newPageCount(beyond count: UInt32) -> Int { offsets.keys.count { $0 > count && $0 <= pageCount } }

    /// The content of a page; `nil` if the log has none.
    func page(_ number: UInt32) throws(SQLiteFileError) -> [UInt8]? {
        guard let offset = offsets[number] else { return nil }
        return try input.bytes(at: offset, count: pageSize)
    }
}
