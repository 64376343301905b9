// Notifies closures of events in a context, and collects the objects that have changed in it (NT-01 to NT-05).
//
// Invariants
//   1. Closures are called on the thread that uses the context, in the order in which they were added. While an
//      observer of changed objects runs, no other one is called: its own changes are part of the next event.
//   2. Changed objects are collected only while an observer needs them.
//   3. `ObjectsDidChangeMessage` is sent at the end of an event: of `processPendingChanges`, with which every
//      `perform` ends, of the merge and delete rules with which a fetch begins, of a save, a refresh, a merge, a
//      rollback and a reset; once for nested ones.
//      `DidLoseGenerationMessage` is sent before it, if a generation was lost meanwhile.

import EspalierModel

/// The closures that observe one context, and the changes of the next message.
final class ContextObservers {
    fileprivate(set) var willSave = Observers<(ManagedObjectContext.WillSaveMessage) -> Void>()
    fileprivate(set) var didSave = Observers<(ManagedObjectContext.DidSaveMessage) -> Void>()
    fileprivate(set) var objectsDidChange = Observers<(ManagedObjectContext.ObjectsDidChangeMessage) -> Void>()
    fileprivate(set) var didMerge = Observers<(ManagedObjectContext.DidMergeChangesMessage) -> Void>()
    fileprivate(set) var didLoseGeneration = Observers<(ManagedObjectContext.DidLoseGenerationMessage) -> Void>()
    fileprivate(set) var didFailToAutosave = Observers<(ManagedObjectContext.DidFailToAutosaveMessage) -> Void>()
    fileprivate(set) var didBreakConstraints = Observers<(ManagedObjectContext.DidBreakConstraintsMessage) -> Void>()
    /// Whether a generation was lost after the last `DidLoseGenerationMessage`.
    fileprivate var hasLostGeneration = false
    /// The objects that have changed after the last `ObjectsDidChangeMessage`.
    fileprivate(set) var event = EventChanges()
    fileprivate var isTelling = false
}

extension ManagedObjectContext {
    // MARK: For applications

    /// Calls `body` before each save that has something to write (NT-01).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: WillSaveMessage.Type, _ body: @escaping (WillSaveMessage) -> Void
    ) -> ObservationToken {
        madeObservers.willSave.add(body)
    }

    /// Calls `body` after each save that has written something (NT-02, NT-03).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: DidSaveMessage.Type, _ body: @escaping (DidSaveMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didSave.add(body)
    }

    /// Calls `body` at the end of each event in which objects in memory have changed (NT-04).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    /// - Complexity: O(1) for each change while there is an observer.
    public func addObserver(
        for message: ObjectsDidChangeMessage.Type, _ body: @escaping (ObjectsDidChangeMessage) -> Void
    ) -> ObservationToken {
        memory.collectsChanges = true
        return madeObservers.objectsDidChange.add(body)
    }

    /// Calls `body` after the context has merged a save of another context (NT-05).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: DidMergeChangesMessage.Type, _ body: @escaping (DidMergeChangesMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didMerge.add(body)
    }

    /// Calls `body` at the end of each event in which the context had to leave the generation that it read (MC-51).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: DidLoseGenerationMessage.Type, _ body: @escaping (DidLoseGenerationMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didLoseGeneration.add(body)
    }

    /// Calls `body` after each save of a context with `autosaveEnabled` that has failed (SD-16).
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    public func addObserver(
        for message: DidFailToAutosaveMessage.Type, _ body: @escaping (DidFailToAutosaveMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didFailToAutosave.add(body)
    }

    /// Calls `body` at the end of each event that has given objects values that must be unique and that others have
    /// (F-6).
    ///
    /// Conflicts that exist already are not told: ask for `uniquenessConflicts()`.
    ///
    /// - Returns: the token of the observation, which ends when the token is freed or canceled.
    /// - Complexity: O(log n) for each object with unique values that changes, while there is an observer, and
    ///   O(objects) for each conflict; in a child context also O(changed objects of its parents) for an event with new
    ///   unique values. O(changed objects) to begin.
    public func addObserver(
        for message: DidBreakConstraintsMessage.Type, _ body: @escaping (DidBreakConstraintsMessage) -> Void
    ) -> ObservationToken {
        if uniqueCheck == nil {
            let token = addObserver(for: ObjectsDidChangeMessage.self) { $0.context.checkUniqueValues(of: $0) }
            let check = UniqueValueCheck(model, token)
            uniqueCheck = check
            check.renew(self)
        }
        return madeObservers.didBreakConstraints.add(body)
    }

    private var madeObservers: ContextObservers {
        if let observers { return observers }
        let made = ContextObservers()
        observers = made
        return made
    }

    // MARK: Messages

    /// Notifies observers that a save begins.
    func tellWillSave() {
        guard let observers, !observers.willSave.isEmpty else { return }
        tell(WillSaveMessage(context: self), observers.willSave.current())
    }

    /// Notifies observers that a save has written.
    func tellDidSave(_ changes: SavedChanges, _ parts: [ChangeSet]) {
        guard let observers, !observers.didSave.isEmpty else { return }
        let message = DidSaveMessage(
            context: self, changes: changes, inserted: Set(parts.lazy.flatMap(\.inserted)),
            updated: Set(parts.lazy.flatMap(\.updated)), deleted: Set(parts.lazy.flatMap(\.deleted)),
            generation: try? queryGenerationToken)
        tell(message, observers.didSave.current())
    }

    /// Notifies observers that the context has merged a save of another context.
    func tellDidMerge(_ changes: SavedChanges) {
        guard let observers, !observers.didMerge.isEmpty else { return }
        tell(DidMergeChangesMessage(context: self, changes: changes), observers.didMerge.current())
    }

    /// Notifies observers that a save of the context's own accord has failed.
    func tellDidFailToAutosave(_ error: ContextError) {
        guard let observers, !observers.didFailToAutosave.isEmpty else { return }
        tell(DidFailToAutosaveMessage(context: self, error: error), observers.didFailToAutosave.current())
    }

    /// Whether there is an observer of broken constraints; if not, the check ends.
    var observesConstraints: Bool {
        if observers?.didBreakConstraints.current().isEmpty == false { return true }
        uniqueCheck = nil
        return false
    }

    /// Notifies observers of the constraints that an event has broken.
    func tellBrokenConstraints(_ conflicts: [UniquenessConflict]) {
        guard let observers, !conflicts.isEmpty else { return }
        let message = DidBreakConstraintsMessage(context: self, conflicts: conflicts)
        tell(message, observers.didBreakConstraints.current())
    }

    private func tell<Message>(_ message: Message, _ observers: [(token: ObservationToken, body: (Message) -> Void)]) {
        for observer in observers where !observer.token.isCancelled { observer.body(message) }
    }

    // MARK: Events

    /// Begins a call that is an event or part of one; `endEvent` ends it.
    func beginEvent() { eventDepth += 1 }

    /// Ends a call that is an event or part of one; the end of the outermost call sends the messages of the event.
    func endEvent() {
        assert(eventDepth > 0, "an event ends that did not begin")
        // As a part of this event.
        if eventDepth == 1, !deferredSaves.isEmpty, !mayTakeBack { mergeDeferredSaves() }
        eventDepth -= 1
        guard eventDepth == 0 else { return }
        assert(checkInvariants())
        eventRecord?.beginTelling()
        tellChanges()
        eventRecord?.endTelling()
        if memory.hasObserved { tellObserved() }
        // Hooks of a call that registers no undo actions, such as a refresh, may have changed objects.
        if let journal, !journal.steps.isEmpty, !journal.hasNotice {
            journal.hasNotice = true
            noteBeginOfEvent()
        }
    }

    /// Asserts the invariants of the context's state between events; call it inside `assert`.
    func checkInvariants() -> Bool {
        assert(memory.checkInvariants() && generation.checkInvariants())
        assert(stage == nil || eventDepth > 0, "a save runs outside of an event")
        assert(saveRun == nil || stage != nil, "invariant 1 of SaveRun: writer \(saveRun?.writer ?? 0) saves no more")
        return true
    }

    /// Notifies observers of the objects that have changed after the last message.
    func tellChanges() {
        tellLostGeneration()
        guard let observers, !observers.isTelling, !observers.event.isEmpty else { return }
        let event = observers.event
        observers.event = EventChanges()
        let told = observers.objectsDidChange.current()
        if told.isEmpty { memory.collectsChanges = false }
        observers.isTelling = true
        defer { observers.isTelling = false }
        func here(_ objects: Set<ManagedObject>) -> Set<ManagedObject> {
            objects.filter { $0.managedObjectContext === self }
        }
        let message = ObjectsDidChangeMessage(
            context: self, inserted: here(event.inserted), updated: here(event.updated),
            refreshed: here(event.refreshed), deleted: event.deleted, invalidated: event.invalidated,
            invalidatedAll: event.invalidatedAll)
        tell(message, told)
    }

    private func tellLostGeneration() {
        guard let observers, observers.hasLostGeneration, !observers.isTelling else { return }
        observers.hasLostGeneration = false
        tell(DidLoseGenerationMessage(context: self), observers.didLoseGeneration.current())
    }

    /// Records that the context had to leave its generation during a read.
    func noteLostGeneration() {
        guard let observers else { return }
        observers.hasLostGeneration = true
        noteBeginOfEvent()
    }

    /// Gives notice of the first change that waits for the end of an event, unless a running call ends it.
    ///
    /// Changes wait for observers, for the undo manager, for the record of the event and for delete rules.
    func noteBeginOfEvent() { if eventDepth == 0 { giveNotice() } }

    /// Runs the `eventNotice` of the root, which ends the events of its children, too: once for each event of a child.
    ///
    /// - Complexity: O(depth of the child).
    func giveNotice() {
        guard let parent else {
            eventNotice?()
            return
        }
        guard !awaitsEndOfEvent else { return }
        awaitsEndOfEvent = true
        var root = parent
        while let next = root.parent { root = next }
        root.eventNotice?()
    }

    /// The changes of this event; a save that fails restores them.
    var eventChanges: EventChanges? {
        get { observers?.event }
        set { if let newValue { observers?.event = newValue } }
    }

    /// Records a change of this event; the first change outside `beginEvent` and `endEvent` gives notice.
    private func note(_ change: (inout EventChanges) -> Void) {
        guard let observers else { return }
        let wasEmpty = observers.event.isEmpty
        change(&observers.event)
        if wasEmpty { noteBeginOfEvent() }
    }

    func noteInserted(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteInserted(object) } } }
    @inline(__always)
    func noteUpdated(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteUpdated(object) } } }
    func noteRefreshed(_ object: ManagedObject) {
        noteObserved(object)
        if memory.collectsChanges { note { $0.noteRefreshed(object) } }
    }
    func noteDeleted(_ object: ManagedObject) {
        noteObserved(object)
        if memory.collectsChanges { note { $0.noteDeleted(object) } }
    }
    func noteInvalidated(_ object: ManagedObject) {
        noteObserved(object)
        if memory.collectsChanges { note { $0.noteInvalidated(object) } }
    }
    func noteReset(of ids: [ObjectID]) { if memory.collectsChanges { note { $0 = EventChanges(afterResetOf: ids) } } }
}
