// Random walks of two contexts over one store: whatever they change, merge, refresh, save and give up, what is stored
// follows from what both have done and from the policies.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct MergeWalkTests {
    @Test func `two contexts at random store what their changes and policies say, and lose nothing else`() throws {
        let seed = testSeed(default: 4_171)
        for round in 0..<campaignCount("ESPALIER_MERGE_WALKS", default: 40) {
            var walk = try MergeWalk(round % 10 == 0 ? .btree : .inMemory, seed: seed &+ UInt64(round))
            try walk.go(steps: 100)
            if walk.hasFailed { return }
        }
    }
}

/// One context, and what it has changed since its last save.
private struct Side {
    let context: ManagedObjectContext
    let merges: Bool
    var pegs: [String: Peg] = [:]
    /// For each changed property, what it was changed from.
    var bases: [Cell: [String]] = [:]
    /// For each changed relationship, what came, what went, and what did both, which may end either way.
    var moves: [Cell: (added: Set<String>, removed: Set<String>, either: Set<String>)] = [:]
    /// The pegs that a save has told to be in conflict, and how many saves there were then.
    var told: (pegs: Set<String>, saves: Int) = ([], 0)
    /// How many saves it has taken in, and what was stored then; -1 and nothing if it has taken in a part.
    var seen = 0
    var taken: PegState = [:]

    /// The rule of its policy: the policy itself, or the answer of a policy that is asked.
    private(set) var rule = MergePolicy.Rule.error

    struct Cell: Hashable {
        let peg: String
        let property: String
    }

    mutating func follow(_ rule: MergePolicy.Rule, _ random: inout SeededGenerator) {
        self.rule = rule
        let isAsked = Bool.random(using: &random)
        context.mergePolicy = isAsked ? MergePolicy { _, _ in MergeResolution(rule) } : MergePolicy(rule)
    }

    mutating func note(_ now: Set<String>, after former: Set<String>, in cell: Cell) {
        var (added, removed, either) = moves[cell] ?? ([], [], [])
        for name in now.subtracting(former) {
            if removed.remove(name) != nil { either.insert(name) } else { added.insert(name) }
        }
        for name in former.subtracting(now) {
            if added.remove(name) != nil { either.insert(name) } else { removed.insert(name) }
        }
        moves[cell] = (added, removed, either)
    }

    /// - Parameter known: the names of stored pegs that it may not have come across.
    func shown(_ known: [ObjectID: String]) throws -> PegState {
        let names = known.merging(pegs.map { ($1.objectID, $0) }) { $1 }
        var state: PegState = [:]
        for (name, peg) in pegs {
            var values = ["a": ["\(peg.a)"], "b": ["\(peg.b)"]]
            for property in PegBoard.inverses.keys {
                let found = try peg.objectIDs(forRelationshipNamed: property).map { names[$0] ?? "unknown" }
                values[property] = PegBoard.ordered.contains(property) ? found : found.sorted()
            }
            state[name] = values
        }
        return state
    }
}

private struct MergeWalk {
    private static let properties = [
        "a", "b", "best", "fans", "head", "queue", "mate", "mateOf", "tags", "tagged", "list", "listed",
    ]
    /// Properties whose values are decided one by one.
    private static let singles = ["a", "b", "best", "head"]
    private static let unordered = ["fans", "tags", "tagged", "listed"]

    let board: PegBoard
    let seed: UInt64
    var random: SeededGenerator
    var sides: [Side]
    /// The stored state, and how often a save has changed it.
    var stored: PegState
    var saves = 0
    /// The number of the save that wrote a peg last.
    var written: [String: Int] = [:]
    /// The number of the save that wrote the row of a peg last: sets are no part of it.
    var rowWritten: [String: Int] = [:]
    var log: [String] = []
    /// The names of all pegs that were ever stored.
    var known: [ObjectID: String] = [:]
    private(set) var hasFailed = false

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        board = try PegBoard(kind, count: 4)
        sides = []
        stored = try board.stored()
        for _ in 0..<2 {
            let context = ManagedObjectContext(board.coordinator)
            context.automaticallyMergesChangesFromParent = Bool.random(using: &random)
            var side = Side(context: context, merges: context.automaticallyMergesChangesFromParent)
            side.follow(MergePolicy.Rule.allCases.randomElement(using: &random) ?? .error, &random)
            side.pegs = try board.pegs(context)
            for (name, peg) in side.pegs { known[peg.objectID] = name }
            sides.append(side)
        }
    }

    mutating func go(steps: Int) throws {
        for _ in 0..<steps where !hasFailed {
            let index = Int.random(in: 0..<2, using: &random)
            switch Int.random(in: 0..<32, using: &random) {
            case 0..<20: try change(index)
            case 20..<25: try save(index)
            case 25..<27: try sync(index, isAsked: true)
            case 27: try sync(index, isAsked: false)
            case 28: try failingSave(index)
            case 29: try giveUp(index)
            case 30: sides[index].follow(MergePolicy.Rule.allCases.randomElement(using: &random) ?? .error, &random)
            default: try insert(index)
            }
        }
        for index in sides.indices where !hasFailed { try save(index) }
    }

    private mutating func note(_ index: Int, _ text: String) {
        log.append("\(index)\(sides[index].merges ? "m" : "") \(text)")
    }

    private mutating func fail(_ text: String) {
        if hasFailed { return }
        hasFailed = true
        Issue.record("seed \(seed): \(text); \(log.joined(separator: "; "))")
    }

    // MARK: Steps

    private mutating func change(_ index: Int) throws {
        for (id, name) in known where sides[index].pegs[name] == nil {
            // One that is newer than the generation that this side reads is not found.
            sides[index].pegs[name] = try? sides[index].context.existingObject(with: id) as? Peg
        }
        let before = try sides[index].shown(known)
        let names = sides[index].pegs.keys.sorted()
        guard let name = names.randomElement(using: &random), let peg = sides[index].pegs[name],
            let property = Self.properties.randomElement(using: &random)
        else { return }
        let others = names.shuffled(using: &random).prefix(Int.random(in: 0..<4, using: &random))
        let objects = others.compactMap { sides[index].pegs[$0] }
        if PegBoard.attributes.contains(property) {
            let number = Int64.random(in: 0..<4, using: &random)
            try peg.setValue(.integer(number), forKey: property)
            note(index, "\(name).\(property) = \(number)")
        } else if PegBoard.toOnes.contains(property) {
            try peg.setValue(.toOne(objects.first), forKey: property)
            note(index, "\(name).\(property) = \(others.first ?? "nil")")
        } else if Bool.random(using: &random) {
            try peg.add(objects, toRelationshipNamed: property)
            note(index, "\(name).\(property) += \(others.joined(separator: ","))")
        } else {
            try peg.setValue(.toMany(objects), forKey: property)
            note(index, "\(name).\(property) = \(others.joined(separator: ","))")
        }
        let after = try sides[index].shown(known)
        for (name, values) in after {
            for (property, value) in values where before[name]?[property] != value {
                let cell = Side.Cell(peg: name, property: property)
                let former = before[name]?[property] ?? []
                if sides[index].bases[cell] == nil { sides[index].bases[cell] = former }
                sides[index].note(Set(value), after: Set(former), in: cell)
                // A side that sets the value that it took in agrees with the store: that is the base of a later change.
                if Self.singles.contains(property), sides[index].taken[name]?[property] == value {
                    sides[index].bases[cell] = value
                }
            }
        }
        let wrong = PegBoard.oneSided(after)
        // Values that were read at different times need not fit.
        if sides[index].seen == saves, !wrong.isEmpty { fail("after a change: \(wrong)") }
    }

    private mutating func insert(_ index: Int) throws {
        guard sides[index].pegs.count < 7 else { return }
        let peg = Peg(context: sides[index].context)
        peg.name = "\(index)-\(log.count)"
        note(index, "insert \(peg.name)")
        sides[index].pegs[peg.name] = peg
    }

    /// Takes in what is stored, if the side does that by itself or asks for it.
    private mutating func sync(_ index: Int, isAsked: Bool) throws {
        let side = sides[index]
        guard isAsked || side.merges else { return }
        note(index, isAsked ? "refresh all" : "merge")
        if isAsked { side.context.refreshAllObjects() }
        side.context.processPendingChanges()
        for (cell, base) in side.bases {
            guard let now = stored[cell.peg]?[cell.property] else { continue }
            let isTold = side.told.pegs.contains(cell.peg) && rowWritten[cell.peg, default: 0] <= side.told.saves
            // Additions and removals are counted from what was taken in; so is an order, unless it was moved there.
            if isAsked && isTold || Self.unordered.contains(cell.property) {
                sides[index].bases[cell] = now
            } else if PegBoard.ordered.contains(cell.property), !ordersDiffer(base, now) {
                sides[index].bases[cell] = now
            }
        }
        for (name, peg) in try board.pegs(side.context) { sides[index].pegs[name] = peg }
        (sides[index].seen, sides[index].taken) = (saves, stored)
        let shown = try sides[index].shown(known)
        // Both have set the same value: the change ends, and that value is the base of a later one.
        for cell in side.bases.keys where Self.singles.contains(cell.property) {
            if let now = stored[cell.peg]?[cell.property], shown[cell.peg]?[cell.property] == now {
                sides[index].bases[cell] = now
            }
        }
        // So do additions to a list that the store has too, and removals: the list's change is based on what is stored.
        for cell in side.moves.keys where cell.property == "list" {
            guard let now = stored[cell.peg]?[cell.property] else { continue }
            sides[index].moves[cell]?.added.subtract(now)
            sides[index].moves[cell]?.removed.formIntersection(now)
        }
        let wrong = PegBoard.oneSided(shown)
        if !wrong.isEmpty { fail("after taking in: \(wrong)") }
        for (name, values) in stored {
            for (property, value) in values where PegBoard.attributes.contains(property) {
                if side.bases[.init(peg: name, property: property)] == nil, shown[name]?[property] != value {
                    fail("\(name).\(property) is not taken in")
                }
            }
        }
    }

    private mutating func giveUp(_ index: Int) throws {
        if Bool.random(using: &random) {
            note(index, "rollback")
            sides[index].context.rollback()
            sides[index].pegs = sides[index].pegs.filter { $1.managedObjectContext != nil }
        } else {
            note(index, "reset")
            sides[index].context.reset()
            sides[index].pegs = try board.pegs(sides[index].context)
        }
        sides[index].bases = [:]
        sides[index].moves = [:]
        sides[index].told = ([], 0)
        if sides[index].merges { try sync(index, isAsked: false) }
    }

    private mutating func failingSave(_ index: Int) throws {
        if sides[index].merges { try sync(index, isAsked: false) }
        guard let (name, peg) = sides[index].pegs.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
            return
        }
        note(index, "failing save")
        try peg.setValue(.null, forKey: "name")
        let before = try sides[index].shown(known)
        let error = contextError { try sides[index].context.save() }
        guard let error, case .violations = error.first else { return fail("saved without a name") }
        // Conflicts that are told beside the rule are told all the same.
        if !error.conflicts.isEmpty { noteTold(error.conflicts, index) }
        if try sides[index].shown(known) != before { fail("a failed save changed what the context shows") }
        try peg.setValue(.string(name), forKey: "name")
    }

    /// Notes the pegs that a save has told to be in conflict; returns the names of all pegs.
    @discardableResult
    private mutating func noteTold(_ conflicts: [MergeConflict], _ index: Int) -> [ObjectID: String] {
        let names = Dictionary(uniqueKeysWithValues: sides[index].pegs.map { ($1.objectID, $0) })
        sides[index].told = (Set(conflicts.compactMap { names[$0.object] }), saves)
        return names
    }

    // MARK: Saving

    private mutating func save(_ index: Int) throws {
        if sides[index].merges { try sync(index, isAsked: false) }
        let side = sides[index]
        let before = try side.shown(known)
        let policy = MergePolicy(side.rule)
        note(index, "save \(policy)\(side.context.mergePolicy.rule == nil ? ", asked" : "")")
        let error = contextError { try side.context.save() }
        if let error {
            guard case .conflicts(let conflicts) = error, policy == .error else {
                return fail("\(error)")
            }
            if try side.shown(known) != before { fail("a save in conflict changed what the context shows") }
            let names = noteTold(conflicts, index)
            if !conflicts.contains(where: { written[names[$0.object] ?? "", default: 0] > 0 }) {
                fail("a conflict about what nobody else has written: \(error)")
            }
            return
        }
        for (name, peg) in side.pegs { known[peg.objectID] = name }
        let old = stored
        stored = try board.stored()
        if side.context.hasChanges { fail("changes are left") }
        let wrong = PegBoard.oneSided(stored)
        if !wrong.isEmpty { fail("stored: \(wrong)") }
        let findings = try board.findings()
        if !findings.isEmpty { fail("the check finds \(findings)") }
        compare(old, before, side, policy)
        saves += 1
        for (name, values) in stored where old[name] != values {
            written[name] = saves
            let isInRow = values.contains { !Self.unordered.contains($0) && old[name]?[$0] != $1 }
            if isInRow { rowWritten[name] = saves }
        }
        for cell in side.bases.keys {
            written[cell.peg] = saves
            if !Self.unordered.contains(cell.property) { rowWritten[cell.peg] = saves }
        }
        sides[index].bases = [:]
        sides[index].moves = [:]
        sides[index].told = ([], 0)
        // Of what it had not taken in it may know a part.
        (sides[index].seen, sides[index].taken) = side.seen == saves - 1 ? (saves, stored) : (-1, [:])
        if side.merges, try sides[index].shown(known).filter({ stored[$0.key] != nil }) != stored {
            let shown = try sides[index].shown(known)
            for (name, values) in stored where shown[name] != values {
                fail("\(name) shows \(shown[name] ?? [:]) and is stored as \(values)")
            }
        }
    }

    /// Compares what is stored now with what was, what the context showed, and what it had changed from what.
    private mutating func compare(
        _ old: PegState, _ shown: PegState, _ side: Side, _ policy: MergePolicy
    ) {
        let bases = side.bases
        let dirty = Set(bases.keys.map(\.peg))
        for (name, values) in stored {
            guard let former = old[name], let mine = shown[name] else {
                // New here, or saved before this context looked.
                for property in Self.singles where shown[name].map({ $0[property] != values[property] }) == true {
                    // The owner of the list or set that it was put into has been rolled back.
                    if policy == .rollback, values[property] == [] { continue }
                    fail("new \(name).\(property) is stored as \(values[property] ?? [])")
                }
                continue
            }
            for property in Self.singles {
                let allowed = allowedValues(
                    former[property] ?? [], mine[property] ?? [], bases[.init(peg: name, property: property)], policy,
                    isDirty: dirty.contains(name))
                if !allowed.contains(values[property] ?? []) {
                    let changed = bases.map { "\($0.peg).\($0.property) \($1)" }.sorted()
                    fail(
                        "\(name).\(property) is \(values[property] ?? []), not one of \(allowed); here "
                            + "\(mine[property] ?? []), changed from: \(changed.joined(separator: ", "))")
                }
            }
            for property in ["tags", "list"] {
                compareMembers(.init(peg: name, property: property), former, mine, side, policy)
            }
            // A context that has not taken in everything may see pairs that exclude those of the store.
            if side.seen == saves { compareMates(name, old, shown, bases, policy) }
        }
        for name in old.keys where stored[name] == nil { fail("\(name) is lost") }
    }

    private func allowedValues(
        _ former: [String], _ mine: [String], _ base: [String]?, _ policy: MergePolicy, isDirty: Bool
    ) -> [[String]] {
        guard let base else { return policy == .overwrite && isDirty ? [former, mine] : [former] }
        if mine == base { return [former, mine] }
        if former == base || former == mine { return policy == .rollback ? [mine, former] : [mine] }
        switch policy.rule {
        // It must have failed.
        case .error, nil: return []
        case .storeTrump, .rollback: return [former]
        case .objectTrump, .overwrite: return [mine]
        }
    }

    private mutating func compareMembers(
        _ cell: Side.Cell, _ former: [String: [String]], _ mine: [String: [String]], _ side: Side, _ policy: MergePolicy
    ) {
        let (name, property) = (cell.peg, cell.property)
        let (now, old, here) = (stored[name]?[property] ?? [], former[property] ?? [], mine[property] ?? [])
        guard let base = side.bases[cell], let (added, removed, either) = side.moves[cell] else {
            if Set(now) != Set(old), policy != .rollback { fail("\(name).\(property) is \(now), was \(old)") }
            return
        }
        let expected = Set(old).subtracting(removed).union(added)
        if policy == .rollback {
            if !Set(old).subtracting(removed).subtracting(either).isSubset(of: now)
                || !Set(now).isSubset(of: Set(old).union(added).union(either))
            {
                fail("\(name).\(property) is \(now), was \(old), here \(here) from \(base)")
            }
        } else if Set(now).subtracting(either) != expected.subtracting(either) {
            fail("\(name).\(property) is \(now), not \(expected); was \(old), here \(here) from \(base)")
        } else if property == "list" {
            let (movedHere, movedThere) = (ordersDiffer(base, here), ordersDiffer(base, old))
            if movedHere && !movedThere && ordersDiffer(now, here) { fail("\(name).list is \(now), not as \(here)") }
            if movedThere && !movedHere && policy != .overwrite && ordersDiffer(now, old) {
                fail("\(name).list is \(now), not as \(old)")
            }
            if movedHere && movedThere && ordersDiffer(here, old) {
                if policy == .error { fail("\(name).list was moved on both sides, in silence") }
                if ordersDiffer(now, policy == .storeTrump ? old : here) { fail("\(name).list is \(now)") }
            }
        }
    }

    private mutating func compareMates(
        _ name: String, _ former: PegState, _ shown: PegState, _ bases: [Side.Cell: [String]],
        _ policy: MergePolicy
    ) {
        let (now, old, here) = (stored[name]?["mate"] ?? [], former[name]?["mate"] ?? [], shown[name]?["mate"] ?? [])
        if !now.isEmpty && now != old && now != here { fail("\(name).mate is \(now), was \(old), here \(here)") }
        guard bases[.init(peg: name, property: "mate")] != nil else {
            let isOtherDirty = old.contains { bases[.init(peg: $0, property: "mateOf")] != nil }
            if now != old, !isOtherDirty, policy != .overwrite {
                fail("\(name).mate is \(now), was \(old), unchanged here")
            }
            return
        }
        // A merge's changes at the other ends of changes count as changes on both sides.
        let isAlone = former.allSatisfy { peg, values in
            ["mate", "mateOf"].allSatisfy { property in
                values[property] == bases[.init(peg: peg, property: property)] ?? shown[peg]?[property]
            }
        }
        if isAlone, policy != .rollback, policy != .overwrite, now != here {
            fail("\(name).mate is \(now), was \(old), here \(here)")
        }
    }

    private func ordersDiffer(_ left: [String], _ right: [String]) -> Bool {
        let (inLeft, inRight) = (Set(left), Set(right))
        return left.filter(inRight.contains) != right.filter(inLeft.contains)
    }
}
