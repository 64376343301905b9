// The state that a save must store: it follows from the state before, from the changes of the context and the values
// before them, and from its merge policy.

import Espalier
import EspalierModel

/// A save, as it was before and after.
struct WalkSave {
    let side: WalkSide
    let policy: MergePolicy
    /// The stored state, before the save and after it.
    let old: BeadState
    let now: BeadState
    /// The state that the context showed.
    let mine: BeadState
    /// Whether the context had taken in all that was stored.
    let isSynced: Bool
    /// The beads that somebody else has changed in a way that the context has changed too.
    let contested: Set<Int>
    /// The beads that the context counts as changed, also if they were set to what they had.
    let dirty: Set<Int>
    /// Whether there was nothing to save.
    let isNothing: Bool
    var born = Set<Int>()

    /// Whether the row of a bead was certainly in conflict: both sides have changed an attribute, to different values.
    func isInConflict(_ bead: Int) -> Bool {
        guard isSynced, !side.isMixed, !side.inserted.contains(bead), let row = old[bead], let mine = mine[bead]
        else { return false }
        return [BeadProperty.a, .b].contains { property in
            let cell = BeadCell(bead, property)
            return side.bases[cell] != nil && row[property] != mine[property]
                && side.allBases(cell).allSatisfy { $0 != row[property] && $0 != mine[property] }
        }
    }

    /// Whether the row of a bead may have been in conflict.
    ///
    /// One that leads to what goes with the save is rolled back as a whole.
    func mayBeInConflict(_ bead: Int) -> Bool {
        !isSynced || contested.contains(bead)
            || BeadProperty.relationships.contains { mine[bead]?[$0].contains { now[$0] == nil } == true }
    }
}

extension ContextWalk {
    mutating func compare(_ save: WalkSave) {
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

    /// Compares the rows that came and went.
    private mutating func compareRows(_ save: WalkSave) {
        let gone = Set(save.old.keys.filter { save.now[$0] == nil })
        for name in save.side.deleted where save.now[name] != nil { fail("\(name) was deleted, and is there") }
        let expected = rules.reach(
            of: save.side.deleted, in: [save.old, save.mine, save.side.graves, restoredEnds(save)])
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
            // A bead that is written as a whole may also have taken the other one to itself.
            let ends = [cell.bead] + (back.map { [$0.bead] + (save.now[$0.bead]?[$0.property] ?? []) } ?? [])
            let isWhole = save.policy == .overwrite && ends.contains(where: save.dirty.contains)
            return !isWhole && !save.side.touched.contains(cell)
                && back.map { !save.side.touched.contains($0) } != false
        }
        if let objection { fail(objection) }
        if save.policy == .error {
            // A bead that goes with one that is deleted here need not be as it was.
            for (name, lock) in save.side.locks
            where save.side.graves[name] == nil && !expected.contains(name) && !save.isNothing {
                let isSame = [BeadProperty.a, .b, .best, .head, .mate, .hint].allSatisfy {
                    lock.row[$0] == save.old[name]?[$0]
                }
                if !isSame {
                    fail("\(name) was locked at \(lock.row), and is \(save.old[name] ?? [])")
                }
            }
        }
    }

    /// The state that the context showed, with the other ends of the beads that it inserts again and so restores.
    private func restoredEnds(_ save: WalkSave) -> BeadState {
        var state = save.mine
        for (name, values) in save.mine where save.old[name] == nil && !save.side.inserted.contains(name) {
            for property in BeadProperty.relationships {
                guard let inverse = property.inverse else { continue }
                for other in values[property] where state[other]?[inverse].contains(name) == false {
                    state[other]?[inverse].append(name)
                }
            }
        }
        return state
    }

    /// Compares a bead that a context has inserted, or inserted again.
    private mutating func compareNew(_ name: Int, _ values: [[Int]], _ save: WalkSave) {
        guard let mine = save.mine[name] else { return }
        for property in [BeadProperty.a, .b, .best, .head, .hint] where values[property] != mine[property] {
            // The bead to which it led is gone, or has been rolled back or inserted again.
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
        var allowed: [[Int]] = []
        if let mine, save.side.bases[cell] != nil {
            for base in save.side.allBases(cell) { allowed += allowedValues(cell, former, mine, from: base, save) }
        } else {
            allowed = [former]
            if save.policy == .overwrite, let mine {
                // One that is written as a whole writes what leads to it, too.
                let isWritten = isDirty && save.mayBeInConflict(cell.bead)
                let isLedTo =
                    cell.property.inverse != nil
                    && mine.contains { save.dirty.contains($0) && save.mayBeInConflict($0) }
                if isWritten || isLedTo { allowed.append(mine) }
            }
        }
        guard cell.property.isRelationship else { return allowed }
        // A deletion's change of a relationship is none if the store leads elsewhere by now, nor is one that led to a
        // bead that was deleted here afterwards; the bead to which the store leads may be deleted here.
        func isDeleted(_ names: [Int]) -> Bool {
            !names.isEmpty && names.allSatisfy { save.side.graves[$0] != nil || save.side.deleted.contains($0) }
        }
        if mine == [], save.side.allBases(cell).contains(where: isDeleted) { allowed.append(former) }
        if let mine, isDeleted(mine) { allowed.append(former) }
        if let mine, isDeleted(former) { allowed.append(mine) }
        // A relationship to a row that is gone is empty, or as it was.
        for values in allowed where values.contains(where: { save.now[$0] == nil }) { allowed += [[], former] }
        return allowed
    }

    /// The values that a property may have after a save, if it was changed here from `base` to `mine`.
    private func allowedValues(
        _ cell: BeadCell, _ former: [Int], _ mine: [Int], from base: [Int], _ save: WalkSave
    ) -> [[Int]] {
        if mine == base { return [former, mine] }
        if former == base || former == mine {
            let isRolledBack =
                save.policy == .rollback && (cell.property.isRelationship || save.mayBeInConflict(cell.bead))
            let isLost = save.policy == .storeTrump && mine.contains { save.old[$0] == nil || save.now[$0] == nil }
            return isRolledBack || isLost ? [mine, former] : [mine]
        }
        return switch save.policy.rule {
        // It must have failed.
        case .error, nil: []
        case .storeTrump, .rollback: [former]
        case .objectTrump, .overwrite: [mine]
        }
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
            // A bead that is rolled back keeps no relationship that changed here, at neither end.
            let isBack = save.isInConflict(cell.bead)
            let hasInverse = cell.property.inverse != nil
            for other in found.symmetricDifference(old) where isBack || hasInverse && save.isInConflict(other) {
                fail("\(cell) is \(now.sorted()), was \(former), and \(isBack ? cell.bead : other) is rolled back")
            }
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
        // A member that comes again with a row that was gone comes last.
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
        // A member that this context brings back into the list may be anywhere in it.
        if save.policy == .overwrite, !mine.allSatisfy(former.contains) { return }
        // The order may be counted from a list that was taken in meanwhile.
        for other in save.side.allBases(cell)
        where isMoved(mine, from: other, besides: former) != isMoved(mine, from: base, besides: former) { return }
        let movedHere = isMoved(mine, from: base, besides: former)
        let movedThere = isMoved(former, from: base, besides: mine)
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
        // A relationship to a row that goes is led back.
        if save.policy == .storeTrump,
            former.contains(where: { other in
                save.mine[other]?[inverse].contains { save.now[$0] == nil } == true
            })
        {
            return
        }
        guard save.side.bases[cell] != nil else {
            // Changes that were made on what was read at different times may have been made at one end only.
            let ends = save.side.isMixed ? now + former.flatMap { save.mine[$0]?[inverse] ?? [] } : []
            let isOtherChanged = (former + ends).contains { save.side.bases[BeadCell($0, inverse)] != nil }
            if now != former, !isOtherChanged, save.policy != .overwrite {
                fail("\(cell) is \(now), was \(former), unchanged here")
            }
            return
        }
        // A merge's changes at the other ends of changes count as changes on both sides.
        let isAlone =
            save.side.otherBases.isEmpty
            && save.old.allSatisfy { name, values in
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
