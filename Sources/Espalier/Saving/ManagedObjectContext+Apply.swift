// After a save: the rows that the stores have written become the committed state of the objects.
//
// Invariants
//   1. Nothing here fails: the stores have the changes already.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Makes the rows that the stores have written the committed state (MC-41).
    ///
    /// - Returns: the changes of which other contexts are notified.
    func apply(_ outcome: SaveOutcome) -> SavedChanges {
        var savedChanges = SavedChanges(contextName: name, author: transactionAuthor)
        var generations: [UInt64: UInt64] = [:]
        for saved in outcome.saved { generations[saved.part.number] = saved.result.generation }
        moveToNewestGeneration(afterSaving: generations)
        // The stores have added the new objects to the lists. (If there are several stores, `freeze` has applied these
        // additions.)
        memory.unreadInverses.removeAll()
        for saved in outcome.saved {
            applyInsertions(of: saved, &savedChanges)
            applyUpdates(of: saved, &savedChanges)
            adoptMergedRows(of: saved, into: &savedChanges)
            adoptRuleEffects(of: saved, into: &savedChanges)
            applyDeletions(of: saved, &savedChanges)
        }
        replace(\.inserted, by: memory.inserted.filtered(\.isInserted))
        replace(\.updated, by: memory.updated.filtered { $0.state.contains(.updated) })
        replace(\.deleted, by: memory.deleted.filtered { $0.state.contains(.deleted) })
        if outcome.failure == nil {
            locked.removeAll()
            givenIDs = nil
        } else {
            // The next save writes what a store has refused, and checks the same locks.
            locked = locked.filter { lock in !outcome.saved.contains { $0.part.holds(lock.key.storedID) } }
        }
        replaceReached(by: memory.deleted.isEmpty ? ReachedRows() : memory.reached)
        if memory.updated.isEmpty { (hasBases, hasMergedSets) = (false, false) }
        reportedConflicts.removeAll()
        changeCount &+= 1
        return savedChanges
    }

    /// New objects get their rows, and the IDs of these.
    private func applyInsertions(of saved: SaveOutcome.PartSave, _ savedChanges: inout SavedChanges) {
        let ids = saved.result.inserted.ids
        assert(ids.count == saved.changes.inserted.count, "\(ids.count) rows were inserted")
        assert(ids.allSatisfy { !$0.isTemporary }, "a stored row has a temporary ID")
        // Objects that are saved together are likely to be read together.
        let cohort = Cohort(ids, cache: cache)
        var merged = saved.result.merged[...]
        saved.result.inserted.forEachRow { position, content, place in
            if position == merged.first {
                merged.removeFirst()
                return
            }
            let object = saved.changes.inserted[position]
            // A hook of the parent may have made it leave while it was stored: its row has another object.
            guard object.state.contains(.registered) else { return }
            if object.storedID == ids[position] {
                // The ID was reserved, or a deleted row is inserted again: what was read of a former row is outdated.
                cache.invalidate(object.storedID)
                noteOwners(of: object, in: &savedChanges)
            }
            enter(object, as: ids[position])
            object.setRow(content, place)
            object.becomeCommitted()
            if memory.hasObserved { noteDerivedValues(of: object, after: nil) }
            object.cohort = cohort
        }
        let newIDs = saved.result.newIDs
        if savedChanges.inserted.isEmpty { savedChanges.inserted = newIDs } else { savedChanges.inserted += newIDs }
    }

    private func applyUpdates(of saved: SaveOutcome.PartSave, _ savedChanges: inout SavedChanges) {
        cache.invalidate(saved.changes.updated.lazy.map(\.storedID))
        // The rows that were written, in the order of the objects; not every changed object writes its row.
        var written = saved.result.updated.makeIterator()
        var next = written.next()
        for object in saved.changes.updated {
            if let row = next, row.id == object.storedID {
                let former = memory.hasObserved ? object.row : nil
                object.row = row
                if memory.hasObserved { noteDerivedValues(of: object, after: former) }
                object.state.remove(.gone)
                next = written.next()
            }
            object.becomeCommitted()
            object.becomeInaccessibleIfGone()
            savedChanges.updated.append(object.storedID)
        }
    }

    /// Notes the derived values that a save has written, for observers: only the save tells its own time, and it may
    /// have found what another context has changed.
    private func noteDerivedValues(of object: ManagedObject, after former: ObjectSnapshot?) {
        guard object.isObserved, let row = object.row else { return }
        for attribute in object.entity.attributes where attribute.derivation != nil {
            let slot = attribute.slot
            if row.value(at: slot) != former?.value(at: slot) { observed?.noteChange(.attribute(slot), of: object) }
        }
    }

    private func applyDeletions(of saved: SaveOutcome.PartSave, _ savedChanges: inout SavedChanges) {
        cache.invalidate(saved.changes.deleted.lazy.map(\.storedID))
        for object in saved.changes.deleted {
            // Also if a hook of the parent has taken back the deletion meanwhile: the row is deleted.
            memory.registry.remove(object)
            savedChanges.deleted.append(object.storedID)
            object.leaveContext()
        }
    }

    /// Adds to `savedChanges` the owners of lists that contain an object again after its insertion under its former ID;
    /// this context has not changed those lists.
    private func noteOwners(of object: ManagedObject, in savedChanges: inout SavedChanges) {
        for relationship in object.entity.relationships where !relationship.isToMany {
            let slot = relationship.slot
            guard let id = object.destinationID(at: slot), !id.isTemporary,
                object.withShape({ $0.inverses[slot]?.isToMany }) == true
            else { continue }
            cache.invalidate(id)
            savedChanges.updated.append(id)
        }
    }
}

extension ManagedObject {
    /// Discards the changes after a save has written them.
    func becomeCommitted() {
        if isInserted, newValues == nil { keepTransientDefaults() }
        discardPersistentChanges()
        state.subtract([.inserted, .updated])
    }

    /// Makes the default values of transient attributes changes of a new object in which nothing was set: the row that
    /// it gets does not have them.
    private func keepTransientDefaults() {
        guard shape.hasTransientAttributes else { return }
        for attribute in entity.attributes where attribute.isTransient && !attribute.defaultValue.isNull {
            changeable().values.attributes.set(attribute.defaultValue, at: attribute.slot)
        }
    }

    /// Discards all changes except the values of transient attributes.
    func discardPersistentChanges() {
        guard changes != nil || newValues != nil else { return }
        assert(
            newValues == nil || state.contains(.inserted) || !state.contains(.registered),
            "invariant 3: new values of \(storedID), which is not new")
        var kept = ObjectChanges.Values()
        if shape.hasTransientAttributes {
            for slot in entity.attributes.indices where entity.attributes[slot].isTransient {
                kept.attributes[slot] = unsavedAttribute(at: slot)
            }
        }
        newValues = nil
        changes = kept.isEmpty ? nil : ObjectChanges(kept)
    }
}

extension SaveResult {
    /// The IDs of the new rows.
    fileprivate var newIDs: [ObjectID] {
        if merged.isEmpty { return inserted.ids }
        let others = Set(merged)
        return inserted.ids.indices.filter { !others.contains($0) }.map { inserted.ids[$0] }
    }
}
