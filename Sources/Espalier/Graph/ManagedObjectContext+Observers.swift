// Telling closures what happens in a context, and collecting what has changed in it (NT-01 to NT-05).
//
// Invariants
//   1. Closures are called where the context is used, in the order in which they were added. While one is told of
//      changed objects, no other is called: its own changes are part of the next event.
//   2. Changed objects are collected only while a closure wants to know them.
//   3. `ObjectsDidChangeMessage` comes at the end of an event: of `processPendingChanges`, which every fetch begins and
//      every `perform` ends with, of a save, a refresh, a merge, a rollback and a reset; inside of one another, once.
//      Before it comes `DidLoseGenerationMessage`, if a generation was lost meanwhile.

import EspalierModel

/// The closures that observe one context, and the event that they will be told of.
final class ContextObservers {
    fileprivate(set) var willSave = Observers<(ManagedObjectContext.WillSaveMessage) -> Void>()
    fileprivate(set) var didSave = Observers<(ManagedObjectContext.DidSaveMessage) -> Void>()
    fileprivate(set) var objectsDidChange = Observers<(ManagedObjectContext.ObjectsDidChangeMessage) -> Void>()
    fileprivate(set) var didMerge = Observers<(ManagedObjectContext.DidMergeChangesMessage) -> Void>()
    fileprivate(set) var didLoseGeneration = Observers<(ManagedObjectContext.DidLoseGenerationMessage) -> Void>()
    /// Whether a generation was lost since the last message about that.
    fileprivate var hasLostGeneration = false
    /// What has changed since the last message.
    fileprivate(set) var event = EventChanges()
    fileprivate var isTelling = false
}

extension ManagedObjectContext {
    // MARK: For applications

    /// Calls `body` before each save that has something to write (NT-01).
    ///
    /// - Returns: what keeps the observation; it ends when the token is freed or cancelled.
    public func addObserver(
        for message: WillSaveMessage.Type, _ body: @escaping (WillSaveMessage) -> Void
    ) -> ObservationToken {
        madeObservers.willSave.add(body)
    }

    /// Calls `body` after each save that has written something (NT-02, NT-03).
    ///
    /// - Returns: what keeps the observation; it ends when the token is freed or cancelled.
    public func addObserver(
        for message: DidSaveMessage.Type, _ body: @escaping (DidSaveMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didSave.add(body)
    }

    /// Calls `body` at the end of each event in which objects in memory have changed (NT-04).
    ///
    /// - Returns: what keeps the observation; it ends when the token is freed or cancelled.
    /// - Complexity: O(1) for each change, as long as there is an observer.
    public func addObserver(
        for message: ObjectsDidChangeMessage.Type, _ body: @escaping (ObjectsDidChangeMessage) -> Void
    ) -> ObservationToken {
        memory.collectsChanges = true
        return madeObservers.objectsDidChange.add(body)
    }

    /// Calls `body` whenever the context has merged a save of another context (NT-05).
    ///
    /// - Returns: what keeps the observation; it ends when the token is freed or cancelled.
    public func addObserver(
        for message: DidMergeChangesMessage.Type, _ body: @escaping (DidMergeChangesMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didMerge.add(body)
    }

    /// Calls `body` at the end of each event in which the context had to leave the generation that it read (MC-51).
    ///
    /// - Returns: what keeps the observation; it ends when the token is freed or cancelled.
    public func addObserver(
        for message: DidLoseGenerationMessage.Type, _ body: @escaping (DidLoseGenerationMessage) -> Void
    ) -> ObservationToken {
        madeObservers.didLoseGeneration.add(body)
    }

    private var madeObservers: ContextObservers {
        if let observers { return observers }
        let made = ContextObservers()
        observers = made
        return made
    }

    // MARK: Telling

    /// Tells that a save begins.
    func tellWillSave() {
        guard let observers, !observers.willSave.isEmpty else { return }
        tell(WillSaveMessage(context: self), observers.willSave.current())
    }

    /// Tells that a save has written.
    func tellDidSave(_ changes: SavedChanges, _ parts: [ChangeSet]) {
        guard let observers, !observers.didSave.isEmpty else { return }
        let message = DidSaveMessage(
            context: self, changes: changes, inserted: Set(parts.lazy.flatMap(\.inserted)),
            updated: Set(parts.lazy.flatMap(\.updated)), deleted: Set(parts.lazy.flatMap(\.deleted)))
        tell(message, observers.didSave.current())
    }

    /// Tells that a save of another context was merged.
    func tellDidMerge(_ changes: SavedChanges) {
        guard let observers, !observers.didMerge.isEmpty else { return }
        tell(DidMergeChangesMessage(context: self, changes: changes), observers.didMerge.current())
    }

    private func tell<Message>(_ message: Message, _ observers: [(token: ObservationToken, body: (Message) -> Void)]) {
        for observer in observers where !observer.token.isCancelled { observer.body(message) }
    }

    // MARK: Events

    /// Begins a call that is one event, or part of one; `endEvent` ends it.
    func beginEvent() { eventDepth += 1 }

    /// Ends a call that is an event, and tells what has changed unless it is part of another one.
    func endEvent() {
        assert(eventDepth > 0, "an event ends that has not begun")
        eventDepth -= 1
        guard eventDepth == 0 else { return }
        assert(checkInvariants())
        tellChanges()
    }

    /// Asserts the invariants of the context's state between events; to be called in `assert`.
    func checkInvariants() -> Bool {
        assert(memory.checkInvariants() && generation.checkInvariants())
        assert(stage == nil || eventDepth > 0, "a save runs outside of every event")
        return true
    }

    /// Tells what has changed since the last time.
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

    /// Notes that the context had to leave the generation that it read while it answered a question.
    func noteLostGeneration() {
        guard let observers else { return }
        observers.hasLostGeneration = true
        if eventDepth == 0 { eventNotice?() }
    }

    /// What has changed in this event: to be put back if a save fails.
    var eventChanges: EventChanges? {
        get { observers?.event }
        set { if let newValue { observers?.event = newValue } }
    }

    /// Notes a change of this event; the first one outside of a call that ends an event is announced.
    private func note(_ change: (inout EventChanges) -> Void) {
        guard let observers else { return }
        let wasEmpty = observers.event.isEmpty
        change(&observers.event)
        if wasEmpty, eventDepth == 0 { eventNotice?() }
    }

    func noteInserted(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteInserted(object) } } }
    func noteUpdated(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteUpdated(object) } } }
    func noteRefreshed(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteRefreshed(object) } } }
    func noteDeleted(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteDeleted(object) } } }
    func noteInvalidated(_ object: ManagedObject) { if memory.collectsChanges { note { $0.noteInvalidated(object) } } }
    func noteReset(of ids: [ObjectID]) { if memory.collectsChanges { note { $0 = EventChanges(afterResetOf: ids) } } }
}
