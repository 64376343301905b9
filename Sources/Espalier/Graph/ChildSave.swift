// The state of a context while the save of a child changes it: all that is needed to take these changes back.
//
// Invariants
//   1. A context has one exactly while it makes the changes of a child. It has the stage `.childSave` then: a hook that
//      it calls can neither save, roll back or reset it, nor end its event.
//   2. It retains the objects that leave meanwhile. It is released after the access to it has ended, because freeing an
//      object may run application code that calls the context.
// Not here: the changes (ParentChange), and the way back (ParentCheckpoint).

import EspalierModel
import EspalierStore

/// The state of one save of a child in its parent.
struct ChildSave {
    /// The changed objects that have left the context, or lost their rows, as they were before, in this order.
    private(set) var lost: [(object: ManagedObject, row: ObjectSnapshot?)] = []
    /// The first error of a read; the changes that follow from what was read are incomplete.
    private(set) var failure: ContextError?

    /// Notes an object that is about to leave or to lose its row.
    mutating func noteLoss(of object: ManagedObject) { lost.append((object, object.row)) }

    /// Notes that a read has failed, which its caller treats as if there were nothing.
    mutating func noteFailure(_ error: ContextError) { if failure == nil { failure = error } }
}

extension ManagedObjectContext {
    /// Begins to make the changes of a child (invariant 1).
    func beginChildSave() {
        assert(stage == nil && childSave == nil, "a child saves while \(stage?.hook.rawValue ?? "another one") runs")
        childSave = ChildSave()
        stage = SaveStage(.childSave)
    }

    /// Ends what `beginChildSave` has begun.
    func endChildSave() {
        let ended = childSave
        (childSave, stage) = (nil, nil)
        withExtendedLifetime(ended) {}
    }
}
