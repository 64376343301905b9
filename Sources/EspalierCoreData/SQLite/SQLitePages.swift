// The pages of a SQLite file with its log: each is read when it is needed, and few are kept.
//
// Invariants
//   1. Memory is bounded: at most `cacheByteCount` bytes of pages are kept, whatever the file says.
//   2. A page is given out only if it is in the file or its log, and may be part of a tree or a chain.
//   3. The file or its log has each of `pageCount` pages, except the one that SQLite never writes. So a bound that
//      derives from the count is a bound of the size of these files.
// Not here: the content of pages.

import EspalierEngine

/// One page.
final class SQLitePage {
    let number: UInt32
    /// All bytes of the page, the reserved ones too.
    let bytes: [UInt8]

    init(_ number: UInt32, _ bytes: [UInt8]) { (self.number, self.bytes) = (number, bytes) }
}

/// The pages of a file.
final class SQLitePages {
    static let cacheByteCount = 4 << 20
    /// The offset of the page that SQLite neither writes nor reads, because it locks bytes there.
    private static let lockOffset = 1 << 30

    let header: SQLiteHeader
    /// The number of pages, those of the log included.
    let pageCount: UInt32
    private let input: SQLiteInput
    private let logInput: SQLiteInput?
    private let log: SQLiteLog?
    /// Whether the file's log is without a valid header, so that SQLite would not read it.
    let hasUnreadLog: Bool
    /// Each page has one place: its number modulo the number of places.
    private var cache: [SQLitePage?]

    var path: String { input.path }
    var usableSize: Int { header.usableSize }

    init(_ path: String, in fileSystem: any FileSystem) throws(SQLiteFileError) {
        guard let input = try SQLiteInput(path, in: fileSystem) else {
            throw SQLiteFileError(path: path, .readable, "the file does not exist")
        }
        let head = try input.bytes(at: 0, count: SQLiteHeader.byteCount)
        try Self.refuseHotJournal(path, in: fileSystem)
        let header = try SQLiteHeader(head, path: path)
        let logInput = try SQLiteInput(path + "-wal", in: fileSystem)
        var (log, hasUnreadLog): (SQLiteLog?, Bool) = (nil, false)
        if let logInput {
            log = try SQLiteLog(logInput, pageSize: header.pageSize)
            let logHeader = try SQLiteLog.Header(logInput)
            hasUnreadLog = logInput.byteCount > 0 && logHeader == nil
        }
        (self.log, self.hasUnreadLog) = (log, hasUnreadLog)
        let sized = UInt32(clamping: input.byteCount / UInt64(header.pageSize))
        if let log, let first = try log.page(1) {
            self.header = try SQLiteHeader(first, path: path)
            guard self.header.pageSize == header.pageSize else {
                throw SQLiteFileError(path: path, page: 1, .log, "the page sizes of the file and its log differ")
            }
        } else {
            self.header = header
        }
        pageCount = log?.pageCount ?? header.pageCount ?? sized
        // SQLite refuses such a file too, if it has no log. What a program appends to the file is in the log, until all
        // of it is in the file.
        let missing = Int(pageCount) - Int(min(sized, pageCount)) - (log?.newPageCount(beyond: sized) ?? 0)
        let lockPage = Self.lockPage(pageSize: header.pageSize)
        guard missing <= (sized < lockPage && lockPage <= pageCount ? 1 : 0) else {
            throw SQLiteFileError(
                path: path, .complete,
                "the file is cut short: it has \(input.byteCount) bytes, and its "
                    + "\(log == nil ? "header" : "log") counts \(pageCount) pages of \(header.pageSize) bytes")
        }
        (self.input, self.logInput) = (input, logInput)
        cache = Array(repeating: nil, count: Self.cacheByteCount / header.pageSize)
    }

    deinit {
        input.close()
        logInput?.close()
    }

    /// A journal whose header was not erased holds the former content of pages: without it the file is in the middle of
    /// a transaction.
    private static func refuseHotJournal(_ path: String, in fileSystem: any FileSystem) throws(SQLiteFileError) {
        guard let journal = try SQLiteInput(path + "-journal", in: fileSystem) else { return }
        defer { journal.close() }
        guard let first = try journal.bytes(at: 0, count: 1).first, first != 0 else { return }
        throw SQLiteFileError(
            path: path, .noHotJournal,
            "'\(path)-journal' must be rolled back first")
    }

    /// The page `number`.
    func page(_ number: UInt32) throws(SQLiteFileError) -> SQLitePage {
        let place = Int(number) % cache.count
        if let page = cache[place], page.number == number { return page }
        guard number > 0, number <= pageCount else {
            throw error(number, .pageNumber, "the file has only \(pageCount) pages")
        }
        guard !isReserved(number) else { throw error(number, .pageNumber, "the page is not part of a tree") }
        let offset = UInt64(number - 1) * UInt64(header.pageSize)
        var bytes = try log?.page(number) ?? []
        if bytes.isEmpty { bytes = try input.bytes(at: offset, count: header.pageSize) }
        guard bytes.count == header.pageSize else { throw error(number, .complete, "the file ends before the page") }
        let page = SQLitePage(number, bytes)
        cache[place] = page
        return page
    }

    /// Whether a page is a pointer map, or has the bytes that are locked.
    private func isReserved(_ number: UInt32) -> Bool {
        let lockPage = Self.lockPage(pageSize: header.pageSize)
        guard number != lockPage else { return true }
        guard header.hasPointerMap, number >= 2 else { return false }
        let groupSize = UInt32(usableSize / 5 + 1)
        let map = (number - 2) / groupSize * groupSize + 2
        return number == (map == lockPage ? map + 1 : map)
    }

    private static func lockPage(pageSize: Int) -> UInt32 { UInt32(lockOffset / pageSize) + 1 }

    func error(_ page: UInt32?, _ rule: SQLiteFileError.Rule, _ message: String) -> SQLiteFileError {
        SQLiteFileError(path: path, page: page, rule, message)
    }
}
