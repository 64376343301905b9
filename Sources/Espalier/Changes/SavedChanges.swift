// The message of a save to other contexts: the IDs of the objects that it wrote (NT-03).

public import EspalierModel

/// The objects that one save has written, or several saves together.
///
/// Contexts receive it by themselves (`automaticallyMergesChangesFromParent`); an application reads it from
/// `PersistentStoreCoordinator.savedChanges` and may give it to `ManagedObjectContext.mergeChanges(from:)`.
public struct SavedChanges: Sendable, Equatable {
    /// Objects that are new in the store.
    public var inserted: [ObjectID]
    /// Objects whose values or relationships have changed.
    public var updated: [ObjectID]
    /// Objects that are gone.
    public var deleted: [ObjectID]
    /// The name of the context that saved; `nil` if it has none, or if several contexts have saved.
    public var contextName: String?
    /// Whether any object may have changed: more objects than a receiver keeps in mind were saved before it came by.
    ///
    /// Then `inserted`, `updated` and `deleted` are empty, and merging refreshes every object.
    public var isEverything: Bool

    /// The objects that were saved elsewhere, in another process for example.
    public init(
        inserted: [ObjectID] = [], updated: [ObjectID] = [], deleted: [ObjectID] = [], contextName: String? = nil,
        isEverything: Bool = false
    ) {
        (self.inserted, self.updated, self.deleted) = (inserted, updated, deleted)
        (self.contextName, self.isEverything) = (contextName, isEverything)
    }

    /// How many IDs it holds.
    var idCount: Int { inserted.count + updated.count + deleted.count }
}
