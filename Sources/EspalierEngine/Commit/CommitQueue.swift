// Commits between "appended" and "visible": one thread syncs for all that wait (group commit).
//
// Invariants
//   1. Commits become visible in the order they were appended; a durable one only after its bytes were synced.
//   2. At most one thread syncs at a time, the leader; it syncs everything that was appended before it began.
//   3. After a failed sync nothing becomes visible any more (`SyncGuard` refuses), and who waited learns that the
//      outcome of its commit is unknown.

// SAFETY: @unchecked Sendable, because all state is touched only while `monitor` is held.
/// Makes appended commits durable and visible.
package final class CommitQueue: @unchecked Sendable {
    private struct Pending {
        let state: StoreState
        let index: LogIndex
        let wallClock: UInt64
        let needsSync: Bool
    }

    private let monitor = Monitor()
    private let board: SnapshotBoard
    private let syncs: SyncGuard
    private var pending: [Pending] = []
    private var appendedLSN: UInt64
    private var durableLSN: UInt64
    private var isSyncing = false

    /// A queue with nothing in it, behind a store whose newest commit is durable.
    package init(board: SnapshotBoard, syncs: SyncGuard) {
        self.board = board
        self.syncs = syncs
        appendedLSN = board.state.commitLSN
        durableLSN = appendedLSN
    }

    /// Begins anew behind a recovered store.
    package func reset(to lsn: UInt64) {
        monitor.withLock {
            assert(pending.isEmpty && !isSyncing, "no commit waits before the store is recovered")
            appendedLSN = lsn
            durableLSN = lsn
            assert(checkInvariants())
        }
    }

    /// The log position behind the newest commit that was appended, visible or not.
    package var appendedPosition: UInt64 { monitor.withLock { appendedLSN } }

    /// The highest log position that is known to be durable.
    package var durablePosition: UInt64 { monitor.withLock { durableLSN } }

    /// Takes note of a commit that was just appended.
    ///
    /// The caller holds the writer gate.
    package func enqueue(_ state: StoreState, index: LogIndex, wallClock: UInt64, needsSync: Bool) {
        monitor.withLock {
            assert(state.commitLSN > appendedLSN, "invariant 1: commits come in the order they were appended")
            pending.append(Pending(state: state, index: index, wallClock: wallClock, needsSync: needsSync))
            appendedLSN = state.commitLSN
            assert(checkInvariants())
        }
    }

    /// Returns when the commit at `lsn` is visible.
    ///
    /// - Throws: `commitOutcomeUnknown` if a sync it needed failed.
    package func waitUntilVisible(_ lsn: UInt64, log: Log) throws(StorageError) {
        while true {
            let mustLead = monitor.withLock { () -> Bool? in
                publishReady()
                while isSyncing, !isVisible(lsn) { monitor.wait() }
                if isVisible(lsn) { return nil }
                isSyncing = true
                return true
            }
            guard mustLead != nil else { return }
            do throws(StorageError) {
                try lead(log)
            } catch {
                throw .transaction(.commitOutcomeUnknown)
            }
        }
    }

    /// Syncs everything that was appended so far.
    package func makeDurable(_ log: Log) throws(StorageError) {
        let isNeeded = monitor.withLock { () -> Bool in
            while isSyncing { monitor.wait() }
            guard durableLSN < appendedLSN else { return false }
            isSyncing = true
            return true
        }
        if isNeeded { try lead(log) }
    }

    /// The leader's part: one sync, then everyone it covers becomes visible.
    private func lead(_ log: Log) throws(StorageError) {
        let target = monitor.withLock { appendedLSN }
        defer {
            monitor.withLock {
                isSyncing = false
                monitor.wakeAll()
            }
        }
        try syncs.sync(log.file)
        monitor.withLock {
            assert(isSyncing && target <= appendedLSN, "invariant 2: the leader syncs what was appended")
            durableLSN = max(durableLSN, target)
            publishReady()
        }
    }

    private func isVisible(_ lsn: UInt64) -> Bool {
        assert(lsn <= appendedLSN, "a commit at \(lsn) of \(appendedLSN) is waited for")
        guard let first = pending.first else { return true }
        return first.state.commitLSN > lsn
    }

    /// Invariant 1.
    ///
    /// Called with the monitor held.
    private func publishReady() {
        let ready = pending.prefix { !$0.needsSync || $0.state.commitLSN <= durableLSN }
        guard let last = ready.last else { return }
        board.publish(last.state, index: last.index, at: last.wallClock)
        pending.removeFirst(ready.count)
        assert(checkInvariants())
    }

    /// Asserts what the header says of commits that wait; to be called in `assert`, with the monitor held.
    ///
    /// O(commits that wait).
    private func checkInvariants() -> Bool {
        assert(durableLSN <= appendedLSN, "\(durableLSN) is durable, \(appendedLSN) was appended")
        for (commit, next) in zip(pending, pending.dropFirst()) {
            assert(commit.state.commitLSN < next.state.commitLSN, "invariant 1: commits wait in their order")
        }
        if let last = pending.last { assert(last.state.commitLSN == appendedLSN, "the newest commit waits last") }
        if let first = pending.first { assert(first.state.commitLSN > board.state.commitLSN, "a commit that waits") }
        return true
    }
}
