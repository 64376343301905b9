// Freezing: changed objects become plain values that a store can write.
//
// Invariants
//   1. A row is written only if one of its own values, to-one destinations or ordered lists differs from what is
//      committed; being on the unordered to-many side of a change does not write the row, so two contexts that add to
//      one set are not in conflict.
//   2. Of the two sides of an unordered many-to-many relationship one sends the pairs.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The request that writes `changes`, all of one store, and checks the locks in it.
    ///
    /// - Parameter gone: gets the changed objects of which the store has no row.
    func freeze(
        _ changes: ChangeSet, for store: SourcePart, gone: inout [VersionConflict]
    ) throws(ContextError) -> SaveRequest {
        var request = SaveRequest()
        request.constraintActions = constraintActions
        request.insertions.reserveCapacity(changes.inserted.count)
        for object in changes.inserted {
            request.insertions.append(insertion(of: object))
            freezeLinks(of: object, &request)
        }
        for object in changes.updated {
            guard try freezeUpdate(of: object, &request) else {
                gone.append(VersionConflict(id: object.storedID, expectedVersion: 0, stored: nil))
                continue
            }
            freezeLinks(of: object, &request)
        }
        for object in changes.deleted {
            request.deletions.append(.init(id: object.storedID, expectedVersion: object.row?.version ?? 0))
        }
        for (object, version) in locked(in: store) {
            request.locks.append(.init(id: object.storedID, expectedVersion: version))
        }
        if source.parts.count > 1 { try checkStores(changes) }
        return request
    }

    /// The locked objects of a store whose versions no other part of a request checks.
    func locked(in store: SourcePart) -> [(object: ManagedObject, version: UInt64)] {
        locked.filter { object, version in
            object.managedObjectContext === self && !object.isInserted
                && !(object.hasChanges && object.row?.version == version)
                && store.holds(object.storedID)
        }
        .map { ($0.key, $0.value) }
    }

    private func insertion(of object: ManagedObject) -> SaveRequest.Insertion {
        object.withShape { shape in
            let values =
                object.newValues ?? RowValues(shape.defaultValues, relationshipCount: shape.entity.relationships.count)
            guard shape.hasTransientAttributes else { return SaveRequest.Insertion(id: object.storedID, values) }
            let stored = values.copy()
            for slot in shape.entity.attributes.indices where shape.entity.attributes[slot].isTransient {
                stored.setAttribute(.null, at: slot)
            }
            return SaveRequest.Insertion(id: object.storedID, stored)
        }
    }

    /// Adds what changed in the row; `false` if there is no row.
    private func freezeUpdate(of object: ManagedObject, _ request: inout SaveRequest) throws(ContextError) -> Bool {
        guard let changes = object.changes else { return true }
        let shape = object.shape
        let changesOrder = !changes.values.toMany.isEmpty && changes.changesOrder(of: shape.entity)
        guard !changes.values.attributes.isEmpty || !changes.values.destinations.isEmpty || changesOrder else {
            return true
        }
        if !object.hasRow { try loadRow(of: object) }
        guard let row = object.row else { return false }
        // Mostly all of them differ: then the list is the one that the object has.
        var values = changes.values.attributes.pairs
        var sameCount = 0
        for position in values.indices where !shape.differs(row, values[position].slot, values[position].value) {
            sameCount += 1
        }
        if sameCount > 0 { values.removeAll { !shape.differs(row, $0.slot, $0.value) } }
        var destinations: [(slot: Int, destination: ObjectID?)] = []
        if !changes.values.destinations.isEmpty {
            for (slot, destination) in changes.values.destinations.pairs where row.destination(at: slot) != destination
            {
                destinations.append((slot, destination))
            }
        }
        guard changesOrder || !values.isEmpty || !destinations.isEmpty else { return true }
        request.updates.append(
            SaveRequest.Update(
                id: object.storedID, expectedVersion: row.version, values: values, destinations: destinations))
        return true
    }

    private func freezeLinks(of object: ManagedObject, _ request: inout SaveRequest) {
        guard object.withShape({ !$0.sentRelationships.isEmpty }), let changes = object.changes else { return }
        for slot in object.shape.sentRelationships.lazy.map(\.slot) {
            guard let change = changes.values.toMany[slot] else { continue }
            if let list = change.list {
                // Where the others' to-one relationships say who is a destination, the order says nothing else.
                let isDerived = object.withShape { $0.inverses[slot]?.isToMany == false }
                request.links.append(
                    .init(owner: object.storedID, slot: slot, order: list, orderBase: isDerived ? nil : change.base))
            } else if !change.added.isEmpty || !change.removed.isEmpty {
                request.links.append(
                    .init(
                        owner: object.storedID, slot: slot,
                        added: change.added.sorted(by: ObjectID.inOrderOfCreation),
                        removed: change.removed.sorted(by: ObjectID.inOrderOfCreation)))
            }
        }
    }

    /// Refuses relationships that lead from store to store.
    private func checkStores(_ changes: ChangeSet) throws(ContextError) {
        takeInInverses()
        for object in changes.inserted + changes.updated {
            let home = try part(of: object).number
            var destinations: [(slot: Int, id: ObjectID)] = []
            for relationship in object.entity.relationships {
                guard let id = object.unsavedDestinationID(at: relationship.slot) ?? nil else { continue }
                destinations.append((relationship.slot, id))
            }
            for (slot, change) in object.changes?.values.toMany.pairs ?? [] {
                destinations += (change.list ?? change.added.ids).map { (slot, $0) }
            }
            for (slot, id) in destinations {
                let other = try registry[id].map { object throws(ContextError) in try part(of: object) }
                guard let other = other ?? source.part(holding: id), other.number != home else { continue }
                throw .relationshipAcrossStores(
                    owner: object.storedID, property: object.entity.relationships[slot].name, destination: id)
            }
        }
    }

    // MARK: Permanent IDs

    /// Gives new objects their permanent IDs before they are saved (MC-37).
    ///
    /// They stay inserted.
    ///
    /// - Throws: `ContextError.noStore`, `.readOnlyStore`, `.objectOfOtherContext`, or what the store says.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws(ContextError) {
        for object in objects where object.managedObjectContext !== self {
            throw .objectOfOtherContext(object.storedID)
        }
        var permanentIDs: [ObjectID: ObjectID] = [:]
        for object in objects where object.storedID.isTemporary && permanentIDs[object.storedID] == nil {
            let part = try part(of: object)
            do {
                permanentIDs[object.storedID] = try source.reserveIDs(for: object.entity, count: 1, in: part).first
            } catch {
                throw ContextError(error)
            }
        }
        takeInInverses()
        for object in changedObjects {
            if let id = permanentIDs[object.storedID] {
                registry.rename(object, id)
            }
            object.replaceNewDestinations { permanentIDs[$0] ?? $0 }
            if object.changes != nil { object.changeable().replaceIDs { permanentIDs[$0] ?? $0 } }
        }
        // A hook of a running save may call this: the order of new objects follows from their IDs.
        if !permanentIDs.isEmpty { changeCount &+= 1 }
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

extension EntityShape {
    /// Whether a store would hold `value` and not what it holds.
    fileprivate func differs(_ row: ObjectSnapshot, _ slot: Int, _ value: AttributeValue) -> Bool {
        row.value(at: slot) != value && !(hasTransientAttributes && entity.attributes[slot].isTransient)
    }
}

extension ObjectChanges {
    /// Whether an ordered relationship is among the changes.
    fileprivate func changesOrder(of entity: Entity) -> Bool {
        values.toMany.pairs.contains { entity.relationships[$0.slot].isOrdered }
    }
}
