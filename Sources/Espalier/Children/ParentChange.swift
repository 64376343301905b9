// The steps by which the parent's objects take the changes of a child: objects, values, relationships, deletions.
//
// Invariants
//   1. Deletions come last: delete rules then follow relationships as the child has changed them.
//   2. The request was checked: a change that an object refuses nevertheless is recorded for the parent's save.
//   3. Changes that an object of the parent shares with one of the child are as the request says, and do not change any
//      more (`ObjectChanges.isShared`).

import EspalierModel
import EspalierStore

/// One application of a child's changes to its parent.
struct ParentChange {
    /// The objects that the parent's delete rules reach, and which the request does not name.
    struct Effects {
        /// Those that cascades delete.
        var reached: [ObjectID] = []
        /// Those that lose a destination.
        var left: [ObjectID] = []
    }

    private let context: ManagedObjectContext
    private let permanentID: (ObjectID) -> ObjectID

    init(_ context: ManagedObjectContext, permanentID: @escaping (ObjectID) -> ObjectID) {
        (self.context, self.permanentID) = (context, permanentID)
    }

    /// Makes the changes of a request, apart from the effects of delete rules, which it only predicts.
    ///
    /// - Parameters:
    ///   - objects: the context's objects of the updates, and then of the deletions; `nil` for those that are searched.
    ///   - senders: the child's objects of the updates; `nil` for those whose changes are made one by one.
    func make(_ request: SaveRequest, of objects: [ManagedObject?], from senders: [ManagedObject?]) -> Effects {
        let inserted = request.insertions.compactMap { insertion in
            insert(insertion).map { (object: $0, insertion: insertion) }
        }
        for (object, insertion) in inserted {
            for relationship in object.entity.relationships where !relationship.isToMany {
                guard let id = insertion.row.destination(at: relationship.slot) else { continue }
                relate(object, to: id, across: relationship)
            }
        }
        for (position, update) in request.updates.enumerated() {
            var known = objects[position]
            // A hook may have made the context forget its objects.
            if known?.managedObjectContext !== context { known = object(update.id) }
            guard let target = known else { continue }
            if let sender = senders[position], target.adoptChanges(of: sender, update) { continue }
            target.countingChanges { change(target, update) }
        }
        for link in request.links where !link.hasOrder { change(link) }
        let deletedIDs = Set(request.deletions.map(\.id))
        for link in request.links where link.hasOrder { order(link, besides: deletedIDs) }
        let deleted = request.deletions.compactMap { object($0.id) }
        let effects = effects(of: deleted, request)
        for object in deleted { context.markDeleted(object, callsHook: false) }
        return effects
    }

    private func object(_ id: ObjectID) -> ManagedObject? { try? context.object(with: permanentID(id)) }

    private func change(_ object: ManagedObject, _ update: SaveRequest.Update) {
        for (slot, value) in update.values {
            if let reason = object.setAttributeValue(value, at: slot) {
                object.refuse(object.entity.attributes[slot].name, reason)
            }
        }
        for (slot, id) in update.destinations { relate(object, to: id, across: object.entity.relationships[slot]) }
    }

    // MARK: New objects

    private func insert(_ insertion: SaveRequest.Insertion) -> ManagedObject? {
        let id = permanentID(insertion.id)
        if let known = context.memory.registry[id] {
            if known.state.contains(.deleted) {
                context.takeBackDeletion(of: known)
                set(insertion, of: known)
                return known
            }
            if known.state.contains(.gone) {
                set(insertion, of: known)
                context.turnNew(known)
                return known
            }
            // A fault that was made for the ID before the row, or after the row was deleted; `save` has refused a
            // changed one.
            guard !known.hasChanges else { return nil }
            context.dismiss(known)
        }
        guard let shape = context.shape(ofTag: id.entityTag).object else { return nil }
        let object = shape.objectClass.init(ObjectSeed(newOf: shape))
        // The initializer may have made the context forget its objects, or have inserted the object.
        guard object.managedObjectContext == nil, !shape.context.isNil else { return nil }
        object.storedID = id
        object.newValues = RowValues(insertion.row.attributes, relationshipCount: insertion.row.relationshipCount)
        context.addInserted(object)
        return object
    }

    /// Gives an object that was deleted in one way or another the values of an insertion, and no relationships yet.
    private func set(_ insertion: SaveRequest.Insertion, of object: ManagedObject) {
        for attribute in object.entity.attributes where !attribute.isTransient && attribute.derivation == nil {
            let value = insertion.row.attribute(at: attribute.slot)
            if object.attributeValue(at: attribute.slot) != value {
                _ = object.setAttributeValue(value, at: attribute.slot)
            }
        }
        for relationship in object.entity.relationships {
            let inverse = context.model.inverse(of: relationship)
            for id in object.destinationIDs(across: relationship) {
                let other = context.object(for: id, from: object, across: relationship)
                // The rules of the deletion have removed the object from most of the other ends.
                if let inverse, other.leads(to: object, across: inverse) {
                    object.unlink(id, across: relationship)
                } else {
                    object.removeRaw(id, from: relationship)
                }
            }
            assert(object.destinationIDs(across: relationship).isEmpty, "a destination stays")
        }
    }

    // MARK: Relationships

    private func relate(_ object: ManagedObject, to id: ObjectID?, across relationship: Relationship) {
        let other = id.map { context.object(for: permanentID($0), from: object, across: relationship) }
        if let reason = object.setDestination(other, at: relationship.slot) {
            object.refuse(relationship.name, reason)
        }
    }

    private func change(_ link: SaveRequest.LinkChange) {
        guard let object = object(link.owner) else { return }
        let relationship = object.entity.relationships[link.slot]
        for id in link.removed where object.hasDestination(id, at: link.slot) {
            object.unlink(id, across: relationship)
        }
        guard !link.added.isEmpty else { return }
        let added = context.objects(for: link.added.map(permanentID), from: object, across: relationship)
        if let reason = object.addDestinations(added, at: link.slot) { object.refuse(relationship.name, reason) }
    }

    /// Changes an order.
    ///
    /// - Parameter deleted: the objects that the request deletes, which are still in the parent's lists.
    private func order(_ link: SaveRequest.LinkChange, besides deleted: Set<ObjectID>) {
        guard let object = object(link.owner) else { return }
        let relationship = object.entity.relationships[link.slot]
        if let edits = link.edits, make(edits, of: object, relationship, besides: deleted) { return }
        guard let order = link.order?.map(permanentID) else { return }
        let present = object.destinationIDs(at: link.slot)
        let merged: [ObjectID]
        if let base = link.orderBase, object.withShape({ $0.inverses[link.slot]?.isToMany }) != false {
            merged = ListMerge(base: base.map(permanentID), mine: order, stored: present).merged(inOrderOfStore: false)
        } else {
            // To-one relationships define the members.
            let (members, ordered) = (Set(present), Set(order))
            merged = order.filter(members.contains) + present.filter { !ordered.contains($0) }
        }
        guard merged != present else { return }
        let destinations = context.objects(for: merged, from: object, across: relationship)
        if let reason = object.setDestinations(destinations, at: link.slot) {
            object.refuse(relationship.name, reason)
        }
    }

    /// Makes the edits of an order one by one, so that only the destinations that they name become objects, and a save
    /// of the parent sends edits too; `false`, and no change, if the parent's order is not the one that was edited.
    ///
    /// - Complexity: O(k log n) for k edits of n destinations, and O(n) for the comparison of the two orders.
    private func make(
        _ edits: OrderEdits, of object: ManagedObject, _ relationship: Relationship, besides deleted: Set<ObjectID>
    ) -> Bool {
        let slot = relationship.slot
        // To-one relationships define the members, and have changed already, except by deletions.
        let isDerived = object.withShape { $0.inverses[slot]?.isToMany } == false
        let new = edits.placed.map { (id: permanentID($0.id), isNew: edits.formerIndex(of: $0.id) == nil) }
        let gone = isDerived ? edits.removed.filter { !deleted.contains($0) } : []
        let come = isDerived ? new.filter(\.isNew).map(\.id) : []
        guard isFormerOrder(object.destinationIDs(at: slot), edits, without: gone, with: come) else { return false }
        if !isDerived { for id in edits.removed { object.unlink(id, across: relationship) } }
        for (placement, (id, isNew)) in zip(edits.placed, new) {
            var target = 0
            if let predecessor = placement.predecessor.map(permanentID) {
                guard let index = object.destinationIndex(of: predecessor, inOrder: slot) else { continue }
                target = index + 1
            }
            var reason: Violation.Reason?
            if isNew, !isDerived {
                let other = context.object(for: id, from: object, across: relationship)
                reason = object.insertDestinations([other], at: target, inOrder: slot)
            } else if let source = object.destinationIndex(of: id, inOrder: slot) {
                if source < target { target -= 1 }
                if source != target { reason = object.moveDestination(from: source, to: target, inOrder: slot) }
            }
            if let reason { object.refuse(relationship.name, reason) }
        }
        return true
    }

    /// Whether `present` is the order that was edited, without the destinations `gone`, which are in the former order,
    /// and with `come` at its end in any order.
    private func isFormerOrder(
        _ present: [ObjectID], _ edits: OrderEdits, without gone: [ObjectID], with come: [ObjectID]
    ) -> Bool {
        let former = edits.formerOrder
        if gone.isEmpty, come.isEmpty { return present == former }
        guard present.count == former.count - gone.count + come.count else { return false }
        var (start, passed) = (0, 0)
        // Between two destinations that are gone, the others are as before.
        for end in gone.map(edits.formerIndex) + [former.count] {
            guard let end, former[start..<end] == present[start - passed..<end - passed] else { return false }
            (start, passed) = (end + 1, passed + 1)
        }
        return Set(present[(present.count - come.count)...]) == Set(come)
    }

    // MARK: Deletions

    private func effects(of deleted: [ManagedObject], _ request: SaveRequest) -> Effects {
        var effects = Effects()
        guard !deleted.isEmpty else { return effects }
        let named = Set((request.updates.map(\.id) + request.deletions.map(\.id)).map(permanentID))
        var (seen, left, next) = (Set(deleted), Set<ObjectID>(), deleted)
        while let object = next.popLast() {
            for relationship in object.entity.relationships {
                let ids = object.destinationIDs(across: relationship)
                for other in context.objects(for: ids, from: object, across: relationship) {
                    if relationship.deleteRule == .cascade {
                        guard seen.insert(other).inserted else { continue }
                        next.append(other)
                        if !named.contains(other.storedID) { effects.reached.append(other.storedID) }
                    } else if !named.contains(other.storedID) {
                        left.insert(other.storedID)
                    }
                }
            }
        }
        effects.left = left.sorted(by: ObjectID.inOrderOfCreation)
        return effects
    }
}

extension ManagedObjectContext {
    /// Makes a changed object whose row is deleted a new one with the same attributes.
    fileprivate func turnNew(_ object: ManagedObject) {
        childSave?.noteLoss(of: object)
        object.newValues = RowValues(
            object.entity.attributes.map { object.attributeValue(at: $0.slot) },
            relationshipCount: object.entity.relationships.count)
        (object.changes, object.row) = (nil, nil)
        object.state.subtract([.updated, .gone])
        object.state.formUnion([.inserted, .fulfilled])
        memory.updated.remove(object)
        memory.inserted.insert(object)
        countChange(of: object)
        noteRefreshed(object)
    }
}

extension ManagedObject {
    /// Makes the changes of a child's object those of this one too, without a copy, if that is all that an update of
    /// the row does; returns whether it is.
    ///
    /// Only values of attributes of an unchanged object can be adopted so: a relationship has another end, and an undo
    /// manager or an observer needs each value that changes.
    fileprivate func adoptChanges(of sender: ManagedObject, _ update: SaveRequest.Update) -> Bool {
        guard let adopted = sender.changes, update.destinations.isEmpty,
            adopted.consist(of: update.values), state.contains(.registered), isClean
        else { return false }
        if !isFulfilled { fireFault() }
        // The hook of the fault may have set values, or may have changed the object or the context.
        guard changes == nil, hasRow, isFulfilled, state.contains(.registered), isClean,
            withContext({ $0.memory.notesChanges }) == false, holds(update.values)
        else { return false }
        adopted.isShared = true
        changes = adopted
        noteChange()
        return true
    }

    /// Whether the attributes can have these values.
    private func holds(_ values: [(slot: Int, value: AttributeValue)]) -> Bool {
        withShape { shape in values.allSatisfy { shape.settableTypes[$0.slot]?.canHold($0.value) == true } }
    }

    /// The destinations of a to-one or to-many relationship.
    fileprivate func destinationIDs(across relationship: Relationship) -> [ObjectID] {
        if relationship.isToMany { return destinationIDs(at: relationship.slot) }
        return destinationID(at: relationship.slot).map { [$0] } ?? []
    }
}
