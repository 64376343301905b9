// Undoes the steps of an action, the last one first.
//
// Invariants
//   1. Undoing a step changes one side of one object, without calling accessors and hooks (MC-55). So undoing all steps
//      of an action restores exactly the state before it, if nothing else has changed the objects since.
//   2. If a save or a merge has changed them since, the steps restore the values that they have and skip objects whose
//      rows are deleted, and what was done to and with new objects before a save has merged them into rows; in the end
//      both ends of the relationships agree that they have changed, or that an object has whose deletion they have
//      taken back. An object that changes here and has lost its row to another context is left to the next save.
//   3. Undoing a step appends steps to the journal: a redo undoes those.

import EspalierModel
import EspalierStore

/// One run over the steps of an action.
struct Reversal {
    /// Two ends of a relationship; a step has changed the first one.
    private struct Pair {
        let object: ManagedObject
        let slot: Int
        let other: ManagedObject
    }

    private let context: ManagedObjectContext
    private let action: UndoAction
    /// Whether only changes with steps have been made since.
    private let isExact: Bool
    /// Objects whose deletion was saved, and which this run has inserted again.
    private var returned = Set<ManagedObject>()
    private var pairs: [Pair] = []
    /// The objects whose deletion, which is not saved, this run has taken back, unless it is exact.
    private var undeleted: [ManagedObject] = []

    init(of action: UndoAction, in context: ManagedObjectContext) {
        (self.context, self.action) = (context, action)
        isExact = action.edition == context.journal?.edition
    }

    /// Undoes the steps.
    ///
    /// - Complexity: O(log n) for a step; O(destinations) for one that has all destinations of a relationship.
    mutating func run() {
        // Objects that have left are inserted before steps refer to them; their own steps restore their relationships.
        for step in action.steps.reversed() {
            if case .deleted = step.change, context.takeBack(step.object) { returned.insert(step.object) }
        }
        assert(returned.allSatisfy { $0.isInserted }, "an object came back, and is not new")
        for step in action.steps.reversed() { undo(step.change, of: step.object) }
        if !isExact { settle() }
    }

    private mutating func undo(_ change: UndoStep.Change, of object: ManagedObject) {
        assert(StepCount.note())
        guard object.managedObjectContext === context, object.isUsable,
            context.journal?.hasTakenOver(object, since: action.edition) != true
        else { return }
        switch change {
        case .inserted: context.markDeleted(object, callsHook: false)
        case .deleted(let relations):
            if returned.contains(object) {
                restore(relations, of: object)
            } else if object.state.contains(.deleted) {
                context.takeBackDeletion(of: object)
                if !isExact { undeleted.append(object) }
            }
        case .attribute(let slot, let value):
            if let reason = object.setAttributeValue(value, at: slot, mayBeDeleted: true) {
                object.refuse(object.entity.attributes[slot].name, reason)
            }
        case .destination(let slot, let end): setDestination(end, of: object, at: slot)
        case .added(let slot, let end):
            guard !isMerged(end.id), let other = known(end) else { return }
            remove(other, from: object, across: object.entity.relationships[slot])
        case .removed(let slot, let end, let place):
            let relationship = object.entity.relationships[slot]
            guard !isMerged(end.id), let other = found(end, from: object, across: relationship) else { return }
            add(other, to: object, across: relationship, place)
        case .moved(let slot, let end, let place):
            if let id = movable(end) { move(id, to: place, in: object, at: slot, isStep: true) }
        case .order(let slot, let ends): order(ends, of: object, at: slot)
        }
    }

    // MARK: Ends

    /// Whether a save has merged a new object into this row since: then its relationships stay as they are.
    private func isMerged(_ id: ObjectID) -> Bool {
        context.journal?.hasMerged(into: id, since: action.edition) == true
    }

    /// The object that a step names, if it is in memory.
    private func known(_ end: UndoStep.End) -> ManagedObject? {
        switch end.settled {
        // Never another object with its ID: that would be a fault for a deleted row.
        case .object(let object): object.managedObjectContext === context && object.isUsable ? object : nil
        case .row(let id): context.memory.registry[id].flatMap { $0.isUsable ? $0 : nil }
        }
    }

    /// The ID of the destination that a step has moved, unless it is no object or row of the context any more.
    ///
    /// A move needs no object: the application may have moved a destination that is not in memory.
    private func movable(_ end: UndoStep.End) -> ObjectID? {
        if let object = known(end) { return object.storedID }
        guard case .row(let id) = end.settled, context.memory.registry[id] == nil else { return nil }
        return id
    }

    /// The object that a step names, if it can be a destination.
    private func found(
        _ end: UndoStep.End, from source: ManagedObject, across relationship: Relationship
    ) -> ManagedObject? {
        guard case .row(let id) = end.settled else { return known(end) }
        let object = context.object(for: id, from: source, across: relationship)
        // Another context may have deleted the row.
        if !isExact, !object.isFulfilled { object.fireFault() }
        return object.isUsable ? object : nil
    }

    /// The present destination of a to-one relationship, as far as its other end has to be looked at.
    ///
    /// If a merge or a merge policy has led the object there, no step names the destination, and it may not be in
    /// memory: its list would still have the object when it is read.
    private func otherEnd(
        _ id: ObjectID, from source: ManagedObject, across relationship: Relationship
    ) -> ManagedObject? {
        if let known = context.memory.registry[id] { return known }
        guard !isExact, source.withShape({ $0.inverses[relationship.slot] }) != nil else { return nil }
        return context.object(for: id, from: source, across: relationship)
    }

    private mutating func note(_ object: ManagedObject, _ slot: Int, _ other: ManagedObject) {
        if !isExact { pairs.append(Pair(object: object, slot: slot, other: other)) }
    }

    // MARK: One side

    private mutating func setDestination(_ end: UndoStep.End?, of object: ManagedObject, at slot: Int) {
        let relationship = object.entity.relationships[slot]
        let former = end.flatMap { found($0, from: object, across: relationship) }
        let presentID = object.destinationID(at: slot)
        if presentID == former?.storedID || presentID.map(isMerged) == true { return }
        if let presentID, let present = otherEnd(presentID, from: object, across: relationship) {
            note(object, slot, present)
        }
        object.setRawDestination(former?.storedID, at: slot)
        object.noteChange()
        if let former { note(object, slot, former) }
    }

    private mutating func remove(
        _ other: ManagedObject, from object: ManagedObject, across relationship: Relationship
    ) {
        guard object.leads(to: other, across: relationship) else { return }
        object.alignMerges(with: other, across: relationship)
        object.removeRaw(other.storedID, from: relationship)
        note(object, relationship.slot, other)
    }

    private mutating func add(
        _ other: ManagedObject, to object: ManagedObject, across relationship: Relationship, _ place: UndoStep.Place?
    ) {
        let isNew = !object.leads(to: other, across: relationship)
        if isNew {
            object.alignMerges(with: other, across: relationship)
            object.addRaw(other.storedID, to: relationship)
        }
        note(object, relationship.slot, other)
        if let place { move(other.storedID, to: place, in: object, at: relationship.slot, isStep: !isNew) }
    }

    /// Moves a destination to its former place.
    ///
    /// - Parameter isStep: whether the move appends a step; it does not as part of an addition, which has one already.
    private func move(
        _ id: ObjectID, to place: UndoStep.Place, in object: ManagedObject, at slot: Int, isStep: Bool
    ) {
        let relationship = object.entity.relationships[slot]
        object.beginChange(of: relationship)
        guard let source = object.destinationIndex(of: id, inOrder: slot) else { return }
        let target = target(of: place, from: source, in: object, at: slot)
        assert(target >= 0 && target < object.destinationCount(at: slot), "invariant 2: place \(target)")
        guard source != target else { return }
        if isStep {
            object.willChange { object in object.place(of: id, at: slot).map { .moved(slot, object.end(id), $0) } }
        }
        object.changeOrder(of: relationship) { $0.move(from: source, to: target) }
        object.noteChange()
    }

    /// The index to which a destination has to move from `source`.
    private func target(
        of place: UndoStep.Place, from source: Int, in object: ManagedObject, at slot: Int
    ) -> Int {
        let last = object.destinationCount(at: slot) - 1
        let target = min(place.index, last)
        // The destination at `index` of the list without the moved one.
        func destination(at index: Int) -> ObjectID? {
            object.destinationID(at: index < source ? index : index + 1, inOrder: slot)
        }
        let predecessor = place.predecessor?.id
        var index = target - 1
        while index >= 0, let id = destination(at: index), id != predecessor {
            guard let other = context.memory.registry[id], other.state.contains(.deleted) || returned.contains(other)
            else { break }
            index -= 1
        }
        if index < 0 ? predecessor == nil : destination(at: index) == predecessor { return target }
        guard let predecessor else { return 0 }
        guard let found = object.destinationIndex(of: predecessor, inOrder: slot) else { return target }
        return found < source ? found + 1 : found
    }

    /// Sorts the present destinations in the order of `ends`; the others follow, in their present order.
    private func order(_ ends: [UndoStep.End], of object: ManagedObject, at slot: Int) {
        let list = object.destinationIDs(at: slot)
        let ids = ends.map(\.id)
        let (members, wanted) = (Set(list), Set(ids))
        let ordered = ids.filter(members.contains) + list.filter { !wanted.contains($0) }
        assert(ordered.count == list.count || Set(ids).count < ids.count, "invariant 2: an order loses destinations")
        guard ordered != list else { return }
        object.willChange { object in .order(slot, list.map(object.end)) }
        object.changeOrder(of: object.entity.relationships[slot]) { $0 = ToManyChange(list: ordered, base: $0.base) }
        object.noteChange()
    }

    // MARK: Both sides

    /// Restores the destinations of an object that was inserted again, and the references to it that the store has
    /// removed; leaves out those that have another partner by now.
    private mutating func restore(_ relations: [[UndoStep.Relation]], of object: ManagedObject) {
        for (relationship, all) in zip(object.entity.relationships, relations) {
            let relations = all.filter { isFree($0.end, for: object, across: relationship) }
            guard relationship.isToMany else {
                setDestination(relations.first?.end, of: object, at: relationship.slot)
                leadBack(relations, to: object, across: relationship)
                continue
            }
            for relation in relations {
                guard let other = found(relation.end, from: object, across: relationship) else { continue }
                add(other, to: object, across: relationship, nil)
            }
            if relationship.isOrdered { order(relations.map(\.end), of: object, at: relationship.slot) }
            leadBack(relations, to: object, across: relationship)
        }
    }

    /// Whether the other end of a relationship has no partner, or this object, or is to-many.
    private func isFree(_ end: UndoStep.End, for object: ManagedObject, across relationship: Relationship) -> Bool {
        guard let inverse = object.withShape({ $0.inverses[relationship.slot] }), !inverse.isToMany,
            let other = found(end, from: object, across: relationship),
            let id = other.destinationID(at: inverse.slot)
        else { return true }
        return id == object.storedID
    }

    private mutating func leadBack(
        _ relations: [UndoStep.Relation], to object: ManagedObject, across relationship: Relationship
    ) {
        guard let inverse = object.withShape({ $0.inverses[relationship.slot] }) else { return }
        for relation in relations {
            // A deleted object refers to this one, too: its deletion may be undone later.
            guard let other = known(relation.end), !other.leads(to: object, across: inverse) else { continue }
            if inverse.isToMany {
                add(object, to: other, across: inverse, relation.place)
            } else if other.destinationID(at: inverse.slot) == nil {
                setDestination(.object(object), of: other, at: inverse.slot)
            }
        }
    }

    /// Makes both ends of the changed relationships agree: the end that steps have changed is right, unless the other
    /// end is to-one and has another destination.
    private mutating func settle() {
        assert(!isExact, "invariant 1: exact steps leave something to settle")
        let changed = pairs
        pairs = []
        for pair in changed {
            let (object, other) = (pair.object, pair.other)
            let relationship = object.entity.relationships[pair.slot]
            guard let inverse = object.withShape({ $0.inverses[pair.slot] }),
                [object, other].allSatisfy({ $0.isUsable && !$0.state.contains(.deleted) }),
                object.leads(to: other, across: relationship) != other.leads(to: object, across: inverse)
            else { continue }
            if !object.leads(to: other, across: relationship) {
                drop(object, from: other, across: inverse)
            } else if inverse.isToMany {
                add(object, to: other, across: inverse, nil)
            } else if other.destinationID(at: inverse.slot) == nil {
                setDestination(.object(object), of: other, at: inverse.slot)
            } else {
                drop(other, from: object, across: relationship)
            }
        }
        for object in undeleted { settleEnds(of: object) }
        pairs = []
    }

    /// Makes the relationships of an object whose deletion was taken back agree with their other ends.
    ///
    /// A merge leaves the other ends of a deleted object as the delete rules have left them, and no step says which of
    /// them it has changed, or that the object itself has changed.
    ///
    /// - Complexity: O(destinations).
    private mutating func settleEnds(of object: ManagedObject) {
        guard object.isUsable, !object.state.contains(.deleted) else { return }
        for relationship in object.entity.relationships {
            guard let inverse = object.withShape({ $0.inverses[relationship.slot] }) else { continue }
            for id in object.endsInQuestion(across: relationship) {
                guard let other = found(.row(id), from: object, across: relationship), !other.state.contains(.gone)
                else { continue }
                let isHere = object.leads(to: other, across: relationship)
                // A deleted object keeps its relationships: only the other ends lose it.
                if !isHere, other.state.contains(.deleted) { continue }
                if isHere == other.leads(to: object, across: inverse) {
                    object.settleMergedSets(with: other, across: relationship, inverse)
                } else if isHere {
                    relate(other, to: object, across: relationship, inverse)
                } else if relationship.isToMany, !inverse.isToMany {
                    // The to-one relationship defines the list.
                    add(other, to: object, across: relationship, nil)
                } else {
                    drop(object, from: other, across: inverse)
                }
            }
        }
    }

    /// Makes the other end lead back to an object, or the object not lead there.
    private mutating func relate(
        _ other: ManagedObject, to object: ManagedObject, across relationship: Relationship, _ inverse: Relationship
    ) {
        if inverse.isToMany {
            add(object, to: other, across: inverse, nil)
            other.restorePlace(of: object.storedID, at: inverse.slot)
        } else if other.mayLeadBack(to: object, at: inverse.slot) {
            setDestination(.object(object), of: other, at: inverse.slot)
        } else {
            drop(other, from: object, across: relationship)
        }
    }

    private mutating func drop(_ other: ManagedObject, from object: ManagedObject, across relationship: Relationship) {
        if relationship.isToMany {
            remove(other, from: object, across: relationship)
        } else {
            setDestination(nil, of: object, at: relationship.slot)
        }
    }
}

extension UndoStep.End {
    /// The row, if a save has merged the object into it.
    fileprivate var settled: UndoStep.End {
        if case .object(let object) = self, object.state.contains(.merged) { .row(object.storedID) } else { self }
    }
}

extension ManagedObject {
    /// Whether steps can change this object and refer to it.
    ///
    /// They can if its deletion is not saved yet: delete rules do not remove every reference to it, and an undo may
    /// restore it.
    fileprivate var isUsable: Bool {
        state.contains(.registered) && state.isDisjoint(with: [.ended, .inaccessible, .merged])
    }

    /// Whether a to-one relationship is empty, but not because another context has emptied it: then the row leads to
    /// `other`, or there is no row.
    fileprivate func mayLeadBack(to other: ManagedObject, at slot: Int) -> Bool {
        destinationID(at: slot) == nil && row.map { $0.destination(at: slot) == other.storedID } != false
    }

    /// The IDs at the other end of a relationship, where that end may not agree with this one.
    fileprivate func endsInQuestion(across relationship: Relationship) -> [ObjectID] {
        guard let context = managedObjectContext else { return [] }
        let slot = relationship.slot
        let (ids, changed): ([ObjectID], [ObjectID])
        if relationship.isToMany {
            let (added, removed) = changes?.values.toMany[slot]?.differences ?? ([], [])
            (ids, changed) = (destinationIDs(at: slot), added + removed)
        } else {
            let isChanged = changes?.values.destinations.contains(slot) == true
            ids = destinationID(at: slot).map { [$0] } ?? []
            changed = isChanged ? ids + (row?.destination(at: slot).map { [$0] } ?? []) : []
        }
        assert(StepCount.note(ids.count + changed.count))
        let known = Set(changed)
        // Two ends without changes are as the store has them.
        return changed
            + ids.filter { id in
                guard !known.contains(id), let other = context.memory.registry[id] else { return false }
                return other.hasChanges || changes != nil
            }
    }

    /// Whether this side of a relationship leads to `other`.
    final func leads(to other: ManagedObject, across relationship: Relationship) -> Bool {
        relationship.isToMany
            ? hasDestination(other.storedID, at: relationship.slot)
            : destinationID(at: relationship.slot) == other.storedID
    }
}
