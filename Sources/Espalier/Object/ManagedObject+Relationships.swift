// Relationships: reading destinations, and changing both sides together (MO-24).
//
// Invariants
//   1. After `link` and `unlink`, `b` is a destination of `a` if and only if `a` is a destination of `b`'s inverse.
//   2. A change is checked as a whole before it is applied: a refused one leaves both sides as they were.
//   3. A change of the unordered to-many side does not load the stored list.

import EspalierModel
import EspalierStore

extension ManagedObject {
    // MARK: Reading

    /// The destination of a to-one relationship; fires the fault.
    final func destinationID(at slot: Int) -> ObjectID? {
        if let destination = unsavedDestinationID(at: slot) { return destination }
        if !isFulfilled {
            fireFault()
            if let destination = unsavedDestinationID(at: slot) { return destination }
        }
        return storedDestinationID(at: slot)
    }

    /// The unsaved destination of a to-one relationship, which may equal the committed one; `nil` if there is none.
    @inline(__always)
    final func unsavedDestinationID(at slot: Int) -> ObjectID?? {
        if let newValues { return .some(newValues.destination(at: slot)) }
        guard let changes else { return nil }
        return changes.values.destinations[slot]
    }

    /// Sets the destination of a to-one relationship on this side only.
    final func setRawDestination(_ id: ObjectID?, at slot: Int) {
        assert(!entity.relationships[slot].isToMany, "\(entity.relationships[slot].name) is to-many")
        willChange { object in .destination(slot, object.destinationID(at: slot).map(object.end)) }
        if let newValues = changeableNewValues() {
            newValues.setDestination(id, at: slot)
        } else {
            if changes?.values.bases != nil, row?.destination(at: slot) == id { forgetBase(ofDestination: slot) }
            let changes = changeable()
            changes.setDestination(id, at: slot)
            if !changes.values.yielded.isEmpty { changes.values.yielded.removeAll { $0 == slot } }
        }
    }

    /// Replaces the destinations of an object that no store has yet.
    final func replaceNewDestinations(_ replacement: (ObjectID) -> ObjectID?) {
        for slot in 0..<(newValues?.relationshipCount ?? 0) {
            guard let id = newValues?.destination(at: slot) else { continue }
            let new = replacement(id)
            if new != id { setRawDestination(new, at: slot) }
        }
    }

    /// The destination of a to-one relationship in the row, if the row is in memory.
    @inline(__always)
    final func storedDestinationID(at slot: Int) -> ObjectID? {
        withRow { $0.destination(at: slot, of: $1) } ?? nil
    }

    /// The object at the other end of a to-one relationship.
    final func destination(at slot: Int) -> ManagedObject? {
        guard let id = shownDestinationID(at: slot) else { return nil }
        let known = withContext { $0.memory.registry[id] } ?? nil
        if let known, !known.wantsCohort { return known }
        // A strong reference: the `init` of a new object and the `deinit` of others may release the context.
        guard let context = managedObjectContext else {
            requireContext()
            return nil
        }
        let relationship = withShape { $0.entity.relationships[slot] }
        let object = context.object(for: id, known, from: self, across: relationship)
        context.keepDestination(object)
        return object
    }

    /// The destinations of a to-many relationship in its order; if it has none, stored ones by key, then new ones.
    final func destinationIDs(at slot: Int) -> [ObjectID] {
        applyUnreadInverses()
        guard let change = changes?.values.toMany[slot] else { return storedDestinationIDs(at: slot) }
        if let list = change.list { return list }
        let ids = change.applied(to: storedDestinationIDs(at: slot))
        assert(StepCount.note(ids.count + change.removed.count))
        return ids
    }

    /// The destinations of a relationship, to-one or to-many, as the functions above have them; but an error of the
    /// store is thrown, and does not count as no destinations.
    final func readDestinationIDs(of relationship: Relationship) throws(ContextError) -> [ObjectID] {
        let slot = relationship.slot
        guard relationship.isToMany else {
            if let unsaved = unsavedDestinationID(at: slot) { return unsaved.map { [$0] } ?? [] }
            if !hasRow, mayBeStored, let context = managedObjectContext { try context.loadRow(of: self) }
            return storedDestinationID(at: slot).map { [$0] } ?? []
        }
        applyUnreadInverses()
        let change = changes?.values.toMany[slot]
        if let list = change?.list { return list }
        guard mayBeStored, let context = managedObjectContext else { return change?.applied(to: []) ?? [] }
        let stored = try context.storedDestinations(of: relationship, for: self)
        guard let change else { return stored }
        let ids = change.applied(to: stored)
        assert(StepCount.note(ids.count + change.removed.count))
        return ids
    }

    /// The objects at the other end of a to-many relationship.
    final func destinations(at slot: Int) -> [ManagedObject] {
        // A strong reference, as above.
        guard let context = managedObjectContext else {
            requireContext()
            return []
        }
        let relationship = withShape { $0.entity.relationships[slot] }
        return context.objects(for: shownDestinationIDs(at: slot), from: self, across: relationship)
    }

    /// The destinations in the store, without unsaved changes.
    final func storedDestinationIDs(at slot: Int) -> [ObjectID] {
        guard mayBeStored else { return [] }
        return withContext { context in
            let relationship = withShape { $0.entity.relationships[slot] }
            do throws(ContextError) {
                return try context.storedDestinations(of: relationship, for: self)
            } catch {
                recordUnreadable(relationship.name, error)
                return []
            }
        } ?? []
    }

    // MARK: Writing

    /// Makes `destination` the destination of a to-one relationship, or refuses and returns the reason.
    final func setDestination(_ destination: ManagedObject?, at slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        guard !relationship.isToMany else { return .wrongType(found: "one object", expected: "several objects") }
        let reason =
            if let destination {
                reasonNotToRelate(to: CollectionOfOne(destination), across: relationship)
            } else {
                reasonNotToRelate(to: EmptyCollection(), across: relationship)
            }
        if let reason { return reason }
        let old = shownDestinationID(at: slot)
        if state.contains(.inaccessible) { return .rowIsGone }
        guard old != destination?.storedID else {
            noteChange()
            return nil
        }
        if let destination {
            if let old { leave(old, across: relationship) }
            linkFree(destination, across: relationship)
        } else if let old {
            unlink(old, across: relationship)
        }
        return nil
    }

    /// Makes `destinations` the destinations of a to-many relationship, or refuses and returns the reason.
    final func setDestinations(_ destinations: [ManagedObject], at slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        guard relationship.isToMany else { return .wrongType(found: "several objects", expected: "one object") }
        if let reason = reasonNotToRelate(to: destinations, across: relationship) { return reason }
        if !isFulfilled { fireFault() }
        if state.contains(.inaccessible) { return .rowIsGone }
        // The new list has nothing of what readers do not get: that leaves the order with steps, as in other changes.
        let edition = relationship.isOrdered ? dropHidden(inOrder: slot) : nil
        defer { noteHidesNothing(inOrder: slot, at: edition) }
        let old = shownDestinationIDs(at: slot)
        let oldSet = Set(old)
        var newSet = Set<ObjectID>()
        let new = destinations.filter { newSet.insert($0.storedID).inserted }
        if relationship.isOrdered, old != new.map(\.storedID) { willChange { .order(slot, old.map($0.end)) } }
        for id in old where !newSet.contains(id) { unlink(id, across: relationship) }
        for destination in new where !oldSet.contains(destination.storedID) { link(destination, across: relationship) }
        if relationship.isOrdered {
            let base = beginChange(of: relationship).values.toMany[slot]?.base ?? []
            changeable().values.toMany[slot] = ToManyChange(list: new.map(\.storedID), base: base)
        }
        noteChange()
        return nil
    }

    /// Adds destinations to a to-many relationship, at the end if it is ordered, or refuses all and returns the reason.
    final func addDestinations(_ destinations: [ManagedObject], at slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        if let reason = reasonNotToRelate(to: destinations, across: relationship) { return reason }
        for destination in destinations where !isLinked(to: destination, across: relationship) {
            link(destination, across: relationship)
        }
        return nil
    }

    /// Removes destinations from a to-many relationship, or refuses and returns the reason; ignores other objects.
    final func removeDestinations(_ destinations: [ManagedObject], at slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        if let reason = reasonNotToChange() { return reason }
        for destination in destinations where destination.managedObjectContext === managedObjectContext {
            if isLinked(to: destination, across: relationship) { unlink(destination.storedID, across: relationship) }
        }
        return nil
    }

    /// Whether `destination` is a destination; reads the to-one side if there is one.
    ///
    /// - Complexity: as `hasDestination`; O(1) if the relationship or its inverse is to-one.
    final func isLinked(to destination: ManagedObject, across relationship: Relationship) -> Bool {
        if !relationship.isToMany { return destinationID(at: relationship.slot) == destination.storedID }
        if let inverse = withShape({ $0.inverses[relationship.slot] }), !inverse.isToMany {
            return destination.destinationID(at: inverse.slot) == storedID
        }
        return hasDestination(destination.storedID, at: relationship.slot)
    }

    /// The reason why these objects cannot be destinations; `nil` if they can.
    ///
    /// Objects without a context are inserted into the context of the others.
    final func reasonNotToRelate(
        to destinations: some Collection<ManagedObject>, across relationship: Relationship
    ) -> Violation.Reason? {
        if let reason = reasonNotToChange() { return reason }
        if destinations.allSatisfy({ isPlain($0, at: relationship.slot) }) { return nil }
        guard let context = managedObjectContext ?? destinations.lazy.compactMap(\.managedObjectContext).first else {
            return destinations.isEmpty ? nil : .noContext
        }
        guard managedObjectContext != nil || context.canInsert(self) else { return .objectOfOtherContext(storedID) }
        let isOutside = managedObjectContext == nil
        // The slots of an object that is outside and of another model may be others than those of the context.
        if isOutside, context.shape(of: entity)?.entity.hasLayout(of: entity) != true { return .noContext }
        let expected =
            isOutside
            ? context.model.entity(named: relationship.description.destination)
            : context.model.entities[relationship.destination]
        guard let expected else { return .unknownEntity(known: context.model.entities.map(\.name)) }
        for destination in destinations {
            if let other = destination.managedObjectContext, other !== context {
                return .objectOfOtherContext(destination.storedID)
            }
            if !destination.state.isDisjoint(with: [.deleted, .ended, .inaccessible]) {
                let id = destination.storedID
                return destination.state.contains(.merged) ? .objectIsMerged(into: id) : .destinationIsDeleted(id)
            }
            guard context.shape(of: destination.entity)?.entity.isKind(of: expected) == true else {
                return .wrongType(found: destination.entity.name, expected: expected.name)
            }
        }
        if isOutside { context.insertNew(self) }
        for outside in destinations where outside.managedObjectContext == nil { context.insertNew(outside) }
        return nil
    }

    /// Whether `destination` is the usual case that needs no other checks: an object of this context that is not
    /// deleted, of exactly the destination's entity.
    private func isPlain(_ destination: ManagedObject, at slot: Int) -> Bool {
        isInContext(of: destination) && destination.state.isDisjoint(with: [.deleted, .ended, .inaccessible])
            && withShape { slot < $0.destinationEntities.count && destination.entity === $0.destinationEntities[slot] }
    }

    // MARK: Both sides at once

    /// Relates both sides, after a to-one side has left its former destination.
    final func link(_ other: ManagedObject, across relationship: Relationship) {
        if !relationship.isToMany, let old = destinationID(at: relationship.slot), old != other.storedID {
            leave(old, across: relationship)
        }
        linkFree(other, across: relationship)
    }

    /// Relates both sides; this side is to-many, or has left its former destination.
    private func linkFree(_ other: ManagedObject, across relationship: Relationship) {
        assert(isInContext(of: other), "objects of two contexts are related")
        let inverse = withShape { $0.inverses[relationship.slot] }
        alignMerges(with: other, across: relationship)
        if let inverse, !inverse.isToMany, let old = other.destinationID(at: inverse.slot), old != storedID {
            other.leave(old, across: inverse)
        }
        addRaw(other.storedID, to: relationship)
        assert(
            relationship.isToMany || unsavedDestinationID(at: relationship.slot) == .some(other.storedID),
            "\(relationship.name) does not lead to its new destination")
        guard let inverse, !(other === self && inverse === relationship) else { return }
        if !relationship.isToMany, inverse.isToMany, !inverse.isOrdered, other.state.contains(.inserted) {
            other.willChange { .added(inverse.slot, $0.end(storedID)) }
            withContext { $0.memory.unreadInverses.add(storedID, to: other.storedID, at: inverse.slot) }
            other.noteChange()
        } else {
            other.addRaw(storedID, to: inverse)
        }
    }

    /// Applies the additions that the to-one sides of other objects have made to relationships of a new object.
    final func applyUnreadInverses() {
        if state.contains(.inserted) { withContext { $0.applyUnreadInverses() } }
    }

    /// Adds an object whose to-one side leads here.
    final func applyUnreadInverse(_ id: ObjectID, at slot: Int) {
        beginChange(of: entity.relationships[slot]).add(id, toMany: slot)
    }

    /// Unrelates both sides.
    final func unlink(_ id: ObjectID, across relationship: Relationship) {
        if let other = withContext({ $0.memory.registry[id] }) ?? nil { alignMerges(with: other, across: relationship) }
        removeRaw(id, from: relationship)
        leave(id, across: relationship)
    }

    /// Removes this object from the other side only.
    ///
    /// The caller changes this side. A to-one relationship that gets another destination is not emptied in between,
    /// because that would count as a change that was taken back.
    private func leave(_ id: ObjectID, across relationship: Relationship) {
        assert(relationship.slot < entity.relationships.count, "\(relationship.name) is of another entity")
        guard let inverse = withShape({ $0.inverses[relationship.slot] }), let context = managedObjectContext else {
            return
        }
        let other = context.object(for: id, from: self, across: relationship)
        if other === self && inverse === relationship { return }
        other.removeRaw(storedID, from: inverse)
    }

    /// Whether the other end of a relationship is ordered.
    final func isListed(across relationship: Relationship) -> Bool {
        withShape { $0.inverses[relationship.slot]?.isOrdered } == true
    }

    /// Makes both ends of an unordered many-to-many relationship record the next change in the same way.
    ///
    /// If a merge may have changed the stored list of one end, an addition and a removal do not cancel out there.
    @inline(__always)
    final func alignMerges(with other: ManagedObject, across relationship: Relationship) {
        if relationship.isToMany, withContext({ $0.hasMergedSets }) == true { align(with: other, relationship) }
    }

    @inline(never)
    private final func align(with other: ManagedObject, _ relationship: Relationship) {
        guard !relationship.isOrdered,
            let inverse = withShape({ $0.inverses[relationship.slot] }), inverse.isToMany, !inverse.isOrdered
        else { return }
        let (here, there) = (changes?.values.toMany[relationship.slot], other.changes?.values.toMany[inverse.slot])
        let isMergedHere = here?.isMerged == true
        guard isMergedHere != (there?.isMerged == true) else { return }
        let (late, end) = isMergedHere ? (other, inverse) : (self, relationship)
        late.beginChange(of: end).values.toMany.modify(end.slot) { $0.noteMerge() }
    }

    /// Makes `id` the destination, or one of the destinations, on both sides, to revert a change; in ordered lists this
    /// object returns to its former place.
    final func relate(to id: ObjectID?, at slot: Int) {
        let relationship = entity.relationships[slot]
        guard let context = managedObjectContext else { return }
        if let id {
            let other = context.object(for: id, from: self, across: relationship)
            if !isLinked(to: other, across: relationship) { link(other, across: relationship) }
            if let inverse = withShape({ $0.inverses[slot] }) { other.restorePlace(of: storedID, at: inverse.slot) }
        } else if let old = destinationID(at: slot) {
            unlink(old, across: relationship)
        }
    }

    /// Moves a destination back to its place in the stored order, if the relationship is ordered and stored with it.
    final func restorePlace(of id: ObjectID, at slot: Int) {
        guard let change = changes?.values.toMany[slot], change.isWhole, change.base.contains(id) else { return }
        withContext { $0.memory.unseen.add(storedID) }
        changeable().values.toMany.modify(slot) {
            $0.remove(id)
            $0.restore(id)
        }
    }

    /// Makes `id` the destination, or one of the destinations, on this side only.
    final func addRaw(_ id: ObjectID, to relationship: Relationship) {
        if !relationship.isToMany {
            if !isFulfilled { fireFault() }
            setRawDestination(id, at: relationship.slot)
        } else {
            willChange { .added(relationship.slot, $0.end(id)) }
            let changes = beginChange(of: relationship)
            if let isStored = isStoredBelowMerge(id, relationship) {
                changes.settle(id, toMany: relationship.slot, isMember: true, isStored: isStored)
            } else {
                changes.add(id, toMany: relationship.slot)
            }
        }
        noteChange()
    }

    /// Removes `id` from this side only.
    final func removeRaw(_ id: ObjectID, from relationship: Relationship) {
        if state.contains(.inaccessible) { return }
        if !relationship.isToMany {
            guard destinationID(at: relationship.slot) == id else { return }
            setRawDestination(nil, at: relationship.slot)
        } else {
            willChange { $0.removal(of: id, from: relationship) }
            let changes = beginChange(of: relationship)
            if let isStored = isStoredBelowMerge(id, relationship) {
                changes.settle(id, toMany: relationship.slot, isMember: false, isStored: isStored)
            } else {
                changes.remove(id, fromMany: relationship.slot)
            }
        }
        noteChange()
    }

    /// Whether the stored set has `id`, if a merge may have changed that set; `nil` if no merge has, or if the store
    /// cannot be read.
    private func isStoredBelowMerge(_ id: ObjectID, _ relationship: Relationship) -> Bool? {
        guard changes?.values.toMany[relationship.slot]?.isMerged == true, let context = managedObjectContext else {
            return nil
        }
        do throws(ContextError) {
            return try context.stores(id, in: relationship, of: self)
        } catch {
            context.childSave?.noteFailure(error)
            return nil
        }
    }

    /// The changes of this object, with a change of a to-many relationship, which is begun if there is none.
    ///
    /// An ordered relationship changes as a whole list, so its change needs the stored list and the version of the row
    /// to which the list belongs. The change of a set needs neither.
    @discardableResult
    final func beginChange(of relationship: Relationship) -> ObjectChanges {
        assert(relationship.isToMany, "\(relationship.name) is to-one")
        applyUnreadInverses()
        if let changes, changes.values.toMany.contains(relationship.slot) { return changeable() }
        var start = ToManyChange()
        if relationship.isOrdered {
            // The row is read first: a save notices a list that is newer than its row, but not one that is older.
            if !hasRow { loadRow() }
            let stored = storedDestinationIDs(at: relationship.slot)
            start = ToManyChange(list: stored, base: stored)
        }
        let changes = changeable()
        changes.values.toMany[relationship.slot] = start
        assert(start.isWhole == relationship.isOrdered, "\(relationship.name) changes as a whole: \(start.isWhole)")
        return changes
    }
}
