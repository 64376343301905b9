// Permanent IDs of new objects, before and after a save.
//
// Invariants
//   1. The IDs of all stores are reserved before the first object is renamed: an error leaves the context as it was.
//   2. After an object is renamed, no unsaved value names it by its temporary ID. Values that get another ID are no
//      changes: no step undoes them.
//   3. An object that was made for an ID before the ID was given out has no row: the application has the ID from
//      elsewhere. The new object takes its place, unless the other one has changes.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// Gives new objects their permanent IDs before they are saved (MC-37).
    ///
    /// They stay inserted.
    ///
    /// - Complexity: O(`objects` and the objects related to them); O(all unsaved objects) if a relationship without
    ///   inverse refers to their entities. Consecutive objects of one entity take one transaction.
    /// - Throws: `ContextError.noStore`, `.readOnlyStore`, `.objectOfOtherContext`, or the store's error;
    ///   `.objectNotFound` with an ID that the store gives out, and under which the context has a changed object
    ///   without a row: discard the changes of that object first. No object is changed then.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws(ContextError) {
        for object in objects where object.managedObjectContext !== self {
            throw .objectOfOtherContext(object.storedID)
        }
        var seen = Set<ObjectID>()
        let new = objects.filter { $0.storedID.isTemporary && seen.insert($0.storedID).inserted }
        var permanentIDs: [ObjectID: ObjectID] = [:]
        var start = 0
        while start < new.count {
            // One reservation serves consecutive objects of one entity and part.
            let (entity, part) = (new[start].entity, try part(of: new[start]))
            var end = start + 1
            while end < new.count, new[end].entity === entity, try self.part(of: new[end]).number == part.number {
                end += 1
            }
            do {
                let ids = try reservation(of: end - start, for: entity) { () throws(StoreError) in
                    try source.reserveIDs(for: entity, count: end - start, in: part)
                }
                for (object, id) in zip(new[start..<end], ids) { permanentIDs[object.storedID] = id }
            } catch {
                throw ContextError(error)
            }
            start = end
        }
        try requireUnused(permanentIDs.values)
        rename(new, permanentIDs)
    }

    /// Requires that no changed object has one of these IDs, which were just given out.
    func requireUnused(_ ids: some Sequence<ObjectID>) throws(ContextError) {
        for id in ids where memory.registry.withObject(id, \.hasChanges) == true { throw .objectNotFound(id) }
    }

    /// Gives new objects other IDs, also in the relationships of other objects that refer to them.
    func rename(_ new: [ManagedObject], _ permanentIDs: [ObjectID: ObjectID]) {
        applyUnreadInverses()
        let naming = objectsNaming(new)
        for object in new {
            if let id = permanentIDs[object.storedID] { give(id, to: object) }
        }
        givenIDs?.note(permanentIDs)
        memory.pendingValues.removeAll()
        for object in naming {
            object.renameNewDestinations(permanentIDs)
            if object.changes != nil { object.changeable().replaceIDs { permanentIDs[$0] ?? $0 } }
        }
        // A hook of a running save may call this method: the order of new objects depends on their IDs.
        guard !permanentIDs.isEmpty else { return }
        changeCount &+= 1
        if memory.unseen.isActive { memory.unseen.note((new + naming).lazy.map(\.storedID)) }
    }

    /// Gives an object its permanent ID; another object that was made for the ID before leaves the context.
    func give(_ id: ObjectID, to object: ManagedObject) {
        if let other = memory.registry.rename(object, id) { dismiss(other) }
    }

    /// Makes an object leave that was made for an ID before the row of another object got the ID.
    ///
    /// No store has a row of this object. If it has changes, a store of the application's own has given out an ID that
    /// changes refer to: they are lost, because the store has committed.
    func dismiss(_ object: ManagedObject) {
        noteInvalidated(object)
        memory.registry.remove(object)
        memory.updated.remove(object)
        memory.deleted.remove(object)
        // A list that was read for the ID is that of no row.
        cache.invalidate(object.storedID)
        object.leaveContext()
    }
}

extension ManagedObject {
    /// Makes the to-one relationships of a new object lead to the same objects under their new IDs.
    fileprivate func renameNewDestinations(_ permanentIDs: [ObjectID: ObjectID]) {
        for slot in 0..<(newValues?.relationshipCount ?? 0) {
            guard let id = newValues?.destination(at: slot), let new = permanentIDs[id] else { continue }
            changeableNewValues()?.setDestination(new, at: slot)
        }
    }
}

extension ObjectChanges {
    /// Replaces the IDs of destinations.
    fileprivate func replaceIDs(_ replacement: (ObjectID) -> ObjectID) {
        for (slot, destination) in values.destinations.pairs {
            values.destinations.set(destination.map(replacement), at: slot)
        }
        for (slot, change) in values.toMany.pairs { values.toMany[slot] = change.mapped(replacement) }
    }
}
