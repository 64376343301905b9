// The buffer pool: verified pages in memory, found by (page number, version) without a lock.
//
// Invariants
//   1. A frame's pin counter is >= 0 while its page may be read: the number of pins. It is below zero while the frame
//      has one owner: while its page is loaded, or while it is the private copy of a write transaction.
//   2. A frame's bytes change only while its counter is below zero.
//   3. Table, clock and keys change only under the lock. A reader that finds a frame without the lock pins it first and
//      compares the key afterwards; a probe that misses a frame because of a concurrent change is repeated under the
//      lock.
//   4. A loading frame is in the table before its bytes are read. Renaming or forgetting its key meanwhile takes
//      effect: only the loader then sees a page whose key was forgotten.
//   5. If all frames are pinned, a page gets memory of its own, freed soon after its unpin: so pinning never fails.
// Version 0 of a page is the one in the store file; any other version is its position in the log.

import Synchronization

// SAFETY: @unchecked Sendable, because frames are shared by the protocol of the invariants; a mutex guards the
// rest.
/// The cache of pages.
@safe
package final class BufferPool: @unchecked Sendable {
    /// Pins, key and use of a frame, in 24 bytes.
    struct Descriptor: ~Copyable {
        /// The pin counter (invariant 1).
        ///
        /// The first field, because `PagePin` decrements it through a plain pointer. Counting does not check for
        /// overflow, which would turn one instruction into a loop: memory has no room for 2^30 pins.
        let pins = Atomic<Int32>(0)
        /// The page of the frame; 0: none.
        let page = Atomic<UInt32>(0)
        /// The version of the page.
        let version = Atomic<UInt64>(0)
        /// Whether the frame was used since the clock's hand passed.
        let isReferenced = Atomic<Bool>(false)
    }

    /// Added to a pin counter while a frame has one owner.
    static let exclusive: Int32 = -(1 << 30)

    /// The state that changes only under the lock.
    struct Shared: ~Copyable {
        /// The frame at the clock's hand.
        var hand = 0
        /// Pages with memory of their own.
        var loosePages: [LoosePage] = []
    }

    package let pageSize: Int
    /// The number of frames, each of which holds one page.
    package let frameCount: Int
    let arena: UnsafeMutableRawPointer
    let descriptors: UnsafeMutablePointer<Descriptor>
    let table: UnsafeMutablePointer<Atomic<UInt32>>
    let probes: ProbeSequence
    let shared = Mutex(Shared())
    let misses = Atomic<UInt64>(0)

    /// A pool of `byteCount` bytes of pages, at least 16 pages.
    ///
    /// - Throws: `invalidOption(.cacheByteCount)` if the system cannot allocate as much memory.
    package init(pageSize: Int, byteCount: Int) throws(StorageError) {
        self.pageSize = pageSize
        frameCount = max(byteCount / pageSize, 16)
        // SAFETY: owned by this object until `deinit`. The arena is touched, and so becomes real memory, only when
        // frames are first used.
        guard let arena = unsafe SpareArena.take(byteCount: frameCount * pageSize) else {
            throw .opening(.invalidOption(.cacheByteCount))
        }
        unsafe self.arena = arena
        probes = ProbeSequence(capacity: frameCount, minimumCount: 64)
        // SAFETY: owned by this object until `deinit`.
        unsafe descriptors = .allocate(capacity: frameCount)
        unsafe table = .allocate(capacity: probes.count)
        for frame in 0..<frameCount { unsafe (descriptors + frame).initialize(to: Descriptor()) }
        for place in 0..<probes.count { unsafe (table + place).initialize(to: Atomic(0)) }
        assert(probes.count >= 2 * frameCount, "less than half of the table is empty")
    }

    deinit {
        assert(checkInvariants())
        assert(pinCount == 0, "\(pinCount) pages are pinned at the end of their pool")
        shared.withLock { shared in
            for page in shared.loosePages { page.deallocate() }
        }
        // SAFETY: a pin retains its transaction, which retains the pool, so the memory has no user any more.
        unsafe table.deallocate()
        unsafe descriptors.deinitialize(count: frameCount)
        unsafe descriptors.deallocate()
        unsafe SpareArena.put(arena, byteCount: frameCount * pageSize)
    }

    /// The number of pages that were read from a file.
    package var missCount: UInt64 { misses.load(ordering: .relaxed) }

    // MARK: Finding

    /// The place in the table where the search for a key begins.
    @inline(__always)
    func home(_ page: PageNumber, _ version: UInt64) -> Int {
        probes.home(UInt64(page) &+ (version &* 0xC2B2_AE3D_27D4_EB4F))
    }

    /// The bytes of a frame.
    @inline(__always)
    func view(of frame: Int) -> PageView {
        assert(frame >= 0 && frame < frameCount, "frame \(frame) of \(frameCount)")
        // SAFETY: `frame` is below `frameCount`.
        return unsafe PageView(base: arena + frame &* pageSize, byteCount: pageSize)
    }

    /// A pin of `frame` that the pin counter already includes.
    @inline(__always)
    func pin(of frame: Int, page: PageNumber) -> PagePin {
        // SAFETY: the pin counter is the descriptor's first field and lives as long as the pool.
        unsafe PagePin(number: page, view: view(of: frame), counter: pinCounter(of: frame))
    }

    @inline(__always)
    func pinCounter(of frame: Int) -> UnsafeMutablePointer<Atomic<Int32>> {
        assert(frame >= 0 && frame < frameCount, "frame \(frame) of \(frameCount)")
        // SAFETY: a struct's first stored property is at the struct's address.
        return unsafe UnsafeMutableRawPointer(descriptors + frame).assumingMemoryBound(to: Atomic<Int32>.self)
    }

    /// Pins `version` of `page` if it is in memory.
    ///
    /// Acquires no lock and allocates nothing.
    @inline(__always)
    package func pinIfPresent(_ page: PageNumber, version: UInt64) -> PagePin? {
        let number = frameNumber(of: page, version: version)
        return number == 0 ? nil : pinIfStill(Int(number) &- 1, page: page, version: version)
    }

    /// Whether `version` of `page` is in memory or being loaded; without the lock the answer may already be outdated.
    package func isPresent(_ page: PageNumber, version: UInt64) -> Bool { frameNumber(of: page, version: version) != 0 }

    /// The frame of `version` of `page` as the table numbers it; 0 if the table has none.
    @inline(__always)
    private func frameNumber(of page: PageNumber, version: UInt64) -> UInt32 {
        var number: UInt32 = 0
        _ = probes.firstPlace(from: home(page, version)) { place in
            // SAFETY: `place` is within the table, in which frame numbers are 1...frameCount.
            number = unsafe table[place].load(ordering: .acquiring)
            return number == 0 || hasKey(Int(number) &- 1, page, version)
        }
        return number
    }

    /// Whether `frame` has this version of `page`; without the lock the answer may already be outdated.
    @inline(__always)
    func hasKey(_ frame: Int, _ page: PageNumber, _ version: UInt64) -> Bool {
        assert(frame >= 0 && frame < frameCount, "frame \(frame) of \(frameCount)")
        // SAFETY: `frame` is below `frameCount`.
        return unsafe descriptors[frame].page.load(ordering: .relaxed) == page
            && (unsafe descriptors[frame].version.load(ordering: .relaxed)) == version
    }

    /// Begins to load the table place of a page version into the processor's cache.
    ///
    /// The processor does not wait for the load: it executes the next instructions meanwhile (see Decisions, "The next
    /// page of a value").
    @inline(__always)
    func prefetch(_ page: PageNumber, version: UInt64) {
        // SAFETY: the place is masked.
        _ = unsafe table[home(page, version)].load(ordering: .relaxed)
    }

    /// Pins `frame` unless it now has an owner or (invariant 3) another key.
    @inline(__always)
    private func pinIfStill(_ frame: Int, page: PageNumber, version: UInt64) -> PagePin? {
        // SAFETY: `frame` is below `frameCount`.
        let before = unsafe descriptors[frame].pins.wrappingAdd(1, ordering: .acquiring).oldValue
        guard before >= 0, unsafe descriptors[frame].page.load(ordering: .relaxed) == page,
            unsafe descriptors[frame].version.load(ordering: .relaxed) == version
        else {
            unsafe descriptors[frame].pins.wrappingSubtract(1, ordering: .releasing)
            return nil
        }
        unsafe descriptors[frame].isReferenced.store(true, ordering: .relaxed)
        return pin(of: frame, page: page)
    }
}

/// A page with memory of its own: a pin counter in the first 64 bytes, then the page.
@safe
struct LoosePage: Sendable {
    // SAFETY: the memory is 64 bytes and a page long.
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer
    let pageSize: Int

    init(pageSize: Int, pins: Int32) {
        assert(pins == 1 || pins == BufferPool.exclusive, "\(pins) pins")
        self.pageSize = pageSize
        // SAFETY: the counter fits into the 64 bytes before the page.
        unsafe memory = .allocate(byteCount: 64 + pageSize, alignment: 64)
        unsafe memory.bindMemory(to: Atomic<Int32>.self, capacity: 1).initialize(to: Atomic(pins))
    }

    /// The pin counter.
    var counter: UnsafeMutablePointer<Atomic<Int32>> {
        // SAFETY: bound in `init`.
        unsafe memory.assumingMemoryBound(to: Atomic<Int32>.self)
    }

    /// The page's bytes.
    var view: PageView {
        // SAFETY: the page begins 64 bytes after the memory, and a frame has room for it.
        unsafe PageView(base: memory + 64, byteCount: pageSize)
    }

    /// Frees the memory.
    ///
    /// The page must have no pin.
    func deallocate() {
        // SAFETY: the page has no pin, so nothing views the memory.
        unsafe memory.deallocate()
    }
}
