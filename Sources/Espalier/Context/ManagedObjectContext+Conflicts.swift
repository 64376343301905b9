// Conflicts: rows that somebody else has changed since this context read them, and what the merge policy makes of them.
//
// Invariants
//   1. Resolving only changes the context; the save then goes through all its checks again.
//   2. If both sides have deleted an object there is no conflict, whatever the policy.
//   3. A deletion against a changed row, under `storeTrump` and `rollback`, fails: its delete rules have already run
//      on other objects, and taking back half of that would break the graph.
// Not here: how an object takes a newer row (+NewerRows).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Makes the next save check that an unchanged object is still as it was read (MC-35).
    ///
    /// - Throws: `ContextError.objectOfOtherContext`; `.objectNotFound` if its row is gone already.
    public func detectConflicts(for object: ManagedObject) throws(ContextError) {
        guard object.managedObjectContext === self else { throw .objectOfOtherContext(object.storedID) }
        if object.isFault && !object.hasRow { try loadRow(of: object) }
        guard object.hasRow || object.isInserted else { throw .objectNotFound(object.storedID) }
        locked.insert(object)
    }

    /// A store's error as `save` reports it: conflicts with the values of both sides.
    func contextError(_ error: StoreError) -> ContextError {
        guard case .conflict(let conflicts) = error else { return ContextError(error) }
        return .conflicts(conflicts.map(described))
    }

    /// Changes the objects in conflict as the merge policy says.
    ///
    /// - Throws: `ContextError.conflicts` with all conflicts if the policy is `error` or cannot resolve one.
    func resolve(_ found: [VersionConflict], _ checkpoint: inout ContextCheckpoint) throws(ContextError) {
        try checkResolvable(found)
        for conflict in found { cache.invalidate(conflict.id) }
        let conflicts = try withOtherEnds(found, &checkpoint)
        try checkResolvable(conflicts)
        for conflict in conflicts {
            guard let object = registry[conflict.id] else { continue }
            cache.invalidate(conflict.id)
            if let stored = conflict.stored {
                resolve(object, stored)
            } else {
                resolveGone(object)
            }
        }
    }

    private func checkResolvable(_ conflicts: [VersionConflict]) throws(ContextError) {
        let isUnresolvable = conflicts.contains { conflict in
            guard let object = registry[conflict.id] else { return true }
            let isDeletedHere = object.state.contains(.deleted)
            if conflict.stored == nil { return !isDeletedHere && mergePolicy == .error }
            switch mergePolicy {
            case .error: return true
            case .storeTrump, .rollback: return isDeletedHere
            case .objectTrump, .overwrite: return false
            }
        }
        guard !isUnresolvable else { throw .conflicts(conflicts.map(described)) }
    }

    private func resolve(_ object: ManagedObject, _ stored: ObjectSnapshot) {
        let base = object.row
        switch mergePolicy {
        case .error:
            return
        case _ where object.state.contains(.deleted):
            // Only the version that the deletion expects: what it did to other objects stands.
            object.row = stored
        case .objectTrump:
            object.rebase(
                onto: stored, attributes: { _, isChanged in isChanged }, destinations: { _, isChanged in isChanged },
                keepsOtherEnds: true)
        case .overwrite:
            object.rebase(
                onto: stored, attributes: { _, _ in true }, destinations: { _, _ in true }, keepsOtherEnds: true)
        case .storeTrump:
            object.rebase(
                onto: stored,
                attributes: { slot, isChanged in isChanged && base?.value(at: slot) == stored.value(at: slot) },
                destinations: { slot, isChanged in
                    isChanged && base?.destination(at: slot) == stored.destination(at: slot)
                }, keepsOtherEnds: false)
        case .rollback:
            object.rebase(
                onto: stored, attributes: { _, _ in false }, destinations: { _, _ in false }, keepsOtherEnds: false)
            object.undoToManyChanges(isGone: false)
        }
    }

    /// The row was deleted by somebody else.
    private func resolveGone(_ object: ManagedObject) {
        if object.state.contains(.deleted) {
            deleted.remove(object)
            registry.remove(object)
            object.leaveContext()
            return
        }
        switch mergePolicy {
        case .error:
            return
        case .storeTrump, .rollback:
            object.undoToManyChanges(isGone: true)
            object.leaveDestinations()
            updated.remove(object)
            object.changes = nil
            object.state.remove(.updated)
            object.state.insert(.inaccessible)
        case .objectTrump, .overwrite:
            // Inserted again under its own ID, with all it has here (MP-11).
            object.newValues = RowValues(
                object.entity.attributes.map { object.attributeValue(at: $0.slot) },
                object.entity.relationships.map { $0.isToMany ? nil : object.destinationID(at: $0.slot) })
            if object.changes != nil { object.changeable().keepOnlyToMany() }
            object.row = nil
            object.state.remove(.updated)
            object.state.formUnion([.inserted, .fulfilled])
            updated.remove(object)
            inserted.insert(object)
            for relationship in object.entity.relationships where !relationship.isToMany {
                guard let id = object.destinationID(at: relationship.slot),
                    object.withShape({ $0.inverses[relationship.slot]?.isToMany }) == false
                else { continue }
                object.relateOtherEnd(id, across: relationship, isRelated: true, isStored: false)
            }
        }
    }

    /// A conflict with the values of both sides.
    private func described(_ conflict: VersionConflict) -> MergeConflict {
        guard let object = registry[conflict.id] else {
            return MergeConflict(
                object: conflict.id, isDeletedHere: false, oldVersion: conflict.expectedVersion,
                newVersion: conflict.stored?.version, properties: [])
        }
        var properties: [MergeConflict.Property] = []
        for attribute in object.entity.attributes where !attribute.isTransient {
            let mine = object.attributeValue(at: attribute.slot)
            let stored = conflict.stored?.value(at: attribute.slot)
            if let stored, stored == mine { continue }
            properties.append(
                .init(
                    name: attribute.name, base: object.row?.value(at: attribute.slot), mine: mine, stored: stored))
        }
        func value(_ id: ObjectID?) -> AttributeValue { id.map { .objectID($0) } ?? .null }
        for relationship in object.entity.relationships where !relationship.isToMany {
            let mine = value(object.destinationID(at: relationship.slot))
            let stored = conflict.stored.map { value($0.destination(at: relationship.slot)) }
            if let stored, stored == mine { continue }
            properties.append(
                .init(
                    name: relationship.name, base: object.row.map { value($0.destination(at: relationship.slot)) },
                    mine: mine, stored: stored))
        }
        return MergeConflict(
            object: conflict.id, isDeletedHere: object.state.contains(.deleted),
            oldVersion: conflict.expectedVersion, newVersion: conflict.stored?.version,
            properties: conflict.stored == nil ? [] : properties)
    }
}
