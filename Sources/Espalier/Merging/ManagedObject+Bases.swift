// The bases of changes: the committed values from which they were made, kept while the row below them is replaced.
//
// Invariants
//   1. A change gets a base when a merge replaces the row below it by one with another value of the same property.
//   2. An attribute or a to-one relationship without a change has no base: its next change begins with the committed
//      value.
//   3. The bases of an object have the version of the row of the first of them.
//   4. If an object has bases, `hasBases` of its context is set: a save looks for conflicts only then.

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// The committed value from which an attribute was changed; for an unchanged attribute, the committed value.
    func base(ofAttribute slot: Int) -> AttributeValue? {
        changes?.values.bases?.attributes[slot] ?? row?.value(at: slot)
    }

    /// The committed destination from which a to-one relationship was changed.
    func base(ofDestination slot: Int) -> ObjectID? {
        changes?.values.bases?.destinations[slot] ?? row?.destination(at: slot)
    }

    /// Forgets the bases of properties without a change; a later change has the committed value as its base.
    func forgetUnusedBases() {
        guard let values = changes?.values, var bases = values.bases else { return }
        var (attributes, destinations) = (bases.attributes, bases.destinations)
        for (slot, _) in attributes.pairs where !values.attributes.contains(slot) { attributes[slot] = nil }
        for (slot, _) in destinations.pairs where !values.destinations.contains(slot) {
            destinations.remove(slot)
        }
        bases = ChangeBases(
            version: bases.version, attributes: attributes, destinations: destinations, lists: bases.lists)
        changeable().values.bases = bases
    }

    /// Forgets the base of an attribute that has its committed value again.
    func forgetBase(ofAttribute slot: Int) {
        guard let bases = changes?.values.bases, bases.attributes.contains(slot) else { return }
        var attributes = bases.attributes
        attributes[slot] = nil
        changeable().values.bases = ChangeBases(
            version: bases.version, attributes: attributes, destinations: bases.destinations, lists: bases.lists)
    }

    /// Forgets the base of a to-one relationship that has its committed destination again.
    func forgetBase(ofDestination slot: Int) {
        guard let bases = changes?.values.bases, bases.destinations.contains(slot) else { return }
        var destinations = bases.destinations
        destinations.remove(slot)
        changeable().values.bases = ChangeBases(
            version: bases.version, attributes: bases.attributes, destinations: destinations, lists: bases.lists)
    }

    /// Forgets the bases of all changes: the row is their base from now on.
    func forgetBases() {
        if changes?.values.bases != nil { changeable().values.bases = nil }
    }

    /// Whether the store has changed a property that has a change here, and the two values differ.
    var hasMergeConflict: Bool {
        guard let values = changes?.values, let bases = values.bases, let row else { return false }
        for (slot, base) in bases.attributes.pairs {
            guard let mine = values.attributes[slot] else { continue }
            let stored = row.value(at: slot)
            if stored != base && stored != mine { return true }
        }
        for (slot, base) in bases.destinations.pairs {
            guard let mine = values.destinations[slot] else { continue }
            let stored = row.destination(at: slot)
            if stored != base && stored != mine { return true }
        }
        return !listConflicts.isEmpty
    }

    func keepBase(_ list: [ObjectID], ofList slot: Int) {
        let bases = changes?.values.bases
        var lists = bases?.lists ?? SlotValues()
        if lists.contains(slot) { return }
        lists.set(list, at: slot)
        changeable().values.bases = ChangeBases(
            version: bases?.version ?? row?.version ?? 0, attributes: bases?.attributes ?? SlotValues(),
            destinations: bases?.destinations ?? SlotValues(), lists: lists)
        managedObjectContext?.hasBases = true
    }
}
