// Reading and changing single destinations of to-many relationships by slot, for live collections.
//
// Invariants
//   1. Each answer agrees with `destinationIDs`. Only questions about places in an order read a list that is not in
//      memory.
//   2. If a store cannot answer, the relationship reads as empty, and the next save reports why.

import EspalierModel
import EspalierStore

extension ManagedObject {
    // MARK: Reading

    /// The number of destinations of a to-many relationship.
    ///
    /// - Complexity: O(1) if the number is known; otherwise the store counts, which is O(n / entries of a page), and
    ///   looks up each unsaved addition and removal once.
    final func destinationCount(at slot: Int) -> Int {
        applyUnreadInverses()
        guard let changes, changes.values.toMany.contains(slot) else { return storedCount(at: slot) }
        let changeCount = withContext { $0.cache.changeCount } ?? 0
        guard let change = changes.values.toMany[slot] else { return 0 }
        if let count = change.count(at: changeCount) { return count }
        var count = storedCount(at: slot)
        for id in change.added where !isStored(id, at: slot) { count += 1 }
        for id in change.removed where isStored(id, at: slot) { count -= 1 }
        changes.values.toMany.modify(slot) { $0.note(count: count, at: changeCount) }
        return count
    }

    /// Whether a to-many relationship has no destination.
    ///
    /// - Complexity: O(log n) if the store is asked; as `destinationCount` if all destinations that it has are removed.
    final func hasNoDestinations(at slot: Int) -> Bool {
        applyUnreadInverses()
        guard let change = changes?.values.toMany[slot] else { return !storesMore(than: 0, at: slot) }
        if change.isWhole { return change.id(at: 0) == nil }
        guard change.added.isEmpty else { return false }
        return !storesMore(than: change.removed.count, at: slot) && destinationCount(at: slot) == 0
    }

    /// Whether `id` is one of the destinations of a to-many relationship.
    ///
    /// - Complexity: O(log n), which may include a look-up in the store; O(n) for the first two searches in a row of an
    ///   ordered relationship whose list is in memory, or if the inverse is ordered too.
    final func hasDestination(_ id: ObjectID, at slot: Int) -> Bool {
        applyUnreadInverses()
        var known: Bool?
        changes?.values.toMany.modify(slot) { known = $0.contains(id) }
        return known ?? isStored(id, at: slot)
    }

    /// The destination at `index` of an ordered relationship; `nil` if the index is out of range.
    ///
    /// - Complexity: O(log n) once the list of IDs is in memory.
    final func destinationID(at index: Int, inOrder slot: Int) -> ObjectID? {
        applyUnreadInverses()
        guard index >= 0 else { return nil }
        if let change = changes?.values.toMany[slot] { return change.id(at: index) }
        let list = storedDestinationIDs(at: slot)
        return index < list.count ? list[index] : nil
    }

    /// The index of `id` in an ordered relationship.
    ///
    /// - Complexity: O(log n), and O(n) for the first two searches in a row.
    final func destinationIndex(of id: ObjectID, inOrder slot: Int) -> Int? {
        applyUnreadInverses()
        var place: Int?
        var isKnown = false
        changes?.values.toMany.modify(slot) { (place, isKnown) = ($0.index(of: id), true) }
        if isKnown { return place }
        let list = storedDestinationIDs(at: slot)
        let found = withContext { $0.cache.index(of: id, inListOf: storedID, at: slot) } ?? nil
        return found ?? list.firstIndex(of: id)
    }

    private func storedCount(at slot: Int) -> Int {
        askStore(at: slot, otherwise: 0) { context, relationship throws(ContextError) in
            try context.storedCount(of: relationship, for: self)
        }
    }

    private func storesMore(than limit: Int, at slot: Int) -> Bool {
        askStore(at: slot, otherwise: false) { context, relationship throws(ContextError) in
            try context.storesMore(than: limit, of: relationship, for: self)
        }
    }

    private func isStored(_ id: ObjectID, at slot: Int) -> Bool {
        askStore(at: slot, otherwise: false) { context, relationship throws(ContextError) in
            try context.stores(id, in: relationship, of: self)
        }
    }

    /// The answer of `body`; `otherwise` if there is no context, or if the store fails, which the method records.
    private func askStore<Answer>(
        at slot: Int, otherwise: Answer,
        _ body: (ManagedObjectContext, Relationship) throws(ContextError) -> Answer
    ) -> Answer {
        guard mayBeStored, let context = managedObjectContext else { return otherwise }
        let relationship = withShape { $0.entity.relationships[slot] }
        do throws(ContextError) {
            return try body(context, relationship)
        } catch {
            recordUnreadable(relationship.name, error)
            return otherwise
        }
    }

    // MARK: Writing

    /// Inserts the objects that are no destinations yet before the one at `index` of an ordered relationship, or
    /// refuses all objects and returns the reason.
    final func insertDestinations(_ objects: [ManagedObject], at index: Int, inOrder slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        if let reason = reasonNotToRelate(to: objects, across: relationship) { return reason }
        let edition = dropHidden(inOrder: slot)
        defer { noteHidesNothing(inOrder: slot, at: edition) }
        let count = destinationCount(at: slot)
        guard index >= 0, index <= count else { return .indexOutOfRange(index, count: count) }
        var place = index
        for object in objects where !isLinked(to: object, across: relationship) {
            link(object, across: relationship)
            let last = destinationCount(at: slot) - 1
            if place < last { changeOrder(of: relationship) { $0.move(from: last, to: place) } }
            place += 1
        }
        return nil
    }

    /// Makes `object`, unless it is a destination, the one at `index` of an ordered relationship instead of the former
    /// one, or refuses and returns the reason.
    final func replaceDestination(
        at index: Int, with object: ManagedObject, inOrder slot: Int
    ) -> Violation.Reason? {
        defer { tellObserved() }
        let relationship = entity.relationships[slot]
        if let reason = reasonNotToRelate(to: CollectionOfOne(object), across: relationship) { return reason }
        let edition = dropHidden(inOrder: slot)
        defer { noteHidesNothing(inOrder: slot, at: edition) }
        guard let former = destinationID(at: index, inOrder: slot) else {
            return .indexOutOfRange(index, count: destinationCount(at: slot))
        }
        guard !isLinked(to: object, across: relationship) else { return nil }
        unlink(former, across: relationship)
        link(object, across: relationship)
        let last = destinationCount(at: slot) - 1
        if index < last { changeOrder(of: relationship) { $0.move(from: last, to: index) } }
        return nil
    }

    /// Moves the destination at `source` of an ordered relationship to `target`, or refuses and returns the reason.
    final func moveDestination(from source: Int, to target: Int, inOrder slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        if let reason = reasonNotToChange() { return reason }
        if !isFulfilled { fireFault() }
        if state.contains(.inaccessible) { return .rowIsGone }
        let edition = dropHidden(inOrder: slot)
        defer { noteHidesNothing(inOrder: slot, at: edition) }
        let count = destinationCount(at: slot)
        for index in [source, target] where index < 0 || index >= count {
            return .indexOutOfRange(index, count: count)
        }
        willChange { object in
            guard let id = object.destinationID(at: source, inOrder: slot) else { return nil }
            return object.place(of: id, at: slot).map { .moved(slot, object.end(id), $0) }
        }
        changeOrder(of: entity.relationships[slot]) { $0.move(from: source, to: target) }
        noteChange()
        return nil
    }

    /// Removes the destination at `index` of an ordered relationship, or refuses and returns the reason.
    final func removeDestination(at index: Int, inOrder slot: Int) -> Violation.Reason? {
        defer { tellObserved() }
        if let reason = reasonNotToChange() { return reason }
        let edition = dropHidden(inOrder: slot)
        defer { noteHidesNothing(inOrder: slot, at: edition) }
        guard let id = destinationID(at: index, inOrder: slot) else {
            return .indexOutOfRange(index, count: destinationCount(at: slot))
        }
        unlink(id, across: entity.relationships[slot])
        return nil
    }

    @inline(__always)
    final func changeOrder(of relationship: Relationship, _ change: (inout ToManyChange) -> Void) {
        beginChange(of: relationship).values.toMany.modify(relationship.slot, change)
    }
}
