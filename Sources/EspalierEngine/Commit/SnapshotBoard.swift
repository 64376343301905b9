// The board on which commits are published and snapshots are listed: what readers, the writer and the checkpoint
// agree on.
//
// Invariants
//   1. The published commit only advances; a snapshot is the published commit at the moment it was listed.
//   2. A checkpoint claims its target under the same lock that lists snapshots, so no snapshot older than a claimed
//      target can appear afterwards, but for the one of invariant 4.
//   3. A snapshot that was given up (`expired`) no longer holds the checkpoint back.
//   4. A snapshot that rests stays listed and holds nobody back. It may be taken up again without the lock: it says
//      that it is live, and then looks whether the board still shows the edition it was made of; if not, it is over.
//
// Why invariant 4 is safe. Four sequentially consistent operations have one order that all threads see:
//     reader:      (a)  use := live           (b)  read edition
//     the board:   (c)  edition := newer      (d)  a checkpoint's claim reads use, later than (c) and under the lock
// A claim goes beyond a snapshot only if a newer edition was published before, so (c) precedes (d). Either (d) sees the
// snapshot live, and the target is not beyond it; or (d) came before (a), and (c), (d), (a), (b) is the order: (b)
// reads a newer edition, and the reader lets go before it has read a page. Closing is the same with "closed" for the
// edition.
//
// This is the seam at which a store shared by several processes would put shared memory: every call here is a small
// state change, and nothing else of a snapshot is shared.

import Synchronization

/// Where snapshots meet the writer.
package final class SnapshotBoard: Sendable {
    private struct Shared {
        var state: StoreState
        var index: LogIndex
        var marks: [SnapshotMark?] = []
        var vacant: [Int] = []
        var writerCount = 0
        var isClosed = false

        /// Snapshots in use.
        var liveMarks: some Sequence<SnapshotMark> { marks.lazy.compactMap(\.self).filter(\.isLive) }

        /// Asserts that marks and vacant places fit together; to be called in `assert`.
        ///
        /// O(snapshots), up to 64 of them.
        func checkInvariants() -> Bool {
            assert(writerCount >= 0, "\(writerCount) writers")
            assert(vacant.count <= marks.count, "\(vacant.count) of \(marks.count) places are vacant")
            guard marks.count <= 64 else { return true }
            for (slot, mark) in marks.enumerated() {
                assert(mark == nil || mark?.slot == slot, "the mark in place \(slot) is of another place")
            }
            assert(vacant.allSatisfy { marks[$0] == nil }, "a place in use is called vacant")
            assert(marks.count { $0 == nil } == vacant.count && Set(vacant).count == vacant.count, "vacant places")
            return true
        }
    }

    private let shared: Mutex<Shared>
    /// Rises with everything the board shows (invariant 4).
    private let edition = Atomic<UInt64>(0)
    private let schedule = CurrentSchedule.value

    /// A board that shows `state`, with the page versions in `index`.
    package init(state: StoreState, index: LogIndex) {
        shared = Mutex(Shared(state: state, index: index))
    }

    /// The newest published commit.
    package var state: StoreState { shared.withLock { $0.state } }
    /// How many snapshots are in use.
    package var snapshotCount: Int { shared.withLock { $0.liveMarks.reduce(0) { count, _ in count + 1 } } }

    // MARK: Snapshots

    /// Lists a snapshot of the newest commit.
    ///
    /// - Throws: `closed`.
    package func begin(label: String? = nil) throws(StorageError) -> (index: LogIndex, mark: SnapshotMark) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .database(.closed) }
            let slot = shared.vacant.popLast() ?? shared.marks.count
            let mark = SnapshotMark(
                slot: slot, state: shared.state, edition: edition.load(ordering: .relaxed), label: label)
            if slot == shared.marks.count {
                shared.marks.append(mark)
            } else {
                assert(shared.marks[slot] == nil, "place \(slot) is vacant")
                shared.marks[slot] = mark
            }
            assert(shared.checkInvariants())
            return (shared.index, mark)
        }
    }

    /// Takes a resting snapshot up again; `false` if it is not the newest commit any more, and then it must be ended.
    ///
    /// Takes no lock (invariant 4).
    @inline(__always)
    package func resume(_ mark: SnapshotMark) -> Bool {
        // Looked at first, so that an old snapshot is not announced without need.
        guard mark.edition == edition.load(ordering: .relaxed) else { return false }
        schedule?.step()
        mark.announce()
        schedule?.step()
        return mark.edition == edition.load(ordering: .sequentiallyConsistent)
    }

    /// Lets a snapshot rest; `false` if it is of no use for later, and then it must be ended.
    @inline(__always)
    package func rest(_ mark: SnapshotMark) -> Bool {
        guard mark.label == nil, mark.edition == edition.load(ordering: .relaxed) else { return false }
        return mark.rest()
    }

    /// Takes a snapshot off the board.
    package func end(_ mark: SnapshotMark) {
        shared.withLock { shared in
            assert(shared.marks[mark.slot] === mark, "a snapshot is ended once, on the board that listed it")
            shared.marks[mark.slot] = nil
            shared.vacant.append(mark.slot)
            assert(shared.checkInvariants())
        }
    }

    // MARK: The writer, and the end

    /// Counts a writer in.
    ///
    /// Throws `closed`.
    package func beginWriter() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .database(.closed) }
            shared.writerCount += 1
        }
    }

    /// Counts a writer out.
    package func endWriter() {
        shared.withLock { shared in
            assert(shared.writerCount > 0 && !shared.isClosed, "a writer is counted out once")
            shared.writerCount -= 1
        }
    }

    /// Lets no transaction begin any more, unless one is open.
    ///
    /// - Throws: `transactionsOpen`, `closed`.
    package func close() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .database(.closed) }
            // Resting snapshots are refused from here on, and look under the lock what is the matter.
            edition.add(1, ordering: .sequentiallyConsistent)
            let open = shared.liveMarks.reduce(shared.writerCount) { count, _ in count + 1 }
            guard open == 0 else { throw .database(.transactionsOpen(count: UInt32(open))) }
            shared.isClosed = true
            assert(shared.checkInvariants())
        }
    }

    // MARK: Commits

    /// Shows a newer commit, and the index that lists its page versions.
    ///
    /// - Parameter time: when it was made; snapshots that do not see it are behind from then on.
    package func publish(_ state: StoreState, index: LogIndex, at time: UInt64) {
        shared.withLock { shared in
            precondition(state.commitLSN >= shared.state.commitLSN, "commits are published in order")
            assert(state.pageCount > 0 && state.freeCount < state.pageCount, "a store of \(state.pageCount) pages")
            shared.state = state
            shared.index = index
            edition.add(1, ordering: .sequentiallyConsistent)
            assert(shared.checkInvariants())
            for case let mark? in shared.marks where mark.state.commitLSN < state.commitLSN {
                mark.fallBehind(at: time)
            }
        }
    }

    /// Replaces `old` by an index that leaves out versions that are in the store file by now.
    ///
    /// Does nothing if the board shows another one: a newer one lists commits that `new` may not know, and an older one
    /// is replaced by the next commit. Snapshots of the old index stay as good as they were.
    package func replaceIndex(_ old: LogIndex, by new: LogIndex) {
        shared.withLock { shared in
            if shared.index === old { shared.index = new }
        }
    }

    /// Shows what another process committed, which may even be a state with another log.
    package func follow(_ state: StoreState, index: LogIndex) {
        shared.withLock { shared in
            guard shared.state != state || shared.index !== index else { return }
            shared.state = state
            shared.index = index
            edition.add(1, ordering: .sequentiallyConsistent)
        }
    }

    // MARK: The checkpoint

    /// The newest commit that every snapshot in use already sees: how far a checkpoint may go.
    package func checkpointTarget() -> StoreState {
        shared.withLock { shared in
            var target = shared.state
            for mark in shared.liveMarks where mark.state.commitLSN < target.commitLSN { target = mark.state }
            assert(target.commitLSN <= shared.state.commitLSN, "invariant 2: no checkpoint goes beyond what is shown")
            return target
        }
    }

    /// The oldest snapshot in use that does not see the newest commit, and how many there are.
    package func oldestOutdated() -> (mark: SnapshotMark, count: Int)? {
        shared.withLock { shared in
            var oldest: SnapshotMark?
            var count = 0
            for mark in shared.liveMarks where mark.state.commitLSN < shared.state.commitLSN {
                count += 1
                if mark.state.commitLSN < oldest?.state.commitLSN ?? .max { oldest = mark }
            }
            assert((oldest == nil) == (count == 0), "\(count) snapshots do not see the newest commit")
            return oldest.map { ($0, count) }
        }
    }

    /// Gives up the snapshots that see nothing from `position` on, so that a checkpoint can get there.
    ///
    /// - Returns: how many; none if not even the newest commit is that far.
    @discardableResult
    package func expireSnapshots(before position: UInt64) -> Int {
        shared.withLock { shared in
            guard position <= shared.state.commitLSN else { return 0 }
            var count = 0
            for mark in shared.liveMarks where mark.state.commitLSN < position && mark.expire() { count += 1 }
            return count
        }
    }
}
