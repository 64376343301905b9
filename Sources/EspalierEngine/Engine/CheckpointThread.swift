// The thread that makes a store's checkpoints, for stores that ask for one.
//
// Invariants
//   1. It waits, makes a checkpoint when it is told that one is due, and ends when it is told to stop: what it is
//      in the middle of is finished before, because closing needs all of it.
//   2. A checkpoint that fails is as one that failed in a commit: it has changed nothing that counts, a failed sync is
//      remembered (`SyncGuard`), and anything else is tried again when as much log has come again.
//   3. It keeps the engine alive until it is stopped.

// SAFETY: @unchecked Sendable, because the variables are touched only while `monitor` is held; `thread` is set before
// the object is shared.
/// Makes checkpoints in the background.
final class CheckpointThread: @unchecked Sendable {
    private let monitor = Monitor()
    private var isDue = false
    private var isStopping = false
    private var thread: PlatformThread?

    /// Starts a thread that calls `body` each time it is woken; `nil` if the system has none to give.
    init?(_ body: @escaping @Sendable () -> Void) {
        thread = PlatformThread.start { [self] in
            while waitUntilDue() { body() }
        }
        if thread == nil { return nil }
    }

    /// Says that a checkpoint is due.
    func wake() {
        monitor.withLock {
            isDue = true
            monitor.wakeAll()
        }
    }

    /// Ends the thread, and waits until it has ended.
    func stop() {
        monitor.withLock {
            assert(!isStopping, "the thread is stopped once")
            isStopping = true
            monitor.wakeAll()
        }
        thread?.join()
    }

    /// `false` when it is time to end.
    private func waitUntilDue() -> Bool {
        monitor.withLock {
            while !isDue, !isStopping { monitor.wait() }
            isDue = false
            return !isStopping
        }
    }
}
