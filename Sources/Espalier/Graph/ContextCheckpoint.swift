// A copy of the unsaved state of a context, with which a call that fails restores everything (F-5).
//
// Invariants
//   1. After `restore`, the sets, the registry, the read generation, the undo steps and names, the messages of the
//      event, and every object's row, changes and flags are as they were at `init`.
//   2. A permanent ID that a new object has got since stays: a child may have read it, and it does not change (MC-45).
//   3. `init` takes O(changed objects); values are shared, not copied.

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

/// The permanent IDs that new objects have got since the last save, by their temporary ones, so that these still lead
/// to the objects (MC-25).
///
/// The context and all checkpoints that can be restored share them. A save, a rollback and a reset end them.
final class GivenIDs {
    private(set) var permanent: [ObjectID: ObjectID] = [:]

    func note(_ ids: [ObjectID: ObjectID]) {
        if permanent.isEmpty { permanent = ids } else { permanent.merge(ids) { $1 } }
    }
}

/// The unsaved state of a context at one moment.
struct ContextCheckpoint {
    private let inserted: ChangedObjects
    private let updated: ChangedObjects
    private let deleted: ChangedObjects
    // One element for each object of the three lists, in their order: an import has many new objects, and an array of
    // structures would retain each of them a second time.
    private var ids: [ObjectID] = []
    /// Shared with the objects until they change them (`ManagedObject.changeable`, `changeableNewValues`).
    private var changes: [ObjectChanges?] = []
    private var newValues: [RowValues?] = []
    private var states: [ManagedObject.State] = []
    /// The rows of the updated and deleted objects; new ones have none.
    private var rows: [ObjectSnapshot?] = []
    private let unpropagated: [ManagedObject]
    private let outdated: [ManagedObject]
    private let runsRulesAgain: Bool
    private let reached: ReachedRows
    private let unreadInverses: UnreadInverses
    private let recorded: RecordedViolations
    private let locked: [ManagedObject: UInt64]
    private let generation: [ReadGeneration.PartRead]
    private let eventChanges: EventChanges?
    private let undoMark: UndoMark
    private let given: GivenIDs

    init(_ context: ManagedObjectContext) {
        inserted = context.memory.inserted
        updated = context.memory.updated
        deleted = context.memory.deleted
        unpropagated = context.unpropagated
        outdated = context.outdated
        runsRulesAgain = context.runsRulesAgain
        reached = context.memory.reached
        unreadInverses = context.memory.unreadInverses
        recorded = context.recorded
        locked = context.locked
        generation = context.generation.parts
        eventChanges = context.eventChanges
        undoMark = UndoMark(context)
        given = context.givenIDs ?? GivenIDs()
        context.givenIDs = given
        let count = inserted.count + updated.count + deleted.count
        ids.reserveCapacity(count)
        changes.reserveCapacity(count)
        newValues.reserveCapacity(count)
        states.reserveCapacity(count)
        for object in inserted { note(object) }
        rows.reserveCapacity(updated.count + deleted.count)
        for part in [updated, deleted] {
            for object in part {
                note(object)
                rows.append(object.row)
            }
        }
    }

    private mutating func note(_ object: ManagedObject) {
        object.changes?.isShared = true
        object.newValues?.share()
        ids.append(object.storedID)
        changes.append(object.changes)
        newValues.append(object.newValues)
        states.append(object.state)
    }

    /// Restores the context to the state of this checkpoint.
    func restore(_ context: ManagedObjectContext) {
        discardLaterChanges(context)
        for former in context.saveRun?.refreshed.reversed() ?? [] { former.restore() }
        restoreObjects(context)
        context.replace(\.inserted, by: inserted)
        context.replace(\.updated, by: updated)
        context.replace(\.deleted, by: deleted)
        for list in [inserted, updated, deleted] { list.renumber() }
        let former = context.unpropagated
        context.unpropagated = unpropagated
        context.outdated = outdated
        withExtendedLifetime(former) {}
        context.runsRulesAgain = runsRulesAgain
        context.replaceReached(by: reached)
        context.memory.unreadInverses = unreadInverses
        context.recorded = recorded
        context.locked = locked
        context.goBackToGeneration(generation)
        context.changeCount &+= 1
        giveIDsAgain(context)
        context.eventChanges = eventChanges
        assert(context.checkInvariants())
        undoMark.restore(context)
    }

    /// Gives new objects the permanent IDs again that they have got since `init` (invariant 2).
    private func giveIDsAgain(_ context: ManagedObjectContext) {
        guard !given.permanent.isEmpty else { return }
        var (renamed, position): ([ManagedObject], Int) = ([], 0)
        for part in [inserted, updated, deleted] {
            for object in part {
                if given.permanent[ids[position]] != nil { renamed.append(object) }
                position += 1
            }
        }
        if !renamed.isEmpty { context.rename(renamed, given.permanent) }
    }

    /// Discards the changes of objects that had none at `init`.
    private func discardLaterChanges(_ context: ManagedObjectContext) {
        let known = Set(inserted).union(updated).union(deleted)
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
        assert(ids.count == inserted.count + rows.count, "\(rows.count) rows of \(ids.count) objects")
        var position = 0
        for part in [inserted, updated, deleted] {
            for object in part {
                restore(object, at: position, context)
                position += 1
            }
        }
    }

    private func restore(_ object: ManagedObject, at position: Int, _ context: ManagedObjectContext) {
        if object.state.contains(.registered) { context.memory.registry.remove(object) }
        if let other = context.memory.registry[ids[position]], other !== object {
            // This object was made for the row after the saved one had left the context.
            context.memory.registry.remove(other)
            other.leaveContext()
        }
        object.storedID = ids[position]
        object.row = position < inserted.count ? nil : rows[position - inserted.count]
        (object.changes, object.newValues) = (changes[position], newValues[position])
        object.state = states[position]
        // A hook may have made the context forget its objects, and with them their shapes.
        if let shape = context.shape(of: object.entity) { object.shape = shape }
        context.memory.registry.insert(object)
    }
}
