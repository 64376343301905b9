// The properties that have changed since the last event of a context ended (MO-36).
//
// Invariants
//   1. The record has the first value that an attribute had in the event: a value that was set back is no change.
//   2. It exists only while the application asks for it, and retains the objects only until the event ends.

import EspalierModel

/// The changed properties of the current event, by object.
final class EventRecord {
    /// The changed properties of one object.
    struct Changes {
        /// The values that attributes had at the beginning of the event.
        var attributes = SlotValues<AttributeValue>()
        /// The slots of the relationships that have changed.
        var relationships: Set<Int> = []
    }

    private var changes: [ManagedObject: Changes] = [:]
    /// The changes of the event of which observers are being notified: their own ones are part of the next event.
    private var told: [ManagedObject: Changes] = [:]

    /// Whether no property has changed since the last event ended.
    var isEmpty: Bool { changes.isEmpty }

    /// Records a change that is about to be made.
    func note(_ change: UndoStep.Change, of object: ManagedObject) {
        switch change {
        case .inserted, .deleted: break
        case .attribute(let slot, let value):
            if changes[object]?.attributes.contains(slot) != true {
                changes[object, default: Changes()].attributes.set(value, at: slot)
            }
        case .destination(let slot, _), .added(let slot, _), .removed(let slot, _, _), .moved(let slot, _, _),
            .order(let slot, _):
            changes[object, default: Changes()].relationships.insert(slot)
        }
    }

    /// The properties of an object that have changed in the event that is running or being told.
    func changes(of object: ManagedObject) -> Changes? {
        guard let before = told[object] else { return changes[object] }
        guard let now = changes[object] else { return before }
        var both = before
        for (slot, value) in now.attributes.pairs where !both.attributes.contains(slot) {
            both.attributes.set(value, at: slot)
        }
        both.relationships.formUnion(now.relationships)
        return both
    }

    /// Begins the next event, and keeps the last one while observers are notified of it.
    func beginTelling() {
        // Nested events end together with the outermost one.
        guard !changes.isEmpty, told.isEmpty else { return }
        swap(&told, &changes)
    }

    /// Forgets the event of which observers were notified.
    func endTelling() {
        // Objects are freed after the access.
        let former = told
        told = [:]
        withExtendedLifetime(former) {}
    }
}
