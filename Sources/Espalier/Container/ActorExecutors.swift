// The executors of actors that have contexts of their own.
//
// Invariants
//   1. An actor has one executor for life: the first one that it has handed out.
//   2. The table retains an executor as long as its actor lives. The runtime refers to an executor unretained while it
//      switches to it, and an actor may compute its `isolatedContext` anew at each call.
//   3. Nothing is released while the table is locked: freeing an actor may run code that asks for another executor.

import Synchronization

/// The executors that actors have handed out.
enum ActorExecutors {
    private struct Entry {
        weak var actor: (any Actor)?
        let executor: ContextExecutor
    }

    private struct Table {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of entries at which those of freed actors are removed.
        var countMax = 64

        /// Removes the entries of freed actors; returns every reference that must outlive the lock.
        ///
        /// - Complexity: O(entries), amortized O(1) for each new entry.
        mutating func removeFreed() -> [any Sendable] {
            var references: [any Sendable] = []
            for (key, entry) in entries {
                if let actor = entry.actor {
                    references.append(actor)
                } else {
                    references.append(entry.executor)
                    entries[key] = nil
                }
            }
            countMax = max(64, 2 * entries.count)
            return references
        }
    }

    private static let table = Mutex(Table())

    /// The executor of an actor.
    ///
    /// - Complexity: O(1), amortized.
    static func executor(of actor: some ContextActor) -> ContextExecutor {
        if let known = known(actor) { return known }
        // The application's code runs outside of the lock.
        return keep(actor.isolatedContext.executor, for: actor)
    }

    private static func known(_ actor: any Actor) -> ContextExecutor? {
        table.withLock { table -> ContextExecutor? in
            // The entry may be that of a freed actor that was at the same address.
            guard let entry = table.entries[ObjectIdentifier(actor)], entry.actor === actor else { return nil }
            return entry.executor
        }
    }

    /// Keeps an executor for an actor, unless another thread has done so meanwhile; returns the actor's executor.
    private static func keep(_ executor: ContextExecutor, for actor: any Actor) -> ContextExecutor {
        let key = ObjectIdentifier(actor)
        let (kept, references) = table.withLock { table -> (ContextExecutor, [any Sendable]) in
            if let entry = table.entries[key], entry.actor === actor { return (entry.executor, []) }
            var references = table.entries.count < table.countMax ? [] : table.removeFreed()
            if let former = table.entries.updateValue(Entry(actor: actor, executor: executor), forKey: key) {
                references.append(former.executor)
            }
            return (executor, references)
        }
        withExtendedLifetime(references) {}
        kept.setOwner(actor)
        return kept
    }
}
