// The messages of a coordinator to the closures that observe its stores (NT-07).

public import EspalierStore
import Synchronization

extension PersistentStoreCoordinator {
    /// Stores are about to be added or removed; a store to be removed is still usable, so contexts can save and reset.
    public struct StoresWillChangeMessage: Sendable {
        /// The coordinator of the stores.
        public let coordinator: PersistentStoreCoordinator
        /// Stores that will be added.
        public let added: [any PersistentStore]
        /// Stores that will be removed.
        public let removed: [any PersistentStore]
    }

    /// Stores were added or removed; removed stores are closed.
    public struct StoresDidChangeMessage: Sendable {
        /// The coordinator of the stores.
        public let coordinator: PersistentStoreCoordinator
        /// Stores that were added.
        public let added: [any PersistentStore]
        /// Stores that were removed.
        public let removed: [any PersistentStore]
    }

    /// Calls `body` before stores are added or removed, on the thread that adds or removes them.
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: StoresWillChangeMessage.Type, _ body: @escaping @Sendable (StoresWillChangeMessage) -> Void
    ) -> ObservationToken {
        observers.withLock { $0.willChange.add(body) }
    }

    /// Calls `body` after stores were added or removed, on the thread that added or removed them.
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: StoresDidChangeMessage.Type, _ body: @escaping @Sendable (StoresDidChangeMessage) -> Void
    ) -> ObservationToken {
        observers.withLock { $0.didChange.add(body) }
    }

    /// The closures that observe the stores.
    struct StoreObservers {
        var willChange = Observers<@Sendable (StoresWillChangeMessage) -> Void>()
        var didChange = Observers<@Sendable (StoresDidChangeMessage) -> Void>()
    }

    func tellWillChange(added: [any PersistentStore] = [], removed: [any PersistentStore] = []) {
        let message = StoresWillChangeMessage(coordinator: self, added: added, removed: removed)
        let told = observers.withLock { $0.willChange.current() }
        for observer in told where !observer.token.isCancelled { observer.body(message) }
    }

    func tellDidChange(added: [any PersistentStore] = [], removed: [any PersistentStore] = []) {
        let message = StoresDidChangeMessage(coordinator: self, added: added, removed: removed)
        let told = observers.withLock { $0.didChange.current() }
        for observer in told where !observer.token.isCancelled { observer.body(message) }
    }
}
