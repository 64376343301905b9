// A walk over all pages in use of a snapshot, in file order; it reads large pieces and bypasses the cache.
//
// Invariants
//   1. Every page that `body` gets is the snapshot's version, and was verified.
//   2. The bytes of a large read count only for pages whose version was in the store file *before* the read, because a
//      checkpoint may be writing the others. Every doubtful page is read again, as any reader reads it.
//   3. The sweep does not replace the content of the cache: only pages that are in the log, or were doubtful, pass
//      through it.

import Synchronization

/// A walk over the pages of a snapshot.
final class PageSweep {
    /// Bytes that are read with one call.
    private static let pieceByteCount = 1 << 20

    private let pages: ReadPages
    /// The pages of the piece that `body` is called for, in file order without gaps.
    let buffer: ScratchBytes

    init(_ pages: ReadPages) {
        self.pages = pages
        buffer = ScratchBytes(byteCount: max(Self.pieceByteCount, pages.pageSize))
    }

    /// The page at place `index` of the piece.
    func view(_ index: Int) -> PageView {
        assert(index >= 0 && index * pages.pageSize < buffer.byteCount, "page \(index) of a piece")
        return buffer.view(at: index * pages.pageSize, byteCount: pages.pageSize)
    }

    /// Calls `body` for each piece with its first page, and with whether each of its pages is in use.
    ///
    /// Page 0 counts as not in use. The bytes of pages that are not in use mean nothing.
    func run(_ body: (PageNumber, [Bool]) throws(StorageError) -> Void) throws(StorageError) {
        let per = pages.versions.files.geometry.pagesPerBitmap
        var first = 0
        while first < Int(pages.pageCount) {
            let count = min(
                buffer.byteCount / pages.pageSize, per - first % per, Int(pages.pageCount) - first)
            assert(count > 0 && count * pages.pageSize <= buffer.byteCount, "\(count) pages in a piece")
            let isInUse = try use(of: PageNumber(first), count: count)
            try load(PageNumber(first), isInUse)
            try body(PageNumber(first), isInUse)
            first += count
        }
    }

    /// For each of the pages whether it is in use, as its bitmap page says.
    private func use(of first: PageNumber, count: Int) throws(StorageError) -> [Bool] {
        let geometry = pages.versions.files.geometry
        let bitmap = try pages.pin(geometry.bitmapPage(of: first))
        let bit = geometry.bitmapBit(of: first)
        assert(bit + count <= geometry.pagesPerBitmap, "\(count) pages from bit \(bit) on")
        return (0..<count).map { index in
            first + PageNumber(index) != FixedPlace.superblock && !bitmap.view.bitmapIsFree(bit + index)
        }
    }

    private func load(_ first: PageNumber, _ isInUse: [Bool]) throws(StorageError) {
        assert(isInUse.count * pages.pageSize <= buffer.byteCount, "\(isInUse.count) pages in a piece")
        try pages.checkUsable()
        let versions = pages.versions
        let checkpoint = versions.engine.checkpointLSN.load(ordering: .acquiring)
        let byteCount = try buffer.read(
            0..<isInUse.count * pages.pageSize, from: versions.files.store, at: UInt64(first) * UInt64(pages.pageSize))
        for index in isInUse.indices where isInUse[index] {
            let page = first + PageNumber(index)
            let place = versions.index.newest(of: page, before: versions.state.commitLSN)
            let wasInStore = place.lsn == 0 || place.lsn < checkpoint
            if wasInStore, (index + 1) * pages.pageSize <= byteCount, isSound(page, view(index)) { continue }
            let pin = try pages.pin(page)
            view(index).copy(from: pin.view, at: 0, to: 0, count: pages.pageSize)
        }
    }

    private func isSound(_ page: PageNumber, _ view: PageView) -> Bool {
        assert(view.byteCount == pages.pageSize, "a page of \(view.byteCount) bytes")
        guard pages.versions.files.isSound(view, number: page) else { return false }
        return view.lsn < pages.versions.state.commitLSN || view.lsn == 0
    }
}
