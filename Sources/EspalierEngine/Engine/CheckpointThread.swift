// The thread that makes a store's checkpoints, for stores that ask for one.
//
// Invariants
//   1. The thread waits, makes a checkpoint when one is due, and ends when `stop` is called. It finishes a running
//      checkpoint first, because the close of the store needs all of it.
//   2. A failed checkpoint has the same effect as one that failed in a commit: it has changed nothing that counts,
//      `SyncGuard` remembers a failed sync, and after any other error the next try follows after as much new log.
//   3. The thread keeps the engine alive until it is stopped.

// SAFETY: @unchecked Sendable, because the variables are touched only while `monitor` is held; `thread` is set before
// the object is shared.
/// Makes checkpoints in the background.
final class CheckpointThread: @unchecked Sendable {
    private let monitor = Monitor()
    private var isDue = false
    private var isStopping = false
    private var thread: PlatformThread?

    /// Starts a thread that calls `body` each time it is woken; `nil` if the system cannot create one.
    init?(_ body: @escaping @Sendable () -> Void) {
        thread = PlatformThread.start { [self] in
            while waitUntilDue() { body() }
        }
        if thread == nil { return nil }
    }

    /// Wakes the thread, because a checkpoint is due.
    func wake() {
        monitor.withLock {
            isDue = true
            monitor.wakeAll()
        }
    }

    /// Ends the thread, and waits until it has ended.
    func stop() {
        monitor.withLock {
            assert(!isStopping, "the thread is stopped twice")
            isStopping = true
            monitor.wakeAll()
        }
        thread?.join()
    }

    /// Waits until a checkpoint is due; returns `false` if the thread must end.
    private func waitUntilDue() -> Bool {
        monitor.withLock {
            while !isDue, !isStopping { monitor.wait() }
            isDue = false
            return !isStopping
        }
    }
}
