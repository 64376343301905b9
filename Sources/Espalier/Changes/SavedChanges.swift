// The message about a save that other contexts receive: the IDs of the objects that the save wrote (NT-03).

public import EspalierModel

/// The objects that one save, or several saves together, have written.
///
/// A context with `automaticallyMergesChangesFromParent` receives it without a call. An application reads it from
/// `PersistentStoreCoordinator.savedChanges` and can pass it to `ManagedObjectContext.mergeChanges(from:)`.
public struct SavedChanges: Sendable, Equatable {
    var insertedIDs: ToldIDs
    var updatedIDs: ToldIDs
    var deletedIDs: ToldIDs

    /// Objects that are new in the store.
    ///
    /// - Complexity: O(1), or O(IDs) to read those of a batch request, which are kept as a set.
    public var inserted: [ObjectID] {
        get { insertedIDs.ids }
        _modify { yield &insertedIDs.ids }
    }
    /// Objects whose values or relationships have changed.
    ///
    /// - Complexity: as that of `inserted`.
    public var updated: [ObjectID] {
        get { updatedIDs.ids }
        _modify { yield &updatedIDs.ids }
    }
    /// Objects that are no longer in the store.
    ///
    /// - Complexity: as that of `inserted`.
    public var deleted: [ObjectID] {
        get { deletedIDs.ids }
        _modify { yield &deletedIDs.ids }
    }
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
        (insertedIDs, updatedIDs, deletedIDs) = (ToldIDs(inserted), ToldIDs(updated), ToldIDs(deleted))
        (self.contextName, self.author, self.isEverything) = (contextName, author, isEverything)
    }

    /// The number of IDs of all three kinds.
    var idCount: Int { insertedIDs.count + updatedIDs.count + deletedIDs.count }
}
