// The saves of all contexts, as an asynchronous sequence for the application (NT-03).

/// The saves of all contexts of a coordinator, as they happen.
///
///     for await changes in container.persistentStoreCoordinator.savedChanges {
///         index.update(changes.inserted + changes.updated, removing: changes.deleted)
///     }
///
/// Every iterator receives, in order, every save that happens after the iterator was made. A slow iterator holds a
/// bounded number of IDs: if many saves wait (at least 256), they become one element, the union of their IDs. An
/// element for more than 262,144 IDs holds none and has `isEverything` set. The sequence ends when the coordinator
/// does, or when the task is canceled.
public struct SavedChangesSequence: AsyncSequence, Sendable {
    /// The changes of one save, or the union of several.
    public typealias Element = SavedChanges
    /// Iterating never throws.
    public typealias Failure = Never

    private let coordinator: PersistentStoreCoordinator

    init(_ coordinator: PersistentStoreCoordinator) { self.coordinator = coordinator }

    /// Makes an iterator that receives every save from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(mailbox: coordinator.subscribe()) }

    /// An iterator that waits for each save.
    public struct Iterator: AsyncIteratorProtocol {
        /// Iterating never throws.
        public typealias Failure = Never

        fileprivate let mailbox: SaveMailbox

        /// The next save; `nil` when the coordinator has ended or the task is canceled.
        public mutating func next() async -> SavedChanges? { await mailbox.next() }

        /// The next save; `nil` when the coordinator has ended or the task is canceled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> SavedChanges? {
            await mailbox.next()
        }
    }
}

extension PersistentStoreCoordinator {
    /// The saves of all contexts on the stores, as they happen (NT-03).
    public var savedChanges: SavedChangesSequence { SavedChangesSequence(self) }
}
