// Random events in a context with an undo manager, while another context changes and saves the same beads: undoing
// restores the former values of attributes, whatever was merged since, and both ends of every relationship agree.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UndoMergeWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 80)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 12)

    @Test(arguments: BeadBoard.Place.allCases)
    func `undoing after merges gives attributes their former values and leaves both ends equal`(
        _ place: BeadBoard.Place
    ) throws {
        try UndoMergeWalk.take(Self.walkCount, seed: testSeed(default: 18_500), steps: Self.stepCount) {
            try UndoMergeWalk(place, seed: $0)
        }
    }
}

/// A context with an undo manager, and another one that saves.
private struct UndoMergeWalk: RandomWalk {
    private typealias Values = [ObjectIdentifier: [Int]]

    /// The attributes of the beads that exist, before and after an event.
    private struct Event {
        let before: Values
        let after: Values
    }

    private let board: BeadBoard
    var rulesText: String { board.rulesText }
    private let context: ManagedObjectContext
    private let other: ManagedObjectContext
    private let undoManager = UndoStack()
    private var random: SeededGenerator
    /// All beads that the walk has seen, deleted ones included.
    private var beads: [Bead] = []
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var past: [Event] = []
    private var future: [Event] = []
    private(set) var failure: String?
    private(set) var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 3..<7, using: &random)
        board = try BeadBoard(place, count: count, rules: BeadBoard.someRules(&random), seed: seed)
        context = ManagedObjectContext(board.coordinator)
        other = ManagedObjectContext(board.coordinator)
        for context in [context, other] {
            context.automaticallyMergesChangesFromParent = true
            context.mergePolicy = .objectTrump
        }
        context.undoManager = undoManager
    }

    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil { try step() }
            while failure == nil, !past.isEmpty { try undo() }
            if failure == nil { try save() }
            while failure == nil, !future.isEmpty { try redo() }
            if failure == nil { try save() }
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1, 2: try undo()
        case 3, 4: try redo()
        case 5: try save()
        case 6, 7: try saveElsewhere()
        default: try event()
        }
    }

    // MARK: The state

    private mutating func look() throws {
        for bead in try context.fetch(FetchRequest<Bead>()) where numbers[ObjectIdentifier(bead)] == nil {
            numbers[ObjectIdentifier(bead)] = beads.count
            beads.append(bead)
        }
    }

    private var there: [Bead] {
        beads.filter { bead in
            // The context learns that a row is deleted when a fault fires.
            if bead.managedObjectContext != nil, !bead.isDeleted { _ = bead[attribute: "a"] }
            return bead.managedObjectContext != nil && !bead.isDeleted
        }
    }

    private func attributes() -> Values {
        var values: Values = [:]
        for bead in there {
            values[ObjectIdentifier(bead)] = [BeadProperty.a, .b].map { property in
                if case .integer(let value) = bead[attribute: property.name] { return Int(value) }
                return -1
            }
        }
        return values
    }

    /// The first disagreement between the two ends of a relationship; `nil` if all agree.
    private func disagreement() throws -> String? {
        var state: BeadState = [:]
        let names = numbers
        for bead in there {
            guard let number = numbers[ObjectIdentifier(bead)] else { continue }
            state[number] = try BeadProperty.allCases.map { property in
                guard property.isRelationship, property.inverse != nil else { return [] }
                let objects: [ManagedObject] =
                    switch try bead.value(forKey: property.name) {
                    case .toOne(let object): object.map { [$0] } ?? []
                    case .toMany(let objects): objects
                    case .attribute: []
                    }
                return objects.filter { !$0.isDeleted }.map { names[ObjectIdentifier($0)] ?? -1 }
            }
        }
        return BeadBoard.fault(in: state)
    }

    // MARK: Steps

    private mutating func event() throws {
        // Pending saves are merged first, so that the event contains only its own changes.
        context.processPendingChanges()
        try look()
        let (before, count) = (attributes(), undoManager.undoCount)
        for _ in 0..<Int.random(in: 1..<4, using: &random) { try change(in: context, among: there) }
        context.processPendingChanges()
        try look()
        if undoManager.undoCount > count {
            past.append(Event(before: before, after: attributes()))
            future = []
        }
    }

    private mutating func change(in context: ManagedObjectContext, among there: [Bead]) throws {
        let kind = Int.random(in: 0..<10, using: &random)
        let usable = there.filter { !$0.isDeleted && $0.managedObjectContext != nil }
        guard kind > 0, let bead = usable.randomElement(using: &random) else {
            log.append("insert")
            _ = Bead(context: context)
            return
        }
        if kind == 1 {
            log.append("delete \(name(bead))")
            return try context.delete(bead)
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return }
        let change = try BeadChange(of: bead, property, among: usable, &random)
        log.append("\(name(bead)).\(change.text { numbers[ObjectIdentifier($0)] ?? -1 })")
        try change.make()
    }

    private func name(_ bead: Bead) -> String { numbers[ObjectIdentifier(bead)].map(String.init) ?? "a new one" }

    private mutating func saveElsewhere() throws {
        log.append("elsewhere:")
        let there = try other.fetch(FetchRequest<Bead>())
        for _ in 0..<Int.random(in: 1..<4, using: &random) {
            try change(in: other, among: there.filter { !$0.isDeleted && !$0.isFault })
        }
        do { try other.save() } catch {
            log.append("refused")
            other.rollback()
        }
        log.append("saved elsewhere")
    }

    private mutating func save() throws {
        log.append("save")
        do {
            try context.save()
            context.compareWithFreshContext()
            if let finding = try board.findings().first { failure = "after a save: \(finding)" }
        } catch is ContextError { log.append("refused") }
    }

    private mutating func undo() throws {
        guard let event = past.popLast() else { return }
        log.append("undo")
        let context = context
        try expect(event.before, changedFrom: event.after) { try context.undo() }
        future.append(event)
    }

    private mutating func redo() throws {
        guard let event = future.popLast() else { return }
        log.append("redo")
        let context = context
        try expect(event.after, changedFrom: event.before) { try context.redo() }
        past.append(event)
    }

    /// Runs `body`, and expects the values that the event changed to have their wanted values.
    private mutating func expect(_ wanted: Values, changedFrom former: Values, after body: () throws -> Void) throws {
        context.processPendingChanges()
        try look()
        let (isEqual, before) = (try disagreement() == nil, attributes())
        try body()
        try look()
        if isEqual, let disagreement = try disagreement() { failure = disagreement }
        let now = attributes()
        for (bead, values) in wanted {
            // An object that appears or disappears has no former value to compare.
            guard let found = now[bead], let other = former[bead] else { continue }
            for (index, value) in values.enumerated() {
                // A value that the event left as it was may be set again, or keep the merged value.
                let expected = value == other[index] ? [value, before[bead]?[index] ?? value] : [value]
                if !expected.contains(found[index]) {
                    failure = "\(numbers[bead] ?? -1) has \(found[index]) at \(index), not \(expected)"
                }
            }
        }
    }
}
