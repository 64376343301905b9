// Ended read transactions that can begin again: if no commit was published in between, a new read transaction allocates
// no object, acquires no lock, and has the trees that were looked up before.
//
// Invariants
//   1. The thread that removes a transaction's pages from a slot, by one atomic exchange, is their only owner. No
//      cursor refers to them, because pages with an open cursor are not kept.
//   2. Their snapshots rest (`SnapshotBoard`, invariant 4).
//   3. A thread uses the same slot each time, so threads that read at the same time seldom share a slot.
//   4. The pages refer to the engine, and the engine to them: the engine's close empties the slots.

import Synchronization

// SAFETY: @unchecked Sendable, because the pointer is set once, and slots are atomic.
/// Keeps the pages of ended read transactions.
@safe
final class IdleReads: @unchecked Sendable {
    private typealias Slot = Atomic<Unmanaged<ReadPages>?>
    private static let count = 8
    /// Slots are 128 bytes apart, so that no two are in neighboring cache lines.
    private static let stride = 128 / MemoryLayout<UInt>.stride

    private let slots: UnsafeMutablePointer<Slot>

    init() {
        // SAFETY: owned by this object until `deinit`; only slots at multiples of `stride` are used.
        unsafe slots = .allocate(capacity: Self.count * Self.stride)
        for number in 0..<Self.count { unsafe (slots + number * Self.stride).initialize(to: Slot(nil)) }
    }

    deinit {
        empty { _ in }
        // SAFETY: trivial elements; nothing refers to this object any more.
        unsafe slots.deallocate()
    }

    /// The slot of the calling thread.
    @inline(__always)
    private var home: Int {
        Int(truncatingIfNeeded: (Platform.threadNumber &* 0x9E37_79B9_7F4A_7C15) >> 61) &* Self.stride
    }

    /// Removes and returns the pages in the calling thread's slot.
    @inline(__always)
    func take() -> ReadPages? {
        // SAFETY: `home` is the place of a slot. The exchange hands the slot's reference over to the caller.
        unsafe slots[home].exchange(nil, ordering: .acquiring)?.takeRetainedValue()
    }

    /// Puts pages into the calling thread's slot; returns the pages that were there.
    @inline(__always)
    func exchange(for pages: ReadPages) -> ReadPages? {
        assert(pages.isEnded && pages.cursorCount == 0, "invariant 1: resting pages are in use")
        // SAFETY: as in `take`; the slot owns the reference that it is given.
        return unsafe slots[home].exchange(Unmanaged.passRetained(pages), ordering: .acquiringAndReleasing)?
            .takeRetainedValue()
    }

    /// Removes the pages of all slots, and passes each to `body`.
    func empty(_ body: (ReadPages) -> Void) {
        for number in 0..<Self.count {
            // SAFETY: as in `take`.
            let slot = unsafe slots + number * Self.stride
            if let pages = unsafe slot.pointee.exchange(nil, ordering: .acquiring)?.takeRetainedValue() { body(pages) }
        }
    }
}
