// The seam to the thread scheduler: the operating system, or a test that tries the orders one by one, decides which
// thread runs next.
//
// Threads of the engine meet at monitors, at condition waits and at file system calls. `FileSystem` is the seam for the
// last; this is the seam for the others. A monitor asks once, in `init`, whether a schedule governs the calling thread,
// and keeps the answer: without one, as always in an application, each lock pays for a branch that is never taken.
// `Mutex` needs no seam: no thread waits while it holds one.
//
// Invariants
//   1. Only threads of one schedule, one at a time, use a store whose monitors have that schedule.

/// Decides which thread of a test runs next.
package protocol ThreadSchedule: AnyObject, Sendable {
    /// Acquires `monitor` for the calling thread; returns once it has it.
    func lock(_ monitor: Monitor)
    /// Releases `monitor`.
    func unlock(_ monitor: Monitor)
    /// Releases `monitor`, waits for `wakeAll`, and returns once the calling thread has it again.
    func wait(_ monitor: Monitor)
    /// Wakes all threads that wait for `monitor`; each continues once it has it.
    func wakeAll(_ monitor: Monitor)
    /// Lets another thread run.
    func yield()
    /// Called between two atomic operations whose order among threads matters.
    func step()
}

/// The schedule that governs the calling thread.
package enum CurrentSchedule {
    /// The schedule; `nil` means the operating system's.
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

/// The body of a new thread, in an object that the C library can pass to it.
final class ThreadWork: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
