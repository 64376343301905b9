// Who decides which thread runs next: the operating system, or a test that tries the orders one by one.
//
// Threads of the engine meet at monitors, at condition waits and at file system calls. The last have a seam already;
// this is the one for the others. A monitor asks once, when it is made, whether a schedule governs the thread that
// makes it, and keeps the answer: without one, as always in an application, each lock pays a branch that is never
// taken. `Mutex` has no seam and needs none: nobody stops inside of what a mutex guards.
//
// Invariants
//   1. A store whose monitors have a schedule is used by threads of that schedule only, one at a time.

/// Decides for the threads of a test which of them runs.
package protocol ThreadSchedule: AnyObject, Sendable {
    /// Returns when the calling thread has the monitor.
    func lock(_ monitor: Monitor)
    /// Gives the monitor back.
    func unlock(_ monitor: Monitor)
    /// Gives the monitor back until `wakeAll`, and returns when the calling thread has it again.
    func wait(_ monitor: Monitor)
    /// Lets all that wait go on, once the monitor is free.
    func wakeAll(_ monitor: Monitor)
    /// Lets another thread run.
    func yield()
    /// Comes between two atomic operations of which the order among threads counts.
    func step()
}

/// The schedule that governs the calling thread.
package enum CurrentSchedule {
    /// The schedule; `nil`: the operating system's.
    @TaskLocal package static var value: (any ThreadSchedule)?
}

extension Monitor {
    /// Runs `body` while holding the lock.
    package func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// What a new thread is to do, on its way there.
final class ThreadWork: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
