// Keeps the memory of the last buffer pool for the next one.
//
// Invariants
//   1. An arena is kept only while the process has no pool, and the next pool uses it or frees it: a process never has
//      more memory than its pools had at once.
//   2. Its content is not used: a pool reads no frame that it has not filled. While an arena is kept, the system may
//      reclaim its pages.
// Why: see Decisions, "A spare arena".

import Synchronization

/// An arena that no pool uses.
enum SpareArena {
    private static let leastByteCount = 4 << 20
    private static let state = Mutex(State())

    private struct State {
        /// The number of pools in the process.
        var poolCount = 0
        /// The kept arena; its address is a number, because a pointer is not Sendable.
        var kept: (address: UInt, byteCount: Int)?
    }

    /// Memory for a new pool: the kept arena, if it has this size, or a new one; `nil` if the system has none.
    static func take(byteCount: Int) -> UnsafeMutableRawPointer? {
        let found = state.withLock { state in
            assert(state.kept == nil || state.poolCount == 0, "invariant 1: an arena rests beside a pool")
            state.poolCount += 1
            return state.kept.take()
        }
        // SAFETY: allocated by `Platform`, returned by its pool, and no longer kept.
        if let found, let arena = unsafe UnsafeMutableRawPointer(bitPattern: found.address) {
            if found.byteCount == byteCount { return unsafe arena }
            unsafe Platform.freeMemory(arena)
        }
        if let arena = unsafe allocate(byteCount: byteCount) { return unsafe arena }
        state.withLock { $0.poolCount -= 1 }
        return nil
    }

    /// Keeps or frees the memory of a pool that is destroyed.
    ///
    /// Less than `leastByteCount` is freed at once, because it is cheap to allocate again.
    static func put(_ arena: UnsafeMutableRawPointer, byteCount: Int) {
        let address = UInt(bitPattern: arena)
        // SAFETY: the pool's own memory, which is no longer read.
        if byteCount >= leastByteCount { unsafe Platform.giveUpContent(rest(of: arena, byteCount: byteCount)) }
        let isKept = state.withLock { state in
            assert(state.poolCount > 0 && state.kept == nil, "invariant 1: an arena rests beside a pool")
            state.poolCount -= 1
            guard state.poolCount == 0, byteCount >= leastByteCount else { return false }
            state.kept = (address, byteCount)
            return true
        }
        // SAFETY: allocated by `Platform`, and no pool uses it any more.
        if !isKept { unsafe Platform.freeMemory(arena) }
    }

    // MARK: Huge pages

    private static let hugePageByteCount = 2 << 20

    /// Allocates memory, in huge pages if the system provides them on request.
    ///
    /// With pages of the usual size each first touch is a fault, and each access to another page a walk through the
    /// page tables (EspalierEngine.docc/Decisions.md).
    private static func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        let isHuge = byteCount >= 2 * hugePageByteCount
        // SAFETY: new memory, to which no other pointer exists.
        let arena = unsafe Platform.allocateMemory(
            byteCount: byteCount, alignment: isHuge ? hugePageByteCount : 4096)
        guard let arena = unsafe arena else { return nil }
        // SAFETY: as above.
        if isHuge { unsafe Platform.preferHugePages(rest(of: arena, byteCount: byteCount)) }
        return unsafe arena
    }

    /// All of an arena but its first 2 MiB, which stay in pages of the usual size and are never offered for reclaim:
    /// opening a store, and a small store, use no more memory than they touch, and find it present in a kept arena.
    private static func rest(of arena: UnsafeMutableRawPointer, byteCount: Int) -> UnsafeMutableRawBufferPointer {
        assert(byteCount >= hugePageByteCount, "an arena of \(byteCount) bytes")
        // SAFETY: within the arena, which is longer than a huge page.
        return unsafe UnsafeMutableRawBufferPointer(
            start: arena + hugePageByteCount, count: byteCount - hugePageByteCount)
    }
}
