// The memory of the cache that ended last, for the next one that begins.
//
// Invariants
//   1. At most one arena rests in a process; whoever takes it has it for himself.
//   2. What is in it is of no use: a pool reads no frame that it has not filled. While it rests the system may take its
//      pages back.
// Memory that is touched for the first time has to be made and cleared by the system: a fifth of reading all rows of a
// store that was closed and opened again.

import Synchronization

/// An arena that no pool uses.
enum RestingArena {
    private static let leastByteCount = 4 << 20
    /// An address is a number here, as a pointer is not Sendable.
    private static let kept = Mutex<(address: UInt, byteCount: Int)?>(nil)

    /// Memory for a pool: that which rests, if it has this size.
    static func take(byteCount: Int) -> UnsafeMutableRawPointer {
        let address = kept.withLock { kept -> UInt? in
            guard let found = kept, found.byteCount == byteCount else { return nil }
            kept = nil
            return found.address
        }
        // SAFETY: allocated by `Platform`, given up by its pool, and no longer at rest.
        if let address, let arena = unsafe UnsafeMutableRawPointer(bitPattern: address) { return unsafe arena }
        return unsafe Platform.allocateArena(byteCount: byteCount)
    }

    /// Gives memory of a pool back, which nobody uses any more; what rested before is freed.
    ///
    /// A little is freed at once: it costs little to make.
    static func put(_ arena: UnsafeMutableRawPointer, byteCount: Int) {
        // SAFETY: allocated by `Platform`, and nobody's any more.
        guard byteCount >= leastByteCount else { return unsafe arena.deallocate() }
        unsafe Platform.giveUpContent(of: arena, byteCount: byteCount)
        let address = UInt(bitPattern: arena)
        let former = kept.withLock { kept in
            defer { kept = (address, byteCount) }
            return kept
        }
        // SAFETY: it rested, and does no longer.
        if let former { unsafe UnsafeMutableRawPointer(bitPattern: former.address)?.deallocate() }
    }
}
