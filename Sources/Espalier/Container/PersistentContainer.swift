// The whole stack of an application: model, stores, the main actor's context, background contexts.
//
// Invariants
//   1. The container owns its main context; the context does not need the container, only the coordinator.
//   2. `openedStores` are the stores of `persistentStoreDescriptions`, in their order.
// Not here: containers by name, in memory, opened beside other work, and erased (+Making).

public import EspalierModel
import EspalierStore
import Synchronization

/// A stack of model, coordinator and contexts (Behaviour PS-24).
public final class PersistentContainer: Sendable {
    /// The stores and their model.
    public let persistentStoreCoordinator: PersistentStoreCoordinator
    /// The stores that the container has opened.
    public let persistentStoreDescriptions: [PersistentStoreDescription]
    /// Guards the stores that the container has opened; `erase` replaces them.
    let openedStores = Mutex<[any PersistentStore]>([])

    @MainActor private(set) var madeViewContext: ManagedObjectContext?

    /// The main actor's context.
    ///
    /// When the main actor is free, the context merges what other contexts have saved and notifies its observers.
    /// Unsaved changes stay on top; where both sides have changed a property, the next save asks the merge policy,
    /// which is `error` unless the application sets another. `withObservationTracking` follows reads of its objects.
    /// The events of its child contexts, at any depth, end at the same time, children before their parents (MC-36).
    @MainActor public var viewContext: ManagedObjectContext {
        if let context = madeViewContext { return context }
        let context = ManagedObjectContext(persistentStoreCoordinator)
        context.name = "view"
        // The notice does not refer to the container: an application may keep the context alone.
        let follower = ViewContextFollower(context: context)
        let notice = { @Sendable in follower.requestTurn() }
        context.mergeNotice = notice
        context.eventNotice = notice
        context.automaticallyMergesChangesFromParent = true
        context.isObservable = true
        madeViewContext = context
        return context
    }

    /// Opens all stores.
    ///
    /// No store is migrated if another one is refused: the migrations of all but the first are tried before. A trial
    /// takes as long as the migration and shows no progress, but can be cancelled by it. Only a failure of the system
    /// or of the process can then leave some of the stores with the older model; the next opening migrates these.
    ///
    /// - Throws: `ContextError` of the first store that cannot be opened; the others are closed again, and none is
    ///   migrated.
    public convenience init(
        model: ManagedObjectModel, stores: [PersistentStoreDescription]
    ) throws(ContextError) {
        try self.init(model: model, stores: stores, progress: { _ in })
    }

    /// Opens all stores.
    ///
    /// - Parameter progress: called after each store with the number of open ones.
    convenience init(
        model: ManagedObjectModel, stores: [PersistentStoreDescription], progress: (Int) -> Void
    ) throws(ContextError) {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        var opening = try JointOpening(stores, in: coordinator)
        try opening.openUnchanged(onOpening: progress)
        self.init(coordinator, stores, opened: try opening.finish(onOpening: progress))
    }

    /// A container of stores that were opened.
    ///
    /// - Parameters:
    ///   - descriptions: the descriptions from which they were opened.
    ///   - opened: the stores, in the same order; the coordinator has them.
    init(
        _ coordinator: PersistentStoreCoordinator, _ descriptions: [PersistentStoreDescription],
        opened: [any PersistentStore]
    ) {
        (persistentStoreCoordinator, persistentStoreDescriptions) = (coordinator, descriptions)
        openedStores.withLock { $0 = opened }
    }

    /// Opens the file at `path` for objects of these classes; creates it if it does not exist.
    ///
    /// A file that was made with other classes is migrated, by default whenever the migration loses nothing.
    ///
    /// - Throws: `ModelError` if the classes make no valid model; `ContextError` if the file cannot be opened.
    public convenience init(
        for classes: [ManagedObject.Type], at path: String, migration: MigrationOptions = .automatic
    ) throws {
        try self.init(
            model: ManagedObjectModel(for: classes),
            stores: [PersistentStoreDescription(path: path, migration: migration)])
    }

    /// The model.
    public var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

    /// Makes a context for work off the main actor.
    public func newBackgroundContext() -> BackgroundContext { BackgroundContext(persistentStoreCoordinator) }

    /// Makes a context for an actor of the application, which conforms to ``ContextActor``.
    public func newIsolatedContext(name: String? = nil) -> IsolatedContext {
        IsolatedContext(persistentStoreCoordinator, name: name)
    }

    /// Runs `body` with a new context, off the main actor.
    ///
    /// - Throws: what `body` throws.
    public func performBackgroundTask<Result: Sendable, Failure: Error>(
        _ body: @Sendable (ManagedObjectContext) throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await newBackgroundContext().perform(body)
    }

    /// Closes all stores; afterwards contexts can neither load nor save.
    ///
    /// They then throw `ContextError.noStore`; values that are already in memory stay readable. The changes that other
    /// threads are making are finished first, as `PersistentStoreCoordinator.remove(_:)` says.
    ///
    /// - Throws: Before a store is closed: `ContextError.alreadySaving` in a hook or an observer of a save of this
    ///   thread, and in the closure of a batch request. Otherwise `.store` of the first store that fails to close; the
    ///   others are closed nevertheless.
    public func close() throws(ContextError) {
        var failure: ContextError?
        for store in persistentStoreCoordinator.persistentStores {
            do throws(ContextError) {
                try persistentStoreCoordinator.remove(store)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}

extension PersistentContainer: CustomDebugStringConvertible {
    /// The number of stores that it was made with, and its coordinator; loads nothing (DB-04).
    public var debugDescription: String {
        "container made with \(persistentStoreDescriptions.count) stores, "
            + persistentStoreCoordinator.debugDescription
    }
}

/// A weak reference to the main actor's context, for the notices of events and of saves by other contexts.
@MainActor private final class ViewContextFollower {
    private weak var context: ManagedObjectContext?
    /// Whether a turn of the main actor was requested that has not begun.
    private nonisolated let isRequested = Atomic(false)

    init(context: ManagedObjectContext) { self.context = context }

    /// Ends the events of the context and of its children when the main actor is free, once for all requests.
    ///
    /// Any thread may call it.
    nonisolated func requestTurn() {
        guard !isRequested.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task { @MainActor in
            // Before the events end: a notice that comes meanwhile may be about changes that this turn does not see.
            isRequested.store(false, ordering: .releasing)
            context?.endEvents()
        }
    }
}
