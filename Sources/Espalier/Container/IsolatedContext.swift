// A context that an actor of the application owns; the actor's methods use its objects and run on its executor (SD-27).
//
// Invariants
//   1. The context is used only on its executor: the one accessor checks that, and the other use follows a job.
//   2. Each job of the actor ends an event. A method that waits for nothing is in one job, and a method that awaits is
//      in several; the compiler makes one job of calls that follow each other in one task.

import EspalierModel

/// A context for one actor of the application, and the executor that the actor runs on.
public final class IsolatedContext: Sendable {
    let executor: ContextExecutor
    // SAFETY: only `context` reads it, which checks that the executor runs the caller.
    private nonisolated(unsafe) let guarded: ManagedObjectContext

    /// A context on the stores of a coordinator, with a serial queue of its own.
    ///
    /// - Parameters:
    ///   - name: the context's name, for messages.
    ///   - automaticallyMergesChanges: whether the context merges what other contexts have saved at each fetch, save
    ///     and `processPendingChanges`.
    public init(
        _ coordinator: PersistentStoreCoordinator, name: String? = nil, automaticallyMergesChanges: Bool = true
    ) {
        executor = ContextExecutor(label: "espalier.actor" + (name.map { "." + $0 } ?? ""))
        let context = ManagedObjectContext(coordinator)
        context.name = name
        context.automaticallyMergesChangesFromParent = automaticallyMergesChanges
        // SAFETY: nothing else knows the context yet.
        unsafe guarded = context
        // SAFETY: the executor calls the closure after a job, on its queue, where alone the context is used.
        nonisolated(unsafe) let used = context
        executor.setAfterJob {
            // SAFETY: the executor runs the caller.
            unsafe used.endEvents()
            unsafe used.endIdleGeneration()
        }
    }

    // The executor outlives this object if a job still runs.
    deinit { executor.setAfterJob(nil) }

    /// The context; the caller runs on the executor.
    fileprivate var context: ManagedObjectContext {
        executor.checkIsolated()
        // SAFETY: the executor runs the caller, as the line above has checked.
        return unsafe guarded
    }
}

/// An actor whose methods work with objects of a context of its own (SD-27).
///
///     actor Importer: ContextActor {
///         let isolatedContext: IsolatedContext
///
///         init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext() }
///
///         func add(_ name: String) throws -> ObjectID {
///             let artist = Artist(context: context)
///             artist.name = name
///             try context.save()
///             return artist.objectID
///         }
///     }
///
/// When the actor has nothing more to do for a task, an event of the context ends, as after a block of
/// ``BackgroundContext``: after a method, and at each `await` in it that suspends it. Then delete rules run, the
/// changes form an undo group, observers are told, and a context with `autosaveEnabled` saves; events of the children
/// of the context end just before. Calls that one task
/// makes one after the other, with nothing between them that runs elsewhere, can be one event. To save several steps as
/// a whole, make them in one method, without a suspension.
///
/// Objects stay inside the actor, because they are not Sendable: a method returns IDs, ``Ref`` or values. The actor
/// runs on a serial queue that only it uses, whichever thread has made it, and may wait for disks there.
public protocol ContextActor: Actor {
    /// The context and the executor, which the actor makes once and keeps in a constant.
    ///
    /// The actor runs on the executor of the first one that it returns. Another one's context ends the program when it
    /// is used.
    nonisolated var isolatedContext: IsolatedContext { get }
}

extension ContextActor {
    /// The executor of the context's work.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the table retains the executor as long as the actor lives.
        unsafe ActorExecutors.executor(of: self).asUnownedSerialExecutor()
    }

    /// The context of the actor.
    public var context: ManagedObjectContext { isolatedContext.context }

    /// The object with this ID, if a store holds it and it is of this class.
    public subscript<Object: ManagedObject>(id: ObjectID, as type: Object.Type) -> Object? {
        (try? context.existingObject(with: id)) as? Object
    }
}
