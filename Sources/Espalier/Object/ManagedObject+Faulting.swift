// Faults, which are objects without their values, and how they load them (MO-11 to MO-17).

import EspalierModel
import EspalierStore

extension ManagedObject {
    /// Loads the values; afterwards the object is no fault, or `inaccessible`, or an error is recorded.
    final func fireFault() {
        let former = state
        guard former.contains(.registered),
            former.isDisjoint(with: [.fulfilled, .inserted, .inaccessible, .awakening])
        else {
            if !hasValues && wasRegistered && former.contains(.ended) {
                requireContext()
                recordOnce(
                    .unreadable, of: nil,
                    .unreadable("the context was reset and has forgotten the object; fetch it again"))
            }
            return
        }
        if withContext({ $0.memory.limitsAge }) == true {
            managedObjectContext?.endStaleGeneration()
            // A merge may have found that the row is deleted.
            guard state == former else { return fireFault() }
        }
        if withContext({ $0.memory.reached.isIncomplete }) == true {
            managedObjectContext?.followCascades(to: entity)
            guard state == former else { return fireFault() }
        }
        if !hasRow && !loadRow() { return }
        guard hasRow else {
            state.insert(.inaccessible)
            noteInaccessible()
            return
        }
        assert(newValues == nil, "a fault with the values of a new object")
        state = former.union([.fulfilled, .awakening])
        awakeFromFetch()
        state.remove(.awakening)
    }

    /// Loads the row from the store; an error is recorded.
    ///
    /// - Returns: whether the store has answered, even if it has no such row.
    @discardableResult
    final func loadRow() -> Bool {
        guard let context = managedObjectContext else { return false }
        do throws(ContextError) {
            try context.loadRow(of: self)
            return true
        } catch {
            recordUnreadable(nil, error)
            return false
        }
    }

    /// Becomes inaccessible if a merge or refresh has found that the row is deleted; the object has no unsaved changes
    /// now.
    final func becomeInaccessibleIfGone() {
        guard state.contains(.gone) else { return }
        state.remove(.gone)
        state.insert(.inaccessible)
        withContext { $0.noteDeleted(self) }
    }

    /// Makes the object a fault without values and without unsaved changes.
    final func turnIntoFault() {
        assert(!isInserted, "a new object has no row to refresh from")
        let context = managedObjectContext
        context?.turningCount += 1
        defer { context?.turningCount -= 1 }
        state.insert(.turning)
        willTurnIntoFault()
        // Changes by the hook are discarded, too.
        if state.contains(.updated) { withContext { $0.memory.updated.remove(self) } }
        assert(newValues == nil, "the values of a new object would outlive the fault")
        row = nil
        changes = nil
        withContext { $0.fetchedResults?.forget(self) }
        state.subtract([.fulfilled, .updated, .inaccessible, .gone])
        didTurnIntoFault()
        state.remove(.turning)
    }

    /// Calls `body`, whose changes of this object count, also within `awakeFromFetch`: only those of the hook itself
    /// are no changes (MO-28).
    final func countingChanges(_ body: () -> Void) {
        guard state.contains(.awakening) else { return body() }
        state.remove(.awakening)
        body()
        state.insert(.awakening)
    }

    /// Calls the hook for values that were set by something else than the application (MO-29).
    final func awaken(from events: SnapshotEvents) {
        guard state.contains(.registered), !isFault, state.isDisjoint(with: [.awakening, .inaccessible]) else { return }
        state.insert(.awakening)
        awake(fromSnapshotEvents: events)
        state.remove(.awakening)
    }
}
