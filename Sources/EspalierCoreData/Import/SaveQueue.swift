// Saves batches on a thread of its own while the next one is read: two cores work at once.
//
// Invariants
//   1. Batches are saved one after the other, in their order, and at most one waits.
//   2. After a failure nothing is saved any more; the next call throws it.

import Dispatch
import EspalierStore
import Synchronization

/// Saves batches in the background.
final class SaveQueue: Sendable {
    private let store: BTreeStore
    private let queue = DispatchQueue(label: "espalier.import")
    /// Guards the first failure.
    private let failure = Mutex<StoreError?>(nil)

    init(_ store: BTreeStore) { self.store = store }

    /// Saves `request` after all earlier ones; returns when these are saved.
    func save(_ request: SaveRequest) throws(StoreError) {
        try finish()
        queue.async { [self] in
            do throws(StoreError) { _ = try store.save(request) } catch { failure.withLock { $0 = error } }
        }
    }

    /// Waits until everything is saved.
    func finish() throws(StoreError) {
        queue.sync {}
        if let failure = failure.withLock({ $0 }) { throw failure }
    }
}
