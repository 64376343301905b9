// The bytes of a store file, page by page, with no database open: what `page` and `pages` look at, damaged or not.
//
// Invariants
//   1. The file is only ever read, and never locked: what a running writer does meanwhile may show.
//   2. Nothing in the file can make a read trap or go on for ever; a damaged superblock is replaced by its copy, and
//      without both the page size is taken to be 4,096.
//   3. Pages are as of the last checkpoint, but for those that only the log has; newer versions of the others may be
//      in the log.

import EspalierAudit
import EspalierEngine

/// A store file as bytes.
final class StoreImage {
    /// The path as it was given.
    let path: String
    /// Bytes in the file.
    let byteCount: UInt64
    /// Bytes per page.
    let pageSize: Int
    /// What stands in page 0.
    let page0: Page0
    private let file: FileBytes

    /// Opens the file.
    ///
    /// - Throws: `ToolError.storage` if it cannot be read or was never a store.
    init(path: String) throws(ToolError) {
        self.path = path
        file = try FileBytes(path: path)
        byteCount = try file.count()
        let head = try file.bytes(from: 0, count: StoreGeometry.pageSizes.upperBound)
        let hasLog = try file.hasLog()
        page0 = try naming(path) { () throws(StorageError) in try Page0(head, hasLog: hasLog) }
        pageSize = page0.superblock?.pageSize ?? 4096
    }

    /// How many pages the file has room for, a last incomplete one included.
    var pageCount: UInt64 { (byteCount + UInt64(pageSize) - 1) / UInt64(pageSize) }

    /// What the log adds to the file; nothing if that cannot be said.
    private(set) lazy var logged: LoggedPages? = {
        guard let log = try? file.log() else { return nil }
        return try? LoggedPages(store: file, log: log)
    }()

    /// How many pages there are in the file or in the log.
    var newestPageCount: UInt64 { max(pageCount, UInt64(logged?.pageCount ?? 0)) }

    /// Whether the log beside the file may hold newer versions of pages.
    var hasNewerLog: Bool { page0.newestSlot?.isClean != true }

    /// The first page from `number` on that is not wholly in a hole of the file; the end of the file if there is none.
    func nextPage(from number: UInt64) throws(ToolError) -> UInt64 {
        let offset = number * UInt64(pageSize)
        guard offset < byteCount else { return pageCount }
        let next = try file.nextData(from: offset)
        return next >= byteCount ? pageCount : next / UInt64(pageSize)
    }

    /// The bytes of page `number` in the file; bytes beyond the end of the file are missing.
    ///
    /// - Throws: `ToolError.usage` if there is no such page.
    func page(_ number: UInt64) throws(ToolError) -> PageImage {
        guard number < pageCount, let short = PageNumber(exactly: number) else { throw noPage(number) }
        return image(short, try file.bytes(from: number * UInt64(pageSize), count: pageSize))
    }

    /// The version of page `number` that the log has; `nil` if it has none.
    func loggedPage(_ number: UInt64) throws(ToolError) -> PageImage? {
        guard let short = PageNumber(exactly: number), let logged else { return nil }
        do throws(AuditFailure) {
            return try logged.page(short).map { image(short, $0) }
        } catch {
            throw .file(path: path + "-wal", reason: "\(error)")
        }
    }

    private func image(_ number: PageNumber, _ bytes: [UInt8]) -> PageImage {
        PageImage(number: number, bytes: bytes, pageSize: pageSize, storeSeed: page0.superblock?.hashSeed)
    }

    /// Why there is nothing to show.
    func noPage(_ number: UInt64) -> ToolError {
        .usage(
            UsageError(
                message:
                    "\(path) has no page \(number): its pages are 0 to \(DisplayText.grouped(newestPageCount - 1))"))
    }
}
