// The memory of the cache that ended last, for the next one that begins.
//
// Invariants
//   1. An arena rests only while no pool of the process is alive, and the next one takes it or frees it: a process
//      never has more memory than its pools had at once.
//   2. What is in it is of no use: a pool reads no frame that it has not filled. While it rests the system may take its
//      pages back.
// Memory that is touched for the first time has to be made and cleared by the system: a fifth of reading all rows of a
// store that was closed and opened again.

import Synchronization

/// An arena that no pool uses.
enum SpareArena {
    private static let leastByteCount = 4 << 20
    private static let state = Mutex(State())

    private struct State {
        /// How many pools are alive.
        var poolCount = 0
        /// What rests; an address is a number here, as a pointer is not Sendable.
        var kept: (address: UInt, byteCount: Int)?
    }

    /// Memory for a pool that begins: that which rests, if it has this size; `nil` if the system has none to give.
    static func take(byteCount: Int) -> UnsafeMutableRawPointer? {
        let found = state.withLock { state in
            assert(state.kept == nil || state.poolCount == 0, "invariant 1: an arena rests beside a pool")
            state.poolCount += 1
            return state.kept.take()
        }
        // SAFETY: allocated by `Platform`, given up by its pool, and no longer at rest.
        if let found, let arena = unsafe UnsafeMutableRawPointer(bitPattern: found.address) {
            if found.byteCount == byteCount { return unsafe arena }
            unsafe Platform.freeMemory(arena)
        }
        if let arena = unsafe allocate(byteCount: byteCount) { return unsafe arena }
        state.withLock { $0.poolCount -= 1 }
        return nil
    }

    /// Gives back the memory of a pool that ends.
    ///
    /// A little is freed at once: it costs little to make.
    static func put(_ arena: UnsafeMutableRawPointer, byteCount: Int) {
        let address = UInt(bitPattern: arena)
        // SAFETY: the pool's own memory, of which nothing is read any more.
        if byteCount >= leastByteCount { unsafe Platform.giveUpContent(rest(of: arena, byteCount: byteCount)) }
        let isKept = state.withLock { state in
            assert(state.poolCount > 0 && state.kept == nil, "invariant 1: an arena rests beside a pool")
            state.poolCount -= 1
            guard state.poolCount == 0, byteCount >= leastByteCount else { return false }
            state.kept = (address, byteCount)
            return true
        }
        // SAFETY: allocated by `Platform`, and nobody's any more.
        if !isKept { unsafe Platform.freeMemory(arena) }
    }

    // MARK: Huge pages

    private static let hugePageByteCount = 2 << 20

    /// Memory in huge pages where the system gives them on request.
    ///
    /// With pages of the usual length each first touch is a fault, and each look at another one a walk through the
    /// processor's tables: 6 to 26 % of the lookups of the WordNet benchmark.
    private static func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        let isHuge = byteCount >= 2 * hugePageByteCount
        // SAFETY: new memory, which nobody else knows.
        let arena = unsafe Platform.allocateMemory(
            byteCount: byteCount, alignment: isHuge ? hugePageByteCount : 4096)
        guard let arena = unsafe arena else { return nil }
        // SAFETY: as above.
        if isHuge { unsafe Platform.preferHugePages(rest(of: arena, byteCount: byteCount)) }
        return unsafe arena
    }

    /// All but the beginning, which stays in usual pages: opening a store and a small store take no more memory than
    /// they use, and find it there when it was given up and comes back.
    private static func rest(of arena: UnsafeMutableRawPointer, byteCount: Int) -> UnsafeMutableRawBufferPointer {
        assert(byteCount >= hugePageByteCount, "an arena of \(byteCount) bytes")
        // SAFETY: within the arena, which is longer than a huge page.
        return unsafe UnsafeMutableRawBufferPointer(
            start: arena + hugePageByteCount, count: byteCount - hugePageByteCount)
    }
}
