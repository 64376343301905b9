// Deleting: marking objects, and running delete rules on what they lead to (MC-10 to MC-16).
//
// Invariants
//   1. `delete` marks; rules run in `processPendingChanges`, which every fetch and save begins with (MC-12).
//   2. Rules look at relationships as they are when they run. They end: each object's rules run once.
//   3. The relationships of a deleted object itself keep their values: `deny` is judged by them when saving (MC-15).

import EspalierModel

extension ManagedObjectContext {
    /// Marks an object to be deleted by the next save (MC-10).
    ///
    /// One that was never saved just leaves the context.
    ///
    /// - Throws: `ContextError.objectOfOtherContext` or `.objectWithoutContext`; `.store` if the row, which the delete
    ///   rules need, cannot be read (MC-11). Deleting twice, or what is gone from the store, changes nothing.
    public func delete(_ object: ManagedObject) throws(ContextError) {
        guard let context = object.managedObjectContext else { throw .objectWithoutContext(object.storedID) }
        guard context === self else { throw .objectOfOtherContext(object.storedID) }
        guard !object.isDeleted else { return }
        if object.isFault && !object.hasRow { try loadRow(of: object) }
        markDeleted(object)
    }

    /// Merges waiting saves of other contexts and runs the delete rules of what was deleted (MC-36).
    public func processPendingChanges() {
        forgetDestinations()
        mergeWaitingSaves()
        runDeleteRules()
    }

    private func markDeleted(_ object: ManagedObject) {
        object.fireFault()
        guard !object.isDeleted else { return }
        object.prepareForDeletion()
        guard !object.isDeleted else { return }
        changeCount += 1
        if object.isInserted { inserted.remove(object) }
        if object.state.contains(.updated) { updated.remove(object) }
        object.state.insert(.deleted)
        deleted.insert(object)
        unpropagated.append(object)
    }

    /// Runs the rules of every deleted object whose rules have not run, and of those that this deletes.
    func runDeleteRules() {
        guard !unpropagated.isEmpty else { return }
        var next = 0
        while next < unpropagated.count {
            let object = unpropagated[next]
            next += 1
            guard object.state.isDisjoint(with: .propagated) else { continue }
            object.state.insert(.propagated)
            let shape = object.shape
            for relationship in shape.entity.relationships {
                runRule(of: relationship, inverse: shape.inverses[relationship.slot], for: object)
            }
        }
        unpropagated.removeAll()
        let unsaved = deleted.filter(\.isInserted)
        guard !unsaved.isEmpty else { return }
        takeInInverses()
        let gone = Set(unsaved.map(\.storedID))
        deleted = deleted.keeping { !$0.isInserted }
        for object in unsaved {
            registry.remove(object)
            object.leaveContext()
        }
        // Relationships without inverse may still name them, and no store will ever know them.
        for object in changedObjects {
            object.replaceNewDestinations { gone.contains($0) ? nil : $0 }
            if object.changes != nil { object.changeable().forget(gone) }
        }
    }

    private func runRule(of relationship: Relationship, inverse: Relationship?, for object: ManagedObject) {
        // Of an object that was never saved nothing can be left behind, whatever its rules say about stored ones.
        switch relationship.deleteRule {
        case .noAction where !object.isInserted, .deny where !object.isInserted:
            break
        case .cascade:
            forEachDestination(of: relationship, of: object) { markDeleted($0) }
        case .nullify, .noAction, .deny:
            guard let inverse else { return }
            forEachDestination(of: relationship, of: object) { destination in
                if !destination.isDeleted { destination.removeRaw(object.storedID, from: inverse) }
            }
        }
    }

    private func forEachDestination(
        of relationship: Relationship, of object: ManagedObject, _ body: (ManagedObject) -> Void
    ) {
        if relationship.isToMany {
            for destination in object.destinations(at: relationship.slot) { body(destination) }
        } else if let destination = object.destination(at: relationship.slot) {
            body(destination)
        }
    }
}
