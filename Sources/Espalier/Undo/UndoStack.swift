// What can be undone and what can be redone: two stacks of groups of actions.
//
// Invariants
//   1. An action that is registered while another one is undone goes to the redo stack, and the other way round: to
//      redo is to undo what undoing did.
//   2. Groups nest. Only outermost ones stand on the stacks, and none in which nothing was registered. Undoing puts one
//      on the other stack in any case, so that as much can be redone as was undone.
//   3. If `levelsOfUndo` is not 0, each stack has at most so many groups; the oldest ones go first.
// Not here: what a context registers (UndoJournal).

/// Undoes and redoes actions in groups: what Core Data calls an undo manager (Behaviour MC-53 to MC-58).
///
/// Give one to a context, and every change of its objects can be undone:
///
/// ```swift
/// context.undoManager = UndoStack()
/// note.text = "Milk"
/// try context.undo()
/// ```
///
/// All actions of one event make one group. An event of a context ends with `processPendingChanges`, with a `perform`
/// block, with a save, and when something is undone or redone. Groups of an application's own nest in it. Several
/// contexts may share an undo manager, if they are used in one place.
///
/// An undo manager keeps the objects alive that changed: leave it out for an import (MC-58).
public final class UndoStack {
    /// An action, or a group within a group.
    private enum Entry {
        case action(Action)
        case group(Group)
    }

    private struct Action {
        let target: ObjectIdentifier
        /// Does it; returns whether the target still lives.
        let body: (_ isTest: Bool) -> Bool
    }

    private final class Group {
        var name: String
        var entries: [Entry] = []
        /// Whether it began by itself, with the first action of an event.
        let isEvent: Bool

        init(name: String = "", isEvent: Bool = false) { (self.name, self.isEvent) = (name, isEvent) }

        func removeAll(where isUnwanted: (Action) -> Bool) {
            entries.removeAll { entry in
                switch entry {
                case .action(let action): return isUnwanted(action)
                case .group(let group):
                    group.removeAll(where: isUnwanted)
                    return group.entries.isEmpty
                }
            }
        }
    }

    private enum Stage {
        case idle, undoing, redoing
    }

    private var undoStack: [Group] = []
    private var redoStack: [Group] = []
    /// The groups that have begun and not ended, the outermost one first.
    private var open: [Group] = []
    private var stage = Stage.idle
    private var disabledCount = 0
    /// What makes those register who have changes that are not registered yet.
    private var sources: [ObjectIdentifier: () -> UndoError?] = [:]

    /// An undo manager with nothing to undo.
    public init() {}

    // MARK: Groups

    /// How many groups each stack keeps; 0 for all of them.
    public var levelsOfUndo = 0 {
        didSet { trim() }
    }
    /// Whether the actions of one event make one group; otherwise each action outside of a group is one of its own.
    public var groupsByEvent = true
    /// How many groups have begun and not ended.
    public var groupingLevel: Int { open.count }

    /// Begins a group, within the one that is open.
    public func beginUndoGrouping() {
        if open.isEmpty, groupsByEvent { open.append(Group(isEvent: true)) }
        open.append(Group())
    }

    /// Ends the group that began last; an empty one leaves nothing.
    ///
    /// - Throws: `UndoError.noGroup` if none is open but that of the event.
    public func endUndoGrouping() throws(UndoError) {
        guard let last = open.last, !last.isEvent, stage == .idle || open.count > 1 else { throw .noGroup }
        closeLast()
    }

    /// Ends the group of the event, if no other one is open in it.
    func endEvent() {
        if stage == .idle, open.count == 1, open[0].isEvent { closeLast() }
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
        undoStack.removeFirst(max(0, undoStack.count - levelsOfUndo))
        redoStack.removeFirst(max(0, redoStack.count - levelsOfUndo))
    }

    // MARK: Registering

    /// Whether actions are registered.
    public var isUndoRegistrationEnabled: Bool { disabledCount == 0 }

    /// Registers nothing until `enableUndoRegistration` was called as often.
    ///
    /// What a context has changed before counts as registered only after its `processPendingChanges` (MC-54).
    public func disableUndoRegistration() { disabledCount += 1 }

    /// Takes one `disableUndoRegistration` back.
    ///
    /// - Throws: `UndoError.registrationIsEnabled` if there is none.
    public func enableUndoRegistration() throws(UndoError) {
        guard disabledCount > 0 else { throw .registrationIsEnabled }
        disabledCount -= 1
    }

    /// Registers an action of the application's own, which is called with `target` if that still lives.
    ///
    /// What `handler` registers itself is what redoes the action. A new action leaves nothing to redo.
    public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
        guard isUndoRegistrationEnabled else { return }
        if stage == .idle { redoStack.removeAll() }
        let isAlone = open.isEmpty
        if isAlone { open.append(Group(isEvent: groupsByEvent)) }
        let action = Action(target: ObjectIdentifier(target)) { [weak target] isTest in
            guard let target else { return false }
            if !isTest { handler(target) }
            return true
        }
        open.last?.entries.append(.action(action))
        if isAlone, !groupsByEvent { closeLast() }
    }

    /// Takes in somebody who registers only when `register` is called: before anything is undone or redone.
    ///
    /// - Parameter register: returns why nothing can be undone now, if nothing can.
    func addSource<Source: AnyObject>(_ source: Source, _ register: @escaping (Source) -> UndoError?) {
        sources[ObjectIdentifier(source)] = { [weak source] in
            guard let source else { return nil }
            return register(source)
        }
    }

    /// Forgets a source, which ends, with its actions.
    func removeSource(_ source: ObjectIdentifier) {
        sources[source] = nil
        removeAllActions { $0.target == source }
    }

    /// Forgets all actions, and the groups that are open.
    public func removeAllActions() {
        undoStack.removeAll()
        redoStack.removeAll()
        if stage == .idle { open.removeAll() } else { open.first?.entries.removeAll() }
    }

    /// Forgets the actions that were registered with `target`.
    public func removeAllActions(withTarget target: AnyObject) {
        let key = ObjectIdentifier(target)
        removeAllActions { $0.target == key }
    }

    private func removeAllActions(where isUnwanted: (Action) -> Bool) {
        func isEmptied(_ group: Group) -> Bool {
            let wasEmpty = group.entries.isEmpty
            group.removeAll(where: isUnwanted)
            return !wasEmpty && group.entries.isEmpty
        }
        undoStack.removeAll(where: isEmptied)
        redoStack.removeAll(where: isEmptied)
        for group in open where isEmptied(group) && group.isEvent && open.count == 1 { open.removeAll() }
    }

    // MARK: Undoing

    /// Whether nothing is being undone or redone.
    var isIdle: Bool { stage == .idle }
    /// Whether something is being undone.
    public var isUndoing: Bool { stage == .undoing }
    /// Whether something is being redone.
    public var isRedoing: Bool { stage == .redoing }
    /// Whether there is something to undo.
    ///
    /// What a context has changed since the last `processPendingChanges` is not counted.
    public var canUndo: Bool { undoCount > 0 }
    /// Whether there is something to redo.
    public var canRedo: Bool { redoCount > 0 }
    /// How many groups can be undone.
    public var undoCount: Int { undoStack.count + (open.first?.entries.isEmpty == false && stage == .idle ? 1 : 0) }
    /// How many groups can be redone.
    public var redoCount: Int { redoStack.count }

    /// Undoes the last group, after the running event has ended.
    ///
    /// - Throws: `UndoError.nothingToUndo`; `.openGroup` if a group has begun and not ended; `.isBusy` in an action.
    public func undo() throws(UndoError) {
        try checkIsClosed()
        guard let group = takeLast(of: &undoStack) else { throw .nothingToUndo }
        redoStack.append(run(group, .undoing))
        trim()
    }

    /// Redoes what was undone last, after the running event has ended.
    ///
    /// - Throws: `UndoError.nothingToRedo`; `.openGroup` if a group has begun and not ended; `.isBusy` in an action.
    public func redo() throws(UndoError) {
        try checkIsClosed()
        guard let group = takeLast(of: &redoStack) else { throw .nothingToRedo }
        undoStack.append(run(group, .redoing))
        trim()
    }

    /// Undoes the last group, which may be one within a group that is open.
    ///
    /// - Throws: `UndoError.nothingToUndo` if there is none; `.isBusy` in an action.
    public func undoNestedGroup() throws(UndoError) {
        guard stage == .idle else { throw .isBusy }
        guard let outer = open.last else { return try undo() }
        guard case .group(let group)? = outer.entries.last else {
            guard open.count == 1, outer.isEvent else { throw .nothingToUndo }
            return try undo()
        }
        outer.entries.removeLast()
        let others = open
        redoStack.append(run(group, .undoing))
        open = others
        trim()
    }

    private func checkIsClosed() throws(UndoError) {
        guard stage == .idle else { throw .isBusy }
        for register in Array(sources.values) { if let error = register() { throw error } }
        endEvent()
        guard open.isEmpty else { throw .openGroup(level: open.count) }
    }

    /// Takes the last group out that is not all about targets which have ended.
    private func takeLast(of stack: inout [Group]) -> Group? {
        while let group = stack.popLast() {
            let wasEmpty = group.entries.isEmpty
            group.removeAll { !$0.body(true) }
            if wasEmpty || !group.entries.isEmpty { return group }
        }
        return nil
    }

    /// Carries out the actions of a group, the last one first; what they register.
    private func run(_ group: Group, _ stage: Stage) -> Group {
        let reverse = Group(name: group.name)
        (self.stage, open) = (stage, [reverse])
        carryOut(group)
        (self.stage, open) = (.idle, [])
        return reverse
    }

    private func carryOut(_ group: Group) {
        for entry in group.entries.reversed() {
            switch entry {
            case .action(let action): _ = action.body(false)
            case .group(let inner): carryOut(inner)
            }
        }
    }

    // MARK: Names

    /// Names the group that is open or, if none is, the last one, for menus.
    public func setActionName(_ name: String) { (open.first ?? undoStack.last)?.name = name }
    /// The name of what `undo()` would undo; empty if it has none.
    public var undoActionName: String { (stage == .idle ? open.first : nil)?.name ?? undoStack.last?.name ?? "" }
    /// The name of what `redo()` would redo; empty if it has none.
    public var redoActionName: String { redoStack.last?.name ?? "" }
}

@available(*, unavailable) extension UndoStack: Sendable {}
