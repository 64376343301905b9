// One change of one side of one object, with what it takes to undo it.
//
// Invariants
//   1. A step is about one object and one property, as the object itself shows them. A relationship with an inverse has
//      a step for each side, in the order in which the sides have changed.
//   2. A step retains the objects that it names, as their IDs change when they are saved.

import EspalierModel

/// A change that can be undone.
struct UndoStep {
    /// An object that a relationship led to.
    enum End {
        case object(ManagedObject)
        /// One that was not in memory.
        case row(ObjectID)

        var id: ObjectID {
            switch self {
            case .object(let object): object.storedID
            case .row(let id): id
            }
        }
    }

    /// Where an object stood in an ordered relationship.
    struct Place {
        let index: Int
        /// The object that stood before it, those left out that were deleted: a save takes them out of the order, and
        /// the index is not true any more then.
        let predecessor: End?
    }

    /// One destination of a relationship of an object that is deleted.
    struct Relation {
        let end: End
        /// Where the deleted object stood at the other end, if that is ordered and the delete rule leaves it there:
        /// the store takes it out, and no step says so.
        let place: Place?
    }

    enum Change {
        /// The object came into the context.
        case inserted
        /// The object was deleted; with what each relationship led to, by slot, which goes with the row.
        case deleted([[Relation]])
        /// The former value.
        case attribute(Int, AttributeValue)
        /// The former destination.
        case destination(Int, End?)
        /// An object came into a to-many relationship.
        case added(Int, End)
        /// An object left a to-many relationship; where it stood, if that is ordered.
        case removed(Int, End, Place?)
        /// An object stood elsewhere in an ordered relationship.
        case moved(Int, End, Place)
        /// All objects of an ordered relationship stood in this order.
        case order(Int, [End])
    }

    let object: ManagedObject
    let change: Change

    /// Whether `later` changes the same attribute again, whose former value is known then.
    func covers(_ later: UndoStep) -> Bool {
        guard case .attribute(let slot, _) = change, case .attribute(slot, _) = later.change else { return false }
        return object === later.object
    }
}
