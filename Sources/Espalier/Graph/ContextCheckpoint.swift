// A copy of the unsaved state of a context, with which a call that fails restores everything (F-5).
//
// Invariants
//   1. After `restore`, the sets, the registry, the read generation, and every object's row, changes, ID and flags are
//      as they were at `init`.
//   2. `init` takes O(changed objects); values are shared, not copied.

import EspalierModel
import EspalierStore

/// An unchanged object, as it was before a save made it adopt a newer row.
struct RefreshedObject {
    private let object: ManagedObject
    private let row: ObjectSnapshot?
    private let changes: ObjectChanges?
    private let state: ManagedObject.State

    init(_ object: ManagedObject) {
        object.changes?.isShared = true
        (self.object, row, changes, state) = (object, object.row, object.changes, object.state)
    }

    fileprivate func restore() {
        guard object.state.contains(.registered) else { return }
        (object.row, object.changes, object.state) = (row, changes, state)
    }
}

/// The unsaved state of a context at one moment.
struct ContextCheckpoint {
    private struct ObjectState {
        let object: ManagedObject
        let id: ObjectID
        /// Shared with the object until the object changes them (`ManagedObject.changeable`, `changeableNewValues`).
        let changes: ObjectChanges?
        let newValues: RowValues?
        let state: ManagedObject.State
    }

    private let objects: [ObjectState]
    /// The rows of the updated and deleted objects, which follow the new ones in `objects`; an import has many new
    /// objects, which have no rows.
    private let rows: [ObjectSnapshot?]
    private let inserted: ChangedObjects
    private let updated: ChangedObjects
    private let deleted: ChangedObjects
    private let unpropagated: [ManagedObject]
    private let runsRulesAgain: Bool
    private let leavesCascadesToStore: Bool
    private let unreadInverses: UnreadInverses
    private let recorded: [Violation]
    private let locked: [ManagedObject: UInt64]
    private let generation: [ReadGeneration.PartRead]

    init(_ context: ManagedObjectContext) {
        var objects: [ObjectState] = []
        objects.reserveCapacity(
            context.memory.inserted.count + context.memory.updated.count + context.memory.deleted.count)
        func note(_ object: ManagedObject) {
            object.changes?.isShared = true
            object.newValues?.share()
            objects.append(
                ObjectState(
                    object: object, id: object.storedID, changes: object.changes,
                    newValues: object.newValues, state: object.state))
        }
        for object in context.memory.inserted { note(object) }
        var rows: [ObjectSnapshot?] = []
        rows.reserveCapacity(context.memory.updated.count + context.memory.deleted.count)
        for part in [context.memory.updated, context.memory.deleted] {
            for object in part {
                note(object)
                rows.append(object.row)
            }
        }
        (self.objects, self.rows) = (objects, rows)
        inserted = context.memory.inserted
        updated = context.memory.updated
        deleted = context.memory.deleted
        unpropagated = context.unpropagated
        runsRulesAgain = context.runsRulesAgain
        leavesCascadesToStore = context.leavesCascadesToStore
        unreadInverses = context.memory.unreadInverses
        recorded = context.recorded
        locked = context.locked
        generation = context.generation.parts
    }

    /// Restores the context to the state of this checkpoint.
    func restore(_ context: ManagedObjectContext) {
        discardLaterChanges(context)
        for former in context.refreshedBySave?.reversed() ?? [] { former.restore() }
        restoreObjects(context)
        context.replace(\.inserted, by: inserted)
        context.replace(\.updated, by: updated)
        context.replace(\.deleted, by: deleted)
        for list in [inserted, updated, deleted] { list.renumber() }
        context.unpropagated = unpropagated
        context.runsRulesAgain = runsRulesAgain
        context.leavesCascadesToStore = leavesCascadesToStore
        context.memory.unreadInverses = unreadInverses
        context.recorded = recorded
        context.locked = locked
        context.goBackToGeneration(generation)
        context.changeCount &+= 1
        assert(context.checkInvariants())
    }

    /// Discards the changes of objects that had none at `init`.
    private func discardLaterChanges(_ context: ManagedObjectContext) {
        let known = Set(objects.map(\.object))
        for object in context.changedObjects where !known.contains(object) {
            object.discardPersistentChanges()
            if object.isInserted {
                context.memory.registry.remove(object)
                object.leaveContext()
            } else {
                object.state.subtract([.updated, .deleted, .propagated])
            }
        }
    }

    private func restoreObjects(_ context: ManagedObjectContext) {
        assert(objects.count == inserted.count + rows.count, "\(rows.count) rows of \(objects.count) objects")
        for (position, saved) in objects.enumerated() {
            let object = saved.object
            if object.state.contains(.registered) { context.memory.registry.remove(object) }
            if let other = context.memory.registry[saved.id], other !== object {
                // This object was made for the row after the saved one had left the context.
                context.memory.registry.remove(other)
                other.leaveContext()
            }
            object.storedID = saved.id
            object.row = position < inserted.count ? nil : rows[position - inserted.count]
            (object.changes, object.newValues) = (saved.changes, saved.newValues)
            object.state = saved.state
            // A hook may have made the context forget its objects, and with them their shapes.
            if let shape = context.shape(of: object.entity) { object.shape = shape }
            context.memory.registry.insert(object)
        }
    }
}
