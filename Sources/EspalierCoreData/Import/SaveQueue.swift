// Saves batches on a thread of its own while the next one is read: two cores work at once.
//
// Invariants
//   1. Batches are saved one after the other, in their order, and at most one waits.
//   2. After a failure nothing is saved any more; the next call throws it.
//   3. Each value that a save has left out is returned by one call.

import Dispatch
import EspalierStore
import Synchronization

/// Saves batches in the background.
final class SaveQueue: Sendable {
    private struct Outcome {
        var failure: StoreError?
        var shared: [SharedValue] = []
    }

    private let store: BTreeStore
    private let queue = DispatchQueue(label: "espalier.import")
    /// Guards the first failure, and the values that were left out and not returned yet.
    private let outcome = Mutex(Outcome())

    init(_ store: BTreeStore) { self.store = store }

    /// Saves `request` after all earlier ones; returns when these are saved, with the values that were left out.
    func save(_ request: SaveRequest) throws(StoreError) -> [SharedValue] {
        let shared = try finish()
        queue.async { [self] in
            do throws(StoreError) {
                let shared = try store.saveUnshared(request)
                outcome.withLock { $0.shared += shared }
            } catch {
                outcome.withLock { $0.failure = error }
            }
        }
        return shared
    }

    /// Waits until everything is saved; returns the values that were left out.
    func finish() throws(StoreError) -> [SharedValue] {
        queue.sync {}
        let (failure, shared) = outcome.withLock { outcome in
            defer { outcome.shared = [] }
            return (outcome.failure, outcome.shared)
        }
        if let failure { throw failure }
        return shared
    }
}
