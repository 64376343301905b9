// Batch requests of a coordinator: for code without a context.

import EspalierModel

extension PersistentStoreCoordinator {
    /// Inserts rows into the first writable store that accepts their entity, in one transaction (PS-07, BR-01).
    ///
    /// Contexts that merge automatically are told. A row whose unique values another one has follows the action that
    /// the constraint declares, or that of the request, and is refused if there is none.
    ///
    /// - Throws: `ContextError.unknownEntity`, `.abstractEntity`, `.noStore`, `.readOnlyStore`; `.assignment` for a
    ///   value that its property cannot have, `.violations` for rows that break rules of the model, `.constraints` for
    ///   values that must be unique, `.references` for destinations that do not exist; `.batchRowSource` with the error
    ///   of the closure; `.store` with `.commandCancelled`, or with the error of the store. The store is as it was.
    /// - Complexity: O(rows × log rows of the store), in memory for some thousands of them.
    @discardableResult
    public func execute(_ request: BatchInsertRequest) throws(ContextError) -> BatchResult {
        try tellAll(
            of: BatchPlan(request, self) { entity in
                managedObjectModel.constraintActions(of: entity) { _ in request.constraintAction }
            })
    }

    /// Sets properties of all rows that match, in one transaction for each store (PS-07, BR-04).
    ///
    /// Contexts that merge automatically are told.
    ///
    /// - Throws: `ContextError.unknownEntity`, `.invalidPredicate`, `.noStore`, `.readOnlyStore`; `.assignment` for a
    ///   property that cannot be set; `.violations` for rows that would break rules of the model or cannot have the
    ///   value of an expression, `.constraints`, `.references`; `.store` with `.commandCancelled`, or with the error of
    ///   the store. The stores are as they were, except after `.partlySaved`.
    /// - Complexity: O(matching rows × log rows of the store), and that of the fetch.
    @discardableResult
    public func execute(_ request: BatchUpdateRequest) throws(ContextError) -> BatchResult {
        try tellAll(of: BatchPlan(request, self))
    }

    /// Deletes rows, with the delete rules of their relationships, in one transaction for each store (PS-07, BR-05).
    ///
    /// Contexts that merge automatically are told.
    ///
    /// - Throws: `ContextError.unknownEntity`, `.invalidPredicate`, `.noStore`, `.readOnlyStore`, `.limitAcrossStores`;
    ///   `.objectNotFound` for a temporary ID; `.violations` or `.references` for rules that deny the deletion;
    ///   `.store` with `.commandCancelled`, or with the error of the store. The stores are as they were, except after
    ///   `.partlySaved`.
    /// - Complexity: O(deleted rows and their relationships × log rows of the store), and that of the fetch.
    @discardableResult
    public func execute(_ request: BatchDeleteRequest) throws(ContextError) -> BatchResult {
        try tellAll(of: BatchPlan(request, self))
    }

    private func tellAll(of plan: BatchPlan) throws(ContextError) -> BatchResult {
        let writer = beginWriting()
        defer { endWriting(writer) }
        let outcome = try plan.carryOut()
        if !outcome.changes.isEmpty { tell(outcome.changes, except: nil) }
        if let failure = outcome.failure { throw .partlySaved(underlying: failure) }
        return outcome.result
    }
}

extension SavedChanges {
    /// Whether nothing has changed.
    var isEmpty: Bool { idCount == 0 && !isEverything }
}

extension ManagedObjectModel {
    /// The actions on new rows of an entity whose unique values are taken: those that the constraints declare, and for
    /// the others what `action` says of the entity that declares them.
    func constraintActions(
        of entity: Entity, _ action: (Entity) -> ConstraintAction?
    ) -> [ConstraintName: ConstraintAction] {
        var actions: [ConstraintName: ConstraintAction] = [:]
        var next: Entity? = entity
        while let declaring = next {
            for properties in declaring.description.uniquenessConstraints {
                let name = ConstraintName(declaring.name, properties)
                actions[name] = constraintActions[name] ?? action(declaring)
            }
            next = declaring.superentity.map { entities[$0] }
        }
        return actions
    }
}
