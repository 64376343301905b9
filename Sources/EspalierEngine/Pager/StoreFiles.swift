// Reads and verifies pages from the store file and from frames of the log.
//
// Invariants
//   1. Every page that a read returns was verified: checksum, number, and the rules of its type (P3).
//   2. A frame is accepted only if its header states the position under which it was looked up: positions never repeat,
//      so a frame of a segment that was recycled meanwhile is refused.

import Synchronization

/// The store file and its log, with what is needed to check pages.
package final class StoreFiles: Sendable {
    /// The store file, which has the pages.
    package let store: any StorageFile
    /// The limits and places that follow from the page size.
    package let geometry: StoreGeometry
    /// Mixed into page checksums.
    package let storeSeed: UInt64
    /// Whether another process may be writing the files at this moment, so that a read may see half of a write.
    package let mayChangeUnderneath: Bool

    private let logFile = Mutex<(any StorageFile)?>(nil)

    /// The log, if there is one.
    package var log: (any StorageFile)? {
        get { logFile.withLock { $0 } }
        set { logFile.withLock { $0 = newValue } }
    }

    package init(store: any StorageFile, geometry: StoreGeometry, storeSeed: UInt64, mayChangeUnderneath: Bool) {
        self.store = store
        self.geometry = geometry
        self.storeSeed = storeSeed
        self.mayChangeUnderneath = mayChangeUnderneath
    }

    /// Reads page `number` from the store file into `target` and verifies it.
    package func readStorePage(_ number: PageNumber, to target: PageView) throws(StorageError) {
        assert(target.byteCount == geometry.pageSize, "a page of \(target.byteCount) bytes")
        var retry = TornReadRetry(store)
        while true {
            do throws(StorageError) {
                // SAFETY: `target` views a whole page of memory.
                let buffer = unsafe UnsafeMutableRawBufferPointer(start: target.base, count: target.byteCount)
                let offset = UInt64(number) * UInt64(geometry.pageSize)
                guard unsafe try store.readFully(into: buffer, at: offset) == target.byteCount else {
                    throw StorageError.corrupt(.pageBeyondEnd, page: number)
                }
                return try verify(target, number: number, file: .store)
            } catch {
                guard mayChangeUnderneath, case .corruption = error, retry.shouldReadAgain() else { throw error }
            }
        }
    }

    /// Reads `pages`, in ascending order, with one call into their targets; returns which of them are sound.
    ///
    /// Throws nothing: the error of a page is for the reader that asks for it.
    package func readStorePages(_ pages: [(number: PageNumber, target: PageView)]) -> [Bool] {
        guard let first = pages.first?.number, let last = pages.last?.number else { return [] }
        let size = geometry.pageSize
        assert(first != 0 && last - first < 64, "pages \(first) to \(last) in one call")
        let bytes = ScratchBytes(byteCount: Int(last - first + 1) * size)
        do throws(StorageError) {
            let count = try bytes.read(0..<bytes.byteCount, from: store, at: UInt64(first) * UInt64(size))
            return pages.map { number, target in
                let offset = Int(number - first) * size
                guard offset + size <= count else { return false }
                let page = bytes.view(at: offset, byteCount: size)
                guard isSound(page, number: number) else { return false }
                target.copy(from: page, at: 0, to: 0, count: size)
                return true
            }
        } catch {
            return pages.map { _ in false }
        }
    }

    /// Whether `verify` accepts a page of the store file.
    package func isSound(_ page: PageView, number: PageNumber) -> Bool {
        do throws(StorageError) {
            try verify(page, number: number, file: .store)
            return true
        } catch {
            return false
        }
    }

    /// Reads the frame of page `number` at `place` of the log into `target` and verifies it; `false` if the frame is no
    /// longer there (its segment was recycled, and the page is now in the store file).
    package func readFrame(
        of number: PageNumber, at place: LogPlace, to target: PageView
    ) throws(StorageError) -> Bool {
        assert(target.byteCount == geometry.pageSize, "a page of \(target.byteCount) bytes")
        assert(place != .none, "page \(number) is not in the log")
        guard let log else { return false }
        let size = FrameHeaderLayout.byteCount + geometry.pageSize
        let scratch = ScratchBytes(byteCount: size)
        // SAFETY: the buffer bounds the read, and outlives it.
        let count = unsafe try log.readFully(into: scratch.buffer, at: place.fileOffset)
        let header = scratch.with(0..<count) { FrameHeader(decoding: $0, pageSize: geometry.pageSize) }
        guard let header, header.type == .page, header.lsn == place.lsn, header.page == number,
            header.frameByteCount <= count
        else { return false }
        header.restorePage(from: scratch.view(at: FrameHeaderLayout.byteCount), to: target)
        let checksum = target.computedChecksum(number: number, storeSeed: storeSeed)
        guard checksum == header.payloadChecksum else { return false }
        try check(target, number: number, checksum: checksum, file: .log)
        return true
    }

    /// Checks a page that was just read.
    package func verify(_ page: PageView, number: PageNumber, file: FileRole) throws(StorageError) {
        let checksum = page.computedChecksum(number: number, storeSeed: storeSeed)
        try check(page, number: number, checksum: checksum, file: file)
    }

    /// Checks a page whose bytes have the checksum `checksum`.
    private func check(
        _ page: PageView, number: PageNumber, checksum: UInt64, file: FileRole
    ) throws(StorageError) {
        guard page.storedChecksum == checksum else {
            throw .corrupt(.pageChecksum, page: number, tree: page.treeID, file: file)
        }
        try PageValidation.validate(page, number: number)
    }
}
