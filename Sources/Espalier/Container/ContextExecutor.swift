// The executor of a background context: a serial queue of its own, on no thread of Swift's cooperative pool.
//
// Invariants
//   1. Jobs of the actor and blocks of `sync` and `async` run one at a time, in the order in which they were enqueued.
//   2. `isCurrent` is true exactly on the thread that runs one of them, also inside `sync` of other executors.
//   3. The owner outlives the closure that runs after its job. The caller that the job resumes may release the owner on
//      another thread, and with it objects of the context that the closure uses.
// A store blocks on input and output. The cooperative pool has one thread per core and starts no more: as many contexts
// waiting for a disk would stop every task of the program.

import Dispatch
import Synchronization

/// A serial executor that has a queue of its own.
final class ContextExecutor: SerialExecutor {
    private static let key = DispatchSpecificKey<ContextExecutor.Reference>()

    /// A weak reference, so that the queue does not retain its executor.
    private final class Reference: Sendable {
        weak let executor: ContextExecutor?
        init(_ executor: ContextExecutor) { self.executor = executor }
    }

    private let queue: DispatchQueue
    /// The executor on whose thread `sync` was called, while it runs; only that thread reads and writes it.
    private let outer = Mutex<ContextExecutor?>(nil)
    /// The actor whose jobs run here, and the closure that runs after each of them.
    private struct JobEnd {
        weak var owner: (any Actor)?
        var afterJob: (@Sendable () -> Void)?
    }

    /// The end of each job; blocks of `sync` and `async` end their events themselves.
    private let jobEnd = Mutex(JobEnd())

    init(label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: Self.key, value: Reference(self))
    }

    /// The executor of the queue on which this thread runs.
    private static var current: ContextExecutor? { DispatchQueue.getSpecific(key: key)?.executor }

    /// Whether the caller runs on this executor.
    var isCurrent: Bool {
        var executor = Self.current
        while let next = executor {
            if next === self { return true }
            executor = next.outer.withLock(\.self)
        }
        return false
    }

    // MARK: Executor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            // The job may release the actor, and with it all that the closure needs: both are retained before.
            let (owner, afterJob) = self.jobEnd.withLock { ($0.owner, $0.afterJob) }
            // SAFETY: the closure retains the executor until the job has run.
            unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
            afterJob?()
            withExtendedLifetime(owner) {}
        }
    }

    /// Sets the actor that every job from now on retains until the closure has run.
    func setOwner(_ owner: any Actor) { jobEnd.withLock { $0.owner = owner } }

    /// Sets the closure that runs after each job that starts from now on.
    func setAfterJob(_ body: (@Sendable () -> Void)?) { jobEnd.withLock { $0.afterJob = body } }

    func checkIsolated() { precondition(isCurrent, "a context is used outside of its executor") }

    // MARK: Blocks

    /// Runs `body` after the queued work and waits for it; at once if the caller already runs on this executor.
    func sync<Result>(_ body: () -> Result) -> Result {
        if isCurrent { return body() }
        let caller = Self.current
        return queue.sync {
            outer.withLock { $0 = caller }
            defer { outer.withLock { $0 = nil } }
            return body()
        }
    }

    /// Runs `body` after the queued work, without waiting.
    func async(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
