// One snapshot's place on the board: which commit it sees, and what it is at the moment.
//
// Invariants
//   1. live -> resting -> live ... is done by the transaction that owns the mark; live -> expired by the board, and is
//      for ever.
//   2. `state` and `edition` never change: a mark stands for one commit.

import Synchronization

/// One snapshot's place on the board.
package final class SnapshotMark: Sendable {
    /// What a snapshot is at the moment.
    private enum Use: UInt8, AtomicRepresentable {
        /// In use: no checkpoint may go beyond it.
        case live
        /// Ended, and kept to be used again.
        case resting
        /// Given up.
        case expired
    }

    let slot: Int
    /// The commit it sees.
    let state: StoreState
    /// The board's edition it was made of.
    let edition: UInt64
    /// What its owner calls it.
    let label: String?
    private let use = Atomic(Use.live)
    private let behindSince = Atomic<UInt64>(0)

    init(slot: Int, state: StoreState, edition: UInt64, label: String?) {
        assert(slot >= 0, "place \(slot)")
        self.slot = slot
        self.state = state
        self.edition = edition
        self.label = label
    }

    /// Whether the snapshot was given up.
    @inline(__always)
    package var isExpired: Bool { use.load(ordering: .relaxed) == .expired }

    /// Whether the snapshot is in use.
    var isLive: Bool { use.load(ordering: .sequentiallyConsistent) == .live }

    /// When the first commit was made that it does not see, in nanoseconds since 1970; 0: it sees all.
    package var outdatedSince: UInt64 { behindSince.load(ordering: .relaxed) }

    /// Says that the snapshot is in use again.
    @inline(__always)
    func announce() {
        assert(use.load(ordering: .relaxed) == .resting, "invariant 1: only its owner takes a resting snapshot up")
        use.store(.live, ordering: .sequentiallyConsistent)
    }

    /// Lets a live snapshot rest; `false` if it was given up.
    @inline(__always)
    func rest() -> Bool {
        assert(use.load(ordering: .relaxed) != .resting, "invariant 1: only its owner lets a snapshot rest")
        return use.compareExchange(expected: .live, desired: .resting, ordering: .sequentiallyConsistent).exchanged
    }

    /// Gives a live snapshot up; `false` if it is not in use.
    func expire() -> Bool {
        use.compareExchange(expected: .live, desired: .expired, ordering: .sequentiallyConsistent).exchanged
    }

    /// Takes note that a commit was made that the snapshot does not see.
    func fallBehind(at time: UInt64) {
        if behindSince.load(ordering: .relaxed) == 0 { behindSince.store(time, ordering: .relaxed) }
    }
}
