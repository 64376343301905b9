// The pages of a damaged store: where they are, and whether they can be trusted.
//
// Reading a page needs the page size and the hash seed. The superblock and its copy hold both; the log's header repeats
// the page size, and the headers of its segments repeat the seed. If all of that is lost, the page size follows from
// the numbers that pages carry; the seed does not, so then no checksum can be verified.
//
// Invariants
//   1. Among the intact versions of a page in store file and log, the one with the highest LSN counts.
//   2. Two calls with the same number give the same answer, as long as the files do not change.

/// A damaged store file and its log.
final class DamagedStore {
    /// The result of reading a page.
    enum Reading {
        /// It is whole: checksum and structure are right.
        case intact
        /// Its structure is sound, but its checksum is wrong or cannot be verified.
        case sound
        /// It cannot be used.
        case damaged
        /// It was never written: all its bytes are zero.
        case blank
    }

    let key: SalvageKey
    let geometry: StoreGeometry
    /// The hash seed; `nil` if it is lost, and no checksum can be verified.
    let storeSeed: UInt64?
    /// The superblock or its copy, if one of them is intact.
    let superblock: Superblock?
    /// The number of whole pages that the file has room for.
    let storedPageCount: UInt32
    /// Pages in the log that are beyond the end of the file, ascending; a damaged log may name any number.
    let pagesBeyond: [PageNumber]
    /// All pages that are in the log, ascending.
    private let loggedPages: [PageNumber]
    /// The state of the newest commit, or of the newest slot; `nil` if neither is left.
    let newestState: StoreState?
    /// The rights to the store file; `nil` if the file system has none.
    let rights: FileRights?
    private let store: any StorageFile
    private let log: DamagedLog?
    private let other: ScratchPage

    /// Opens the files of the store at `path` for reading, and determines the page size and the hash seed.
    init(_ path: String, in fileSystem: any FileSystem, _ options: SalvageOptions) throws(StorageError) {
        let entry = try fileSystem.entry(at: path)
        store = try entry.open(role: .store, mode: .readOnly)
        rights = try entry.rights(role: .store)
        let head = try Head(store)
        let logFile = try entry.log.openIfPresent(role: .log, mode: .readOnly)
        var layout: DamagedLog.Layout?
        if let logFile { layout = try DamagedLog.Layout(of: logFile) }
        superblock = head.superblock
        storeSeed = head.superblock?.hashSeed ?? layout?.storeSeed
        if let superblock = head.superblock {
            (key, geometry) = (head.isCopy ? .copy : .superblock, StoreGeometry(pageSize: superblock.pageSize))
        } else if let pageSize = try Self.pageSize(of: layout?.header, store) {
            (key, geometry) = (storeSeed == nil ? .guess : .log, StoreGeometry(pageSize: pageSize))
        } else {
            throw head.failure
        }
        guard storeSeed != nil || options.acceptsDamaged else {
            throw .corrupt(.superblockChecksum, page: FixedPlace.superblock)
        }
        if let logFile, let layout, let storeSeed {
            log = try DamagedLog(
                logFile, layout, geometry, storeSeed, storeIdentifier: head.superblock?.storeIdentifier,
                slot: head.slot, includesUncommitted: options.includesUncommitted)
        } else {
            log = nil
        }
        let stored = UInt32(clamping: try store.size() / UInt64(geometry.pageSize))
        storedPageCount = stored
        loggedPages = (log?.versions.keys).map { $0.sorted() } ?? []
        pagesBeyond = loggedPages.filter { $0 >= stored }
        if let commit = log?.newestCommit, commit.transactionID > head.slot?.transactionID ?? 0 {
            newestState = StoreState(commit, chain: 0)
        } else {
            newestState = head.slot.map { StoreState($0) }
        }
        other = ScratchPage(byteCount: geometry.pageSize)
        assert(zip(loggedPages, loggedPages.dropFirst()).allSatisfy { $0 < $1 }, "the log's pages do not ascend")
    }

    /// The number of pages to read.
    var countOfPages: Int { Int(storedPageCount) + pagesBeyond.count }

    /// Whether the version that the last call of `read` returned is from the log.
    private(set) var isFromLog = false

    /// Reads the version of page `number` that counts.
    func read(_ number: PageNumber, to view: PageView) throws(StorageError) -> Reading {
        assert(view.byteCount == geometry.pageSize, "a page of \(view.byteCount) bytes")
        isFromLog = false
        let stored = try readStored(number, to: view)
        guard let log, let place = log.versions[number] else { return stored }
        if stored == .intact, view.lsn >= place.lsn { return stored }
        guard try log.read(number, at: place, to: other.view) else { return stored }
        isFromLog = true
        view.copy(from: other.view, at: 0, to: 0, count: view.byteCount)
        return .intact
    }

    /// The first page from `number` on that is not in a hole of the file, or has a version in the log.
    func nextPage(from number: PageNumber) throws(StorageError) -> PageNumber {
        let pageSize = UInt64(geometry.pageSize)
        let written = try store.nextData(from: UInt64(number) * pageSize) / pageSize
        var (low, end) = (0, loggedPages.count)
        while low < end {
            let middle = (low + end) / 2
            if loggedPages[middle] < number { low = middle + 1 } else { end = middle }
        }
        let next = UInt32(clamping: max(written, UInt64(number)))
        assert(next >= number, "page \(next) comes before page \(number)")
        return low < loggedPages.count ? min(next, loggedPages[low]) : next
    }

    private func readStored(_ number: PageNumber, to view: PageView) throws(StorageError) -> Reading {
        // SAFETY: `view` views a whole page of memory.
        let buffer = unsafe UnsafeMutableRawBufferPointer(start: view.base, count: view.byteCount)
        let offset = UInt64(number) * UInt64(geometry.pageSize)
        let count = unsafe try store.readFully(into: buffer, at: offset)
        assert(count <= view.byteCount, "\(count) bytes of \(view.byteCount)")
        if count < view.byteCount { view.clear(count..<view.byteCount) }
        let isSound = Self.isSound(view, number)
        if isSound, let storeSeed, view.storedChecksum == view.computedChecksum(number: number, storeSeed: storeSeed) {
            return .intact
        }
        if isSound { return .sound }
        return view.isZero ? .blank : .damaged
    }

    /// Whether the page in `view` keeps the rules that a page on its own can break, except the checksum.
    static func isSound(_ view: PageView, _ number: PageNumber) -> Bool {
        do throws(StorageError) {
            try PageValidation.validate(view, number: number, depth: .sealed)
            return true
        } catch {
            return false
        }
    }

    private static func pageSize(of header: LogHeader?, _ store: any StorageFile) throws(StorageError) -> Int? {
        if let header { return header.pageSize }
        return try guessPageSize(of: store)
    }

    /// The page size at which most pages of the file are at the places that their numbers name.
    private static func guessPageSize(of store: any StorageFile) throws(StorageError) -> Int? {
        let (stride, enough) = (UInt64(StoreGeometry.pageSizes.lowerBound), 1000)
        let header = ScratchBytes(byteCount: PageLayout.headerByteCount)
        var votes: [Int: Int] = [:]
        var offset = stride
        let size = try store.size()
        while offset < size, votes.values.max() ?? 0 < enough {
            let count = try header.read(0..<header.byteCount, from: store, at: offset)
            let (type, number) = header.with(0..<header.byteCount) { bytes in
                (bytes.loadUInt8(at: PageLayout.type), UInt64(bytes.loadUInt32(at: PageLayout.number)))
            }
            if count == header.byteCount, PageType(rawValue: type) != nil, number > 0, offset % number == 0,
                let pageSize = Int(exactly: offset / number), StoreGeometry.isValid(pageSize: pageSize)
            {
                votes[pageSize, default: 0] += 1
            }
            offset = max(offset + stride, try store.nextData(from: offset + stride) / stride * stride)
        }
        return votes.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
    }
}

/// The beginning of a store file.
private struct Head {
    var superblock: Superblock?
    var isCopy = false
    var slot: CheckpointSlot?
    /// The error that says why the superblock cannot be read.
    var failure = StorageError.opening(.notAStore(.damagedSuperblock))

    init(_ store: any StorageFile) throws(StorageError) {
        let bytes = ScratchBytes(byteCount: 4096)
        let count = try bytes.read(0..<4096, from: store, at: 0)
        assert(count <= bytes.byteCount, "\(count) bytes of \(bytes.byteCount)")
        for offset in [0, SuperblockLayout.mirror] where superblock == nil && offset <= count {
            do throws(StorageError) {
                superblock = try bytes.withThrowing(offset..<count) { span throws(StorageError) in
                    try Superblock(decoding: span)
                }
                isCopy = offset != 0
            } catch {
                // An intact superblock of a newer format is trusted, and its error is thrown; damage is expected here.
                switch error {
                case .opening(.notAStore), .corruption: if offset == 0 { failure = error }
                default: throw error
                }
            }
        }
        slot = bytes.with(0..<count) { span in try? CheckpointSlot.newest(in: span) }
    }
}

extension PageView {
    /// Whether all bytes are zero.
    fileprivate var isZero: Bool {
        for offset in stride(from: 0, to: byteCount, by: 8) where u64(offset) != 0 { return false }
        return true
    }
}
