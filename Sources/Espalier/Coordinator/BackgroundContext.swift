// A context off the main actor: an actor owns it, only Sendable values go in and out (F-1).

import EspalierModel

/// A context of its own, for work in the background (MC-02 to MC-04).
///
/// Objects of the context exist only inside the closures that `perform` runs; whatever else leaves must be Sendable,
/// and so objects leave as IDs.
///
///     let id = try await background.perform { context in
///         let artist = Artist(context: context)
///         try context.save()
///         return artist.objectID
///     }
public actor BackgroundContext {
    private let context: ManagedObjectContext

    /// A context on a coordinator's stores.
    ///
    /// - Parameter automaticallyMergesChanges: whether each `perform` begins with what others have saved meanwhile, below
    ///   unsaved changes; where both sides have changed a property, the next save asks the merge policy.
    public init(_ coordinator: PersistentStoreCoordinator, automaticallyMergesChanges: Bool = true) {
        context = ManagedObjectContext(coordinator)
        context.automaticallyMergesChangesFromParent = automaticallyMergesChanges
    }

    /// Runs `body` with the context, one at a time, in the order of the calls; delete rules run afterwards (MC-02).
    ///
    /// - Throws: what `body` throws.
    public func perform<Result: Sendable, Failure: Error>(
        _ body: @Sendable (ManagedObjectContext) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        context.processPendingChanges()
        defer { context.processPendingChanges() }
        return try body(context)
    }
}
