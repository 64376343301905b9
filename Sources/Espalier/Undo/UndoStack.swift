// The undo stack and the redo stack: groups of actions.
//
// Invariants
//   1. An action that is registered during an undo is part of a group on the redo stack, and vice versa: a redo undoes
//      the changes of the undo.
//   2. Groups nest. The stacks hold outermost groups only, and no group without actions. The one exception: each undo
//      and each redo pushes a group on the other stack, so that as many groups can be redone as were undone.
//   3. Observers are notified when a change is complete, never during an undo or redo, and only of properties whose
//      values are others than before.
//   4. An action is freed only after the access to the stacks: what it retains may call the undo manager.
//   5. If `levelsOfUndo` is not 0, each stack has at most that many groups; the oldest ones are removed first.
// Not here: what a group is (UndoGroup), and the actions that a context registers (UndoJournal).

public import Observation

/// Undoes and redoes actions in groups; Core Data calls it an undo manager (Behaviour MC-53 to MC-58).
///
/// A context with an undo manager can undo every change of its objects:
///
/// ```swift
/// context.undoManager = UndoStack()
/// note.text = "Milk"
/// try context.undo()
/// ```
///
/// All actions of one event form one group. An event of a context ends with `processPendingChanges`, with a `perform`
/// block, with a save, and with an undo or redo; that of a view context also as soon as the main actor is free, and
/// that of a `ContextActor` with each of its methods. The events of child contexts end together with those of their
/// root. Groups of an application's own nest in the group of the event. Several contexts may share an undo manager, if
/// they are in the same isolation region; then all of their changes in a turn of the main actor are one group.
///
/// Merges of what other contexts have saved are no actions: nobody undoes the changes of others, and what was undone
/// can still be redone after them.
///
/// An undo manager retains the objects that have changed: do not use one for an import (MC-58).
/// `withObservationTracking` follows what can be undone and redone, its number and its names: a menu shows them.
public final class UndoStack {
    private enum Stage {
        case idle, undoing, redoing
    }

    private var undoStack = Deque<UndoGroup>()
    private var redoStack = Deque<UndoGroup>()
    /// The open groups, the outermost one first.
    private var open: [UndoGroup] = []
    private var stage = Stage.idle
    /// Whether an undo or redo runs an action of the application's own.
    private var runsOwnAction = false
    private var disabledCount = 0
    private let registrar = ObservationRegistrar()
    /// The values of which observers were notified.
    private var told = Observed()
    /// Whether observers are being notified: a registrar forgets an observer only after it has run.
    private var isTelling = false
    /// The objects that register their changes at the end of an event (`addSource`).
    private var sources: [ObjectIdentifier: UndoSource] = [:]

    /// The properties of an undo manager that a menu shows.
    private struct Observed: Equatable {
        var undoCount = 0
        var redoCount = 0
        var undoActionName = ""
        var redoActionName = ""
    }

    /// Makes an undo manager with nothing to undo.
    public init() {}

    // MARK: Groups

    /// The largest number of groups on each stack; 0 for no limit.
    public var levelsOfUndo = 0 {
        didSet {
            trim()
            tellObservers()
        }
    }
    /// Whether the actions of one event form one group; otherwise each action outside of a group is a group of its own.
    public var groupsByEvent = true
    /// The number of open groups.
    public var groupingLevel: Int { open.count }

    /// Begins a group inside the innermost open one.
    ///
    /// Earlier changes of contexts are registered before, and stay outside of the group (MC-54).
    ///
    /// - Complexity: O(changes of the contexts that are not registered yet).
    public func beginUndoGrouping() {
        if stage == .idle { registerWaitingForGroup() }
        if open.isEmpty, groupsByEvent { open.append(UndoGroup(isEvent: true)) }
        open.append(UndoGroup())
        // The group has no name yet.
        tellObservers()
    }

    /// Ends the group that began last, and discards it if it is empty.
    ///
    /// Changes of contexts since then are registered before, and are part of the group, apart from those in a
    /// transaction and in hooks of a save, which are registered when the save has succeeded (MC-54).
    ///
    /// - Throws: `UndoError.noGroup` if no group is open, apart from that of the event.
    /// - Complexity: O(changes of the contexts that are not registered yet).
    public func endUndoGrouping() throws(UndoError) {
        guard hasGroupToEnd else { throw .noGroup }
        if stage == .idle { registerWaitingForGroup() }
        // A hook or an observer of the changes may have ended it.
        guard hasGroupToEnd else { throw .noGroup }
        closeLast()
        tellObservers()
    }

    private var hasGroupToEnd: Bool { open.last?.isEvent == false && (stage == .idle || open.count > 1) }

    /// Ends the group of the event, if no other group is open in it.
    func endEvent() {
        guard stage == .idle, open.count == 1, open[0].isEvent else { return }
        closeLast()
        tellObservers()
    }

    private func closeLast() {
        guard let group = open.popLast(), !group.entries.isEmpty else { return }
        if let outer = open.last {
            if outer.name.isEmpty { outer.name = group.name }
            return outer.entries.append(.group(group))
        }
        undoStack.append(group)
        trim()
    }

    private func trim() {
        guard levelsOfUndo > 0 else { return }
        while undoStack.count > levelsOfUndo { _ = undoStack.popFirst() }
        while redoStack.count > levelsOfUndo { _ = redoStack.popFirst() }
    }

    // MARK: Registering

    /// Whether actions are registered.
    public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

    /// Disables registration until `enableUndoRegistration` was called as often.
    ///
    /// A context registers its changes in `processPendingChanges`. Call that first: otherwise earlier changes cannot be
    /// undone if registration is still disabled at the next one (MC-54).
    ///
    /// Changes that are made meanwhile stay when earlier actions are undone, apart from properties that these have
    /// changed too: those get their former values, and both ends of relationships agree. An object that is deleted
    /// meanwhile stays deleted, and nothing is related to it again.
    public func disableUndoRegistration() { disabledCount += 1 }

    /// Reverts one call of `disableUndoRegistration`.
    ///
    /// - Throws: `UndoError.registrationIsEnabled` if registration is not disabled.
    public func enableUndoRegistration() throws(UndoError) {
        guard disabledCount > 0 else { throw .registrationIsEnabled }
        disabledCount -= 1
    }

    /// Registers an action of the application's own, which an undo calls with `target` if that still lives.
    ///
    /// Earlier changes of contexts are registered before, apart from those in a transaction and in hooks of a save,
    /// which are registered when the save has succeeded. An undo calls `handler` first and then reverts the earlier
    /// changes.
    ///
    /// The actions that `handler` registers redo the action. A new action clears the redo stack.
    ///
    /// - Complexity: O(changes of the contexts that are not registered yet).
    public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
        guard isUndoRegistrationEnabled else { return }
        if stage == .idle || runsOwnAction { registerWaitingForGroup() }
        register(UndoGroup.Action(on: target, isOwn: true, handler), name: "")
    }

    /// Registers changes of a source, which an undo reverts by `handler`.
    func registerChanges<Object: AnyObject>(of source: Object, handler: @escaping (Object) -> Void) {
        let name = sources[ObjectIdentifier(source)]?.nextName ?? ""
        forgetNextName(of: ObjectIdentifier(source))
        register(UndoGroup.Action(on: source, isOwn: false, handler), name: name)
    }

    /// - Parameter name: the name of the action's outermost group, unless that has one; empty for none.
    private func register(_ action: UndoGroup.Action, name: String) {
        guard isUndoRegistrationEnabled else { return }
        let former = redoStack
        defer { withExtendedLifetime(former) {} }
        if stage == .idle { redoStack.removeAll() }
        let isAlone = open.isEmpty
        if isAlone { open.append(UndoGroup(isEvent: groupsByEvent)) }
        open.last?.entries.append(.action(action))
        if let group = open.first, group.name.isEmpty { group.name = name }
        if isAlone, !groupsByEvent { closeLast() }
        tellObservers()
    }

    /// Adds a source: an object that registers its changes before each undo and redo.
    ///
    /// - Parameters:
    ///   - reason: the reason why undo and redo are impossible now; `nil` if there is none.
    ///   - hasWaiting: whether changes wait to be registered.
    ///   - register: registers the changes, and ends no group.
    ///   - afterEvent: is called when all sources have registered their changes and their common group has ended.
    func addSource<Object: AnyObject>(
        _ object: Object, reason: @escaping (Object) -> UndoError?, hasWaiting: @escaping (Object) -> Bool,
        register: @escaping (Object) -> Void, afterEvent: @escaping (Object) -> Void
    ) {
        sources[ObjectIdentifier(object)] = UndoSource(
            reason: { [weak object] in object.flatMap(reason) },
            hasWaiting: { [weak object] in object.map(hasWaiting) == true },
            register: { [weak object] in if let object { register(object) } },
            afterEvent: { [weak object] in if let object { afterEvent(object) } })
    }

    /// Removes a source and its actions.
    func removeSource(_ source: ObjectIdentifier) {
        sources[source] = nil
        removeAllActions { $0.target == source }
    }

    /// Removes all actions, and the open groups.
    ///
    /// - Complexity: O(registered actions).
    public func removeAllActions() {
        let former = (undoStack, redoStack, open, open.first?.entries)
        defer { withExtendedLifetime(former) {} }
        undoStack.removeAll()
        redoStack.removeAll()
        if stage == .idle { open = [] } else { open.first?.entries = [] }
        for source in sources.keys { forgetNextName(of: source) }
        tellObservers()
    }

    /// Removes the actions that were registered with `target`.
    ///
    /// - Complexity: O(registered actions, of all targets): each is looked at. Remove the actions of many targets that
    ///   end together with `removeAllActions()`, or let them end: an undo skips the actions of targets that were freed.
    public func removeAllActions(withTarget target: AnyObject) {
        let key = ObjectIdentifier(target)
        removeAllActions { $0.target == key }
    }

    private func removeAllActions(where isUnwanted: (UndoGroup.Action) -> Bool) {
        var removed: [UndoGroup.Action] = []
        defer { withExtendedLifetime(removed) {} }
        func isEmptied(_ group: UndoGroup) -> Bool {
            let wasEmpty = group.entries.isEmpty
            group.removeAll(where: isUnwanted, &removed)
            return !wasEmpty && group.entries.isEmpty
        }
        undoStack.removeAll(where: isEmptied)
        redoStack.removeAll(where: isEmptied)
        for group in open where isEmptied(group) && group.isEvent && open.count == 1 { open.removeAll() }
        tellObservers()
    }

    // MARK: Undoing

    /// Whether no undo and no redo is running.
    var isIdle: Bool { stage == .idle }
    /// Whether an undo is running.
    public var isUndoing: Bool { stage == .undoing }
    /// Whether a redo is running.
    public var isRedoing: Bool { stage == .redoing }
    /// Whether there is an action to undo.
    ///
    /// Changes of a context after its last `processPendingChanges` do not count.
    public var canUndo: Bool {
        noteRead(\.canUndo)
        return undoGroupCount > 0
    }
    /// Whether there is an action to redo.
    public var canRedo: Bool {
        noteRead(\.canRedo)
        return !redoStack.isEmpty
    }
    /// The number of groups that can be undone.
    public var undoCount: Int {
        noteRead(\.undoCount)
        return undoGroupCount
    }
    /// The number of groups that can be redone.
    public var redoCount: Int {
        noteRead(\.redoCount)
        return redoStack.count
    }

    private var undoGroupCount: Int {
        undoStack.count + (open.first?.entries.isEmpty == false && stage == .idle ? 1 : 0)
    }

    /// Ends the current event, then undoes the last group.
    ///
    /// - Throws: `UndoError.nothingToUndo`; `.openGroup` if a group is open; `.isBusy` in an action; `.contextIsSaving`
    ///   and `.contextIsMerging` in hooks.
    /// - Complexity: O(actions of the group) and what they do; for a context's changes, O(changes of the event).
    public func undo() throws(UndoError) {
        defer { tellObservers() }
        try checkIsClosed()
        guard let group = takeLast(of: \.undoStack) else { throw .nothingToUndo }
        redoStack.append(run(group, .undoing))
        trim()
    }

    /// Ends the current event, then redoes the group that was undone last.
    ///
    /// - Throws: `UndoError.nothingToRedo`; otherwise as `undo()`.
    /// - Complexity: as `undo()`.
    public func redo() throws(UndoError) {
        defer { tellObservers() }
        try checkIsClosed()
        guard let group = takeLast(of: \.redoStack) else { throw .nothingToRedo }
        undoStack.append(run(group, .redoing))
        trim()
    }

    /// Registers what contexts have changed, then undoes the last group, which may be nested in an open group.
    ///
    /// The changes that wait for the end of the event came after a nested group that has ended, and belong to the
    /// innermost open group, which is then the last one. If that is the group of the event, all of it is undone, as by
    /// `undo()`.
    ///
    /// - Throws: `UndoError.nothingToUndo` if there is no group; `.openGroup` if the last group is open and not that of
    ///   the event; `.isBusy` in an action; `.contextIsSaving` and `.contextIsMerging` in hooks.
    public func undoNestedGroup() throws(UndoError) {
        defer { tellObservers() }
        try registerWaiting()
        guard let outer = open.last else { return try undo() }
        guard case .group(let group)? = outer.entries.last else {
            if open.count == 1, outer.isEvent { return try undo() }
            throw outer.entries.isEmpty ? UndoError.nothingToUndo : UndoError.openGroup(level: open.count)
        }
        outer.entries.removeLast()
        let others = open
        redoStack.append(run(group, .undoing))
        open = others
        trim()
    }

    private func checkIsClosed() throws(UndoError) {
        try registerWaiting()
        endEvent()
        for source in Array(sources.values) { source.afterEvent() }
        // Observers of an automatic save may have made changes: these are an event of their own.
        endEvent()
        guard open.isEmpty else { throw .openGroup(level: open.count) }
    }

    /// Makes all sources register the changes that wait for the end of the event, or none if one of them has a reason
    /// against an undo.
    private func registerWaiting() throws(UndoError) {
        guard stage == .idle else { throw .isBusy }
        for source in Array(sources.values) { if let reason = source.reason() { throw reason } }
        for source in Array(sources.values) { source.register() }
    }

    /// Makes the sources that can do so register the changes that wait, as part of the group that is open now.
    ///
    /// Nothing is registered while registration is off: these changes may have been made before.
    private func registerWaitingForGroup() {
        guard isUndoRegistrationEnabled else { return }
        for source in Array(sources.values) where source.hasWaiting() && source.reason() == nil { source.register() }
    }

    /// Removes and returns the last group; skips groups whose targets have all been freed.
    private func takeLast(of stack: ReferenceWritableKeyPath<UndoStack, Deque<UndoGroup>>) -> UndoGroup? {
        var removed: [UndoGroup.Action] = []
        defer { withExtendedLifetime(removed) {} }
        while let group = self[keyPath: stack].popLast() {
            let wasEmpty = group.entries.isEmpty
            group.removeAll(where: { !$0.body(true) }, &removed)
            if wasEmpty || !group.entries.isEmpty { return group }
        }
        return nil
    }

    /// Runs the actions of a group, the last one first; returns the group of the actions that these register.
    private func run(_ group: UndoGroup, _ stage: Stage) -> UndoGroup {
        let reverse = UndoGroup(name: group.name)
        (self.stage, open) = (stage, [reverse])
        carryOut(group)
        // Actions of the application's own, and observers, may have changed objects: the reverse reverts that, too.
        registerWaitingForGroup()
        (self.stage, open) = (.idle, [])
        return reverse
    }

    private func carryOut(_ group: UndoGroup) {
        for entry in group.entries.reversed() {
            switch entry {
            case .action(let action):
                runsOwnAction = action.isOwn
                _ = action.body(false)
                runsOwnAction = false
            case .group(let inner): carryOut(inner)
            }
        }
    }

    // MARK: Names

    /// Names the outermost open group, or the last group if none is open, for menus.
    ///
    /// Earlier changes of contexts are registered before, or after the save in a transaction and in hooks of a save:
    /// their event then has an open group, which gets the name. Without groups by event, the group that the save
    /// registers gets it. A transaction or a save that fails takes the names back that it was given.
    public func setActionName(_ name: String) {
        if stage == .idle { registerWaitingForGroup() }
        let isIdle = stage == .idle && isUndoRegistrationEnabled
        let waiting = isIdle && open.isEmpty ? sources.filter { $0.value.hasWaiting() } : [:]
        guard waiting.isEmpty || groupsByEvent else {
            for source in waiting.keys { sources[source]?.nextName = name }
            return
        }
        if !waiting.isEmpty { open.append(UndoGroup(isEvent: true)) }
        (open.first ?? undoStack.last)?.name = name
        tellObservers()
    }

    /// The names that a call may change before it fails.
    func names(of source: ObjectIdentifier) -> UndoNames {
        UndoNames(of: open.first ?? undoStack.last, nextName: sources[source]?.nextName ?? "")
    }

    /// Gives the names of a former moment back, because all changes of a source since then were taken back.
    func restore(_ names: UndoNames, of source: ObjectIdentifier) {
        // An event without actions that has begun since was begun for the name of these changes.
        if let event = open.first, event !== names.group, event.isEmptyEvent { event.name = "" }
        names.group?.name = names.name
        sources[source]?.nextName = names.nextName
        tellObservers()
    }

    /// Forgets the name for changes of a source that wait: they were taken back, or are not registered.
    func forgetNextName(of source: ObjectIdentifier) { sources[source]?.nextName = "" }

    /// The name of the group that `undo()` would undo; empty if it has none.
    public var undoActionName: String {
        noteRead(\.undoActionName)
        return undoName
    }
    /// The name of the group that `redo()` would redo; empty if it has none.
    public var redoActionName: String {
        noteRead(\.redoActionName)
        return redoName
    }

    private var undoName: String { (stage == .idle ? open.first : nil)?.name ?? undoStack.last?.name ?? "" }
    private var redoName: String { redoStack.last?.name ?? "" }
}

// MARK: Observing

extension UndoStack: Observable {
    /// Registers the read of a property, if it is within `withObservationTracking`.
    private func noteRead<Member>(_ path: KeyPath<UndoStack, Member>) { registrar.access(self, keyPath: path) }

    private var observed: Observed {
        Observed(
            undoCount: undoGroupCount, redoCount: redoStack.count, undoActionName: undoName, redoActionName: redoName)
    }

    /// Notifies the observers of the properties that have other values than at the last call.
    ///
    /// A change that an observer makes in its call is told afterwards.
    private func tellObservers() {
        guard stage == .idle, !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while true {
            let (before, now) = (told, observed)
            guard now != before else { return }
            told = now
            tell(now, before)
        }
    }

    private func tell(_ now: Observed, _ before: Observed) {
        if now.undoCount != before.undoCount { tell(\.undoCount) }
        if (now.undoCount == 0) != (before.undoCount == 0) { tell(\.canUndo) }
        if now.redoCount != before.redoCount { tell(\.redoCount) }
        if (now.redoCount == 0) != (before.redoCount == 0) { tell(\.canRedo) }
        if now.undoActionName != before.undoActionName { tell(\.undoActionName) }
        if now.redoActionName != before.redoActionName { tell(\.redoActionName) }
    }

    private func tell<Member>(_ path: KeyPath<UndoStack, Member>) {
        registrar.willSet(self, keyPath: path)
        registrar.didSet(self, keyPath: path)
    }
}

@available(*, unavailable) extension UndoStack: Sendable {}
