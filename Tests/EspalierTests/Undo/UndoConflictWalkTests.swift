// Random events with an undo manager in a context or a child, beside another one that changes the same attributes:
// merge policies decide the conflicts, and undoing and redoing restores exactly what each event has changed, and
// nothing else.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UndoConflictWalkTests {
    private static let stepCount = campaignCount("ESPALIER_UNDO_STEPS", default: 60)
    private static let walkCount = campaignCount("ESPALIER_UNDO_WALKS", default: 4)

    @Test(arguments: BeadBoard.Place.allCases, [false, true])
    func `an undo restores what its event has changed, whatever merge policies have decided since (MC-56)`(
        _ place: BeadBoard.Place, _ isChild: Bool
    ) throws {
        let counts = ConflictCounts()
        try UndoConflictWalk.take(Self.walkCount, seed: testSeed(default: 44_300), steps: Self.stepCount) {
            try UndoConflictWalk(place, seed: $0, isChild: isChild, counts)
        }
        // Walks that meet nothing of one kind show nothing about it.
        guard Self.stepCount >= 60 else { return }
        let (decisions, refusals) = (counts.decisions, counts.refusals)
        #expect(decisions >= Self.walkCount, "\(decisions) saves in which a policy has decided")
        #expect(decisions + refusals >= 2 * Self.walkCount, "\(refusals) saves that were refused")
        #expect(counts.turns >= 5 * Self.walkCount, "\(counts.turns) undos and redos after a decision")
    }
}

/// The occasions that all walks together have met.
private final class ConflictCounts {
    /// Saves that have succeeded although both sides had changed an attribute.
    var decisions = 0
    /// Saves that were refused because of a conflict.
    var refusals = 0
    /// Undos and redos after a decision in the same walk.
    var turns = 0
}

/// A context with an undo manager, and another one that changes the same beads; both save to one store or one parent.
private struct UndoConflictWalk: RandomWalk {
    private typealias Values = [BeadCell: [Int]]

    private let board: BeadBoard
    private let counts: ConflictCounts
    var rulesText: String { merges ? "The context merges automatically." : "The context does not merge." }
    private let mine: ManagedObjectContext
    private let theirs: ManagedObjectContext
    private let undoManager = UndoStack()
    private let merges: Bool
    /// The beads of both contexts, and those of the parent if the contexts are children.
    private let beads: [Bead]
    private let otherBeads: [Bead]
    private let parentBeads: [Bead]
    private let cells: [BeadCell]
    private var random: SeededGenerator

    /// The values to which both contexts save.
    private var stored: Values = [:]
    /// The values of the rows that the context with the undo manager has in memory, below its changes.
    private var rows: Values = [:]
    /// For each attribute that was changed since the last save, the value from which it was changed.
    private var bases: Values = [:]
    /// The beads that the other context has changed.
    private var written = Set<Int>()
    /// For each event that can be undone or redone, the values to which that leads; the next one is last.
    private var past: [Values] = []
    private var future: [Values] = []
    private var hasDecided = false
    private(set) var failure: String?
    private(set) var log: [String] = []

    init(_ place: BeadBoard.Place, seed: UInt64, isChild: Bool, _ counts: ConflictCounts) throws {
        self.counts = counts
        random = SeededGenerator(seed: seed)
        let count = Int.random(in: 2..<4, using: &random)
        merges = Bool.random(using: &random)
        let board = try BeadBoard(place, count: count, seed: seed)
        self.board = board
        let root = ManagedObjectContext(board.coordinator)
        parentBeads = try Self.beads(of: board, isChild ? count : 0, in: root)
        mine = isChild ? ManagedObjectContext(parent: root) : root
        theirs = isChild ? ManagedObjectContext(parent: root) : ManagedObjectContext(board.coordinator)
        mine.automaticallyMergesChangesFromParent = merges
        theirs.automaticallyMergesChangesFromParent = true
        theirs.mergePolicy = .objectTrump
        mine.undoManager = undoManager
        beads = try Self.beads(of: board, count, in: mine)
        otherBeads = try Self.beads(of: board, count, in: theirs)
        cells = (0..<count).flatMap { [BeadCell($0, .a), BeadCell($0, .b)] }
        stored = try storedValues()
        rows = stored
    }

    private static func beads(
        of board: BeadBoard, _ count: Int, in context: ManagedObjectContext
    ) throws -> [Bead] {
        try (0..<count).map { try board.bead($0, in: context) }
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
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: try undo()
        case 2: try redo()
        case 3: try save()
        case 4:
            let cell = someCell()
            try saveElsewhere([cell])
        case 5, 6:
            // Both change the same attribute: the second save asks the policy.
            let cell = someCell()
            try event([cell])
            try saveElsewhere([cell])
            try save()
        case 7:
            // The other context saves between the changes of an event and its end.
            let changed = someCells(2)
            try event(changed, meanwhile: [changed[0]])
        default:
            let changed = someCells(Int.random(in: 1..<4, using: &random))
            try event(changed)
        }
    }

    private mutating func someCell() -> BeadCell { cells[Int.random(in: 0..<cells.count, using: &random)] }

    private mutating func someCells(_ count: Int) -> [BeadCell] {
        var some: [BeadCell] = []
        while some.count < count { some.append(someCell()) }
        return some
    }

    // MARK: The state

    private func values(_ value: (BeadCell) throws -> [Int]) rethrows -> Values {
        var values: Values = [:]
        for cell in cells { values[cell] = try value(cell) }
        return values
    }

    private func shown() throws -> Values { try values { try board.shown(beads[$0.bead], $0.property) } }

    private func storedValues() throws -> Values {
        if !parentBeads.isEmpty { return try values { try board.shown(parentBeads[$0.bead], $0.property) } }
        let state = try board.stored()
        return values { state[$0.bead]?[$0.property] ?? [] }
    }

    private mutating func expect(_ found: Values, _ wanted: Values, after call: String) {
        for cell in cells where found[cell] != wanted[cell] {
            failure = "after \(call), \(cell) is \(found[cell] ?? []), not \(wanted[cell] ?? [])"
            return
        }
    }

    /// Notes that an attribute has got a value.
    private mutating func note(_ now: [Int], after former: [Int], in cell: BeadCell) {
        guard now != former else { return }
        if bases[cell] == nil { bases[cell] = former }
        // A change that ends at the row is none: the next one starts there.
        if rows[cell] == now { bases[cell] = now }
    }

    /// Ends the event, and merges the saves of the other context if the context does so by itself.
    private mutating func sync() throws {
        let before = try shown()
        mine.processPendingChanges()
        guard merges else { return expect(try shown(), before, after: "the end of an event") }
        // A value that differs from the row is a change, and stays; everything else follows the store.
        let wanted = values { (before[$0] != rows[$0] ? before[$0] : stored[$0]) ?? [] }
        expect(try shown(), wanted, after: "a merge")
        rows = stored
        for cell in bases.keys where wanted[cell] == rows[cell] { bases[cell] = rows[cell] }
    }

    // MARK: Steps

    private mutating func saveElsewhere(_ changed: [BeadCell]) throws {
        theirs.processPendingChanges()
        for cell in changed {
            let value = Int64.random(in: 0..<5, using: &random)
            log.append("elsewhere \(cell) = \(value)")
            try otherBeads[cell.bead].setValue(.integer(value), forKey: cell.property.name)
            written.insert(cell.bead)
        }
        try theirs.save()
        stored = try storedValues()
    }

    /// Changes attributes in one event; the other context changes those in `others` before the event ends.
    private mutating func event(_ changed: [BeadCell], meanwhile others: [BeadCell] = []) throws {
        try sync()
        var before: Values = [:]
        for cell in changed {
            let value = Int.random(in: 0..<5, using: &random)
            let former = try board.shown(beads[cell.bead], cell.property)
            log.append("\(cell) = \(value)")
            try beads[cell.bead].setValue(.integer(Int64(value)), forKey: cell.property.name)
            if before[cell] == nil { before[cell] = former }
            note([value], after: former, in: cell)
        }
        if !others.isEmpty { try saveElsewhere(others) }
        try sync()
        past.append(before)
        future = []
        checkCounts()
    }

    private mutating func undo() throws {
        try sync()
        guard let event = past.popLast() else { return }
        log.append("undo")
        let undone = try turn(to: event) { context throws(UndoError) in try context.undo() }
        future.append(undone)
        checkCounts()
    }

    private mutating func redo() throws {
        try sync()
        guard let event = future.popLast() else { return }
        log.append("redo")
        let redone = try turn(to: event) { context throws(UndoError) in try context.redo() }
        past.append(redone)
        checkCounts()
    }

    /// Undoes or redoes an event, and expects its attributes, and no others, to have the values of `event`; returns the
    /// values that they had.
    private mutating func turn(
        to event: Values, _ body: (ManagedObjectContext) throws(UndoError) -> Void
    ) throws -> Values {
        let before = try shown()
        try body(mine)
        let now = try shown()
        expect(now, before.merging(event) { $1 }, after: log.last ?? "")
        if hasDecided { counts.turns += 1 }
        var former: Values = [:]
        for cell in event.keys {
            former[cell] = before[cell]
            note(now[cell] ?? [], after: before[cell] ?? [], in: cell)
        }
        return former
    }

    private mutating func checkCounts() {
        let (undoCount, redoCount) = (undoManager.undoCount, undoManager.redoCount)
        if undoCount != past.count || redoCount != future.count {
            failure = "\(undoCount) events to undo, not \(past.count), and \(redoCount) to redo, not \(future.count)"
        }
    }

    // MARK: Saving

    private mutating func save() throws {
        try sync()
        let rule = MergePolicy.Rule.allCases.randomElement(using: &random) ?? .error
        let isAsked = Bool.random(using: &random)
        mine.mergePolicy = isAsked ? MergePolicy { _, _ in MergeResolution(rule) } : MergePolicy(rule)
        log.append("save \(MergePolicy(rule))" + (isAsked ? ", asked" : ""))
        let before = try shown()
        let contested = cells.filter { cell in
            guard let base = bases[cell], before[cell] != base else { return false }
            return stored[cell] != base && stored[cell] != before[cell]
        }
        do throws(ContextError) {
            try mine.save()
        } catch {
            return try noteRefusal(error, rule, before)
        }
        if rule == .error, !contested.isEmpty { failure = "\(contested) was overwritten in silence" }
        let former = stored
        stored = try storedValues()
        compare(former, before, rule)
        // The rows that were written, and those that a policy has looked at, are the newest ones.
        let dirty = Set(cells.filter { before[$0] != rows[$0] }.map(\.bead))
        for cell in cells where merges || dirty.contains(cell.bead) { rows[cell] = stored[cell] }
        expect(try shown(), rows, after: "a save")
        if mine.hasChanges { failure = "a save leaves changes" }
        bases = [:]
        if !contested.isEmpty {
            counts.decisions += 1
            hasDecided = true
        }
        checkCounts()
    }

    private mutating func noteRefusal(_ error: ContextError, _ rule: MergePolicy.Rule, _ before: Values) throws {
        log.append("refused")
        guard case .conflicts(let conflicts) = error, rule == .error else { return failure = "\(error)" }
        counts.refusals += 1
        if !conflicts.contains(where: { written.contains(board.number(of: $0.object)) }) {
            failure = "a conflict about a bead that nobody else has changed: \(error)"
        }
        expect(try shown(), before, after: "a save that was refused")
        checkCounts()
    }

    /// Compares the stored values with those before, and with those that the context showed.
    private mutating func compare(_ former: Values, _ shown: Values, _ rule: MergePolicy.Rule) {
        let changed = Set(bases.keys.map(\.bead))
        for cell in cells {
            let (before, mine, now) = (former[cell] ?? [], shown[cell] ?? [], stored[cell] ?? [])
            let allowed: [[Int]]
            if let base = bases[cell], mine != base, before == base || before == mine {
                allowed = rule == .rollback ? [mine, before] : [mine]
            } else if let base = bases[cell], mine != base {
                allowed = [rule == .storeTrump || rule == .rollback ? before : mine]
            } else {
                let mayBeMine = bases[cell] != nil || rule == .overwrite && changed.contains(cell.bead)
                allowed = mayBeMine ? [before, mine] : [before]
            }
            if !allowed.contains(now) {
                failure = "\(cell) is stored as \(now), not one of \(allowed); it was \(before), and \(mine) here"
            }
        }
    }
}
