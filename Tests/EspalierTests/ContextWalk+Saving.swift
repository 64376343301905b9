// What a save must do: what is stored afterwards follows from what was stored, from what the context has changed from
// what, and from its merge policy; a save that fails has a reason, and changes nothing.

import Espalier
import EspalierModel
import EspalierStore

/// A save, as it was before and after.
private struct WalkSave {
    let side: WalkSide
    let policy: MergePolicy
    /// What was stored, and what is now.
    let old: BeadState
    let now: BeadState
    /// What the context showed.
    let mine: BeadState
    /// Whether the context had taken in all that was stored.
    let isSynced: Bool
    /// The beads that somebody else has changed in a way that the context has changed too.
    let contested: Set<Int>
    /// The beads that the context counts as changed, also if they were set to what they had.
    let dirty: Set<Int>
    var born = Set<Int>()

    /// Whether the row of a bead may have been in conflict.
    ///
    /// One that leads to what goes with the save is rolled back as a whole.
    func mayBeInConflict(_ bead: Int) -> Bool {
        !isSynced || contested.contains(bead)
            || BeadProperty.relationships.contains { mine[bead]?[$0].contains { now[$0] == nil } == true }
    }
}

extension ContextWalk {
    mutating func save(_ index: Int) throws {
        if sides[index].merges { try takeIn(index, isAsked: false) }
        if failure != nil { return }
        let side = sides[index]
        let (mine, policy) = (try shown(index), side.context.mergePolicy)
        note(index, "save \(policy)")
        if side.seen == saves, !side.isMuddled, !side.isMixed, let wrong = wrongAtEnds(mine, side) {
            return fail("before a save: \(wrong)")
        }
        // Without changes there is no save.
        let isNothing = !side.context.hasChanges
        let dirty = Set(side.bases.keys.map(\.bead)).union(side.beads.filter { $1.hasChanges }.keys)
        let error = contextError { try side.context.save() }
        if let wrong = side.hooks.wrong.first { return fail(wrong) }
        let contested = contested(side, mine)
        if let error {
            try judge(error, index, mine, contested)
            if failure == nil { try goOn(index) }
            return
        }
        for (number, bead) in side.beads where side.inserted.contains(number) { board.rename(bead, number) }
        let now = try board.stored()
        if side.context.hasChanges { return fail("changes are left") }
        if let wrong = BeadBoard.fault(in: now) { return fail("stored: \(wrong)") }
        if saves % 4 == 0, let finding = try board.findings().first { return fail("the check finds \(finding)") }
        var save = WalkSave(
            side: side, policy: policy, old: stored, now: now, mine: mine, isSynced: side.seen == saves,
            contested: contested, dirty: dirty)
        for bead in side.hooks.born where bead.managedObjectContext != nil {
            save.born.insert(board.number(of: bead.objectID))
        }
        if !side.isMuddled { compare(save) }
        if failure == nil { try accept(save, index) }
        if isNothing { sides[index].locks = side.locks.filter { side.graves[$0.key] == nil } }
    }

    /// What is wrong between the two sides of relationships that a context shows.
    ///
    /// A changed bead whose row is gone keeps what it has until a save.
    private func wrongAtEnds(_ shown: BeadState, _ side: WalkSide) -> String? {
        let known = shown.filter { stored[$0.key] != nil || side.inserted.contains($0.key) }
        var state = known
        for (name, values) in known {
            for property in BeadProperty.relationships where !values[property].allSatisfy({ known[$0] != nil }) {
                state[name]?[property] = values[property].filter { known[$0] != nil }
            }
        }
        return BeadBoard.fault(in: state)
    }

    /// What a save that failed has changed of what a context shows.
    ///
    /// What it has not taken in yet it may read anew, and so it may what is left of a bead that is gone.
    private func differences(_ before: BeadState, _ after: BeadState, _ side: WalkSide) -> String? {
        for (name, values) in before where stored[name] != nil || side.inserted.contains(name) {
            for property in BeadProperty.allCases {
                let isOwn =
                    side.bases[BeadCell(name, property)] != nil && (!property.isRelationship || property.isToOne)
                guard side.seen == saves || isOwn else { continue }
                let now = after[name]?[property]
                if now != values[property] { return "\(name).\(property) from \(values[property]) to \(now ?? [])" }
            }
        }
        return nil
    }

    private mutating func accept(_ save: WalkSave, _ index: Int) throws {
        stored = save.now
        saves += 1
        for (name, values) in stored where save.old[name] != values {
            written[name] = saves
            let isInRow = BeadProperty.allCases.contains { property in
                property.isInRow && save.old[name]?[property] != values[property]
            }
            if isInRow { rowWritten[name] = saves }
        }
        for name in save.old.keys where stored[name] == nil { written[name] = saves }
        for cell in save.side.touched {
            written[cell.bead] = saves
            if cell.property.isInRow { rowWritten[cell.bead] = saves }
        }
        sides[index].forgetChanges()
        for bead in save.side.hooks.born { sides[index].beads[board.number(of: bead.objectID)] = bead }
        sides[index].hooks.born = []
        dropGone(index)
        // Of what it had not taken in it may know a part.
        sides[index].seen = save.isSynced ? saves : -1
        // The other ends of what was given up are as old as they were.
        if save.side.isMuddled {
            for index in sides.indices { try reset(index) }
            return
        }
        // A row that was inserted again begins with a version that others may know.
        let isNew = save.side.inserted.union(save.born)
        if save.now.keys.contains(where: { save.old[$0] == nil && !isNew.contains($0) }) {
            for other in sides.indices where other != index && !sides[other].merges { try reset(other) }
        }
        guard save.isSynced else { return }
        for (name, values) in try shown(index) where stored[name] != values {
            return fail("\(name) shows \(values) and is stored as \(stored[name] ?? [])")
        }
    }

    // MARK: Refusals

    /// The beads of which somebody else has changed what the context has changed, to something else.
    private func contested(_ side: WalkSide, _ mine: BeadState) -> Set<Int> {
        var found = Set<Int>()
        for (cell, base) in side.bases where !found.contains(cell.bead) && !side.deleted.contains(cell.bead) {
            guard !side.inserted.contains(cell.bead) else { continue }
            guard let there = stored[cell.bead]?[cell.property] else {
                found.insert(cell.bead)
                continue
            }
            guard let here = mine[cell.bead]?[cell.property] else { continue }
            if cell.property.isOrdered {
                if ordersDiffer(base, here), ordersDiffer(base, there), ordersDiffer(here, there) {
                    found.insert(cell.bead)
                }
            } else if !cell.property.isRelationship || cell.property.isToOne {
                if there != base && there != here { found.insert(cell.bead) }
            }
        }
        for cell in side.bases.keys where cell.property.isRelationship {
            let ends = (mine[cell.bead]?[cell.property] ?? []) + (side.bases[cell] ?? []) + [cell.bead]
            if ends.contains(where: { stored[$0] == nil && !side.inserted.contains($0) }) { found.insert(cell.bead) }
        }
        // Where one end of a relationship goes back, so does the other.
        for name in found {
            for property in BeadProperty.relationships where property.isToOne {
                found.formUnion((mine[name]?[property] ?? []) + (stored[name]?[property] ?? []))
            }
        }
        for (number, lock) in side.locks where written[number, default: 0] > lock.saves { found.insert(number) }
        return found
    }

    /// Requires a save that failed to have a reason, and to have changed nothing.
    private mutating func judge(
        _ error: ContextError, _ index: Int, _ mine: BeadState, _ contested: Set<Int>
    ) throws {
        let side = sides[index]
        let policy = side.context.mergePolicy
        note(index, "fails: \(error)")
        if try board.stored() != stored { return fail("a save that failed changed the store: \(error)") }
        if let wrong = differences(mine, try shown(index), side) { return fail("a save that failed changed \(wrong)") }
        sides[index].hooks.born = []
        if side.isMuddled { return }
        let isSynced = side.seen == saves
        switch error {
        case .conflicts(let conflicts):
            noteTold(index, conflicts)
            switch policy {
            case .error:
                if isSynced, contested.isEmpty { fail("refused for nothing: \(error)") }
                if !conflicts.contains(where: { board.numbers[$0.object].map { written[$0, default: 0] > 0 } ?? true })
                {
                    fail("a conflict about what nobody has written: \(error)")
                }
            case .storeTrump, .rollback:
                // A deletion is not taken back for what has changed in the store, or must not have.
                if side.deleted.isEmpty || isSynced && side.locks.isEmpty {
                    fail("\(policy) resolves no conflict: \(error)")
                }
            case .objectTrump, .overwrite: fail("\(policy) resolves no conflict: \(error)")
            }
        case .references, .violations:
            if policy == .error, !isSynced || !contested.isEmpty { return }
            let deleted = side.deleted.union(side.context.deletedObjects.compactMap { board.numbers[$0.objectID] })
            // It may judge by what it has not taken in.
            if !isSynced, !deleted.isEmpty, rules.canDeny { return }
            let view = whatShallBe(side, mine)
            // What is deleted may be judged by what is stored, and by what was changed before it was deleted.
            let storedView = view.merging(stored.filter { deleted.contains($0.key) }) { $1 }
            let isObjected = [view, storedView, stored, side.graves].contains { state in
                // A context that has not taken in everything may not see what goes besides.
                let gone = isSynced ? rules.reach(of: deleted, in: [state]) : deleted
                return rules.objection(
                    to: gone, in: state, staying: { !isSynced || view[$0] != nil && !gone.contains($0) },
                    untouched: { _, _ in true }) != nil
            }
            if !isObjected { fail("refused for nothing: \(error)") }
        default: fail("\(error)")
        }
    }

    /// What is stored, with what a context has changed and deleted.
    private func whatShallBe(_ side: WalkSide, _ mine: BeadState) -> BeadState {
        var view = stored
        for (name, values) in mine.merging(side.graves, uniquingKeysWith: { mine, _ in mine }) {
            guard var row = view[name] else {
                view[name] = values
                continue
            }
            for property in BeadProperty.allCases where side.touched.contains(BeadCell(name, property)) {
                row[property] = values[property]
            }
            view[name] = row
        }
        // What is inserted again comes back with its own values, and these with their other ends.
        for (name, values) in mine where stored[name] == nil && !side.inserted.contains(name) {
            for property in BeadProperty.relationships where property.isToOne {
                for other in values[property] {
                    if let inverse = property.inverse, view[other]?[inverse].contains(name) == false {
                        view[other]?[inverse].append(name)
                    }
                }
            }
        }
        return view
    }

    /// What an application does after a save that failed.
    private mutating func goOn(_ index: Int) throws {
        sides[index].failedSaveCount += 1
        if sides[index].failedSaveCount > 2 || Int.random(in: 0..<3, using: &random) == 0 { try giveUp(index) }
    }

    private mutating func noteTold(_ index: Int, _ conflicts: [MergeConflict]) {
        sides[index].told = (Set(conflicts.compactMap { board.numbers[$0.object] }), saves)
    }

    /// A save that breaks a rule of the model, or of the store.
    mutating func failingSave(_ index: Int) throws {
        if sides[index].merges { try takeIn(index, isAsked: false) }
        guard failure == nil, let (number, bead) = try someBead(index), bead.hasChanges else { return }
        let mine = try shown(index)
        var twins: [Bead] = []
        if Bool.random(using: &random) {
            note(index, "save \(number) without a name")
            // What it has not taken in may be gone.
            if contextError({ try bead.setValue(.null, forKey: "name") }) != nil { return }
        } else {
            note(index, "save twins")
            let context = sides[index].context
            twins = (0..<2).map { _ in Bead(context: context) }
            for bead in twins { try bead.setValue(.integer(1), forKey: "code") }
        }
        guard let error = contextError({ try sides[index].context.save() }) else {
            return fail("saved what the model forbids")
        }
        if case .conflicts(let conflicts) = error { noteTold(index, conflicts) }
        for bead in twins { try sides[index].context.delete(bead) }
        if twins.isEmpty { try bead.setValue(.string("bead"), forKey: "name") }
        sides[index].context.processPendingChanges()
        if let wrong = sides[index].hooks.wrong.first { return fail(wrong) }
        sides[index].hooks.born = []
        if try board.stored() != stored { return fail("a save that failed changed the store") }
        if let wrong = differences(mine, try shown(index), sides[index]) { fail("a save that failed changed \(wrong)") }
    }

    // MARK: What is stored

    private mutating func compare(_ save: WalkSave) {
        compareRows(save)
        for (name, values) in save.now where failure == nil {
            guard let former = save.old[name] else {
                compareNew(name, values, save)
                continue
            }
            let mine = save.mine[name]
            for property in [BeadProperty.a, .b, .best, .head, .hint] {
                let cell = BeadCell(name, property)
                let allowed = allowedValues(
                    cell, former[property], mine?[property], isDirty: save.dirty.contains(name), save)
                if !allowed.contains(values[property]) {
                    fail(
                        "\(cell) is \(values[property]), not one of \(allowed), was \(former[property]); here "
                            + "\(mine?[property] ?? []) from \(save.side.bases[cell] ?? [])")
                }
            }
            for property in [BeadProperty.tags, .list, .marks, .friends] {
                compareMembers(BeadCell(name, property), former[property], mine?[property], save)
            }
            compareOrder(BeadCell(name, .queue), former[.queue], mine?[.queue], save)
            // A context that has not taken in everything may see pairs that exclude those of the store.
            if save.isSynced {
                for property in [BeadProperty.mate, .friend] {
                    comparePairs(BeadCell(name, property), former[property], mine?[property] ?? [], save)
                }
            }
        }
    }

    /// Which rows came and went.
    private mutating func compareRows(_ save: WalkSave) {
        let gone = Set(save.old.keys.filter { save.now[$0] == nil })
        for name in save.side.deleted where save.now[name] != nil { fail("\(name) was deleted, and is there") }
        let expected = rules.reach(of: save.side.deleted, in: [save.old, save.mine, save.side.graves])
        for name in gone where !expected.contains(name) { fail("\(name) is lost") }
        for name in save.side.inserted.union(save.born) where save.now[name] == nil && !expected.contains(name) {
            fail("\(name) was inserted, and is not there")
        }
        for name in save.now.keys where save.old[name] == nil {
            if save.side.inserted.contains(name) || save.born.contains(name) { continue }
            let isKept = save.policy == .objectTrump || save.policy == .overwrite
            // One that the walk has let go of may still be changed, by what it is related to.
            if !isKept || save.side.deleted.contains(name) { fail("\(name) is there again") }
        }
        let objection = rules.objection(to: gone, in: save.old, staying: { save.now[$0] != nil }) { cell, back in
            let isWhole =
                save.policy == .overwrite
                && (save.dirty.contains(cell.bead) || back.map { save.dirty.contains($0.bead) } == true)
            return !isWhole && !save.side.touched.contains(cell)
                && back.map { !save.side.touched.contains($0) } != false
        }
        if let objection { fail(objection) }
        if save.policy == .error {
            for (name, lock) in save.side.locks where save.side.graves[name] == nil {
                let isSame = [BeadProperty.a, .b, .best, .head, .mate, .hint].allSatisfy {
                    lock.row[$0] == save.old[name]?[$0]
                }
                if !isSame, !save.side.bases.isEmpty {
                    fail("\(name) was locked at \(lock.row), and is \(save.old[name] ?? [])")
                }
            }
        }
    }

    /// What a context has inserted, or inserted again.
    private mutating func compareNew(_ name: Int, _ values: [[Int]], _ save: WalkSave) {
        guard let mine = save.mine[name] else { return }
        for property in [BeadProperty.a, .b, .best, .head, .hint] where values[property] != mine[property] {
            // What it led to is gone, or has been rolled back or inserted again.
            if property.isRelationship, values[property].isEmpty, save.policy == .rollback { continue }
            if property.isRelationship, mine[property].contains(where: { save.now[$0] == nil || save.old[$0] == nil }) {
                continue
            }
            fail("new \(name).\(property) is stored as \(values[property]), not as \(mine[property])")
        }
    }

    private func allowedValues(
        _ cell: BeadCell, _ former: [Int], _ mine: [Int]?, isDirty: Bool, _ save: WalkSave
    ) -> [[Int]] {
        var allowed: [[Int]]
        if let base = save.side.bases[cell], let mine {
            if mine == base {
                allowed = [former, mine]
            } else if former == base || former == mine {
                let isRolledBack =
                    save.policy == .rollback && (cell.property.isRelationship || save.mayBeInConflict(cell.bead))
                let isLost = save.policy == .storeTrump && mine.contains { save.old[$0] == nil || save.now[$0] == nil }
                allowed = isRolledBack || isLost ? [mine, former] : [mine]
            } else {
                switch save.policy {
                // It must have failed.
                case .error: allowed = []
                case .storeTrump, .rollback: allowed = [former]
                case .objectTrump, .overwrite: allowed = [mine]
                }
            }
        } else {
            allowed = [former]
            if save.policy == .overwrite, isDirty, save.mayBeInConflict(cell.bead), let mine { allowed.append(mine) }
        }
        guard cell.property.isRelationship else { return allowed }
        // What a deletion has led away is no change where the store leads elsewhere by now.
        if let base = save.side.bases[cell], !base.isEmpty, mine == [],
            base.allSatisfy({ save.side.graves[$0] != nil })
        {
            allowed.append(former)
        }
        // What leads to a row that is gone is empty.
        for values in allowed where values.contains(where: { save.now[$0] == nil }) { allowed.append([]) }
        return allowed
    }

    private mutating func compareMembers(
        _ cell: BeadCell, _ former: [Int], _ mine: [Int]?, _ save: WalkSave
    ) {
        let now = Set(save.now[cell.bead]?[cell.property] ?? [])
        // Pairs go with either row; what comes again with a row that was gone is its own affair.
        func there(_ names: some Sequence<Int>) -> Set<Int> {
            Set(names.filter { save.now[$0] != nil && (save.old[$0] != nil || save.side.inserted.contains($0)) })
        }
        let (old, found) = (there(former), there(now))
        guard let moves = save.side.moves[cell] else {
            if found != old, save.policy != .rollback { fail("\(cell) is \(now), was \(former)") }
            return
        }
        let (added, removed) = (there(moves.added), moves.removed)
        var either = moves.either
        if !save.isSynced, cell.property.isOrdered {
            // The list decides, which may have been read before its other ends.
            let base = Set(save.side.bases[cell] ?? [])
            either.formUnion(removed.subtracting(base).union(added.intersection(base)))
        }
        if save.policy == .rollback {
            if !old.subtracting(removed).subtracting(either).isSubset(of: found)
                || !found.isSubset(of: old.union(added).union(either))
            {
                fail("\(cell) is \(now.sorted()), was \(former), here \(mine ?? []) by \(moves)")
            }
        } else if found.subtracting(either) != old.subtracting(removed).union(added).subtracting(either) {
            fail("\(cell) is \(now.sorted()), was \(former), here \(mine ?? []) by \(moves)")
        } else if cell.property.isOrdered {
            compareOrder(cell, former, mine, save)
        }
    }

    private mutating func compareOrder(_ cell: BeadCell, _ old: [Int], _ shown: [Int]?, _ save: WalkSave) {
        // What comes again with a row that was gone comes last.
        func there(_ names: [Int]) -> [Int] {
            names.filter { save.old[$0] != nil || save.side.inserted.contains($0) || save.born.contains($0) }
        }
        let (now, former) = (there(save.now[cell.bead]?[cell.property] ?? []), there(old))
        guard let base = save.side.bases[cell], let mine = shown.map(there) else {
            if save.side.moves[cell] == nil, save.policy != .overwrite, ordersDiffer(now, former) {
                fail("\(cell) is \(now), was \(former)")
            }
            return
        }
        if save.policy == .rollback { return }
        // What this context brings back into the list stands anywhere.
        if save.policy == .overwrite, !mine.allSatisfy(former.contains) { return }
        let (movedHere, movedThere) = (ordersDiffer(base, mine), ordersDiffer(base, former))
        if movedHere && !movedThere && ordersDiffer(now, mine) { fail("\(cell) is \(now), not as \(mine)") }
        if movedThere && !movedHere && save.policy != .overwrite && ordersDiffer(now, former) {
            fail("\(cell) is \(now), not as \(former)")
        }
        if movedHere && movedThere && ordersDiffer(mine, former) {
            if save.policy == .error { fail("\(cell) was moved on both sides, in silence") }
            if ordersDiffer(now, save.policy == .storeTrump ? former : mine) { fail("\(cell) is \(now)") }
        }
    }

    /// Relationships that are to-one at both ends.
    private mutating func comparePairs(_ cell: BeadCell, _ former: [Int], _ mine: [Int], _ save: WalkSave) {
        let now = save.now[cell.bead]?[cell.property] ?? []
        if (former + mine + now).contains(where: { save.now[$0] == nil || save.old[$0] == nil }) { return }
        if !now.isEmpty && now != former && now != mine { fail("\(cell) is \(now), was \(former), here \(mine)") }
        let inverse = cell.property.inverse ?? cell.property
        // What led to a row that goes is led back.
        if save.policy == .storeTrump,
            former.contains(where: { other in
                save.mine[other]?[inverse].contains { save.now[$0] == nil } == true
            })
        {
            return
        }
        guard save.side.bases[cell] != nil else {
            let isOtherChanged = former.contains { save.side.bases[BeadCell($0, inverse)] != nil }
            if now != former, !isOtherChanged, save.policy != .overwrite {
                fail("\(cell) is \(now), was \(former), unchanged here")
            }
            return
        }
        // What a merge has made of the other ends of changes counts as changed on both sides.
        let isAlone = save.old.allSatisfy { name, values in
            [cell.property, inverse].allSatisfy { property in
                values[property] == save.side.bases[BeadCell(name, property)] ?? save.mine[name]?[property]
                    ?? values[property]
            }
        }
        if isAlone, save.policy != .rollback, save.policy != .overwrite, now != mine {
            fail("\(cell) is \(now), was \(former), here \(mine)")
        }
    }
}
