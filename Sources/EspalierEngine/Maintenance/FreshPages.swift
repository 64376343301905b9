// The pages of a store file that is written for the first time, without a log: no reader opens it before it is whole.
//
// Invariants
//   1. Pages are allocated in ascending order and each is filled once, so a page that was written is never needed
//      again.
//   2. At most `frameCount` pages are in memory. When all frames are in use, the pages without a pin are written out.
//   3. No page is free; pages carry LSN 0, as those of a new store do.

import Synchronization

// SAFETY: @safe, because the counters are allocated and freed here and used by pins that this object outlives.
/// Pages for a bulk load into a new file.
@safe
final class FreshPages: WritablePageSource {
    private static let frameCount = 256

    let pageSize: Int
    private(set) var pageCount = FixedPlace.initialPageCount
    private(set) var changeCount: UInt64 = 0
    private let file: any StorageFile
    private let storeSeed: UInt64
    private let memory: ScratchBytes
    private let counters: UnsafeMutablePointer<Atomic<Int32>>
    private var frames: [PageNumber: Int] = [:]
    private var vacant = Array(0..<frameCount)

    /// Makes the first bitmap page; the caller must fill the catalog's root.
    init(file: any StorageFile, pageSize: Int, storeSeed: UInt64) throws(StorageError) {
        self.file = file
        self.pageSize = pageSize
        self.storeSeed = storeSeed
        assert(StoreGeometry.isValid(pageSize: pageSize), "pages of \(pageSize) bytes")
        memory = ScratchBytes(byteCount: Self.frameCount * pageSize)
        // SAFETY: initialized here, freed in `deinit`, which no pin outlives.
        unsafe counters = .allocate(capacity: Self.frameCount)
        for frame in 0..<Self.frameCount { unsafe (counters + frame).initialize(to: Atomic(0)) }
        let bitmap = try edit(FixedPlace.firstBitmap)
        bitmap.view.formatBitmap(number: FixedPlace.firstBitmap)
    }

    // SAFETY: trivial elements; pins refer to them only during a load.
    deinit { unsafe counters.deallocate() }

    func pin(_ page: PageNumber) throws(StorageError) -> PagePin { try edit(page) }

    func edit(_ page: PageNumber) throws(StorageError) -> PagePin {
        changeCount &+= 1
        let frame: Int
        if let known = frames[page] {
            frame = known
        } else {
            if vacant.isEmpty { try writeOut() }
            guard let free = vacant.popLast() else { throw .corrupt(.pageReachedTwice, page: page) }
            frame = free
            frames[page] = frame
            view(frame).clear(0..<pageSize)
        }
        assert(page < pageCount && frames.count + vacant.count == Self.frameCount, "page \(page) of \(pageCount)")
        // SAFETY: `frame` is below the count; the counter lives as long as this object.
        unsafe counters[frame].add(1, ordering: .relaxed)
        return unsafe PagePin(number: page, view: view(frame), counter: counters + frame)
    }

    func allocate(near: PageNumber, count: Int) throws(StorageError) -> (first: PageNumber, count: Int) {
        let per = StoreGeometry(pageSize: pageSize).pagesPerBitmap
        let first = pageCount
        let bit = Int(first) % per
        assert(count > 0 && bit != 1, "page \(first) comes without its bitmap page")
        guard UInt64(first) + UInt64(count) + 2 < UInt64(UInt32.max) else { throw .diskFull }
        if bit > 0 {
            let taken = min(count, per - bit)
            pageCount += UInt32(taken)
            return (first, taken)
        }
        // A new group: its bitmap page is its second page.
        pageCount += 2
        let bitmap = try edit(first + 1)
        bitmap.view.formatBitmap(number: first + 1)
        return (first, 1)
    }

    func free(_ page: PageNumber) throws(StorageError) { throw .corrupt(.pageReachedTwice, page: page) }

    /// Writes the pages that are still in memory; no page may be pinned any more.
    func finish() throws(StorageError) { try writeOut() }

    private func view(_ frame: Int) -> PageView {
        assert(frame >= 0 && frame < Self.frameCount, "frame \(frame) of \(Self.frameCount)")
        return memory.view(at: frame * pageSize, byteCount: pageSize)
    }

    private func writeOut() throws(StorageError) {
        for (page, frame) in frames.sorted(by: { $0.key < $1.key }) {
            // SAFETY: `frame` is below the count.
            guard unsafe counters[frame].load(ordering: .relaxed) == 0 else { continue }
            view(frame).seal(lsn: 0, storeSeed: storeSeed)
            let offset = frame * pageSize
            try memory.write(offset..<offset + pageSize, to: file, at: UInt64(page) * UInt64(pageSize))
            frames[page] = nil
            vacant.append(frame)
        }
        // The lowest frame is used next.
        vacant.sort(by: >)
        assert(frames.count + vacant.count == Self.frameCount, "invariant 2: a frame is neither taken nor vacant")
    }
}
