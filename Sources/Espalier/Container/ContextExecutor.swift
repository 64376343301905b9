// Where the work of a background context runs: a serial queue of its own, on no thread of Swift's cooperative pool.
//
// Invariants
//   1. Jobs of the actor and blocks of `sync` and `async` run one at a time, in the order in which they came.
//   2. `isCurrent` is true exactly on the thread that runs one of them, also inside of `sync` of other executors.
// A store blocks in input and output. The cooperative pool has one thread for each core and makes no more of them: as
// many contexts that wait for a disk would stop every task of the program.

import Dispatch
import Synchronization

/// A serial executor with a queue of its own.
final class ContextExecutor: SerialExecutor {
    private static let key = DispatchSpecificKey<ContextExecutor.Reference>()

    /// The executor of a queue, as the queue knows it.
    private final class Reference: Sendable {
        weak let executor: ContextExecutor?
        init(_ executor: ContextExecutor) { self.executor = executor }
    }

    private let queue: DispatchQueue
    /// The executor on whose thread `sync` was called, while it runs: written and read by that thread only.
    private let outer = Mutex<ContextExecutor?>(nil)

    init(label: String) {
        queue = DispatchQueue(label: label)
        queue.setSpecific(key: Self.key, value: Reference(self))
    }

    /// The executor whose queue this thread works on.
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
        // SAFETY: the closure keeps the executor until the job has run.
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { precondition(isCurrent, "a context was used outside of its executor") }

    // MARK: Blocks

    /// Runs `body` after what is enqueued, and waits for it; at once if the caller runs on this executor already.
    func sync<Result>(_ body: () -> Result) -> Result {
        if isCurrent { return body() }
        let caller = Self.current
        return queue.sync {
            outer.withLock { $0 = caller }
            defer { outer.withLock { $0 = nil } }
            return body()
        }
    }

    /// Runs `body` after what is enqueued.
    func async(_ body: @escaping @Sendable () -> Void) { queue.async { body() } }
}
