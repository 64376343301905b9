// The state of one running save: all that lives from its beginning as a writer to its end.
//
// Invariants
//   1. A context has a run exactly while its `save` is a writer of its source. It then has a stage, too; a transaction
//      has a stage, but no run until it saves.
//   2. Nothing of a run outlives it: the answers of merge policies to one save decide nothing in the next one.
//   3. A run retains objects. It is released after the access to it has ended, because freeing an object may run
//      application code that calls the context.
// Not here: the hook that a save calls at a moment (SaveStage), the state to which it returns (ContextCheckpoint).

import EspalierModel

/// The state of one save.
struct SaveRun {
    /// The number of the save among the writers of its source.
    let writer: UInt64
    /// The actions by which merge policies resolve broken constraints that have no declared action.
    var policyActions: [ConstraintName: ConstraintAction] = [:]
    /// The objects that merge policies have merged into others; `other` is the same one if no other was in memory.
    var united: [(object: ManagedObject, other: ManagedObject)] = []
    /// Whether it updates a row that it was to insert.
    ///
    /// It was to insert the row again, because another context had deleted it; meanwhile another context has done so.
    var insertionsBecameUpdates = false
    /// The unchanged objects that it has made adopt newer rows, in this order, as they were before.
    var refreshed: [RefreshedObject] = []
    /// The watch over the hooks of a validation that follows another one; `nil` if none runs.
    var changeWatch: ChangeWatch?

    /// Whether objects of the save have become those of rows that others have inserted.
    var hasMerged: Bool { insertionsBecameUpdates || !united.isEmpty }
}

extension ManagedObjectContext {
    /// Ends the run of a save (invariant 3).
    func endRun() {
        let ended = saveRun
        assert(ended?.changeWatch == nil, "a watch over hooks outlives the validation of writer \(ended?.writer ?? 0)")
        saveRun = nil
        withExtendedLifetime(ended) {}
    }

    /// Makes changes of objects known to a watch; `nil` ends the one before.
    func beginWatch(_ watch: ChangeWatch?) {
        saveRun?.changeWatch = watch
        memory.watchesChanges = watch != nil
    }
}
