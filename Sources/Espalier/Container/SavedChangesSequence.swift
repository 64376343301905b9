// What contexts save, as an asynchronous sequence for the application (NT-03).

/// The saves of all contexts of a coordinator, as they happen.
///
///     for await changes in container.persistentStoreCoordinator.savedChanges {
///         index.update(changes.inserted + changes.updated, removing: changes.deleted)
///     }
///
/// Every iterator receives every save that happens after it was made, in order. One that is slow holds a bounded number
/// of IDs: when many saves wait (256 at least), they become one element, the union of their IDs; beyond 262,144 IDs
/// that says `isEverything`. The sequence ends when the coordinator does, or the task is cancelled.
public struct SavedChangesSequence: AsyncSequence, Sendable {
    /// What one save has written.
    public typealias Element = SavedChanges
    /// Iterating does not fail.
    public typealias Failure = Never

    private let coordinator: PersistentStoreCoordinator

    init(_ coordinator: PersistentStoreCoordinator) { self.coordinator = coordinator }

    /// Receives what is saved from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(mailbox: coordinator.subscribe()) }

    /// Waits for one save after the other.
    public struct Iterator: AsyncIteratorProtocol {
        /// Iterating does not fail.
        public typealias Failure = Never

        fileprivate let mailbox: SaveMailbox

        /// The next save; `nil` when the coordinator has ended or the task is cancelled.
        public mutating func next() async -> SavedChanges? { await mailbox.next() }

        /// The next save; `nil` when the coordinator has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> SavedChanges? {
            await mailbox.next()
        }
    }
}

extension PersistentStoreCoordinator {
    /// The saves of all contexts on the stores, as they happen (NT-03).
    public var savedChanges: SavedChangesSequence { SavedChangesSequence(self) }
}
