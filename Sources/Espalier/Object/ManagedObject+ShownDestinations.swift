// The destinations of relationships that an application reads: without those that the next save takes out (MC-13,
// MC-18).
//
// A delete rule changes the objects in memory that it reaches. An object that comes into memory later has the stored
// destinations, deleted ones too, until the store takes them out in the save. Reading it leaves them out, and does not
// make it a changed object: the save needs nothing of it.
//
// Invariants
//   1. A deleted object shows its destinations as they are: a save checks the rule `deny` with them.
//   2. Only what delete rules have taken out is left out: the rules of an object that was deleted in the unfinished
//      event have not run.
//   3. Changes and undo steps are made of the destinations as they are (+Relationships, +Members).
// Where no rule has left anything to the store, each read asks one flag of the context. Otherwise the places of the
// relationship that was read last are kept (HiddenPlaces), so that a loop over an order walks over the list once. A
// change by places, and one of the whole list, takes what is hidden out of the order first, which then has nothing to
// hide until another one is taken out, so that a loop of such changes walks over the list once, too.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The destination of a to-one relationship for a reader; fires the fault.
    final func shownDestinationID(at slot: Int) -> ObjectID? {
        let hides = hidesDestinations(at: slot)
        guard let id = destinationID(at: slot) else { return nil }
        return hides && isTakenOut(id) ? nil : id
    }

    /// The destinations of a to-many relationship for a reader, in its order.
    final func shownDestinationIDs(at slot: Int) -> [ObjectID] {
        let hides = hidesDestinations(at: slot)
        let ids = destinationIDs(at: slot)
        return hides ? ids.filter { !isTakenOut($0) } : ids
    }

    /// The number of destinations of a to-many relationship for a reader.
    ///
    /// - Complexity: as `destinationCount`; as `hiddenPlaces` if some may be left out.
    final func shownCount(at slot: Int) -> Int { hiddenPlaces(at: slot)?.shownCount ?? destinationCount(at: slot) }

    /// Whether a to-many relationship has no destination for a reader.
    ///
    /// - Complexity: as `hasNoDestinations`; as `hiddenPlaces` if some may be left out.
    final func showsNoDestinations(at slot: Int) -> Bool {
        hiddenPlaces(at: slot).map { $0.shownCount == 0 } ?? hasNoDestinations(at: slot)
    }

    /// The destination at `index` of an ordered relationship for a reader; `nil` if the index is out of range.
    ///
    /// - Complexity: as `destinationID(at:inOrder:)`; also as `hiddenPlaces` if some may be left out.
    final func shownDestinationID(at index: Int, inOrder slot: Int) -> ObjectID? {
        guard let hidden = hiddenPlaces(at: slot) else { return destinationID(at: index, inOrder: slot) }
        guard index >= 0, index < hidden.shownCount else { return nil }
        return destinationID(at: hidden.place(ofShown: index), inOrder: slot)
    }

    /// The index of `id` in an ordered relationship for a reader.
    ///
    /// - Complexity: as `destinationIndex`; also as `hiddenPlaces` if some may be left out.
    final func shownIndex(of id: ObjectID, inOrder slot: Int) -> Int? {
        guard let hidden = hiddenPlaces(at: slot) else { return destinationIndex(of: id, inOrder: slot) }
        guard !isTakenOut(id), let place = destinationIndex(of: id, inOrder: slot) else { return nil }
        return hidden.shownIndex(ofPlace: place)
    }

    /// The places of a to-many relationship that readers do not get; `nil` if they get all.
    ///
    /// - Complexity: O(destinations) for the first call, and after a call for another relationship, a change of this
    ///   one or of what is deleted; otherwise O(1). O(destinations) for each call if the relationship is unordered and
    ///   has changes.
    private func hiddenPlaces(at slot: Int) -> HiddenPlaces? {
        guard hidesDestinations(at: slot), let context = managedObjectContext else { return nil }
        applyUnreadInverses()
        if changes?.values.toMany[slot]?.hidesNothing(at: context.memory.reached.edition) == true { return nil }
        if let known = context.memory.hiddenPlaces,
            known.isOf(storedID, slot, changes?.values.toMany[slot], at: context.momentOfHiddenPlaces)
        {
            return known
        }
        let ids = destinationIDs(at: slot)
        // Reading the list may have moved the context to a generation.
        let (change, moment) = (changes?.values.toMany[slot], context.momentOfHiddenPlaces)
        let found = HiddenPlaces(of: storedID, slot, change, at: moment, in: ids) { context.isTakenOut($0) }
        // A list that cannot be read is empty, too. A set with changes, which is kept, would be copied by the next one.
        if !ids.isEmpty, change?.isWhole != false { context.memory.hiddenPlaces = found }
        return found
    }

    /// Whether a reader does not get `id` as a destination of a relationship, even if it is one.
    final func hides(_ id: ObjectID, at slot: Int) -> Bool { hidesDestinations(at: slot) && isTakenOut(id) }

    /// Takes what readers do not get out of an ordered relationship, so that its places are those that they see.
    ///
    /// - Returns: the edition of what is taken out (`ReachedRows.edition`) at which the order has nothing to hide, for
    ///   `noteHidesNothing` after the change for which this is done; `nil` if nothing can be hidden.
    /// - Complexity: O(1) if that was noted at this edition; otherwise O(destinations).
    final func dropHidden(inOrder slot: Int) -> Int? {
        guard hidesDestinations(at: slot), let context = managedObjectContext else { return nil }
        let edition = context.memory.reached.edition
        if changes?.values.toMany[slot]?.hidesNothing(at: edition) == true { return edition }
        let relationship = entity.relationships[slot]
        for id in destinationIDs(at: slot) where isTakenOut(id) { removeRaw(id, from: relationship) }
        // Reading the list may have moved the context to a generation; then the next call looks again.
        return edition
    }

    /// Notes that an order with changes has nothing to hide: since `dropHidden` it has got no destinations but those of
    /// a change that refuses deleted objects.
    final func noteHidesNothing(inOrder slot: Int, at edition: Int?) {
        if let edition { changes?.values.toMany.modify(slot) { $0.noteHidesNothing(at: edition) } }
    }

    /// Whether readers may not get all destinations of a relationship.
    ///
    /// Follows the cascades of deleted objects before, if they may reach destinations.
    private func hidesDestinations(at slot: Int) -> Bool {
        guard withContext({ $0.memory.reached.isActive }) == true, let context = managedObjectContext else {
            return false
        }
        let relationship = entity.relationships[slot]
        if context.memory.reached.isIncomplete {
            context.followCascades(to: context.model.entities[relationship.destination])
        }
        // The cascades may have reached this object, too.
        return !state.contains(.deleted) && context.memory.reached.hides(relationship)
    }

    private func isTakenOut(_ id: ObjectID) -> Bool { withContext { $0.isTakenOut(id) } == true }
}

extension ManagedObjectContext {
    fileprivate var momentOfHiddenPlaces: HiddenPlaces.Moment {
        HiddenPlaces.Moment(cacheChangeCount: cache.changeCount, edition: memory.reached.edition)
    }
}
