// A walk: two or three contexts on one store, at random, and what each of them has changed since its last save.
//
// Invariants
//   1. Each step draws from a generator of its own, so that steps can be left out and the others stay as they are: that
//      is how a failing walk is made short.
//   2. The changes of a context are found by reading all values that its calls may change, before and after. Its
//      expected state is derived from these and from the stored state, never from later answers of the context.
// Not here: the state that a save must store (+Saving), and the delete rules (BeadRules).

import Espalier
import EspalierModel
import TestSupport

/// Contexts on one store, and what each of them has changed.
struct ContextWalk {
    static let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]
    static let beadCountMax = 8

    let board: BeadBoard
    let rules: BeadRules
    let seed: UInt64
    /// The generator of the step.
    var random: SeededGenerator
    var sides: [WalkSide] = []
    /// The stored state, and how often a save has changed it.
    var stored: BeadState
    var saves = 0
    /// The number of the save that wrote a bead last.
    var written: [Int: Int] = [:]
    /// The number of the save that wrote the row of a bead last: sets are no part of it.
    var rowWritten: [Int: Int] = [:]
    /// The number of the step.
    private(set) var stepNumber = 0
    /// Whether the last change was refused, as what it concerns is gone.
    var hasRefused = false
    var log: [String] = []
    /// The difference that was found; the walk ends with it.
    private(set) var failure: String?

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        let place: BeadBoard.Place = seed % 5 == 0 ? (seed % 10 == 0 ? .file : .memory) : .plain
        board = try BeadBoard(place, count: 4, rules: BeadBoard.someRules(&random), seed: seed)
        rules = BeadRules(board.rules)
        log.append("rules: \(board.rulesText), \(place)")
        stored = try board.stored()
        for _ in 0..<(seed % 2 == 0 ? 2 : 3) { sides.append(try newSide()) }
    }

    private mutating func newSide() throws -> WalkSide {
        let context = ManagedObjectContext(board.coordinator)
        context.automaticallyMergesChangesFromParent = Bool.random(using: &random)
        context.mergePolicy = Self.policies.randomElement(using: &random) ?? .error
        return try readingAll(WalkSide(context: context))
    }

    /// Takes all that is stored into memory, of a context that has seen everything.
    private func readingAll(_ side: WalkSide) throws -> WalkSide {
        var side = side
        for number in stored.keys.sorted() where side.beads[number] == nil && !side.deleted.contains(number) {
            guard let id = board.ids[number] else { continue }
            if side.context.deletedObjects.contains(where: { $0.objectID == id }) {
                // Delete rules have run again, and found it.
                side.deleted.insert(number)
                side.graves[number] = stored[number]
                continue
            }
            side.beads[number] = try side.context.existingObject(with: id) as? Bead
        }
        for (_, bead) in side.beads.sorted(by: { $0.key < $1.key }) {
            for property in BeadProperty.allCases { _ = try board.shown(bead, property) }
        }
        side.seen = saves
        return side
    }

    mutating func go(_ step: Int) throws { try told { try $0.walk(step) } }

    private mutating func walk(_ step: Int) throws {
        stepNumber = step
        random = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(step))
        let index = Int.random(in: 0..<sides.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<54: try change(index)
        case 54..<59: try insert(index)
        case 59..<62: try delete(index)
        case 62..<65: try takeIn(index, isAsked: false)
        case 65..<68: try takeIn(index, isAsked: true)
        case 68..<70: try refresh(index)
        case 70..<72: try lock(index)
        case 72..<73: try touch(index)
        case 73..<74: try forget(index)
        case 74..<76: sides[index].context.mergePolicy = Self.policies.randomElement(using: &random) ?? .error
        case 76..<77: try toggleMerging(index)
        case 77..<79: try failingSave(index)
        case 79..<81: try giveUp(index)
        case 81..<82: try reopen()
        case 82..<83: try obtainIDs(index)
        case 83..<84: try addHook(index)
        default: try save(index)
        }
    }

    mutating func finish() throws {
        for index in sides.indices where failure == nil { try told { try $0.save(index) } }
        if let finding = try board.findings().first { fail("at the end the check finds \(finding)") }
    }

    mutating func note(_ index: Int, _ text: String) {
        log.append("\(index)\(sides[index].merges ? "m" : "") \(text)")
    }

    mutating func fail(_ text: String) {
        if failure == nil { failure = text }
    }

    // MARK: What a context shows

    func shown(_ index: Int, _ number: Int) throws -> [[Int]]? {
        guard let bead = sides[index].beads[number], bead.managedObjectContext != nil, !bead.isDeleted else {
            return nil
        }
        return try BeadProperty.allCases.map { try board.shown(bead, $0) }
    }

    func shown(_ index: Int) throws -> BeadState {
        var state: BeadState = [:]
        for number in sides[index].beads.keys.sorted() { state[number] = try shown(index, number) }
        return state
    }

    func shown(_ index: Int, _ cell: BeadCell) throws -> [Int] {
        guard let bead = sides[index].beads[cell.bead], !bead.isDeleted else { return [] }
        return try board.shown(bead, cell.property)
    }

    // MARK: Taking in

    /// Takes in what is stored, if the side does that by itself or asks for it.
    mutating func takeIn(_ index: Int, isAsked: Bool) throws {
        let side = sides[index]
        guard isAsked || side.merges else { return }
        note(index, isAsked ? "refresh all" : "merge")
        let before = side.deleted.isEmpty ? [:] : try shown(index)
        if isAsked {
            side.context.refreshAllObjects()
            for number in side.locks.keys { renewLock(index, number) }
        }
        side.context.processPendingChanges()
        for (cell, base) in side.bases {
            guard let now = stored[cell.bead]?[cell.property] else { continue }
            let isList = cell.property.isRelationship && !cell.property.isToOne
            // Additions and removals are counted from what was taken in; so is an order, unless it was moved there.
            if isAsked && isSettled(cell.bead, side) || isList && !cell.property.isOrdered {
                sides[index].bases[cell] = now
            } else if cell.property.isOrdered, !ordersDiffer(base, now) {
                sides[index].bases[cell] = now
                sides[index].otherBases[cell, default: []].insert(base)
            } else if isAsked, side.told.beads.contains(cell.bead) {
                // The conflict that was told may be that of what was saved before.
                sides[index].otherBases[cell, default: []].insert(now)
            }
        }
        // Delete rules have run again, on what deleted beads are related to by now.
        for (name, bead) in side.beads where bead.isDeleted && stored[name] != nil {
            sides[index].deleted.insert(name)
            sides[index].graves[name] = before[name] ?? stored[name]
        }
        dropGone(index)
        for name in side.deleted where stored[name] == nil { sides[index].deleted.remove(name) }
        sides[index].forgetMoves { stored[$0] == nil && !side.inserted.contains($0) }
        for (name, row) in stored { sides[index].forgetMoves(in: BeadCell(name, .list), stored: row[.list]) }
        sides[index] = try readingAll(sides[index])
        if side.isMuddled { return }
        let shown = try shown(index)
        for cell in side.bases.keys where cell.property.isSingle {
            // A relationship that leads where the store leads by now is no change any more.
            if let now = stored[cell.bead]?[cell.property], now == shown[cell.bead]?[cell.property] {
                sides[index].bases[cell] = now
            }
        }
        for (name, row) in stored {
            for property in BeadProperty.relationships where property.isToOne && !row[property].isEmpty {
                // Its destination is related to another bead here: the row is what the next change is made from.
                if shown[name]?[property] == [] { sides[index].emptied[BeadCell(name, property)] = row[property] }
            }
        }
        if !sides[index].deleted.isEmpty { noteRulesRunAgain(index, shown) }
        for (name, values) in shown where stored[name] != nil {
            for property in [BeadProperty.a, .b] where side.bases[BeadCell(name, property)] == nil {
                if values[property] != stored[name]?[property] {
                    let now = stored[name]?[property] ?? []
                    fail("\(name).\(property) is \(values[property]), and \(now) is not taken in")
                }
            }
        }
        for name in shown.keys where stored[name] == nil && sides[index].beads[name]?.hasChanges == false {
            fail("\(name) is gone, and is there still")
        }
        for name in stored.keys where shown[name] == nil && !sides[index].deleted.contains(name) {
            fail("\(name) is not taken in")
        }
    }

    private mutating func noteRulesRunAgain(_ index: Int, _ shown: BeadState) {
        let side = sides[index]
        for (name, values) in shown {
            guard let row = stored[name] else { continue }
            for property in BeadProperty.relationships where side.bases[BeadCell(name, property)] == nil {
                let left = row[property].filter { !side.deleted.contains($0) }
                guard left != row[property], left == values[property] else { continue }
                sides[index].note(left, after: row[property], in: BeadCell(name, property))
            }
        }
    }

    private mutating func refresh(_ index: Int) throws {
        if sides[index].merges { try takeIn(index, isAsked: false) }
        guard let (number, bead) = try someBead(index), !bead.isInserted else { return }
        let mergesChanges = Int.random(in: 0..<16, using: &random) > 0
        note(index, "refresh \(number)\(mergesChanges ? "" : ", giving up")")
        let (side, hasChanges) = (sides[index], bead.hasChanges)
        sides[index].context.refresh(bead, mergesChanges: mergesChanges)
        renewLock(index, number)
        if !sides[index].deleted.isEmpty {
            // Delete rules run again, on what deleted beads are related to by now.
            let before = try shown(index)
            sides[index].context.processPendingChanges()
            try noteDeletions(index, before)
        }
        if !mergesChanges, hasChanges || sides[index].touched.contains(where: { $0.bead == number }) {
            sides[index].isMuddled = true
            for cell in sides[index].bases.keys where cell.bead == number {
                sides[index].bases[cell] = nil
                sides[index].moves[cell] = nil
            }
        } else if mergesChanges, side.told.beads.contains(number), let row = stored[number] {
            let isSettled = isSettled(number, side)
            for cell in sides[index].bases.keys where cell.bead == number {
                if isSettled { sides[index].bases[cell] = row[cell.property] }
                sides[index].otherBases[cell, default: []].insert(row[cell.property])
            }
        }
        for cell in side.bases.keys where cell.property.isSingle {
            guard let now = stored[cell.bead]?[cell.property] else { continue }
            let shown = try shown(index, cell)
            // A value as it is stored is no change any more; related beads may have been refreshed with it.
            if now == shown && cell.bead == number { sides[index].bases[cell] = now }
            if now == shown || shown == side.bases[cell] { sides[index].otherBases[cell, default: []].insert(now) }
        }
        for (name, row) in stored { sides[index].forgetMoves(in: BeadCell(name, .list), stored: row[.list]) }
        if sides[index].seen != saves { sides[index].seen = -1 }
    }

    /// Whether a save has told that a bead is in conflict with what is stored now.
    private func isSettled(_ bead: Int, _ side: WalkSide) -> Bool {
        side.told.beads.contains(bead) && side.told.isNewest && rowWritten[bead, default: 0] <= side.told.saves
    }

    /// A refresh that is asked for makes a lock hold for what is stored now.
    private mutating func renewLock(_ index: Int, _ number: Int) {
        if sides[index].locks[number] != nil, let row = stored[number] { sides[index].locks[number] = (row, saves) }
    }

    private mutating func toggleMerging(_ index: Int) throws {
        note(index, "merging \(sides[index].merges ? "off" : "on")")
        sides[index].context.automaticallyMergesChangesFromParent.toggle()
        // Saves before this one are not told any more.
        if sides[index].merges { try takeIn(index, isAsked: true) }
    }

    private mutating func lock(_ index: Int) throws {
        guard sides[index].seen == saves, !sides[index].isMuddled, let (number, bead) = try someBead(index),
            let row = stored[number], !bead.isInserted
        else { return }
        note(index, "lock \(number)")
        try sides[index].context.detectConflicts(for: bead)
        sides[index].locks[number] = (row, saves)
        if Bool.random(using: &random), !bead.hasChanges { sides[index].context.refresh(bead, mergesChanges: true) }
    }

    /// Lets go of objects that nobody but the application keeps in memory.
    private mutating func forget(_ index: Int) throws {
        note(index, "forget")
        let side = sides[index]
        for (name, bead) in side.beads where !bead.hasChanges && side.locks[name] == nil {
            sides[index].beads[name] = nil
        }
        if sides[index].seen != saves { sides[index].seen = -1 }
    }

    /// Leaves out objects that are gone.
    mutating func dropGone(_ index: Int) {
        let beads = sides[index].beads
        for (name, bead) in beads where bead.managedObjectContext == nil || bead.isDeleted {
            sides[index].beads[name] = nil
            // Delete rules that have run again have taken what was never saved.
            if bead.managedObjectContext == nil { sides[index].inserted.remove(name) }
        }
    }

    // MARK: Going back

    mutating func giveUp(_ index: Int) throws {
        if Bool.random(using: &random) {
            note(index, "rollback")
            let graves = sides[index].graves.keys.sorted()
            sides[index].context.rollback()
            sides[index].forgetChanges()
            for name in graves {
                guard let id = board.ids[name] else { continue }
                sides[index].beads[name] = sides[index].context.registeredObject(for: id) as? Bead
            }
            dropGone(index)
        } else {
            try reset(index)
        }
        sides[index].hooks.born = []
        if sides[index].merges { try takeIn(index, isAsked: false) }
    }

    mutating func reset(_ index: Int) throws {
        note(index, "reset")
        sides[index].context.reset()
        sides[index].forgetChanges()
        sides[index].hooks.born = []
        sides[index].beads = [:]
        sides[index] = try readingAll(sides[index])
    }

    private mutating func reopen() throws {
        guard board.canReopen else { return }
        if Bool.random(using: &random) {
            log.append("reopen")
            try board.reopen()
            // Each context reads the newest generation from now on, and a context that merges adopts it.
            for index in sides.indices where sides[index].merges { try takeIn(index, isAsked: false) }
            for side in sides { _ = try side.context.count(for: FetchRequest<Bead>()) }
            for index in sides.indices where sides[index].seen != saves { sides[index].seen = -1 }
        } else {
            log.append("reopen with another model, for new contexts")
            let count = sides.count
            sides = []
            if let wrong = try board.reopenWithOtherModel(stored) { fail(wrong) }
            for _ in 0..<count { sides.append(try newSide()) }
        }
        let now = try board.stored()
        if now != stored { fail("a store that was opened anew holds \(now), not \(stored)") }
    }

    /// Whether what all three lists have is in another order in `list` than in `base`.
    func isMoved(_ list: [Int], from base: [Int], besides other: [Int]) -> Bool {
        ordersDiffer(base.filter(other.contains), list.filter(other.contains))
    }

    func ordersDiffer(_ left: [Int], _ right: [Int]) -> Bool {
        if left == right { return false }
        return left.filter(right.contains) != right.filter(left.contains)
    }
}
