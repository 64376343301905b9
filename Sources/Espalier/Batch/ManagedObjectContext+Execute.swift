// Batch requests of a context: the stores change at once, and then the objects of this context and of others follow.
//
// Rules
//   1. A request sees and changes stored rows only. Unsaved changes of the context stay unsaved, on top of the newer
//      rows, as after a merge: where both have changed a property, the next save asks the merge policy.
//   2. In a child context, the request goes to the stores, past the unsaved changes of all parents. All contexts above
//      it follow the stores, and then it does.
//   3. Undo managers do not know of it.

import EspalierModel
public import FoundationEssentials

extension ManagedObjectContext {
    /// Inserts rows into the first writable store that accepts their entity, in one transaction (MC-22, BR-01).
    ///
    /// This context and contexts that merge automatically learn of the rows. A row whose unique values another one has
    /// follows the action that the constraint declares, or that of the request, or the merge policy of this context:
    /// `objectTrump` and `overwrite` merge it into the other row, `storeTrump` and `rollback` leave that as it is. A
    /// policy of the application's own is not asked: the row is refused.
    ///
    /// - Throws: as `PersistentStoreCoordinator.execute(_:)`; `.alreadySaving` during a save, and in the closure of a
    ///   request.
    /// - Complexity: as `PersistentStoreCoordinator.execute(_:)`; O(rows) to tell this context and others.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws(ContextError) -> BatchResult {
        try carryOut(LoggedWriting(request)) { () throws(ContextError) in
            try BatchPlan(request, persistentStoreCoordinator) { entity in
                model.constraintActions(of: entity) { request.constraintAction ?? batchAction(of: policy(of: $0)) }
            }
        }
    }

    /// Sets properties of all rows that match, in one transaction for each store (MC-22, BR-04).
    ///
    /// Objects in memory get the new values.
    ///
    /// - Throws: as `PersistentStoreCoordinator.execute(_:)`; `.alreadySaving` during a save.
    /// - Complexity: as `PersistentStoreCoordinator.execute(_:)`; merging the rows costs as `mergeChanges(from:)`.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws(ContextError) -> BatchResult {
        try carryOut(LoggedWriting(request)) { () throws(ContextError) in
            try BatchPlan(request, persistentStoreCoordinator)
        }
    }

    /// Deletes rows, with the delete rules of their relationships, in one transaction for each store (MC-22, BR-05).
    ///
    /// Objects of deleted rows leave the context; those that have unsaved changes stay until a save reports them.
    ///
    /// - Throws: as `PersistentStoreCoordinator.execute(_:)`; `.alreadySaving` during a save.
    /// - Complexity: as `PersistentStoreCoordinator.execute(_:)`; merging the rows costs as `mergeChanges(from:)`.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws(ContextError) -> BatchResult {
        try carryOut(LoggedWriting(request)) { () throws(ContextError) in
            try BatchPlan(request, persistentStoreCoordinator)
        }
    }

    /// Deletes the stored objects of a class for which a predicate holds, in the store (SD-19).
    ///
    /// ```swift
    /// try context.delete(Album.self, where: #Predicate { $0.year < 1960 })
    /// ```
    ///
    /// - Returns: their number, without those that delete rules reach.
    /// - Throws: as `execute(_:)`; `.invalidPredicate`, with `place`, for an expression without a counterpart.
    /// - Complexity: as `execute(_:)` of a request to delete.
    @discardableResult
    public func delete<Object: ManagedObject>(
        _ type: Object.Type, where predicate: Predicate<Object>? = nil, includesSubclasses: Bool = true,
        fileID: String = #fileID, line: Int = #line
    ) throws(ContextError) -> Int {
        var request = FetchRequest<Object>()
        request.includesSubentities = includesSubclasses
        if let predicate {
            do { request.predicate = try FetchPredicate(ofStored: predicate, fileID, line) } catch {
                throw .invalidPredicate(error)
            }
        }
        return try execute(BatchDeleteRequest(request)).count
    }

    /// The action of a merge policy on a new row whose unique values are taken; `nil` refuses it.
    private func batchAction(of policy: MergePolicy) -> ConstraintAction? {
        switch policy.rule {
        case .objectTrump, .overwrite: .merge
        case .storeTrump, .rollback: .keep
        case .error, nil: nil
        }
    }

    private func carryOut(
        _ writing: LoggedWriting, _ plan: () throws(ContextError) -> BatchPlan
    ) throws(ContextError) -> BatchResult {
        try checkIsNotSaving()
        try source.checkIsNotSaving()
        var chain = [self]
        while let parent = chain.last?.parent { chain.append(parent) }
        var outcome: BatchPlan.Outcome
        let writer = persistentStoreCoordinator.beginWriting()
        defer { persistentStoreCoordinator.endWriting(writer) }
        do {
            for context in chain { context.runsBatch = true }
            defer { for context in chain { context.runsBatch = false } }
            outcome = try logged(writing, plan())
        }
        (outcome.changes.contextName, outcome.changes.author) = (name, transactionAuthor)
        if !outcome.changes.isEmpty {
            Self.mergeRemoteChanges(outcome.changes, into: chain)
            persistentStoreCoordinator.tell(outcome.changes, except: chain.last?.mailbox)
        }
        if let failure = outcome.failure { throw .partlySaved(underlying: failure) }
        return outcome.result
    }

    /// Changes the stores, and reports the request to the log, if there is one.
    private func logged(_ writing: LoggedWriting, _ plan: BatchPlan) throws(ContextError) -> BatchPlan.Outcome {
        guard let requestLog else { return try plan.carryOut() }
        var writing = writing
        do {
            let outcome = try plan.carryOut()
            writing.rowCount = outcome.result.count
            report(writing, to: requestLog, failure: outcome.failure.map { "\($0)" })
            return outcome
        } catch {
            report(writing, to: requestLog, failure: "\(error)")
            throw error
        }
    }
}

// Batch requests as a log reports them: they go to the stores past all parents.
extension LoggedWriting {
    fileprivate init(_ request: BatchInsertRequest) { self.init(.batchInsert, request.entityName) { nil } }

    fileprivate init(_ request: BatchUpdateRequest) {
        self.init(.batchUpdate, request.entityName) { request.predicate.map { "\($0)" } ?? "all objects" }
    }

    fileprivate init(_ request: BatchDeleteRequest) {
        switch request.selection {
        case .matching(let terms):
            self.init(.batchDelete, terms.entityName) { terms.predicate.map { "\($0)" } ?? "all objects" }
        case .ids(let ids):
            self.init(.batchDelete, ids.first?.entityName) { Self.text(ids) }
        }
    }
}
