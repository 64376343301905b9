// A context off the main actor, isolated by an actor of its own: only Sendable values cross the boundary (F-1).
//
// Invariants
//   1. The context is used only on its executor, which blocks no thread of the cooperative pool.
//   2. Blocks run one at a time; `perform` and `enqueue` end the events of the context and of its children,
//      `performAndWait` does not.

import EspalierModel

/// A context of its own, for work in the background (MC-02 to MC-04).
///
/// Objects of the context exist only inside the closures that `perform` runs. A result must be Sendable, so a closure
/// returns IDs instead of objects. The work runs on a serial queue that only this context uses: the queue may wait for
/// disks without delaying tasks of the program.
///
///     let id = try await background.perform { context in
///         let artist = Artist(context: context)
///         try context.save()
///         return artist.objectID
///     }
public actor BackgroundContext {
    /// The time at which a block runs (MC-04).
    public enum Schedule: Sendable {
        /// At once if the caller already runs on the context's executor; otherwise after the queued work.
        case immediate
        /// After the queued work, in any case.
        case enqueued
    }

    private let context: ManagedObjectContext
    private nonisolated let executor: ContextExecutor

    /// The executor of the context's work.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its executor for life.
        unsafe executor.asUnownedSerialExecutor()
    }

    /// A context on the stores of a coordinator.
    ///
    /// - Parameters:
    ///   - name: the context's name, for messages and for the history of changes.
    ///   - automaticallyMergesChanges: whether each `perform` first merges what other contexts have saved meanwhile,
    ///     below unsaved changes. Where both sides have changed a property, the next save asks the merge policy.
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
            context.endEvents()
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
    /// Inside a block of the same context, `body` runs at once. The call is not an event of its own: neither delete
    /// rules nor merges run before or after it. It blocks the calling thread while other blocks are ahead in the queue;
    /// in a task, use `perform`.
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

    /// Runs `body` as an event of its own; the caller must be on the executor.
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
