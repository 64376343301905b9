// One change of one side of one object, with the values that undo it.
//
// Invariants
//   1. A step describes one property of one object, or its insertion or deletion. A change of a relationship with an
//      inverse has a step for each side, in the order in which the sides have changed.
//   2. A step retains the objects that it names, because their IDs change when they are saved.

import EspalierModel

/// A change that can be undone.
struct UndoStep {
    /// A destination of a relationship.
    enum End {
        case object(ManagedObject)
        /// A destination that was not in memory.
        case row(ObjectID)

        var id: ObjectID {
            switch self {
            case .object(let object): object.storedID
            case .row(let id): id
            }
        }
    }

    /// The former place of an object in an ordered relationship.
    struct Place {
        let index: Int
        /// The number of deleted objects directly before it.
        let deletedCount: Int
        /// The last object before it that was not deleted: a save removes deleted objects from the order, which makes
        /// the index wrong.
        let predecessor: End?
    }

    /// One destination of a relationship of a deleted object.
    struct Relation {
        let end: End
        /// The place of the deleted object in the relationship of the other end, if that is ordered and no step of the
        /// same action records the removal.
        ///
        /// Either the delete rule leaves the removal to the store, or it runs only in the save, whose action is undone
        /// while the object is not there.
        let place: Place?
    }

    enum Change {
        /// The object was inserted into the context.
        case inserted
        /// The object was deleted; the destinations of each relationship, by slot, which are deleted with the row.
        case deleted([[Relation]])
        /// An attribute has changed: its slot and its former value.
        case attribute(Int, AttributeValue)
        /// A to-one relationship has changed: its slot and its former destination.
        case destination(Int, End?)
        /// An object was added to the to-many relationship of this slot.
        case added(Int, End)
        /// An object was removed from the to-many relationship of this slot; its former place, if that is ordered.
        case removed(Int, End, Place?)
        /// An object was moved in the ordered relationship of this slot; its former place.
        case moved(Int, End, Place)
        /// The ordered relationship of this slot has changed; its former order.
        case order(Int, [End])
    }

    let object: ManagedObject
    let change: Change

    /// Whether `later` changes the same attribute again: this step already has the value to restore.
    func covers(_ later: UndoStep) -> Bool {
        guard case .attribute(let slot, _) = change, case .attribute(slot, _) = later.change else { return false }
        return object === later.object
    }
}
