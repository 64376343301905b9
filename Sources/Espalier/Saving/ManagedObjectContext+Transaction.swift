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
    /// - Parameter author: the `transactionAuthor` of this save; `nil` leaves the context's own (MC-52).
    /// - Throws: what `body` throws; `ContextError` as `save()` does. After `.partlySaved`, nothing is taken back.
    /// - Complexity: that of `body` and of the save, and O(changed objects of the context) before `body`: each call
    ///   notes the state to which a failure returns. This holds for a transaction within another one too, so n of them
    ///   in one that changes n objects take O(n²): give many small steps one transaction.
    public func transaction<Value>(author: String? = nil, _ body: () throws -> Value) throws -> Value {
        if isInTransaction { return try reverted(body) }
        try checkIsNotSaving()
        try source.checkIsNotSaving()
        mergeAndRunDeleteRules()
        endUndoEvent()
        let formerAuthor = transactionAuthor
        if let author { transactionAuthor = author }
        defer { transactionAuthor = formerAuthor }
        return try reverted {
            stage = SaveStage(.transaction)
            let value: Value
            do {
                defer { stage = nil }
                value = try body()
            }
            try save()
            return value
        }
    }

    /// Runs `body`; if it throws, the context is as before.
    private func reverted<Value>(_ body: () throws -> Value) throws -> Value {
        beginEvent()
        defer { endEvent() }
        let checkpoint = ContextCheckpoint(self)
        let (event, stepCount) = (eventChanges, undoStepCount)
        do {
            return try body()
        } catch ContextError.partlySaved(let failure) {
            throw ContextError.partlySaved(underlying: failure)
        } catch {
            checkpoint.restore(self)
            truncateJournal(to: stepCount)
            eventChanges = event
            throw error
        }
    }
}
