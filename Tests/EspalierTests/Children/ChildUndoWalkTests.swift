// Random events in a child or a grandchild with an undo manager, saves to its parent among them, while the contexts
// above it and a sibling change other beads: undoing everything gives the beginning, and redoing everything the end. In
// some walks also random calls of the undo manager, beads of a subentity, and two stores below.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct ChildUndoWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 50)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 4)
    private static let callWalkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 2)

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `undoing everything in a child gives the beginning, and redoing everything the end, whatever others change`(
        _ place: BeadBoard.Place, _ isGrandchild: Bool
    ) throws {
        try ChildUndoWalk.take(Self.walkCount, seed: testSeed(default: 56_000), steps: Self.stepCount) {
            try ChildUndoWalk(place, seed: $0, isGrandchild: isGrandchild)
        }
    }

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `whatever is called of a child's undo manager, what has steps is undone, and what has none stays (MC-54)`(
        _ place: BeadBoard.Place, _ isGrandchild: Bool
    ) throws {
        try ChildUndoWalk.take(Self.callWalkCount, seed: testSeed(default: 72_000), steps: Self.stepCount) {
            try ChildUndoWalk(place, seed: $0, isGrandchild: isGrandchild, calls: true)
        }
    }
}

/// A context with an undo manager, the states that its events led to, and parties around it.
///
/// Each context changes and relates only beads of its own. So nothing that others do changes a bead of the context, but
/// it merges all of that.
private struct ChildUndoWalk: UndoCallWalk {
    /// Another context, and the beads that it changes.
    private struct Party {
        let name: String
        let context: ManagedObjectContext
        var beads: [Bead] = []
    }

    private let board: BeadBoard
    var rulesText: String { board.rulesText }
    let saves = true
    /// Whether the walk makes other calls of the undo manager than undo and redo, on a wide board.
    private let calls: Bool
    let context: ManagedObjectContext
    let undoManager = UndoStack()
    /// The contexts above, its parent first and the root last.
    private let ancestors: [ManagedObjectContext]
    /// The sibling, and then the contexts above.
    private var parties: [Party]
    var random: SeededGenerator
    /// The beads of the context.
    private var beads: [Bead] = []
    /// The numbers of the beads that their own contexts have made or read.
    private var numbers: [ObjectIdentifier: Int] = [:]
    /// The beads of others as the context has them in memory, so that merges change something there.
    private var strangers: [Bead] = []
    var timeline = UndoTimeline([:])
    var eventCount = 0
    var failure: String?
    var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64, isGrandchild: Bool, calls: Bool = false) throws {
        random = SeededGenerator(seed: seed)
        self.calls = calls
        let partyCount = isGrandchild ? 4 : 3
        let count = partyCount * Int.random(in: 1..<4, using: &random)
        board = try BeadBoard(
            place, count: count, rules: BeadBoard.someRules(&random), isWide: calls, seed: seed)
        let root = ManagedObjectContext(board.coordinator)
        ancestors = isGrandchild ? [ManagedObjectContext(parent: root), root] : [root]
        context = ManagedObjectContext(parent: ancestors[0])
        context.undoManager = undoManager
        parties = [Party(name: "sibling", context: ManagedObjectContext(parent: ancestors[0]))]
        for (level, ancestor) in ancestors.enumerated() {
            parties.append(Party(name: "\(level + 1) above", context: ancestor))
        }
        for number in 0..<count {
            let owner = number % partyCount
            if owner == parties.count {
                let bead = try board.bead(number, in: context)
                enter(bead)
                beads.append(bead)
            } else {
                let bead = try board.bead(number, in: parties[owner].context)
                enter(bead)
                parties[owner].beads.append(bead)
            }
        }
        let known = Set(beads)
        strangers = try context.fetch(FetchRequest<Bead>()).filter { !known.contains($0) }
        timeline = UndoTimeline(try state())
    }

    /// Gives a bead the next number.
    private mutating func enter(_ bead: Bead) {
        let count = numbers.count
        numbers[ObjectIdentifier(bead)] = count
    }

    // MARK: States

    /// The values of a bead of the context, in the context itself or in another one; `number` has the numbers of its
    /// destinations.
    ///
    /// Stores remove references to deleted rows from relationships without inverse, and an undo does not restore these.
    private func values(of bead: Bead, _ number: (ManagedObject) -> Int) throws -> [[Int]] {
        let values: [[Int]] = try BeadProperty.allCases.map { property in
            if property.isRelationship, property.inverse == nil { return [] }
            switch try bead.value(forKey: property.name) {
            case .attribute(.integer(let value)): return [Int(value)]
            case .attribute: return []
            // Some delete rules remove no reference before the save.
            case .toOne(let object): return object.flatMap { $0.isDeleted ? nil : [number($0)] } ?? []
            case .toMany(let objects):
                let found = objects.filter { !$0.isDeleted }.map(number)
                return property.isOrdered ? found : found.sorted()
            }
        }
        return calls ? values + bead.otherValues : values
    }

    /// The state of its beads that the context shows.
    func state() throws -> BeadState {
        let names = numbers
        var state: BeadState = [:]
        for bead in beads where bead.managedObjectContext != nil && !bead.isDeleted {
            guard let number = names[ObjectIdentifier(bead)] else { continue }
            state[number] = try values(of: bead) { names[ObjectIdentifier($0)] ?? -1 }
        }
        return state
    }

    /// Expects the store to have the beads of the context as the context shows them.
    private mutating func expectStored(after call: String) throws {
        let reader = ManagedObjectContext(board.coordinator)
        var own: [ObjectID: Int] = [:]
        for bead in beads where bead.managedObjectContext != nil {
            own[bead.objectID] = numbers[ObjectIdentifier(bead)]
        }
        let others = Set(parties.flatMap(\.beads).map(\.objectID))
        var stored: BeadState = [:]
        for bead in try reader.fetch(FetchRequest<Bead>()) where !others.contains(bead.objectID) {
            stored[own[bead.objectID] ?? -1] = try values(of: bead) { own[$0.objectID] ?? -1 }
        }
        fail(UndoTimeline.difference(stored, timeline.present), after: "\(call), in the store,")
        if let finding = try board.findings().first { failure = "after \(call): \(finding)" }
    }

    // MARK: Steps

    /// Takes `count` steps; then undoes all events and redoes them, and saves up to the store after each of the two.
    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil {
                try step()
                checkStacks()
            }
            while failure == nil, !timeline.past.isEmpty { try undo() }
            if failure == nil, undoManager.canUndo { failure = "more to undo than events" }
            if failure == nil { try saveUp("everything was undone") }
            while failure == nil, !timeline.future.isEmpty { try redo() }
            if failure == nil, undoManager.canRedo { failure = "more to redo than events" }
            if failure == nil { try saveUp("everything was redone") }
        } catch {
            failure = "\(error)"
        }
        withExtendedLifetime(strangers) {}
    }

    private mutating func step() throws {
        if calls, Int.random(in: 0..<3, using: &random) == 0 { return try call() }
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1, 2: try undo()
        case 3: try redo()
        case 4, 5: try save()
        case 6, 7, 8: try changeElsewhere()
        case 9: try saveAbove()
        default: try event()
        }
    }

    private mutating func event() throws {
        let start = log.count
        try change(mayRegister: true, mayDelete: true)
        if Int.random(in: 0..<5, using: &random) == 0 {
            log.append("and save")
            _ = try isSaved()
        }
        try endEvent(from: start)
    }

    /// Makes one to four changes, none of which is a fetch.
    mutating func change(mayRegister: Bool, mayDelete: Bool) throws {
        for _ in 0..<Int.random(in: 1..<5, using: &random) {
            guard let new = try change(beads, in: context, deletes: mayDelete) else { continue }
            beads.append(new)
        }
    }

    /// Makes a random change among some beads; returns the bead that it has inserted, if that is the change.
    private mutating func change(_ beads: [Bead], in context: ManagedObjectContext, deletes: Bool) throws -> Bead? {
        let there = beads.filter { $0.managedObjectContext != nil && !$0.isDeleted }
        let kind = Int.random(in: 0..<12, using: &random)
        guard kind > 1, let bead = there.randomElement(using: &random), let number = numbers[ObjectIdentifier(bead)]
        else {
            let new = try board.newBead(in: context, &random)
            log.append("insert \(numbers.count)")
            enter(new)
            return new
        }
        if kind == 2, deletes {
            log.append("delete \(number)")
            try context.delete(bead)
            return nil
        }
        if bead is Pearl, Int.random(in: 0..<4, using: &random) == 0 {
            log.append("\(number) shines")
            try bead.setValue(.integer(Int64.random(in: 0..<4, using: &random)), forKey: "shine")
            return nil
        }
        guard let property = BeadProperty.allCases.randomElement(using: &random) else { return nil }
        let near = there.filter { board.areTogether($0, bead) }
        let change = try BeadChange(of: bead, property, among: near, &random)
        log.append("\(number).\(change.text { numbers[ObjectIdentifier($0)] ?? -1 })")
        try change.make()
        return nil
    }

    // MARK: Saves and others

    /// Saves to the parent; returns whether the delete rules have let it.
    mutating func isSaved() throws -> Bool {
        do throws(ContextError) {
            try context.save()
            return true
        } catch {
            log.append("refused")
            fail(error.unexplained(hasEqualCodes: false), after: "a save, which was refused:")
            return false
        }
    }

    private mutating func save() throws {
        log.append("save")
        _ = try isSaved()
        if hasNewEvent { failure = "a save registered something" }
        let now = try state()
        fail(UndoTimeline.difference(now, timeline.present), after: "a save")
    }

    /// Saves to the parent, and from there up to the store.
    private mutating func saveUp(_ call: String) throws {
        log.append("save up to the store")
        guard try isSaved() else { return }
        for ancestor in ancestors { try ancestor.save() }
        try expectNothing(of: "saves above")
        if failure == nil { try expectStored(after: call) }
    }

    /// Saves one level or all levels above the context.
    private mutating func saveAbove() throws {
        let count = Int.random(in: 1...ancestors.count, using: &random)
        log.append("\(count) above: save")
        for ancestor in ancestors.prefix(count) { try ancestor.save() }
        try expectNothing(of: "saves above")
    }

    /// Changes beads of others in one of their contexts.
    private mutating func changeElsewhere() throws {
        guard let index = parties.indices.randomElement(using: &random) else { return }
        let (isSibling, other) = (index == 0, parties[index].context)
        log.append("\(parties[index].name):")
        // A sibling can drop what its save refuses; what a context above has changed must not hold up its saves.
        let canRefuse = board.rules.contains(.deny) || board.rules.contains(.noAction)
        for _ in 0..<Int.random(in: 1..<4, using: &random) {
            let new = try change(parties[index].beads, in: other, deletes: isSibling || !canRefuse)
            if let new { parties[index].beads.append(new) }
        }
        if isSibling, Bool.random(using: &random) {
            do {
                try other.save()
                log.append("saved by the sibling")
            } catch {
                log.append("refused")
                other.rollback()
            }
        }
        try expectNothing(of: "changes of others")
    }

    /// Merges what others have done, and expects it to change no bead of the context, and to leave nothing to undo.
    private mutating func expectNothing(of call: String) throws {
        let count = undoManager.undoCount
        for ancestor in ancestors.reversed() { ancestor.processPendingChanges() }
        context.processPendingChanges()
        if failure == nil, undoManager.undoCount != count { failure = "\(call) registered something" }
        let now = try state()
        fail(UndoTimeline.difference(now, timeline.present), after: call)
    }
}
