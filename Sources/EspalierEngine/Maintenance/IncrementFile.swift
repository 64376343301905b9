// An increment file: writing one from a snapshot, and reading one whose content may be arbitrary.
//
// Invariants
//   1. No page of an increment is used before its header, its length and the hash over all its pages were checked.
//   2. The memory used does not depend on the claims of the file: it is one piece of 1 MiB.

/// Writes the pages of an increment one after the other, and the header at the end.
final class IncrementWriter {
    private let file: any StorageFile
    private var header: IncrementHeader
    private let buffer: ScratchBytes
    private var buffered = 0
    private var offset = UInt64(IncrementLayout.byteCount)

    init(_ file: any StorageFile, _ header: IncrementHeader) {
        self.file = file
        self.header = header
        buffer = ScratchBytes(byteCount: max(1 << 20, header.base.pageSize))
        assert(header.changedCount == 0, "\(header.changedCount) pages at the beginning")
    }

    /// Appends a page; numbers ascend.
    func append(_ page: PageView) throws(StorageError) {
        assert(page.byteCount == header.base.pageSize, "a page of \(page.byteCount) bytes")
        if buffered + page.byteCount > buffer.byteCount { try flush() }
        buffer.view(at: buffered).copy(from: page, at: 0, to: 0, count: page.byteCount)
        buffered += page.byteCount
        header.changedCount += 1
        header.pagesHash = Checksum.of(page.bytes(0, page.byteCount), seed: header.pagesHash)
    }

    /// Writes the pages that are still buffered, and the header; returns the header.
    func finish() throws(StorageError) -> IncrementHeader {
        try flush()
        assert(offset == header.fileByteCount, "invariant 1: \(offset) bytes for \(header.changedCount) pages")
        buffer.store(header.encoded(), at: 0)
        try buffer.write(0..<IncrementLayout.byteCount, to: file, at: 0)
        return header
    }

    private func flush() throws(StorageError) {
        assert(buffered >= 0 && buffered <= buffer.byteCount, "\(buffered) of \(buffer.byteCount) bytes")
        try buffer.write(0..<buffered, to: file, at: offset)
        offset += UInt64(buffered)
        buffered = 0
    }
}

/// An increment that is to be applied.
final class IncrementFile {
    private let file: any StorageFile
    let header: IncrementHeader

    /// Reads the header of `file`, and its length.
    init(_ file: any StorageFile) throws(StorageError) {
        self.file = file
        let bytes = ScratchBytes(byteCount: IncrementLayout.byteCount)
        let count = try bytes.read(0..<bytes.byteCount, from: file, at: 0)
        header = try bytes.withThrowing(0..<count) { span throws(StorageError) in try IncrementHeader(decoding: span) }
        guard try file.size() == header.fileByteCount else { throw .backup(.damaged) }
    }

    /// Opens the increment at `path`.
    static func open(_ path: String, in fileSystem: any FileSystem) throws(StorageError) -> IncrementFile {
        try IncrementFile(try fileSystem.open(path, role: .copy, mode: .readOnly))
    }

    func close() throws(StorageError) { try file.close() }

    /// Checks all pages (rules I2 and I3).
    func check() throws(StorageError) {
        var hash = header.base.hashSeed
        var previous: PageNumber = 0
        try forEachPage { page throws(StorageError) in
            hash = Checksum.of(page.bytes(0, page.byteCount), seed: hash)
            let number = page.storedNumber
            guard number > previous, number < header.state.pageCount, isSound(page),
                page.lsn >= header.base.lsn, page.lsn < header.state.commitLSN || page.lsn == 0
            else { throw StorageError.backup(.damaged) }
            previous = number
        }
        guard hash == header.pagesHash else { throw .backup(.damaged) }
    }

    private func isSound(_ page: PageView) -> Bool {
        do throws(StorageError) {
            try PageValidation.verify(
                page, number: page.storedNumber, storeSeed: header.base.hashSeed, depth: .sealed)
            return true
        } catch {
            return false
        }
    }

    /// Writes all pages to their places in a store file; call `check` first.
    func write(to store: any StorageFile) throws(StorageError) {
        let size = UInt64(header.base.pageSize)
        let page = ScratchBytes(byteCount: header.base.pageSize)
        try forEachPage { view throws(StorageError) in
            page.view(at: 0).copy(from: view, at: 0, to: 0, count: view.byteCount)
            try page.write(0..<page.byteCount, to: store, at: UInt64(view.storedNumber) * size)
        }
    }

    private func forEachPage(_ body: (PageView) throws(StorageError) -> Void) throws(StorageError) {
        let size = header.base.pageSize
        let perPiece = max((1 << 20) / size, 1)
        let buffer = ScratchBytes(byteCount: perPiece * size)
        var done = 0
        while done < Int(header.changedCount) {
            let count = min(perPiece, Int(header.changedCount) - done)
            let offset = UInt64(IncrementLayout.byteCount) + UInt64(done) * UInt64(size)
            guard try buffer.read(0..<count * size, from: file, at: offset) == count * size else {
                throw .backup(.damaged)
            }
            for index in 0..<count { try body(buffer.view(at: index * size, byteCount: size)) }
            done += count
        }
    }
}
