// Random events in a context with an undo manager, saves among them: undoing restores the state before each event, and
// redoing the state after it.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UndoWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 120)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 6)

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `undoing everything gives the beginning, and redoing everything the end`(
        _ place: BeadBoard.Place, _ saves: Bool
    ) throws {
        try UndoWalk.take(Self.walkCount, seed: testSeed(default: 18_000), steps: Self.stepCount) {
            try UndoWalk(place, seed: $0, saves: saves)
        }
    }
}

/// One context, and the states that its events led to.
private struct UndoWalk: RandomWalk {
    /// A description of an event, and the state on its other side.
    private struct Event {
        let text: String
        let state: BeadState
    }

    private let board: BeadBoard
    var rulesText: String { board.rulesText }
    /// Whether the walk saves among its events.
    ///
    /// Stores drop relationships without inverse to deleted rows, so a walk with saves compares only relationships with
    /// an inverse.
    private let saves: Bool
    private let context: ManagedObjectContext
    private let undoManager = UndoStack()
    private var random: SeededGenerator
    private var beads: [Bead] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    /// The states before the events that can be undone, and after those that can be redone; the event to undo or redo
    /// next is last.
    private var past: [Event] = []
    private var future: [Event] = []
    private var present: BeadState = [:]
    private(set) var failure: String?
    private(set) var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64, saves: Bool) throws {
        random = SeededGenerator(seed: seed)
        self.saves = saves
        let count = Int.random(in: 1..<7, using: &random)
        board = try BeadBoard(place, count: count, rules: BeadBoard.someRules(&random), seed: seed)
        context = ManagedObjectContext(board.coordinator)
        context.undoManager = undoManager
        for bead in try context.fetch(FetchRequest<Bead>()) { add(bead) }
        present = try state()
    }

    private mutating func add(_ bead: Bead) {
        numbers[ObjectIdentifier(bead)] = beads.count
        beads.append(bead)
    }

    /// The number of an object, or `nil` if it is deleted: `noAction` removes no reference before the save.
    private func numberIfThere(_ object: ManagedObject) -> Int? {
        object.isDeleted ? nil : numbers[ObjectIdentifier(object)]
    }

    /// The state that the context shows.
    private func state() throws -> BeadState {
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
        }
        return state
    }

    private mutating func expect(_ expected: BeadState, after call: String) throws {
        let found = try state()
        if found == expected { return }
        for number in Set(found.keys).union(expected.keys).sorted() where found[number] != expected[number] {
            let properties = BeadProperty.allCases.filter {
                found[number] == nil || expected[number] == nil || found[number]?[$0] != expected[number]?[$0]
            }
            let texts = properties.map { "\($0) \(found[number]?[$0] ?? [-1]), not \(expected[number]?[$0] ?? [-1])" }
            failure = "after \(call) \(number) shows \(texts.joined(separator: "; "))"
            return
        }
    }

    /// Takes `count` steps; then undoes all events, and redoes them.
    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil { try step() }
            if failure == nil { try goBackAndForth() }
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: try undo()
        case 2: try redo()
        case 3 where saves: try save()
        default: try event()
        }
    }

    private mutating func event() throws {
        let (count, start) = (undoManager.undoCount, log.count)
        for _ in 0..<Int.random(in: 1..<5, using: &random) { try change() }
        if saves, Int.random(in: 0..<5, using: &random) == 0 {
            log.append("and save")
            do { try context.save() } catch ContextError.violations, ContextError.references { log.append("refused") }
        }
        context.processPendingChanges()
        let now = try state()
        guard undoManager.undoCount > count else {
            return try expect(present, after: "an event that registered nothing")
        }
        past.append(Event(text: log[start...].joined(separator: "; "), state: present))
        future = []
        present = now
    }

    private mutating func change() throws {
        let there = beads.filter { $0.managedObjectContext != nil && !$0.isDeleted }
        let kind = Int.random(in: 0..<12, using: &random)
        guard kind > 1, let bead = there.randomElement(using: &random), let number = numbers[ObjectIdentifier(bead)]
        else {
            log.append("insert \(beads.count)")
            return add(Bead(context: context))
        }
        if kind == 2 {
            log.append("delete \(number)")
            return try context.delete(bead)
        }
        if kind == 3 {
            log.append("fetch")
            _ = try context.count(for: FetchRequest<Bead>())
            return
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return }
        let change = try BeadChange(of: bead, property, among: there, &random)
        log.append("\(number).\(change.text { numbers[ObjectIdentifier($0)] ?? -1 })")
        try change.make()
    }

    private mutating func undo() throws {
        guard let former = past.popLast() else { return }
        log.append("undo: \(former.text)")
        try context.undo()
        try expect(former.state, after: "undo")
        future.append(Event(text: former.text, state: present))
        present = former.state
    }

    private mutating func redo() throws {
        guard let next = future.popLast() else { return }
        log.append("redo: \(next.text)")
        try context.redo()
        try expect(next.state, after: "redo")
        past.append(Event(text: next.text, state: present))
        present = next.state
    }

    /// Saves, if delete rules allow it.
    private mutating func save() throws {
        log.append("save")
        let count = undoManager.undoCount
        do {
            try context.save()
            context.compareWithFreshContext()
            if let finding = try board.findings().first { failure = "after a save: \(finding)" }
        } catch ContextError.violations, ContextError.references {
            log.append("refused")
        }
        if undoManager.undoCount != count { failure = "a save registered something" }
        try expect(present, after: "save")
    }

    /// Undoes all events, then redoes them, and saves after each of the two.
    private mutating func goBackAndForth() throws {
        while failure == nil, !past.isEmpty { try undo() }
        if failure == nil, undoManager.canUndo { failure = "more to undo than events" }
        if saves, failure == nil { try save() }
        while failure == nil, !future.isEmpty { try redo() }
        if failure == nil, undoManager.canRedo { failure = "more to redo than events" }
        if saves, failure == nil { try save() }
    }
}
