// A closure whose changes are saved together, or not at all (SD-15).
//
// Invariants
//   1. If the closure throws, or the save fails, context and objects are as they were before (F-5).
//   2. While the closure runs, no event ends: observers are told, and undo actions registered, after the save.

extension ManagedObjectContext {
    /// Whether the closure of a transaction runs.
    var isInTransaction: Bool { stage?.hook == .transaction }

    /// Runs `body`, and then saves all changes of the context; if `body` throws or the save fails, none of what `body`
    /// has done to objects stays (SD-15).
    ///
    /// Changes that were made before are saved, too, and stay if the save fails. In `body` the context merges no saves
    /// of others, `save()`, batch requests, `undo()` and the saves of children are refused, and `rollback()` and
    /// `reset()` make the save fail. A transaction within `body` is part of the outer one: if it throws, only what its
    /// own closure has done is taken back, and it saves nothing.
    ///
    /// A permanent ID that a new object gets in `body`, because it is asked for or because a child reads the object,
    /// stays the ID of that object (MC-45).
    ///
    /// - Parameter author: the `transactionAuthor` of this save; `nil` leaves the context's own (MC-52).
    /// - Throws: what `body` throws; `ContextError` as `save()` does. After a `.partlySaved` of the save, nothing is
    ///   taken back.
    /// - Complexity: that of `body` and of the save, and O(changed objects of the context) before `body`: each call
    ///   notes the state to which a failure returns. This holds for a transaction within another one too, so n of them
    ///   in one that changes n objects take O(n²): give many small steps one transaction.
    public func transaction<Value>(author: String? = nil, _ body: () throws -> Value) throws -> Value {
        if isInTransaction {
            beginEvent()
            defer { endEvent() }
            return try reverted(to: ContextCheckpoint(self), body)
        }
        try checkIsNotSaving()
        try source.checkIsNotSaving()
        mergeAndRunDeleteRules()
        endUndoEvent()
        let formerAuthor = transactionAuthor
        if let author { transactionAuthor = author }
        defer { transactionAuthor = formerAuthor }
        beginEvent()
        defer { endEvent() }
        let checkpoint = ContextCheckpoint(self)
        let value = try reverted(to: checkpoint) {
            stage = SaveStage(.transaction)
            defer { stage = nil }
            return try body()
        }
        do throws(ContextError) {
            try save()
        } catch {
            // The changes that some stores have stay; `body` may throw the same error of another context.
            if case .partlySaved = error {} else { checkpoint.restore(self) }
            throw error
        }
        return value
    }

    /// Runs `body`; if it throws, the context is as it was at a checkpoint.
    private func reverted<Value>(to checkpoint: ContextCheckpoint, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            checkpoint.restore(self)
            throw error
        }
    }
}
