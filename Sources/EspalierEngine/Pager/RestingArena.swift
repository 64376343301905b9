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
enum RestingArena {
    private static let leastByteCount = 4 << 20
    private static let state = Mutex(State())

    private struct State {
        /// How many pools are alive.
        var poolCount = 0
        /// What rests; an address is a number here, as a pointer is not Sendable.
        var kept: (address: UInt, byteCount: Int)?
    }

    /// Memory for a pool that begins: that which rests, if it has this size.
    static func take(byteCount: Int) -> UnsafeMutableRawPointer {
        let found = state.withLock { state in
            state.poolCount += 1
            return state.kept.take()
        }
        // SAFETY: allocated by `Platform`, given up by its pool, and no longer at rest.
        if let found, let arena = unsafe UnsafeMutableRawPointer(bitPattern: found.address) {
            if found.byteCount == byteCount { return unsafe arena }
            unsafe arena.deallocate()
        }
        return unsafe Platform.allocateArena(byteCount: byteCount)
    }

    /// Gives back the memory of a pool that ends.
    ///
    /// A little is freed at once: it costs little to make.
    static func put(_ arena: UnsafeMutableRawPointer, byteCount: Int) {
        let address = UInt(bitPattern: arena)
        // SAFETY: the pool's own memory, of which nothing is read any more.
        if byteCount >= leastByteCount { unsafe Platform.giveUpContent(of: arena, byteCount: byteCount) }
        let isKept = state.withLock { state in
            state.poolCount -= 1
            guard state.poolCount == 0, byteCount >= leastByteCount else { return false }
            state.kept = (address, byteCount)
            return true
        }
        // SAFETY: allocated by `Platform`, and nobody's any more.
        if !isKept { unsafe arena.deallocate() }
    }
}
