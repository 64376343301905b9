// The way back for a parent, if the save of a child fails after it has begun to change the parent.
//
// Invariants
//   1. After `restore`, the parent has the unsaved changes, the lists of changed objects, and the undo steps and names
//      that it had at `init`. Rows that were read meanwhile stay.
//   2. `init` takes O(deletions whose rules have to run): the former states of changed objects are in the records that
//      children have seen (`ParentSource.records`), which do not change while a child changes the parent. Only
//      `restore` looks at all changed objects.
// Unlike a `ContextCheckpoint`: a small save of a child costs little beside many changes of its parent.

import EspalierModel
import EspalierStore

/// The unsaved state of a parent, as its children have seen it last.
struct ParentCheckpoint {
    private let source: ParentSource
    private let unpropagated: [ManagedObject]
    private let outdated: [ManagedObject]
    private let runsRulesAgain: Bool
    private let reached: ReachedRows
    private let recorded: RecordedViolations
    private let locked: [ManagedObject: UInt64]
    private let eventChanges: EventChanges?
    private let undoMark: UndoMark

    /// Notes the state of a parent that has the snapshot of this moment (`currentSnapshot`).
    init(of source: ParentSource) {
        let parent = source.parent
        self.source = source
        (unpropagated, outdated) = (parent.unpropagated, parent.outdated)
        (runsRulesAgain, reached) = (parent.runsRulesAgain, parent.memory.reached)
        (recorded, locked, eventChanges) = (parent.recorded, parent.locked, parent.eventChanges)
        undoMark = UndoMark(parent)
    }

    /// Restores the parent to the state of this checkpoint.
    ///
    /// - Complexity: O(changed objects).
    func restore() {
        let parent = source.parent
        // Freeing an object may run application code: not before all is as it was.
        let released = discardNewChanges()
        defer { withExtendedLifetime(released) {} }
        var lost: [ObjectID: (object: ManagedObject, row: ObjectSnapshot?)] = [:]
        for (object, row) in parent.childSave?.lost ?? [] where lost[object.storedID] == nil {
            lost[object.storedID] = (object, row)
        }
        source.records.forEach { id, record in restore(id, record, lost[id]) }
        for object in unpropagated { object.state.remove(.propagated) }
        let former = parent.unpropagated
        parent.unpropagated = unpropagated
        withExtendedLifetime(former) {}
        // Newer rows that were read meanwhile stay, too.
        parent.outdated = outdated + parent.outdated
        parent.runsRulesAgain = runsRulesAgain
        parent.replaceReached(by: reached)
        (parent.recorded, parent.locked) = (recorded, locked)
        // Before a snapshot is made, additions to relationships are applied.
        parent.memory.unreadInverses.removeAll()
        parent.memory.pendingValues.removeAll()
        parent.memory.updateListeners()
        parent.changeCount &+= 1
        parent.eventChanges = eventChanges
        assert(parent.checkInvariants())
        undoMark.restore(parent)
    }

    /// Discards the changes of objects that had none; returns these objects.
    private func discardNewChanges() -> [ManagedObject] {
        let parent = source.parent
        let new = parent.changedObjects.filter { source.records.withValue(of: $0.storedID, { _ in true }) == nil }
        for object in new {
            takeOut(object)
            object.discardPersistentChanges()
            if object.isInserted {
                parent.memory.registry.remove(object)
                object.leaveContext()
            } else {
                object.state.subtract([.updated, .deleted, .propagated])
            }
        }
        return new
    }

    /// Gives a changed object the changes and flags that it had, and puts it into its list.
    ///
    /// - Parameter lost: the object and its row, if it has left the parent or lost the row meanwhile.
    private func restore(
        _ id: ObjectID, _ record: ParentSource.Record, _ lost: (object: ManagedObject, row: ObjectSnapshot?)?
    ) {
        let parent = source.parent
        let object = lost?.object ?? parent.memory.registry[id] ?? parent.makeFault(id)
        guard lost != nil || !object.isAsRecorded(record) else { return }
        takeOut(object)
        if let lost { object.row = lost.row }
        (object.changes, object.newValues) = (record.changes, record.newValues)
        // The flags of hooks that run, of what was read, and of steps that were dropped, are no changes.
        let present: ManagedObject.State = [.fulfilled, .observed, .awakening, .turning, .unrecordedDeletion]
        object.state = record.state.subtracting(present).union(object.state.intersection(present))
        // An object that a hook has made a fault reads its row again.
        if !object.hasRow, !object.isInserted { object.state.remove(.fulfilled) }
        if object.state.contains(.deleted) { object.state.insert(.propagated) }
        enter(object)
    }

    private func takeOut(_ object: ManagedObject) {
        let parent = source.parent
        parent.memory.inserted.remove(object)
        parent.memory.updated.remove(object)
        parent.memory.deleted.remove(object)
    }

    /// Enters a changed object into the registry, if it is not there, and into the list of its kind.
    private func enter(_ object: ManagedObject) {
        let parent = source.parent
        let other = parent.memory.registry[object.storedID]
        if other !== object {
            // An object that was made for the row after this one had left.
            if let other { parent.dismiss(other) }
            parent.memory.registry.insert(object)
        }
        if object.state.contains(.deleted) {
            parent.memory.deleted.insert(object)
        } else if object.state.contains(.inserted) {
            parent.memory.inserted.insert(object)
        } else {
            parent.memory.updated.insert(object)
        }
    }
}
