// Consequences of the store's rules for relationships: deleted destinations, and rows that delete rules have deleted or
// changed although the save did not name them.
//
// Invariants
//   1. A deleted destination is dropped. The merge policy decides what replaces it, and the save then repeats all its
//      checks.
// Not here: which rows delete rules delete (DeleteRules of the store).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Changes the relationships to rows that another context or process has deleted, as the merge policy says.
    ///
    /// `storeTrump` restores the destinations that the store holds. `rollback` discards all changes of the object.
    /// `objectTrump` and `overwrite` keep the changes and leave out the deleted destinations. A policy of the
    /// application's own answers with one of these rules, or names other destinations.
    ///
    /// - Throws: `ContextError.references` or `.violations` with all conflicts if the rule is `error` or cannot
    ///   resolve one: a rule that forbids a deletion; `.refusedResolutions` for an answer that cannot be followed.
    func resolve(_ conflicts: [ReferenceConflict]) throws(ContextError) {
        let isUnresolvable = conflicts.contains { conflict in
            conflict.kind != .missing || rule(forOwner: conflict.owner, MergeAnswers()) == .error
                || !(conflict.destinations + [conflict.owner]).contains { memory.registry[$0]?.hasChanges == true }
        }
        guard !isUnresolvable else { throw ContextError(.references(conflicts)) }
        var answers = MergeAnswers()
        try ask(conflicts, &answers)
        moveToNewestGeneration()
        for conflict in conflicts {
            guard let object = memory.registry[conflict.owner], !object.isDeleted,
                let relationship = object.entity.relationship(named: conflict.relationship)
            else { continue }
            object.drop(conflict.destinations, from: relationship, rule(for: object, answers))
        }
        try carryOut(answers)
        let destinations = conflicts.flatMap(\.destinations)
        for id in destinations { cache.invalidate(id) }
        for (object, stored) in try storedRows(ofObjects: destinations.compactMap { memory.registry[$0] }) {
            // A cascade of this save deletes the rows that are still stored; it may reach them through changes made
            // here.
            guard stored == nil, !object.state.contains(.deleted), !object.isInserted else { continue }
            // An object with changes of its own would have been in a row conflict, and inserted again or discarded
            // there.
            memory.updated.remove(object)
            object.discardPersistentChanges()
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
        }
    }

    private func rule(forOwner id: ObjectID, _ answers: MergeAnswers) -> MergePolicy.Rule {
        guard let object = memory.registry[id] else { return mergePolicy.rule ?? .objectTrump }
        return rule(for: object, answers)
    }

    /// Applies the effects of the store's delete rules on rows that the save did not name.
    func adoptRuleEffects(of saved: SaveOutcome.PartSave, into told: inout SavedChanges) {
        let result = saved.result
        let hasOthers = result.deleted.count > saved.changes.deleted.count
        // There may be a million IDs: growth in steps would use up to three times their memory.
        if hasOthers { told.deleted.reserveCapacity(told.deleted.count + result.deleted.count) }
        for id in hasOthers ? result.deleted : RowSet() {
            cache.invalidate(id)
            guard let object = memory.registry[id] else {
                told.deleted.append(id)
                continue
            }
            // The caller handles the named deletions later.
            if object.state.contains(.deleted) { continue }
            told.deleted.append(id)
            noteDeleted(object)
            object.discardPersistentChanges()
            object.state.subtract([.updated])
            memory.registry.remove(object)
            object.leaveContext()
        }
        guard !result.changed.isEmpty else { return }
        let written = Set(told.updated + told.inserted)
        for id in result.changed {
            cache.invalidate(id)
            if !written.contains(id) { told.updated.append(id) }
            if let object = memory.registry[id], !object.isDeleted { reread(object, mergesChanges: true) }
        }
    }
}

extension ManagedObject {
    /// Removes destinations whose rows are deleted.
    fileprivate func drop(_ destinations: [ObjectID], from relationship: Relationship, _ rule: MergePolicy.Rule) {
        if rule == .rollback, !isInserted, let row {
            let stored = NewerRow(id: storedID, expectedVersion: row.version, stored: row)
            // Destinations that other contexts have added since must stay, so the list is read again.
            managedObjectContext?.cache.invalidate(storedID)
            managedObjectContext?.rebase([stored]) { _ in .deciding(.rollback) }
        }
        guard relationship.isToMany else {
            guard let id = destinationID(at: relationship.slot), destinations.contains(id) else { return }
            let committed = row?.destination(at: relationship.slot)
            let isKept = rule == .storeTrump && committed != id
            return relate(to: isKept ? committed : nil, at: relationship.slot)
        }
        for id in destinations where hasDestination(id, at: relationship.slot) { unlink(id, across: relationship) }
    }
}
