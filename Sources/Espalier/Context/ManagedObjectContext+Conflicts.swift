// Conflicts: rows that somebody else has changed since this context read them, and what the merge policy makes of them.
//
// Invariants
//   1. Resolving only changes the context; the save then goes through all its checks again.
//   2. If both sides have deleted an object there is no conflict, whatever the policy.
//   3. A deletion against a changed row, under `storeTrump` and `rollback`, fails: its delete rules have already run
//      on other objects, and taking back half of that would break the graph.

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
    func resolve(_ conflicts: [VersionConflict]) throws(ContextError) {
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

    private func resolve(_ object: ManagedObject, _ stored: ObjectSnapshot) {
        let base = object.row
        switch mergePolicy {
        case .error:
            return
        case .objectTrump:
            object.row = stored
            object.relateAgain()
        case .overwrite:
            let values = object.changeable()
            for attribute in object.entity.attributes where !attribute.isTransient {
                let value = object.attributeValue(at: attribute.slot)
                if value != stored.value(at: attribute.slot) { values.values.attributes[attribute.slot] = value }
            }
            for relationship in object.entity.relationships where !relationship.isToMany {
                let id = object.destinationID(at: relationship.slot)
                if id != stored.destination(at: relationship.slot) {
                    values.values.destinations[relationship.slot] = .some(id)
                }
            }
            object.row = stored
            object.relateAgain()
        case .storeTrump:
            object.takeStored(stored) { slot in
                base?.value(at: slot) != stored.value(at: slot)
            } destinations: { slot in
                base?.destination(at: slot) != stored.destination(at: slot)
            }
        case .rollback:
            object.takeStored(stored, attributes: { _ in true }, destinations: { _ in true })
            object.undoToManyChanges()
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
            object.undoToManyChanges()
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

extension ManagedObject {
    /// Takes a newer row, and gives up the changes in the slots that are named.
    ///
    /// To-one sides change with their inverses.
    fileprivate func takeStored(
        _ stored: ObjectSnapshot, attributes: (Int) -> Bool, destinations: (Int) -> Bool
    ) {
        if let values = changes?.values {
            for (slot, _) in values.attributes.pairs
            where attributes(slot) && !entity.attributes[slot].isTransient {
                changeable().values.attributes[slot] = nil
            }
            for (slot, _) in values.destinations.pairs where destinations(slot) {
                relate(to: stored.destination(at: slot), at: slot)
                changeable().values.destinations[slot] = nil
            }
        }
        row = stored
    }

    /// Takes back what was added to and removed from to-many relationships, on both sides.
    fileprivate func undoToManyChanges() {
        guard let values = changes?.values else { return }
        for (slot, change) in values.toMany.pairs {
            let relationship = entity.relationships[slot]
            if change.list == nil {
                for id in change.added { unlink(id, across: relationship) }
                for id in change.removed { relate(to: id, at: slot) }
            }
            changeable().values.toMany[slot] = nil
        }
    }
}
