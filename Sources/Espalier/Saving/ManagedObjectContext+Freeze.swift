// Freezing: the conversion of changed objects to plain values that a store can write.
//
// Invariants
//   1. A row is written only if one of its own values, to-one destinations or ordered lists differs from the committed
//      one. A change of an unordered to-many side does not write the row, so two contexts that add to one set are not
//      in conflict.
//   2. One of the two sides of an unordered many-to-many relationship sends the pairs.
//   3. A relationship without inverse is sent without the objects that this save deletes. The store removes such
//      destinations from stored rows in the same way.

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The request that writes `changes`, all of one part, and checks the locked objects of that part.
    ///
    /// - Parameter gone: receives the changed objects that have no row in the part.
    func freeze(
        _ changes: ChangeSet, for part: SourcePart, gone: inout [VersionConflict]
    ) throws(ContextError) -> SaveRequest {
        var request = SaveRequest()
        let policyActions = saveRun?.policyActions ?? [:]
        request.constraintActions =
            policyActions.isEmpty ? constraintActions : constraintActions.merging(policyActions) { $1 }
        request.insertions.reserveCapacity(changes.inserted.count)
        for object in changes.inserted {
            request.insertions.append(insertion(of: object))
            freezeLinks(of: object, &request)
        }
        request.updates.reserveCapacity(changes.updated.count)
        for object in changes.updated {
            guard try freezeUpdate(of: object, &request) else {
                gone.append(VersionConflict(id: object.storedID, expectedVersion: 0, stored: nil))
                continue
            }
            freezeLinks(of: object, &request)
        }
        for object in changes.deleted {
            // An object that was deleted from its beginning may still be a fault.
            if !object.hasRow { try loadRow(of: object) }
            request.deletions.append(.init(id: object.storedID, expectedVersion: object.row?.version ?? 0))
            if object.changes != nil { freezeFollowedDestinations(of: object, &request) }
        }
        // An update or a deletion in the request checks its version itself; every other locked object needs a lock.
        let named = locked.isEmpty ? [] : Set(request.updates.map(\.id) + request.deletions.map(\.id))
        for (object, version) in locked(in: part)
        where !(named.contains(object.storedID) && object.row?.version == version) {
            request.locks.append(.init(id: object.storedID, expectedVersion: version))
        }
        if source.parts.count > 1 {
            // The check reads both sides of a relationship.
            applyUnreadInverses()
            try checkParts(changes)
        }
        return request
    }

    /// Adds the changed destinations of a deleted object for relationships that its delete rules follow.
    private func freezeFollowedDestinations(of object: ManagedObject, _ request: inout SaveRequest) {
        guard let changes = object.changes, let row = object.row else { return }
        var destinations: [(slot: Int, destination: ObjectID?)] = []
        for (slot, id) in changes.values.destinations.pairs where object.entity.relationships[slot].isFollowedByDeletion
        {
            // An unsaved destination leaves no trace in the store.
            let destination = id.flatMap { isNotNew($0) ? $0 : nil }
            if row.destination(at: slot) != destination { destinations.append((slot, destination)) }
        }
        if !destinations.isEmpty {
            request.updates.append(
                .init(id: object.storedID, expectedVersion: row.version, destinations: destinations))
        }
        for slot in object.shape.sentRelationships.lazy.map(\.slot)
        where object.entity.relationships[slot].isFollowedByDeletion {
            guard let change = changes.values.toMany[slot] else { continue }
            let (added, removed) = change.differences
            let stored = added.filter(isNotNew)
            if stored.isEmpty && removed.isEmpty { continue }
            request.links.append(.init(owner: object.storedID, slot: slot, added: stored, removed: removed))
        }
    }

    /// The locked objects of a part.
    func locked(in part: SourcePart) -> [(object: ManagedObject, version: UInt64)] {
        locked.filter { object, version in
            object.managedObjectContext === self && !object.isInserted && part.holds(object.storedID)
        }
        .map { ($0.key, $0.value) }
    }

    private func insertion(of object: ManagedObject) -> SaveRequest.Insertion {
        object.withShape { shape in
            var values =
                object.newValues ?? RowValues(shape.defaultValues, relationshipCount: shape.entity.relationships.count)
            if !memory.deleted.isEmpty {
                for relationship in shape.entity.relationships {
                    let slot = relationship.slot
                    guard let id = values.destination(at: slot), isDeletedHere(id, shape.inverses[slot])
                    else { continue }
                    values = values.copy()
                    values.setDestination(nil, at: slot)
                }
            }
            guard shape.hasTransientAttributes else { return SaveRequest.Insertion(id: object.storedID, values) }
            let stored = values.copy()
            for slot in shape.entity.attributes.indices where shape.entity.attributes[slot].isTransient {
                stored.setAttribute(.null, at: slot)
            }
            return SaveRequest.Insertion(id: object.storedID, stored)
        }
    }

    /// Adds the changes of a row; `false` if there is no row.
    private func freezeUpdate(of object: ManagedObject, _ request: inout SaveRequest) throws(ContextError) -> Bool {
        assert(!object.isInserted && object.newValues == nil, "a new object is updated")
        guard let changes = object.changes else { return true }
        let shape = object.shape
        let changesOrder = !changes.values.toMany.isEmpty && changes.values.changesOrder
        guard !changes.values.attributes.isEmpty || !changes.values.destinations.isEmpty || changesOrder else {
            return true
        }
        if !object.hasRow { try loadRow(of: object) }
        guard let row = object.row else { return false }
        // If all values differ, which is common, the object's own list is used without a copy.
        var values = changes.values.attributes.pairs
        var sameCount = 0
        for position in values.indices where !shape.differs(row, values[position].slot, values[position].value) {
            sameCount += 1
        }
        if sameCount > 0 { values.removeAll { !shape.differs(row, $0.slot, $0.value) } }
        var destinations: [(slot: Int, destination: ObjectID?)] = []
        if !changes.values.destinations.isEmpty {
            for (slot, id) in changes.values.destinations.pairs {
                let destination = id.flatMap { isDeletedHere($0, shape.inverses[slot]) ? nil : $0 }
                if row.destination(at: slot) != destination { destinations.append((slot, destination)) }
            }
        }
        guard changesOrder || !values.isEmpty || !destinations.isEmpty else { return true }
        request.updates.append(
            SaveRequest.Update(
                id: object.storedID, expectedVersion: row.version, values: values, destinations: destinations))
        return true
    }

    /// Whether this save deletes the destination of a relationship without inverse.
    private func isDeletedHere(_ id: ObjectID, _ inverse: Relationship?) -> Bool {
        inverse == nil && !memory.deleted.isEmpty && memory.registry[id]?.state.contains(.deleted) == true
    }

    private func freezeLinks(of object: ManagedObject, _ request: inout SaveRequest) {
        guard object.withShape({ !$0.sentRelationships.isEmpty }), let changes = object.changes else { return }
        for slot in object.shape.sentRelationships.lazy.map(\.slot) {
            guard let change = changes.values.toMany[slot] else { continue }
            let inverse = object.withShape { $0.inverses[slot] }
            if change.isWhole {
                if change.changesOrder { request.links.append(order(change, of: object, slot, inverse)) }
            } else if !change.added.isEmpty || !change.removed.isEmpty {
                let added = change.added.filter { !isDeletedHere($0, inverse) }
                request.links.append(
                    .init(
                        owner: object.storedID, slot: slot, added: added.sorted(by: ObjectID.inOrderOfCreation),
                        removed: change.removed.sorted(by: ObjectID.inOrderOfCreation)))
            }
        }
    }

    /// The change of an ordered relationship: the edits of the stored order if they are known, else the whole order.
    private func order(
        _ change: ToManyChange, of object: ManagedObject, _ slot: Int, _ inverse: Relationship?
    ) -> SaveRequest.LinkChange {
        // If to-one relationships of the destinations define the members, the list adds only their order.
        let base = inverse?.isToMany == false ? nil : change.base
        let mayNameDeleted = inverse == nil && !memory.deleted.isEmpty
        if !object.isInserted, !mayNameDeleted, let edits = change.edits {
            return .init(owner: object.storedID, slot: slot, edits: edits, orderBase: base)
        }
        var list = change.list ?? []
        if mayNameDeleted { list.removeAll { isDeletedHere($0, inverse) } }
        return .init(owner: object.storedID, slot: slot, order: list, orderBase: base)
    }

    /// Refuses relationships between objects of different parts.
    private func checkParts(_ changes: ChangeSet) throws(ContextError) {
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
                let other = try memory.registry[id].map { object throws(ContextError) in try part(of: object) }
                guard let other = other ?? source.part(holding: id), other.number != home else { continue }
                throw .relationshipAcrossStores(
                    owner: object.storedID, property: object.entity.relationships[slot].name, destination: id)
            }
        }
    }
}

extension Relationship {
    /// Whether the relationship's destinations can forbid a deletion of the object, or are deleted with it.
    fileprivate var isFollowedByDeletion: Bool { deleteRule == .cascade || deleteRule == .deny }
}

extension EntityShape {
    /// Whether the attribute is not transient and `value` differs from the stored value.
    fileprivate func differs(_ row: ObjectSnapshot, _ slot: Int, _ value: AttributeValue) -> Bool {
        row.value(at: slot) != value && !(hasTransientAttributes && entity.attributes[slot].isTransient)
    }
}

extension ObjectChanges.Values {
    /// Whether an ordered relationship has changed its order.
    fileprivate var changesOrder: Bool {
        toMany.pairs.contains { _, change in change.changesOrder }
    }
}
