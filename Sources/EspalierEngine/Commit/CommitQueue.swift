// The queue of commits that are appended but not yet visible: one sync covers all that wait (group commit).
//
// Invariants
//   1. Commits become visible in append order; a durable commit becomes visible only after its bytes were synced.
//   2. At most one thread, the leader, syncs at a time; it syncs everything that was appended before it began.
//   3. After a failed sync no commit that needs one becomes visible, nor any after it (`SyncGuard` refuses), and each
//      thread that waits for one gets `commitOutcomeUnknown`.

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

    /// Makes an empty queue for a store whose newest commit is durable.
    package init(board: SnapshotBoard, syncs: SyncGuard) {
        self.board = board
        self.syncs = syncs
        appendedLSN = board.state.commitLSN
        durableLSN = appendedLSN
    }

    /// Restarts the queue at the newest commit of a recovered store; no commit may be waiting.
    package func reset(to lsn: UInt64) {
        monitor.withLock {
            assert(pending.isEmpty && !isSyncing, "commits wait before the store is recovered")
            appendedLSN = lsn
            durableLSN = lsn
            assert(checkInvariants())
        }
    }

    /// The log position after the newest appended commit, visible or not.
    package var appendedPosition: UInt64 { monitor.withLock { appendedLSN } }

    /// The highest log position that is known to be durable.
    package var durablePosition: UInt64 { monitor.withLock { durableLSN } }

    /// Adds a commit that was just appended to the log.
    ///
    /// The caller holds the writer gate.
    ///
    /// - Parameter isDurable: whether the log was synced since.
    package func enqueue(
        _ state: StoreState, index: LogIndex, wallClock: UInt64, needsSync: Bool, isDurable: Bool = false
    ) {
        monitor.withLock {
            assert(state.commitLSN > appendedLSN, "invariant 1: \(state.commitLSN) comes after \(appendedLSN)")
            pending.append(Pending(state: state, index: index, wallClock: wallClock, needsSync: needsSync))
            appendedLSN = state.commitLSN
            if isDurable {
                durableLSN = state.commitLSN
                // `makeDurable` finds nothing to sync and returns without publishing, so the commit is published here.
                publishReady()
            }
            assert(checkInvariants())
        }
    }

    /// Waits until the commit that ends at `lsn` is visible; the calling thread may become the leader.
    ///
    /// - Throws: `commitOutcomeUnknown` if the sync that this commit waits for fails, or one failed before.
    package func waitUntilVisible(_ lsn: UInt64, log: Log) throws(StorageError) {
        while true {
            let mustLead = monitor.withLock { () -> Bool in
                publishReady()
                while isSyncing, !isVisible(lsn) { monitor.wait() }
                if isVisible(lsn) { return false }
                isSyncing = true
                return true
            }
            guard mustLead else { return }
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

    /// Syncs the log once, as the leader, and publishes the commits that the sync covers.
    ///
    /// The caller became the leader by setting `isSyncing`; this method resets it.
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
            assert(
                isSyncing && target <= appendedLSN, "invariant 2: the leader syncs up to \(target) of \(appendedLSN)")
            durableLSN = max(durableLSN, target)
            publishReady()
        }
    }

    private func isVisible(_ lsn: UInt64) -> Bool {
        assert(lsn <= appendedLSN, "a thread waits for a commit at \(lsn), the log ends at \(appendedLSN)")
        guard let first = pending.first else { return true }
        return first.state.commitLSN > lsn
    }

    /// Publishes the commits at the head of the queue that are durable or need no sync (invariant 1).
    ///
    /// The caller holds the monitor.
    private func publishReady() {
        let ready = pending.prefix { !$0.needsSync || $0.state.commitLSN <= durableLSN }
        guard let last = ready.last else { return }
        board.publish(last.state, index: last.index, at: last.wallClock)
        pending.removeFirst(ready.count)
        assert(checkInvariants())
    }

    /// Asserts the invariants of waiting commits; to be called in `assert`, with the monitor held.
    ///
    /// - Complexity: O(waiting commits).
    private func checkInvariants() -> Bool {
        assert(durableLSN <= appendedLSN, "\(durableLSN) is durable, \(appendedLSN) was appended")
        for (commit, next) in zip(pending, pending.dropFirst()) {
            assert(commit.state.commitLSN < next.state.commitLSN, "invariant 1: a commit waits after a later one")
        }
        if let last = pending.last {
            assert(last.state.commitLSN == appendedLSN, "the commit that waits last is not the newest")
        }
        if let first = pending.first {
            assert(first.state.commitLSN > board.state.commitLSN, "the oldest waiting commit is visible already")
        }
        return true
    }
}
