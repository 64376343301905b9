// The writes of other coordinators and processes, as an asynchronous sequence that looks at the stores now and then
// (NT-08, PS-28).
//
// Invariants
//   1. A look reads the number of the newest commit of each store, and no row.
//   2. The iterator refers to its coordinator weakly: the sequence ends with it.

import EspalierStore
public import FoundationEssentials

/// A store has newer contents than at the last look (NT-08).
public struct RemoteChange: Sendable, Hashable {
    /// The UUID of the store.
    public let storeIdentifier: UUID
    /// The file; `nil` for a store in memory.
    public let path: String?
    /// The number of the newest generation: each transaction that writes increases it by one.
    public let generation: UInt64

    /// A message by which contexts read everything again: which rows were written is not known.
    public var savedChanges: SavedChanges { SavedChanges(isEverything: true) }
}

/// The writes to the stores of a coordinator, whoever has written: this process or another one.
///
///     for await change in container.persistentStoreCoordinator.remoteChanges(every: .seconds(1)) {
///         await background.perform { $0.mergeChanges(from: change.savedChanges) }
///     }
///
/// Each element is one store that has newer contents than at the last look, however many transactions have written
/// meanwhile; the first look compares with the contents at the making of the iterator. The saves of the coordinator's
/// own contexts count as well: a process that only reads has none, and `savedChanges` tells these with their objects. A
/// store that cannot be read is left out until it can be. The sequence ends when the coordinator does, or when the task
/// is canceled.
public struct RemoteChangesSequence: AsyncSequence, Sendable {
    /// A store with newer contents.
    public typealias Element = RemoteChange
    /// Iterating never throws.
    public typealias Failure = Never

    private let coordinator: PersistentStoreCoordinator
    private let interval: Duration

    init(_ coordinator: PersistentStoreCoordinator, every interval: Duration) {
        (self.coordinator, self.interval) = (coordinator, interval)
    }

    /// Makes an iterator that compares with the contents of this moment.
    public func makeAsyncIterator() -> Iterator { Iterator(coordinator, every: interval) }

    /// An iterator that looks at the stores, and sleeps between.
    public struct Iterator: AsyncIteratorProtocol {
        /// Iterating never throws.
        public typealias Failure = Never

        private weak var coordinator: PersistentStoreCoordinator?
        private let interval: Duration
        private var known: [UUID: UInt64] = [:]
        /// The changes that the last look has found and `next` has not returned yet.
        private var found: [RemoteChange] = []

        fileprivate init(_ coordinator: PersistentStoreCoordinator, every interval: Duration) {
            (self.coordinator, self.interval) = (coordinator, interval)
            look(at: coordinator)
            found = []
        }

        /// The next store with newer contents; `nil` when the coordinator has ended or the task is canceled.
        public mutating func next() async -> RemoteChange? { await next(isolation: nil) }

        /// The next store with newer contents; `nil` when the coordinator has ended or the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteChange? {
            while !Task.isCancelled {
                if !found.isEmpty { return found.removeFirst() }
                guard lookAgain() else { return nil }
                if found.isEmpty { try? await Task.sleep(for: interval) }
            }
            return nil
        }

        /// Looks at the stores, if the coordinator still exists, which is not retained between two looks.
        private mutating func lookAgain() -> Bool {
            guard let coordinator else { return false }
            look(at: coordinator)
            return true
        }

        /// Adds the stores that have newer contents.
        private mutating func look(at coordinator: PersistentStoreCoordinator) {
            for store in coordinator.persistentStores {
                guard let generation = try? store.snapshot().generation else { continue }
                let former = known.updateValue(generation, forKey: store.identifier)
                guard let former, former != generation else { continue }
                found.append(
                    RemoteChange(storeIdentifier: store.identifier, path: store.path, generation: generation))
            }
        }
    }
}

extension PersistentStoreCoordinator {
    /// The writes to the stores, whoever has written, found by looking at the stores again and again (NT-08).
    ///
    /// - Parameter interval: the time between two looks. A look costs one short read of each store.
    public func remoteChanges(every interval: Duration) -> RemoteChangesSequence {
        RemoteChangesSequence(self, every: interval)
    }
}
