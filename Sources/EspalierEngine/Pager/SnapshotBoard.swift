// The board on which commits are published and snapshots are listed: what readers, the writer and the checkpoint
// agree on.
//
// Invariants
//   1. The published commit only advances; a snapshot is the published commit at the moment it was listed.
//   2. A checkpoint claims its target under the same lock that lists snapshots, so no snapshot older than a claimed
//      target can appear afterwards.
//   3. A snapshot that was given up (`expire`) no longer holds the checkpoint back.
// This is the seam at which a store shared by several processes would put shared memory: every call here is a small
// state change, and nothing else of a snapshot is shared.

import Synchronization

/// Where snapshots meet the writer.
package final class SnapshotBoard: Sendable {
    /// A snapshot that is in use.
    private struct Listing {
        let commitLSN: UInt64
        let state: StoreState
        let mark: SnapshotMark
    }

    private struct Shared {
        var state: StoreState
        var index: LogIndex
        var listings: [Listing?] = []
        var vacant: [Int] = []
        var count = 0
        var writerCount = 0
        var isClosed = false
    }

    private let shared: Mutex<Shared>

    /// A board that shows `state`, with the page versions in `index`.
    package init(state: StoreState, index: LogIndex) {
        shared = Mutex(Shared(state: state, index: index))
    }

    /// The newest published commit.
    package var state: StoreState { shared.withLock { $0.state } }
    /// How many snapshots are in use.
    package var snapshotCount: Int { shared.withLock { $0.count } }

    /// Lists a snapshot of the newest commit.
    package func begin() throws(StorageError) -> (state: StoreState, index: LogIndex, mark: SnapshotMark) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .closed }
            let slot = shared.vacant.popLast() ?? shared.listings.count
            let mark = SnapshotMark(slot: slot)
            let listing = Listing(commitLSN: shared.state.commitLSN, state: shared.state, mark: mark)
            if slot == shared.listings.count {
                shared.listings.append(listing)
            } else {
                shared.listings[slot] = listing
            }
            shared.count += 1
            return (shared.state, shared.index, mark)
        }
    }

    /// Takes a snapshot off the board.
    package func end(_ mark: SnapshotMark) {
        shared.withLock { shared in
            shared.listings[mark.slot] = nil
            shared.vacant.append(mark.slot)
            shared.count -= 1
        }
    }

    /// Counts a writer in.
    ///
    /// Throws `closed`.
    package func beginWriter() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .closed }
            shared.writerCount += 1
        }
    }

    /// Counts a writer out.
    package func endWriter() { shared.withLock { $0.writerCount -= 1 } }

    /// Lets no transaction begin any more, unless one is open.
    ///
    /// - Throws: `transactionsOpen`, `closed`.
    package func close() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .closed }
            let open = shared.count + shared.writerCount
            guard open == 0 else { throw .transactionsOpen(count: UInt32(open)) }
            shared.isClosed = true
        }
    }

    /// Shows a newer commit, and the index that lists its page versions.
    package func publish(_ state: StoreState, index: LogIndex) {
        shared.withLock { shared in
            precondition(state.commitLSN >= shared.state.commitLSN, "commits are published in order")
            shared.state = state
            shared.index = index
        }
    }

    /// Replaces `old` by an index that leaves out versions that are in the store file by now.
    ///
    /// Does nothing if the board shows another one: a newer one lists commits that `new` may not know, and an older one
    /// is replaced by the next commit.
    package func replaceIndex(_ old: LogIndex, by new: LogIndex) {
        shared.withLock { shared in
            if shared.index === old { shared.index = new }
        }
    }

    /// Shows what another process committed, which may even be a state with another log.
    package func follow(_ state: StoreState, index: LogIndex) {
        shared.withLock { shared in
            shared.state = state
            shared.index = index
        }
    }

    /// The newest commit that every snapshot in use already sees: how far a checkpoint may go.
    package func checkpointTarget() -> StoreState {
        shared.withLock { shared in
            var target = shared.state
            for case let listing? in shared.listings
            where listing.commitLSN < target.commitLSN && !listing.mark.isExpired {
                target = listing.state
            }
            return target
        }
    }

    /// Gives up every snapshot that is older than the newest commit; returns how many.
    package func expireOldSnapshots() -> Int {
        shared.withLock { shared in
            var count = 0
            for case let listing? in shared.listings
            where listing.commitLSN < shared.state.commitLSN && !listing.mark.isExpired {
                listing.mark.expire()
                count += 1
            }
            return count
        }
    }
}

/// One snapshot's place on the board.
package final class SnapshotMark: Sendable {
    let slot: Int
    private let expired = Atomic(false)

    init(slot: Int) { self.slot = slot }

    /// Whether the snapshot was given up.
    @inline(__always)
    package var isExpired: Bool { expired.load(ordering: .relaxed) }

    func expire() { expired.store(true, ordering: .relaxed) }
}
