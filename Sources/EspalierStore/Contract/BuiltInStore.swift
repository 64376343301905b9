// The stores of this package, whose answers need no check.

/// A store that keeps the contract, or checks the source that it asks.
package protocol BuiltInStore: PersistentStore {
    /// Runs `body` after the change that is being made; other changes wait for its end.
    ///
    /// `body` may read the store, and must not change it.
    ///
    /// - Parameter endsChanges: whether the store accepts no change after `body` has returned, so that what `body` has
    ///   seen is final: those that wait, and later ones, throw `.closed`. If `body` throws, they go on.
    /// - Throws: `.closed`, and the errors of `body`.
    func holdChanges<Answer: Sendable>(
        endsChanges: Bool, _ body: () throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer
    /// Waits for the change that is being made, before `close()`: those that wait, and later ones, throw `.closed`.
    ///
    /// Does nothing if `close()` waits itself. It does nothing either if this thread makes the change, or if the store
    /// cannot be changed any more: `close()` then says why it fails.
    func endChanges()
}

extension BuiltInStore {
    package func endChanges() {}
}

/// A snapshot of such a store, to which a store of an application may pass questions on.
package protocol BuiltInSnapshot: StoreSnapshot {}
