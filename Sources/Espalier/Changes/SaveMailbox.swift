// A queue of saves for one receiver: another context, or a task that iterates.
//
// Invariants
//   1. The coordinator refers to a mailbox weakly: it ends with the context or the iterator that subscribed.
//   2. The notice runs when a save is delivered to an empty mailbox, and not again until the mailbox was emptied.
//   3. No lock is held while the notice runs or a task is resumed.

import Synchronization

/// The saves that one receiver has not read yet.
package final class SaveMailbox: Sendable {
    private struct State {
        var queue = SavedChangesQueue()
        /// The task that waits for the next save.
        var waiter: CheckedContinuation<SavedChanges?, Never>?
        var isFinished = false
    }
    private let state = Mutex(State())
    private let notice: (@Sendable () -> Void)?

    /// - Parameter notice: called when a save is delivered to the empty mailbox, on the thread of the context that
    ///   saved.
    init(notice: (@Sendable () -> Void)? = nil) { self.notice = notice }

    func deliver(_ changes: SavedChanges) {
        let (waiter, wasEmpty) = state.withLock { state in
            let wasEmpty = state.queue.isEmpty
            if state.waiter == nil { state.queue.append(changes) }
            return (state.waiter.take(), wasEmpty)
        }
        if let waiter { waiter.resume(returning: changes) } else if wasEmpty { notice?() }
    }

    /// Whether no save is queued.
    var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

    /// Removes and returns all queued saves, oldest first.
    package func takeAll() -> [SavedChanges] { state.withLock { $0.queue.takeAll() } }

    /// The next save; `nil` after `finish`, or when the waiting task is canceled.
    func next() async -> SavedChanges? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: SavedChanges?? = state.withLock { state in
                    if let first = state.queue.takeFirst() { return first }
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume(returning: nil)
        }
    }

    /// Ends the stream after the queued saves.
    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }
}
