// The board that publishes the newest commit and lists the open snapshots; readers, the writer and the checkpoint
// share it.
//
// Invariants
//   1. The published commit only advances; a snapshot sees the commit that was published when it was listed.
//   2. A checkpoint claims its target under the same lock that lists snapshots, so no snapshot older than a claimed
//      target can appear afterwards, except a resting one as invariant 4 describes.
//   3. An expired snapshot no longer holds the checkpoint back.
//   4. A resting snapshot stays listed and does not hold the checkpoint back. Its owner may resume it without the
//      lock: the owner marks it as live, and then checks that the board still shows the edition it was listed with.
//      If the board does not, the owner must end the snapshot.
//
// Why invariant 4 is safe: four sequentially consistent operations happen in one order that all threads see.
//     reader:      (a)  use := live           (b)  read edition
//     the board:   (c)  edition := newer      (d)  a checkpoint's claim reads use, later than (c) and under the lock
// A checkpoint claims a target beyond a snapshot only after a newer edition was published, so (c) precedes (d). There
// are two cases. Either (d) sees that the snapshot is live, and the target is not beyond it. Or (d) precedes (a), and
// the order is (c), (d), (a), (b): (b) reads a newer edition, and the reader ends the snapshot before it reads a page.
// The same argument holds for `close`, which also raises the edition before it reads `use`.

import Synchronization

/// The newest published commit and the open snapshots.
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

        /// Asserts that `marks` and `vacant` agree; to be called in `assert`.
        ///
        /// - Complexity: O(snapshots); a board with more than 64 places is not searched.
        func checkInvariants() -> Bool {
            assert(writerCount >= 0, "\(writerCount) writers")
            assert(vacant.count <= marks.count, "\(vacant.count) of \(marks.count) places are vacant")
            guard marks.count <= 64 else { return true }
            for (slot, mark) in marks.enumerated() {
                assert(mark == nil || mark?.slot == slot, "the mark in place \(slot) belongs to another place")
            }
            assert(vacant.allSatisfy { marks[$0] == nil }, "a place in use is marked vacant")
            assert(
                marks.count { $0 == nil } == vacant.count && Set(vacant).count == vacant.count,
                "a place without a mark is not vacant, or is vacant twice")
            return true
        }
    }

    private let shared: Mutex<Shared>
    /// Increases each time the board shows another state, and on `close` (invariant 4).
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
                assert(shared.marks[slot] == nil, "place \(slot) is listed as vacant and has a mark")
                shared.marks[slot] = mark
            }
            assert(shared.checkInvariants())
            return (shared.index, mark)
        }
    }

    /// Resumes a resting snapshot; returns `false` if it no longer sees the newest commit: the caller must then end it.
    ///
    /// Acquires no lock (invariant 4).
    @inline(__always)
    package func resume(_ mark: SnapshotMark) -> Bool {
        // Check first, so that an outdated snapshot is not marked as live without need.
        guard mark.edition == edition.load(ordering: .relaxed) else { return false }
        schedule?.step()
        mark.resume()
        schedule?.step()
        return mark.edition == edition.load(ordering: .sequentiallyConsistent)
    }

    /// Lets a snapshot rest; returns `false` if it cannot be resumed later: the caller must then end it.
    @inline(__always)
    package func rest(_ mark: SnapshotMark) -> Bool {
        guard mark.label == nil, mark.edition == edition.load(ordering: .relaxed) else { return false }
        return mark.rest()
    }

    /// Removes a snapshot from the board.
    package func end(_ mark: SnapshotMark) {
        shared.withLock { shared in
            assert(shared.marks[mark.slot] === mark, "a snapshot ends twice, or on another board")
            shared.marks[mark.slot] = nil
            shared.vacant.append(mark.slot)
            assert(shared.checkInvariants())
        }
    }

    // MARK: The writer, and the end

    /// Adds a writer to the count.
    ///
    /// - Throws: `closed`.
    package func beginWriter() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .database(.closed) }
            shared.writerCount += 1
        }
    }

    /// Removes a writer from the count.
    package func endWriter() {
        shared.withLock { shared in
            assert(shared.writerCount > 0 && !shared.isClosed, "a writer ends that was not counted")
            shared.writerCount -= 1
        }
    }

    /// Closes the board, so that no transaction can begin any more; fails if one is open.
    ///
    /// - Throws: `transactionsOpen`, `closed`.
    package func close() throws(StorageError) {
        try shared.withLock { shared throws(StorageError) in
            if shared.isClosed { throw .database(.closed) }
            // From here on `resume` refuses every resting snapshot; its reader then calls `begin`, which uses the lock.
            edition.add(1, ordering: .sequentiallyConsistent)
            let open = shared.liveMarks.reduce(shared.writerCount) { count, _ in count + 1 }
            guard open == 0 else { throw .database(.transactionsOpen(count: UInt32(open))) }
            shared.isClosed = true
            assert(shared.checkInvariants())
        }
    }

    // MARK: Commits

    /// Publishes a newer commit, and the index that lists its page versions.
    ///
    /// - Parameter time: when the commit was made, in nanoseconds since 1970; older snapshots are outdated from then.
    package func publish(_ state: StoreState, index: LogIndex, at time: UInt64) {
        shared.withLock { shared in
            precondition(
                state.commitLSN >= shared.state.commitLSN,
                "\(state.commitLSN) is published after \(shared.state.commitLSN)")
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

    /// Replaces `old` by `new`, an index without the versions that a checkpoint has moved to the store file.
    ///
    /// Does nothing if the board shows another index: a newer index lists commits that `new` may lack, and the next
    /// commit replaces an older index. Snapshots that use the old index stay valid.
    package func replaceIndex(_ old: LogIndex, by new: LogIndex) {
        shared.withLock { shared in
            if shared.index === old { shared.index = new }
        }
    }

    /// Shows the newest commit of another process, or the state after recovery; it may belong to another log.
    package func follow(_ state: StoreState, index: LogIndex) {
        shared.withLock { shared in
            guard shared.state != state || shared.index !== index else { return }
            shared.state = state
            shared.index = index
            edition.add(1, ordering: .sequentiallyConsistent)
        }
    }

    // MARK: The checkpoint

    /// The newest commit that every snapshot in use sees; a checkpoint may not go beyond it.
    package func checkpointTarget() -> StoreState {
        shared.withLock { shared in
            var target = shared.state
            for mark in shared.liveMarks where mark.state.commitLSN < target.commitLSN { target = mark.state }
            assert(target.commitLSN <= shared.state.commitLSN, "invariant 2: a checkpoint passes the published state")
            return target
        }
    }

    /// The oldest snapshot in use that does not see the newest commit, and the number of such snapshots.
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

    /// Expires the snapshots that are older than `position`, so that a checkpoint can reach it.
    ///
    /// - Returns: how many snapshots expired; 0 if the newest commit is before `position`.
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
