// The message about a save that other contexts receive: the IDs of the objects that the save wrote (NT-03).

public import EspalierModel

/// The objects that one save, or several saves together, have written.
///
/// A context with `automaticallyMergesChangesFromParent` receives it without a call. An application reads it from
/// `PersistentStoreCoordinator.savedChanges` and can pass it to `ManagedObjectContext.mergeChanges(from:)`.
public struct SavedChanges: Sendable, Equatable {
    /// Objects that are new in the store.
    public var inserted: [ObjectID]
    /// Objects whose values or relationships have changed.
    public var updated: [ObjectID]
    /// Objects that are no longer in the store.
    public var deleted: [ObjectID]
    /// The name of the context that saved; `nil` if it has none, or if several contexts have saved.
    public var contextName: String?
    /// The author of the save, as its context named it (`transactionAuthor`, MC-52); `nil` if it named none, or if the
    /// saves have several.
    public var author: String?
    /// Whether any object may have changed: before the receiver read its queue, more IDs were saved than the queue
    /// holds.
    ///
    /// Then `inserted`, `updated` and `deleted` are empty, and merging refreshes every object.
    public var isEverything: Bool

    /// Changes that were saved elsewhere, for example by another process.
    public init(
        inserted: [ObjectID] = [], updated: [ObjectID] = [], deleted: [ObjectID] = [], contextName: String? = nil,
        author: String? = nil, isEverything: Bool = false
    ) {
        (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
        (self.contextName, self.author, self.isEverything) = (contextName, author, isEverything)
    }

    /// The number of IDs in the three lists.
    var idCount: Int { inserted.count + updated.count + deleted.count }
}
