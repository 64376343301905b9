// One snapshot's place on the board: the commit that it sees, and whether it is live, resting or expired.
//
// Invariants
//   1. The transaction that owns the mark changes it from live to resting and back. The board changes it from live to
//      expired, which is final.
//   2. `state` and `edition` never change: a mark belongs to one commit.

import Synchronization

/// One snapshot's place on the board.
package final class SnapshotMark: Sendable {
    /// The states of a snapshot.
    private enum Use: UInt8, AtomicRepresentable {
        /// In use: no checkpoint may go beyond it.
        case live
        /// Ended, and kept for a later transaction.
        case resting
        /// Ended by the board: a checkpoint may go beyond it.
        case expired
    }

    let slot: Int
    /// The state after the commit that the snapshot sees.
    let state: StoreState
    /// The board's edition when the snapshot was listed.
    let edition: UInt64
    /// The label passed to `beginRead(label:)`.
    let label: String?
    private let use = Atomic(Use.live)
    private let outdatedTime = Atomic<UInt64>(0)

    init(slot: Int, state: StoreState, edition: UInt64, label: String?) {
        assert(slot >= 0, "place \(slot)")
        self.slot = slot
        self.state = state
        self.edition = edition
        self.label = label
    }

    /// Whether the board has expired the snapshot.
    @inline(__always)
    package var isExpired: Bool { use.load(ordering: .relaxed) == .expired }

    /// Whether the snapshot is in use.
    var isLive: Bool { use.load(ordering: .sequentiallyConsistent) == .live }

    /// The time of the first commit that the snapshot does not see, in nanoseconds since 1970; 0 if it sees all.
    package var outdatedSince: UInt64 { outdatedTime.load(ordering: .relaxed) }

    /// Marks a resting snapshot as live again.
    @inline(__always)
    func resume() {
        assert(use.load(ordering: .relaxed) == .resting, "invariant 1: a thread resumes a snapshot of another one")
        use.store(.live, ordering: .sequentiallyConsistent)
    }

    /// Lets a live snapshot rest; returns `false` if it has expired.
    @inline(__always)
    func rest() -> Bool {
        assert(use.load(ordering: .relaxed) != .resting, "invariant 1: a thread lets a snapshot of another one rest")
        return use.compareExchange(expected: .live, desired: .resting, ordering: .sequentiallyConsistent).exchanged
    }

    /// Expires a live snapshot; returns `false` if it is not live.
    func expire() -> Bool {
        use.compareExchange(expected: .live, desired: .expired, ordering: .sequentiallyConsistent).exchanged
    }

    /// Records the time of the first commit that the snapshot does not see.
    func fallBehind(at time: UInt64) {
        if outdatedTime.load(ordering: .relaxed) == 0 { outdatedTime.store(time, ordering: .relaxed) }
    }
}
