// Undoing and redoing the changes in a context (MC-53 to MC-58).
//
// Invariants
//   1. One action has at most the changes between two calls of `processPendingChanges`. A merge is no action.
//   2. After a save, an undo makes changes for the next one. Changes that other contexts have saved meanwhile stay,
//      except for properties that the action has changed too: those get their former values (MC-56).
// Not here: how steps are undone (Reversal), which steps there are (UndoJournal), groups (UndoStack).

import EspalierModel
import EspalierStore

extension ManagedObjectContext {
    /// The undo manager of the context; `nil` at first: the context records no steps then (MC-53).
    ///
    /// A save keeps its actions: an undo after the save makes changes for the next save, and inserts an object whose
    /// deletion is saved again under its former ID (MC-56). `rollback` and `reset` remove the context's actions.
    ///
    /// In a context with an undo manager, a deletion reads the destinations of the object's relationships, and loads
    /// the objects that cascades reach, so that an undo can restore all of them. After the deletion was saved, an undo
    /// does not restore references to the object across relationships without inverse.
    ///
    /// Setting another undo manager removes the context's actions from the former one. The new one brings back nothing
    /// that was deleted before, nor what the delete rules of that do later.
    ///
    /// A merge is no action: it registers none, and leaves what can be undone and redone as it is. An undo sets the
    /// properties that its action has changed. Everything else stays as it was merged, and where another context has
    /// saved another value below, the next save finds the conflict. If a merge relates objects to one whose deletion is
    /// not saved, its delete rules reach them, and the undo of the deletion takes that back. After an undo both ends of
    /// each relationship agree, except at an object with changes whose row another context has deleted: it keeps its
    /// values until a save reports the conflict, or the merge policy decides it.
    ///
    /// - Complexity: reading it is O(1); setting it is O(deleted objects, and actions of the former undo manager).
    public var undoManager: UndoStack? {
        get { journal?.manager }
        set {
            guard newValue !== journal?.manager else { return }
            // It lives on until the end of this call: the objects that its steps retain may call the context.
            let former = journal
            defer { withExtendedLifetime(former) {} }
            formerStepCount = undoStepCount
            forgetUndo()
            markDeletionsUnrecorded()
            former?.manager.removeSource(ObjectIdentifier(self))
            journal = newValue.map { UndoJournal($0, pauseCount: journalPauseCount) }
            newValue?.addSource(self, reason: \.reasonNotToUndo, hasWaiting: \.hasWaitingSteps) { context in
                context.mergeAndRunDeleteRules()
                // Observers were told of the event; what they have changed must not wait until something is undone.
                context.registerUndo()
            } afterEvent: { context in
                if context.autosaveEnabled { context.autosave() }
            }
        }
    }

    /// Ends the current event, then undoes the changes of the last event (MC-57).
    ///
    /// - Complexity: that of the changes that are undone.
    /// - Throws: `UndoError`; then nothing has changed.
    public func undo() throws(UndoError) {
        guard let undoManager else { throw .noUndoManager }
        try undoManager.undo()
    }

    /// Ends the current event, then redoes the changes that were undone last (MC-57).
    ///
    /// - Complexity: that of the changes that are redone.
    /// - Throws: `UndoError`; then nothing has changed.
    public func redo() throws(UndoError) {
        guard let undoManager else { throw .noUndoManager }
        try undoManager.redo()
    }

    /// The reason why neither an undo nor a redo can run now; `nil` if there is none.
    ///
    /// The hooks of a merge or a refresh, and of delete rules without registration, run between changes that have no
    /// steps: a redo could not take back an undo there, and an object that becomes a fault would lose it.
    private var reasonNotToUndo: UndoError? {
        if mayTakeBack { return .contextIsSaving }
        return journalPauseCount > 0 || turningCount > 0 ? .contextIsMerging : nil
    }

    /// Whether changes of the event are not registered yet.
    private var hasWaitingSteps: Bool { journal?.steps.isEmpty == false }

    /// Registers the changes of the event so far as one action, unless a running save may still fail.
    func registerUndo() {
        guard let journal, !journal.steps.isEmpty, !mayTakeBack else { return }
        registerSteps(of: journal)
    }

    /// Ends the group of the event's actions, unless another group is open in it.
    func endUndoEvent() {
        if let journal, !mayTakeBack { journal.manager.endEvent() }
    }

    /// Registers the changes of the event and of the hooks of a save, after the save has succeeded.
    func registerUndoOfSave() {
        guard let journal else { return }
        // Their edition is a past one, because the save has changed the objects after these steps.
        if !journal.steps.isEmpty { registerSteps(of: journal) }
        journal.manager.endEvent()
    }

    private func registerSteps(of journal: UndoJournal) {
        let action = journal.takeAction()
        guard journal.manager.isUndoRegistrationEnabled else { return drop(action.steps, journal) }
        journal.manager.registerChanges(of: self) { $0.undo(action) }
    }

    /// Drops steps whose changes stay: registration was disabled after these (MC-54).
    private func drop(_ steps: [UndoStep], _ journal: UndoJournal) {
        for step in steps {
            if case .deleted = step.change { step.object.state.insert(.unrecordedDeletion) }
        }
        journal.skip()
        journal.manager.forgetNextName(of: ObjectIdentifier(self))
    }

    /// Whether an undo or a redo is running.
    var isUndoing: Bool { journal?.manager.isIdle == false }

    /// Removes the steps and actions of this context.
    func forgetUndo() {
        guard let journal else { return }
        journal.truncate(to: 0)
        journal.manager.forgetNextName(of: ObjectIdentifier(self))
        journal.manager.removeAllActions(withTarget: self)
    }

    private func undo(_ action: UndoAction) {
        beginEvent()
        defer {
            endEvent()
            noteUnsavedChanges()
        }
        var reversal = Reversal(of: action, in: self)
        reversal.run()
        awaken(after: action.steps)
        // The steps include the effects of earlier delete rules; the rules may reach objects that were related since.
        if propagatesDeletesAtEndOfEvent { runDeleteRules() }
        registerUndo()
    }

    /// Calls the hook of each object once, with what the undo of all its steps has done to it (MO-29).
    private func awaken(after steps: [UndoStep]) {
        let undone: ManagedObject.State = [.insertionUndone, .deletionUndone, .updateUndone]
        var changed: [ManagedObject] = []
        for step in steps where step.object.state.contains(.registered) {
            if step.object.state.isDisjoint(with: undone) { changed.append(step.object) }
            step.object.state.insert(step.change.flagOfUndo)
        }
        var events: [SnapshotEvents] = []
        events.reserveCapacity(changed.count)
        for object in changed {
            events.append(object.eventsOfUndo)
            object.state.subtract(undone)
        }
        for (object, events) in zip(changed, events) { object.awaken(from: events) }
    }

    // MARK: Restored objects

    /// Reverts the deletion of an object, which is not saved.
    func takeBackDeletion(of object: ManagedObject) {
        memory.deleted.remove(object)
        journal?.endDeletedRuns()
        noteHiddenDestinations()
        memory.reached.forgetRows()
        // It stays among those whose rules have not run: they run for deleted objects only.
        if !outdated.isEmpty { outdated.removeAll { $0 === object } }
        object.state.subtract([.deleted, .propagated])
        if object.isInserted {
            memory.inserted.insert(object)
        } else if object.state.contains(.updated) {
            memory.updated.insert(object)
        }
        noteRefreshed(object)
        noteReturn(of: object)
    }

    /// Inserts an object that has left the context again, with its former ID and values, and without relationships;
    /// returns whether it had left and could be inserted.
    func takeBack(_ object: ManagedObject) -> Bool {
        guard object.state.contains(.ended), object.state.isDisjoint(with: .merged),
            object.withShape({ $0.context.object }) === self
        else { return false }
        if let other = memory.registry[object.storedID] {
            // An object that was made after the row was deleted.
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
        countChange(of: object)
        object.willChange { _ in .inserted }
    }
}

extension UndoStep.Change {
    /// The flag of an object for which this change is undone.
    fileprivate var flagOfUndo: ManagedObject.State {
        switch self {
        case .inserted: .insertionUndone
        case .deleted: .deletionUndone
        default: .updateUndone
        }
    }
}

extension ManagedObject {
    /// The events that its flags of a running undo stand for.
    fileprivate var eventsOfUndo: SnapshotEvents {
        var events: SnapshotEvents = []
        if state.contains(.insertionUndone) { events.insert(.undoInsertion) }
        if state.contains(.deletionUndone) { events.insert(.undoDeletion) }
        if state.contains(.updateUndone) { events.insert(.undoUpdate) }
        return events
    }

    /// Prepares an object that has left its context for joining it as a new one, with its last attribute values and
    /// without relationships: their destinations may have other IDs by now.
    fileprivate func prepareToComeBack() {
        newValues = RowValues(
            entity.attributes.map { attributeValue(at: $0.slot) }, entity.relationships.map { _ in nil })
        (changes, row) = (nil, nil)
        state.subtract([.ended, .updated, .deleted, .propagated, .gone, .inaccessible])
    }
}
