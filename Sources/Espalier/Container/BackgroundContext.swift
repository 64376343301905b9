// A context off the main actor: an actor owns it, only Sendable values go in and out (F-1).
//
// Invariants
//   1. The context is used on its executor only, which blocks no thread of the cooperative pool.
//   2. Blocks run one at a time; `perform` and `enqueue` end with `processPendingChanges`, `performAndWait` does not.

import EspalierModel

/// A context of its own, for work in the background (MC-02 to MC-04).
///
/// Objects of the context exist only inside the closures that `perform` runs; whatever else leaves must be Sendable,
/// and so objects leave as IDs. The work runs on a queue of the context's own: it may wait for disks without holding up
/// tasks of the program.
///
///     let id = try await background.perform { context in
///         let artist = Artist(context: context)
///         try context.save()
///         return artist.objectID
///     }
public actor BackgroundContext {
    /// When a block runs (MC-04).
    public enum Schedule: Sendable {
        /// At once if the caller runs on the context's executor already; otherwise after what is enqueued.
        case immediate
        /// After what is enqueued, in any case.
        case enqueued
    }

    private let context: ManagedObjectContext
    private nonisolated let executor: ContextExecutor

    /// Where the context's work runs.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its executor for life.
        unsafe executor.asUnownedSerialExecutor()
    }

    /// A context on a coordinator's stores.
    ///
    /// - Parameters:
    ///   - name: the context's name, for messages and for the history of changes.
    ///   - automaticallyMergesChanges: whether each `perform` begins with what others have saved meanwhile, below
    ///     unsaved changes; where both sides have changed a property, the next save asks the merge policy.
    public init(
        _ coordinator: PersistentStoreCoordinator, name: String? = nil, automaticallyMergesChanges: Bool = true
    ) {
        executor = ContextExecutor(label: "espalier.context" + (name.map { "." + $0 } ?? ""))
        context = ManagedObjectContext(coordinator)
        context.name = name
        context.automaticallyMergesChangesFromParent = automaticallyMergesChanges
    }

    /// Runs `body` with the context, one at a time, in the order of the calls; delete rules run afterwards (MC-02).
    ///
    /// - Throws: what `body` throws.
    public func perform<Result: Sendable, Failure: Error>(
        _ body: @Sendable (ManagedObjectContext) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        context.processPendingChanges()
        defer {
            context.processPendingChanges()
            context.endIdleGeneration()
        }
        return try body(context)
    }

    /// Runs `body` with the context as `schedule` says; delete rules run afterwards (MC-04).
    ///
    /// - Throws: what `body` throws.
    public nonisolated(nonsending) func perform<Value: Sendable, Failure: Error>(
        schedule: Schedule, _ body: @escaping @Sendable (ManagedObjectContext) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        switch schedule {
        case .immediate where executor.isCurrent:
            return try outcomeHere(of: body).get()
        case .immediate:
            return try await perform(body)
        case .enqueued:
            let outcome = await withCheckedContinuation { continuation in
                executor.async { continuation.resume(returning: self.outcomeHere(of: body)) }
            }
            return try outcome.get()
        }
    }

    /// Appends `body` to the context's work and returns at once (MC-02); delete rules run afterwards.
    ///
    /// Blocks run in the order in which one thread enqueues them. The context lives until the last one has run.
    public nonisolated func enqueue(_ body: @escaping @Sendable (ManagedObjectContext) -> Void) {
        executor.async { self.assumeIsolated { $0.perform(body) } }
    }

    /// Runs `body` with the context and waits for it (MC-03).
    ///
    /// Inside of a block of the same context it runs at once. It is no event of its own: neither delete rules nor
    /// merges run before or after. It blocks the calling thread while other blocks are ahead; in a task use `perform`.
    ///
    /// - Throws: what `body` throws.
    public nonisolated func performAndWait<Value: Sendable, Failure: Error>(
        _ body: @Sendable (ManagedObjectContext) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let isWithinBlock = executor.isCurrent
        let outcome: Result<Value, Failure> = executor.sync {
            assumeIsolated { actor in
                defer { if !isWithinBlock { actor.context.endIdleGeneration() } }
                do throws(Failure) { return .success(try body(actor.context)) } catch { return .failure(error) }
            }
        }
        return try outcome.get()
    }

    /// Runs `body` as an event of its own; the caller is on the executor.
    private nonisolated func outcomeHere<Value: Sendable, Failure: Error>(
        of body: @Sendable (ManagedObjectContext) throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        executor.checkIsolated()
        return assumeIsolated { $0.outcome(of: body) }
    }

    private func outcome<Value: Sendable, Failure: Error>(
        of body: @Sendable (ManagedObjectContext) throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        do throws(Failure) { return .success(try perform(body)) } catch { return .failure(error) }
    }
}
