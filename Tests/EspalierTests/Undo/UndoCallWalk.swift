// Random calls of an undo manager in a walk: undo and redo, registration off and on, groups within groups, a limit of
// levels, names, and the end of all actions.
//
// Between two steps of a walk no event is unfinished, and no group is open.

import Espalier
import TestSupport

/// A walk in one context with an undo manager.
protocol UndoCallWalk: RandomWalk {
    var context: ManagedObjectContext { get }
    var undoManager: UndoStack { get }
    /// Whether the walk may save.
    var saves: Bool { get }
    var random: SeededGenerator { get set }
    var timeline: UndoTimeline { get set }
    /// The number of events so far.
    var eventCount: Int { get set }
    var failure: String? { get set }
    var log: [String] { get set }

    /// The state that the context shows of the beads that only the walk changes in it.
    func state() throws -> BeadState
    /// Makes one to four random changes.
    ///
    /// - Parameter mayRegister: whether a fetch may be among them, which registers the changes before it.
    mutating func change(mayRegister: Bool, mayDelete: Bool) throws
    /// Saves; returns whether that was not refused.
    mutating func isSaved() throws -> Bool
}

extension UndoCallWalk {
    mutating func fail(_ problem: String?, after call: String) {
        if failure == nil, let problem { failure = "after \(call) \(problem)" }
    }

    /// Whether there is an event that has no name yet: the walk names each when it ends.
    var hasNewEvent: Bool { undoManager.canUndo && undoManager.undoActionName.isEmpty }

    /// Ends an event of which the log tells from `start` on, and notes what the context shows now.
    ///
    /// - Parameter mixed: the beads that have also changed without registration; `nil` if it was on all the time.
    mutating func endEvent(from start: Int, mixed: Set<Int>? = nil) throws {
        context.processPendingChanges()
        try noteEvent(from: start, mixed: mixed)
    }

    /// Notes what the context shows after an event, or after a call that may have registered one.
    mutating func noteEvent(from start: Int, mixed: Set<Int>? = nil) throws {
        let now = try state()
        if hasNewEvent {
            let name = nextName(log[start...].joined(separator: "; "))
            undoManager.setActionName(name)
            timeline.add(name, now, mixed: mixed)
        } else if mixed == nil {
            fail(UndoTimeline.difference(now, timeline.present), after: "what registered nothing")
        } else {
            timeline.noteUnrecorded(now)
        }
    }

    /// The name of the next event.
    private mutating func nextName(_ text: String) -> String {
        eventCount += 1
        return "\(eventCount): \(text)"
    }

    // MARK: Undo and redo

    mutating func undo() throws { try turn(isRedo: false) }

    mutating func redo() throws { try turn(isRedo: true) }

    /// - Parameter isRecorded: whether registration is on.
    private mutating func turn(isRedo: Bool, isRecorded: Bool = true) throws {
        guard let event = isRedo ? timeline.future.last : timeline.past.last else { return }
        let call = isRedo ? "redo" : "undo"
        log.append("\(call)\(isRecorded ? "" : " without registration"): \(event.name)")
        if !isRecorded { undoManager.disableUndoRegistration() }
        if isRedo { try context.redo() } else { try context.undo() }
        if !isRecorded { try undoManager.enableUndoRegistration() }
        let now = try state()
        let problem = timeline.turn(isRedo: isRedo, isRecorded: isRecorded, now)
        fail(problem, after: call)
        // A nested group that was undone has no name.
        if isRedo, event.name.isEmpty {
            let name = nextName("a group")
            undoManager.setActionName(name)
            timeline.rename(name)
        }
    }

    /// Compares the numbers and names of groups with those of events.
    mutating func checkStacks() {
        let (past, future) = (timeline.past, timeline.future)
        let counts = (undoManager.undoCount, undoManager.redoCount)
        if counts != (past.count, future.count) {
            fail("\(counts) groups, not \((past.count, future.count))", after: log.last ?? "")
        }
        let names = [undoManager.undoActionName, undoManager.redoActionName]
        let expected = [past.last?.name ?? "", future.last?.name ?? ""]
        if names != expected { fail("the names are \(names), not \(expected)", after: log.last ?? "") }
        if undoManager.groupingLevel > 0 { fail("a group is open", after: log.last ?? "") }
    }

    // MARK: Calls

    /// Whether delete rules run at the end of each event: if not, they would delete and change without steps in a later
    /// save what leads to an object that was deleted without a step.
    private var runsRulesAtOnce: Bool { context.propagatesDeletesAtEndOfEvent }

    /// Makes a random call of the undo manager.
    mutating func call() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1, 2: try changeWithoutRegistration()
        case 3: try changePartly()
        case 4...6 where undoManager.groupsByEvent: try nest()
        case 7: limit()
        case 8 where runsRulesAtOnce: try turn(isRedo: Bool.random(using: &random), isRecorded: false)
        case 9 where Int.random(in: 0..<3, using: &random) == 0:
            log.append("remove all actions")
            if Bool.random(using: &random) {
                undoManager.removeAllActions()
            } else {
                undoManager.removeAllActions(withTarget: context)
            }
            timeline.removeAll()
        default:
            let start = log.count
            try change(mayRegister: false, mayDelete: true)
            try endEvent(from: start)
        }
    }

    private mutating func limit() {
        let levels = [0, 1, 3, 8].randomElement(using: &random) ?? 0
        log.append("\(levels) levels")
        undoManager.levelsOfUndo = levels
        timeline.levels = levels
    }

    /// Makes changes that have no steps, in one of three ways.
    private mutating func changeWithoutRegistration() throws {
        let mayDelete = runsRulesAtOnce
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            log.append("without registration:")
            undoManager.disableUndoRegistration()
            try change(mayRegister: true, mayDelete: mayDelete)
            if saves, Int.random(in: 0..<4, using: &random) == 0 {
                log.append("and save")
                _ = try isSaved()
            }
            context.processPendingChanges()
            try undoManager.enableUndoRegistration()
        case 1:
            // Delete rules run when registration is on again.
            log.append("without registration until the event ends:")
            undoManager.disableUndoRegistration()
            try change(mayRegister: true, mayDelete: mayDelete)
            try undoManager.enableUndoRegistration()
            context.processPendingChanges()
        default:
            log.append("without registration when the event ends:")
            try change(mayRegister: false, mayDelete: mayDelete)
            undoManager.disableUndoRegistration()
            context.processPendingChanges()
            try undoManager.enableUndoRegistration()
        }
        if hasNewEvent { fail("there is an event", after: "changes without registration") }
        timeline.noteUnrecorded(try state())
    }

    /// Makes an event of which registration is off for a part.
    private mutating func changePartly() throws {
        let start = log.count
        try change(mayRegister: false, mayDelete: true)
        let before = try state()
        log.append("without registration:")
        undoManager.disableUndoRegistration()
        // The rules of a deletion would run later.
        try change(mayRegister: false, mayDelete: false)
        try undoManager.enableUndoRegistration()
        let mixed = UndoTimeline.changed(before, try state())
        log.append("with registration:")
        try change(mayRegister: false, mayDelete: true)
        try endEvent(from: start, mixed: mixed)
    }

    /// Makes an event with a nested group, and may undo that group.
    private mutating func nest() throws {
        let (start, count) = (log.count, undoManager.undoCount)
        log.append("a group:")
        undoManager.beginUndoGrouping()
        try change(mayRegister: true, mayDelete: true)
        // Otherwise the end of the group registers what waits.
        if Bool.random(using: &random) { context.processPendingChanges() }
        try undoManager.endUndoGrouping()
        if undoManager.undoCount == count || Bool.random(using: &random) {
            log.append("after the group:")
            try change(mayRegister: true, mayDelete: true)
            return try endEvent(from: start)
        }
        if Bool.random(using: &random) {
            // The context registers these changes, and then all of the event is undone. Delete rules would run then.
            log.append("waiting:")
            try change(mayRegister: false, mayDelete: false)
        }
        let later = try state()
        log.append("undo the group")
        try undoManager.undoNestedGroup()
        // Without changes that wait, the group of the event stays open, and is empty.
        timeline.add("", later, isTrimmed: undoManager.groupingLevel == 0)
        context.processPendingChanges()
        let now = try state()
        let problem = timeline.turn(isRedo: false, now)
        fail(problem, after: "the undo of a nested group")
    }
}

extension ContextError {
    /// The finding that neither the rule `deny` explains, nor equal codes if `hasEqualCodes`; `nil` if there is none.
    func unexplained(hasEqualCodes: Bool) -> String? {
        switch self {
        case .references: nil
        case .violations(let violations): violations.first { !$0.isDenial }.map { "\($0)" }
        case .constraints where hasEqualCodes: nil
        case .partlySaved(let error): error.unexplained(hasEqualCodes: hasEqualCodes)
        case .several(let errors): errors.lazy.compactMap { $0.unexplained(hasEqualCodes: hasEqualCodes) }.first
        default: "\(self)"
        }
    }
}

extension Violation {
    fileprivate var isDenial: Bool {
        switch reason {
        case .deniedDelete, .more: true
        default: false
        }
    }
}
