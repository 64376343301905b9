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
    ///   `.alreadySaving` in a hook that runs while rows are written; `.objectNotFound` with an ID that the store gives
    ///   out, and under which the context has a changed object without a row: discard the changes of that object first.
    ///   `StoreError.brokenContract` if a store of your own gives out the ID of a row that was read. No object is
    ///   changed then.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws(ContextError) {
        try checkIsNotStoring()
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
            let ids: [ObjectID]
            do {
                ids = try reservation(of: end - start, for: entity) { () throws(StoreError) in
                    try source.reserveIDs(for: entity, count: end - start, in: part)
                }
            } catch {
                throw ContextError(error)
            }
            try requireFree(ids, in: part)
            for (object, id) in zip(new[start..<end], ids) { permanentIDs[object.storedID] = id }
            start = end
        }
        rename(new, permanentIDs)
    }

    /// The object of this context for a new object of one of its parents, which gets its permanent ID: a child knows no
    /// other ID of it (MC-45).
    ///
    /// - Throws: `ContextError.objectNotFound` if no parent has a new object with this temporary ID; as
    ///   `obtainPermanentIDs(for:)`.
    /// - Complexity: O(depth of this context), and that of `obtainPermanentIDs(for:)` and of the merge that a fetch
    ///   begins with.
    func objectOfParents(with id: ObjectID) throws(ContextError) -> ManagedObject {
        var next = parent
        while let context = next {
            if let object = context.registeredObject(for: id), object.isInserted, !object.isDeleted {
                if object.storedID.isTemporary { try context.obtainPermanentIDs(for: [object]) }
                // The parent may have inserted the object after the moment that this context reads.
                mergeWaitingSaves()
                return try self.object(with: object.storedID)
            }
            next = context.parent
        }
        throw .objectNotFound(id)
    }

    /// The new object that had this temporary ID before it got its permanent one, if it is in memory.
    ///
    /// - Complexity: O(1).
    func renamedObject(with id: ObjectID) -> ManagedObject? {
        guard id.isTemporary, let permanent = givenIDs?.permanent[id] else { return nil }
        return memory.registry[permanent]
    }

    /// Gives new objects other IDs, also in the relationships of other objects that refer to them.
    func rename(_ new: [ManagedObject], _ permanentIDs: [ObjectID: ObjectID]) {
        applyUnreadInverses()
        let naming = objectsNaming(new)
        for object in new {
            if let id = permanentIDs[object.storedID] { enter(object, as: id) }
        }
        let given = givenIDs ?? GivenIDs()
        given.note(permanentIDs)
        givenIDs = given
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

    /// Gives an object its permanent ID.
    ///
    /// An object that the application has made with this ID before there was such a row leaves the context: by its ID
    /// the application finds the object of the row.
    func enter(_ object: ManagedObject, as id: ObjectID) {
        guard let other = memory.registry.rename(object, id) else { return }
        assert(!other.hasRow, "\(id) is the ID of a new row, and of one that was read")
        dismiss(other)
    }

    /// Makes an object leave the context, because another one has its ID or will get it.
    ///
    /// It has no row and no changes: `requireFree`, and in a save the store, have refused an ID that changes use.
    func dismiss(_ object: ManagedObject) {
        noteInvalidated(object)
        memory.registry.remove(object)
        memory.updated.remove(object)
        memory.deleted.remove(object)
        // A list that was read for the ID is that of no row.
        cache.invalidate(object.storedID)
        object.discardPersistentChanges()
        object.leaveContext()
        object.state.insert(.merged)
    }

    /// Requires that IDs which a store has just given out are free in this context.
    ///
    /// - Throws: `.objectNotFound` with the ID of a changed object: no row has it, because the application has made it
    ///   up; for a store of an application the error of `checkIsFree`.
    func requireFree(_ ids: [ObjectID], in part: SourcePart) throws(ContextError) {
        for id in ids {
            do throws(StoreError) { try checkIsFree(id, in: part) } catch { throw ContextError(error) }
            guard memory.registry.withObject(id, \.usesID) != true else { throw .objectNotFound(id) }
        }
    }

    /// Requires of the ID that a store of an application gives a new row that no object with a row, or with changes,
    /// has it.
    ///
    /// - Throws: `.brokenContract`.
    func checkIsFree(_ id: ObjectID, in part: SourcePart) throws(StoreError) {
        guard let type = part.outsideType, memory.registry.withObject(id, { $0.hasRow || $0.usesID }) == true else {
            return
        }
        throw .brokenContract(
            path: part.path, store: type,
            reason: "\(id) is the ID of a new row, and of one that was read or changed before")
    }
}

extension ManagedObject {
    /// Whether the object has changes; a destination that was added and then removed is none.
    fileprivate var usesID: Bool {
        if !state.isDisjoint(with: [.inserted, .deleted]) { return true }
        guard hasChanges, let values = changes?.values else { return false }
        return !values.attributes.isEmpty || !values.destinations.isEmpty
            || values.toMany.pairs.contains { _, change in
                change.isWhole ? change.changesOrder : !change.added.isEmpty || !change.removed.isEmpty
            }
    }

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
