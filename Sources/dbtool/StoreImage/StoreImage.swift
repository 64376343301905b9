// The bytes of a store file, page by page, without an open database: the input of `page` and `pages`, damaged or not.
//
// Invariants
//   1. The file is only read, and never locked: concurrent changes of a writer may be visible.
//   2. No content of the file can make a read trap or run forever. A damaged superblock is replaced by its copy; if
//      both are damaged, the page size is assumed to be 4,096.
//   3. Pages are those of the last checkpoint, except for pages that only the log has; the log may have newer versions
//      of the others.

import EspalierAudit
import EspalierEngine

/// A store file as bytes.
final class StoreImage {
    /// The path as given on the command line.
    let path: String
    /// Bytes in the file.
    let byteCount: UInt64
    /// Bytes per page.
    let pageSize: Int
    /// The content of page 0.
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
        page0 = try withPath(path) { () throws(StorageError) in try Page0(head, hasLog: hasLog) }
        pageSize = page0.superblock?.pageSize ?? 4096
    }

    /// The number of pages in the file, including a last incomplete one.
    var pageCount: UInt64 { (byteCount + UInt64(pageSize) - 1) / UInt64(pageSize) }

    /// The pages in the log; `nil` if there is no log or it cannot be read.
    private(set) lazy var logged: LoggedPages? = {
        guard let log = try? file.log() else { return nil }
        return try? LoggedPages(store: file, log: log)
    }()

    /// The number of pages in the file or the log, whichever is greater.
    var newestPageCount: UInt64 { max(pageCount, UInt64(logged?.pageCount ?? 0)) }

    /// Whether the log next to the file may contain newer versions of pages.
    var hasNewerLog: Bool { page0.newestSlot?.isClean != true }

    /// The first page at or after `number` that is not wholly in a hole of the file; the end of the file if there is
    /// none.
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

    /// The version of page `number` in the log; `nil` if the log has none.
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

    /// The error for a page number that does not exist.
    func noPage(_ number: UInt64) -> ToolError {
        .usage(
            UsageError(
                message:
                    "\(path) has no page \(number): its pages are 0 to \(DisplayText.grouped(newestPageCount - 1))"))
    }
}
