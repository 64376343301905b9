// Random events in a context with an undo manager, saves among them: undoing restores the state before each event, and
// redoing the state after it. In some walks also random calls of the undo manager, beads of a subentity, two stores,
// saves that only one of them takes, and delete rules that run in saves only.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UndoWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 120)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 4)
    private static let callWalkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 2)

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `undoing everything gives the beginning, and redoing everything the end`(
        _ place: BeadBoard.Place, _ saves: Bool
    ) throws {
        try UndoWalk.take(Self.walkCount, seed: testSeed(default: 18_000), steps: Self.stepCount) {
            try UndoWalk(place, seed: $0, saves: saves)
        }
    }

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `whatever is called of the undo manager, what has steps is undone, and what has none stays (MC-54, MC-56)`(
        _ place: BeadBoard.Place, _ saves: Bool
    ) throws {
        try UndoWalk.take(Self.callWalkCount, seed: testSeed(default: 71_000), steps: Self.stepCount) {
            try UndoWalk(place, seed: $0, saves: saves, calls: true)
        }
    }
}

/// One context, and the states that its events led to.
private struct UndoWalk: UndoCallWalk {
    private let board: BeadBoard
    var rulesText: String { board.rulesText }
    /// Whether the walk saves among its events.
    ///
    /// Stores drop relationships without inverse to deleted rows, so a walk with saves compares only relationships with
    /// an inverse.
    let saves: Bool
    /// Whether the walk makes other calls of the undo manager than undo and redo, on a wide board.
    private let calls: Bool
    let context: ManagedObjectContext
    let undoManager = UndoStack()
    var random: SeededGenerator
    private var beads: [Bead] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    var timeline = UndoTimeline([:])
    var eventCount = 0
    var failure: String?
    var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64, saves: Bool, calls: Bool = false) throws {
        random = SeededGenerator(seed: seed)
        (self.saves, self.calls) = (saves, calls)
        let count = Int.random(in: 1..<7, using: &random)
        board = try BeadBoard(
            place, count: count, rules: BeadBoard.someRules(&random), isWide: calls, seed: seed)
        context = ManagedObjectContext(board.coordinator)
        context.undoManager = undoManager
        if calls {
            context.propagatesDeletesAtEndOfEvent = Int.random(in: 0..<4, using: &random) > 0
            undoManager.groupsByEvent = Int.random(in: 0..<4, using: &random) > 0
        }
        for bead in try context.fetch(FetchRequest<Bead>()) { add(bead) }
        timeline = UndoTimeline(try state())
    }

    private mutating func add(_ bead: Bead) {
        numbers[ObjectIdentifier(bead)] = beads.count
        beads.append(bead)
    }

    // MARK: The state

    private var there: [Bead] { beads.filter { $0.managedObjectContext != nil && !$0.isDeleted } }

    /// The number of an object, or `nil` if it is deleted: `noAction` removes no reference before the save.
    private func numberIfThere(_ object: ManagedObject) -> Int? {
        object.isDeleted ? nil : numbers[ObjectIdentifier(object)]
    }

    func state() throws -> BeadState {
        var state: BeadState = [:]
        for (number, bead) in beads.enumerated() where bead.managedObjectContext != nil && !bead.isDeleted {
            state[number] = try BeadProperty.allCases.map { property in
                if saves, property.isRelationship, property.inverse == nil { return [] }
                switch try bead.value(forKey: property.name) {
                case .attribute(.integer(let value)): return [Int(value)]
                case .attribute: return []
                case .toOne(let object): return object.flatMap(numberIfThere).map { [$0] } ?? []
                case .toMany(let objects):
                    let found = objects.compactMap(numberIfThere)
                    return property.isOrdered ? found : found.sorted()
                }
            }
            if calls { state[number]? += bead.otherValues }
        }
        return state
    }

    /// Whether two of some beads have one code, which their store refuses.
    private func haveEqualCodes(_ beads: [Bead]) -> Bool {
        for (index, bead) in beads.enumerated() {
            guard let code = bead.code else { continue }
            if beads[..<index].contains(where: { $0.code == code && board.areTogether($0, bead) }) { return true }
        }
        return false
    }

    // MARK: Steps

    /// Takes `count` steps; then undoes all events, and redoes them.
    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil {
                try step()
                checkStacks()
            }
            if failure == nil { try goBackAndForth() }
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func step() throws {
        if calls {
            let kind = Int.random(in: 0..<12, using: &random)
            if kind < 5 { return try call() }
            if kind == 5, saves { return try collide() }
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: try undo()
        case 2: try redo()
        case 3 where saves: try save()
        default: try event()
        }
    }

    private mutating func event() throws {
        let start = log.count
        // Without groups by event, a fetch ends a group.
        try change(mayRegister: undoManager.groupsByEvent, mayDelete: true)
        if saves, Int.random(in: 0..<5, using: &random) == 0 {
            log.append("and save")
            _ = try isSaved()
        }
        try endEvent(from: start)
    }

    mutating func change(mayRegister: Bool, mayDelete: Bool) throws {
        for _ in 0..<Int.random(in: 1..<5, using: &random) {
            try changeOnce(mayRegister: mayRegister, mayDelete: mayDelete)
        }
    }

    private mutating func changeOnce(mayRegister: Bool, mayDelete: Bool) throws {
        let there = there
        let kind = Int.random(in: 0..<12, using: &random)
        guard kind > 1, let bead = there.randomElement(using: &random), let number = numbers[ObjectIdentifier(bead)]
        else {
            log.append("insert \(beads.count)")
            let bead = try board.newBead(in: context, &random)
            return add(bead)
        }
        if kind == 2 {
            guard mayDelete else { return }
            log.append("delete \(number)")
            return try context.delete(bead)
        }
        if kind == 3 {
            guard mayRegister else { return }
            log.append("fetch")
            _ = try context.count(for: FetchRequest<Bead>())
            return
        }
        if bead is Pearl, Int.random(in: 0..<4, using: &random) == 0 {
            log.append("\(number) shines")
            return try bead.setValue(.integer(Int64.random(in: 0..<4, using: &random)), forKey: "shine")
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return }
        let near = there.filter { board.areTogether($0, bead) }
        let change = try BeadChange(of: bead, property, among: near, &random)
        log.append("\(number).\(change.text { numbers[ObjectIdentifier($0)] ?? -1 })")
        try change.make()
    }

    // MARK: Saves

    mutating func isSaved() throws -> Bool {
        do throws(ContextError) {
            try context.save()
        } catch {
            log.append("refused")
            let known = beads.filter { $0.managedObjectContext != nil }
            fail(error.unexplained(hasEqualCodes: haveEqualCodes(known)), after: "a save, which was refused:")
            return false
        }
        if calls, haveEqualCodes(there) { fail("two beads have one code", after: "a save") }
        return true
    }

    /// Saves, if delete rules and codes allow it.
    private mutating func save() throws {
        let start = log.count
        log.append("save")
        if try isSaved() {
            context.compareWithFreshContext()
            if let finding = try board.findings().first { failure = "after a save: \(finding)" }
        }
        // Delete rules that run in a save are an event.
        if context.propagatesDeletesAtEndOfEvent, hasNewEvent { failure = "a save registered something" }
        try noteEvent(from: start)
    }

    /// Gives two beads of one store the same code, so that a save fails or writes only the other store; undoes that.
    private mutating func collide() throws {
        let there = there
        guard let bead = there.randomElement(using: &random) else { return }
        let near = there.filter { $0 !== bead && board.areTogether($0, bead) }
        guard let other = near.randomElement(using: &random) else { return }
        let start = log.count
        log.append("one code for \([bead, other].map { numbers[ObjectIdentifier($0)] ?? -1 })")
        for bead in [bead, other] { try bead.setValue(.integer(7), forKey: "code") }
        try endEvent(from: start)
        try save()
        try undo()
    }

    /// Undoes all events, then redoes them, and saves after each of the two.
    private mutating func goBackAndForth() throws {
        while failure == nil, !timeline.past.isEmpty { try undo() }
        if failure == nil, undoManager.canUndo { failure = "more to undo than events" }
        if saves, failure == nil { try save() }
        while failure == nil, !timeline.future.isEmpty { try redo() }
        if failure == nil, undoManager.canRedo { failure = "more to redo than events" }
        if saves, failure == nil { try save() }
    }
}
