// Undoing and redoing what was changed in a context (MC-53 to MC-58).
//
// Invariants
//   1. What is undone or redone is one action: what was changed between two calls of `processPendingChanges`, or less.
//   2. After a save, undoing makes changes for the next one. What others have saved meanwhile stays, except for
//      properties that the action has changed too: those get their former values (MC-56).
// Not here: how steps are undone (Reversal), which steps there are (UndoJournal), groups (UndoStack).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// What undoes the changes of objects; `nil` at first: nothing is kept then (MC-53).
    ///
    /// A save leaves it as it is: undoing afterwards makes changes for the next save, and an object whose deletion is
    /// saved comes back as a new one under its old ID (MC-56). `rollback` and `reset` forget what could be undone.
    ///
    /// While there is one, deleting reads what the object's relationships lead to, and what cascades reach comes into
    /// memory, so that all of it can come back. What led to a deleted object across a relationship without inverse does
    /// not lead there again after its deletion was saved.
    public var undoManager: UndoStack? {
        get { journal?.manager }
        set {
            guard newValue !== journal?.manager else { return }
            forgetUndo()
            journal?.manager.removeSource(ObjectIdentifier(self))
            journal = newValue.map { UndoJournal($0) }
            newValue?.addSource(self) { context in
                if context.mayTakeBack { return .contextIsSaving }
                context.processPendingChanges()
                return nil
            }
        }
    }

    /// Undoes what the last event has changed, after it has ended the running one (MC-57).
    ///
    /// - Complexity: as of the changes that are undone.
    /// - Throws: `UndoError`; nothing has changed then.
    public func undo() throws(UndoError) {
        guard let undoManager else { throw .noUndoManager }
        try undoManager.undo()
    }

    /// Redoes what was undone last, after it has ended the running event (MC-57).
    ///
    /// - Complexity: as of the changes that are redone.
    /// - Throws: `UndoError`; nothing has changed then.
    public func redo() throws(UndoError) {
        guard let undoManager else { throw .noUndoManager }
        try undoManager.redo()
    }

    /// Whether a save runs that may still fail: then nothing is registered, and no event ends.
    private var mayTakeBack: Bool { stage?.hook.isAfterCommit == false }

    /// Registers what the event has changed so far as one action.
    func registerUndo() {
        guard let journal, !journal.steps.isEmpty, !mayTakeBack else { return }
        registerSteps(of: journal, journal.edition)
    }

    /// Makes what was registered since the last call one group, unless it is part of another one.
    func endUndoEvent() {
        if let journal, !mayTakeBack { journal.manager.endEvent() }
    }

    /// Registers what the event and the hooks of a save have changed, once it has succeeded.
    func registerUndoOfSave() {
        guard let journal else { return }
        // The save has come after these steps.
        if !journal.steps.isEmpty { registerSteps(of: journal, journal.edition - 1) }
        journal.manager.endEvent()
    }

    private func registerSteps(of journal: UndoJournal, _ edition: Int) {
        let steps = journal.takeSteps()
        journal.manager.registerUndo(withTarget: self) { $0.undo(steps, edition) }
    }

    /// Whether steps are being undone.
    var isUndoing: Bool { journal?.manager.isIdle == false }

    /// Forgets what could be undone in this context.
    func forgetUndo() {
        guard let journal else { return }
        journal.truncate(to: 0)
        journal.manager.removeAllActions(withTarget: self)
    }

    private func undo(_ steps: [UndoStep], _ edition: Int) {
        beginEvent()
        defer { endEvent() }
        var reversal = Reversal(in: self, isExact: edition == journal?.edition)
        reversal.run(steps)
        // Steps know what rules have done before; they may meet what has come since.
        runDeleteRules()
        registerUndo()
    }

    // MARK: Objects that come back

    /// Makes a deleted object one that is not.
    func takeBackDeletion(of object: ManagedObject) {
        memory.deleted.remove(object)
        unpropagated.removeAll { $0 === object }
        object.state.subtract([.deleted, .propagated])
        if object.isInserted {
            memory.inserted.insert(object)
        } else if object.state.contains(.updated) {
            memory.updated.insert(object)
        }
        noteRefreshed(object)
        noteReturn(of: object)
    }

    /// Makes an object that has left the context a new one with its former ID and values, and without relationships;
    /// returns whether it had left and can come back.
    func takeBack(_ object: ManagedObject) -> Bool {
        guard object.state.contains(.ended), object.state.isDisjoint(with: .merged),
            object.withShape({ $0.context.object }) === self
        else { return false }
        if let other = memory.registry[object.storedID] {
            // Made when the row was gone already.
            guard !other.hasChanges else { return false }
            memory.registry.remove(other)
            other.leaveContext()
        }
        object.prepareToComeBack()
        object.joinContext()
        memory.registry.insert(object)
        memory.inserted.insert(object)
        noteInserted(object)
        noteReturn(of: object)
        return true
    }

    private func noteReturn(of object: ManagedObject) {
        if memory.pendingValues.isActive { memory.pendingValues.noteChange(of: object.storedID) }
        changeCount &+= 1
        object.willChange { _ in .inserted }
    }
}

extension ManagedObject {
    /// Makes an object that has left its context one that can join it as a new one, with its last attribute values and
    /// without relationships: what these led to may have another ID since.
    fileprivate func prepareToComeBack() {
        newValues = RowValues(
            entity.attributes.map { attributeValue(at: $0.slot) }, entity.relationships.map { _ in nil })
        (changes, row) = (nil, nil)
        state.subtract([.ended, .updated, .deleted, .propagated, .gone, .inaccessible])
    }
}
