// Saves: one that fails has a reason, and changes nothing.
// Not here: what one stores that does not fail (+Comparing).

import Espalier
import EspalierModel
import EspalierStore

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
            contested: contested, dirty: dirty, isNothing: isNothing)
        for bead in side.hooks.born where bead.managedObjectContext != nil {
            save.born.insert(board.number(of: bead.objectID))
        }
        if !side.isMuddled { compare(save) }
        if failure == nil { try accept(save, index) }
        if isNothing, !side.isMuddled { sides[index].locks = side.locks.filter { side.graves[$0.key] == nil } }
    }

    /// The difference between the two sides of relationships that a context shows.
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

    /// The changes that a failed save has made to the state that a context shows.
    ///
    /// The context may read anew a bead that it has not taken in yet, and the rest of one that is gone.
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
        for cell in side.bases.keys where !found.contains(cell.bead) && !side.deleted.contains(cell.bead) {
            guard !side.inserted.contains(cell.bead) else { continue }
            guard let there = stored[cell.bead]?[cell.property] else {
                found.insert(cell.bead)
                continue
            }
            guard let here = mine[cell.bead]?[cell.property] else { continue }
            for base in side.allBases(cell) {
                if cell.property.isOrdered {
                    let isMovedHere = isMoved(here, from: base, besides: there)
                    if isMovedHere, isMoved(there, from: base, besides: here), ordersDiffer(here, there) {
                        found.insert(cell.bead)
                    }
                } else if !cell.property.isRelationship || cell.property.isToOne {
                    if there != base && there != here { found.insert(cell.bead) }
                }
            }
        }
        for cell in side.bases.keys where cell.property.isRelationship {
            let ends = (mine[cell.bead]?[cell.property] ?? []) + (side.bases[cell] ?? []) + [cell.bead]
            if ends.contains(where: { stored[$0] == nil && !side.inserted.contains($0) }) { found.insert(cell.bead) }
        }
        // If one end of a relationship goes back, so does the other.
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
        noteConflicts(of: error, index)
        switch error.first {
        case .conflicts(let conflicts):
            switch policy.rule {
            case .error, nil:
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
            // A deletion may be judged by the stored state, and by the changes that came before it.
            let storedView = view.merging(stored.filter { deleted.contains($0.key) }) { $1 }
            let states = [view, storedView, stored, side.graves]
            // A context that has not taken in everything may not see what goes besides.
            let reached =
                [rules.reach(of: deleted, in: states), deleted] + states.map { rules.reach(of: deleted, in: [$0]) }
            let isObjected = reached.contains { gone in
                states.contains { state in
                    rules.objection(
                        to: gone, in: state, staying: { !isSynced || view[$0] != nil && !gone.contains($0) },
                        untouched: { _, _ in true }) != nil
                }
            }
            // A bead that was not in memory goes with a deleted one, and nothing can lead to it by then.
            if case .references = error, leadsTo(reached[0].subtracting(deleted), side, mine) { return }
            if !isObjected { fail("refused for nothing: \(error)") }
        default: fail("\(error)")
        }
    }

    /// Whether a context has led a bead to one of these.
    private func leadsTo(_ beads: Set<Int>, _ side: WalkSide, _ mine: BeadState) -> Bool {
        side.touched.contains { cell in
            let names = [cell.bead] + (mine[cell.bead]?[cell.property] ?? [])
            return cell.property.isRelationship && names.contains(where: beads.contains)
        }
    }

    /// The stored state, with the changes and deletions of a context.
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
        // A bead that is inserted again comes back with its own values, and these with their other ends.
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

    /// Does one of the things that an application does after a save that failed.
    private mutating func goOn(_ index: Int) throws {
        sides[index].failedSaveCount += 1
        if sides[index].failedSaveCount > 2 || Int.random(in: 0..<3, using: &random) == 0 { try giveUp(index) }
    }

    /// Notes the conflicts that a save has told, alone or beside other findings.
    private mutating func noteConflicts(of error: ContextError, _ index: Int) {
        let conflicts = error.conflicts
        if conflicts.isEmpty { return }
        let beads = Set(conflicts.compactMap { board.numbers[$0.object] })
        sides[index].told = (beads, saves, sides[index].seen == saves)
    }

    /// A save that breaks a rule of the model, or of the store.
    mutating func failingSave(_ index: Int) throws {
        if sides[index].merges { try takeIn(index, isAsked: false) }
        guard failure == nil, let (number, bead) = try someBead(index), bead.hasChanges else { return }
        let mine = try shown(index)
        var twins: [Bead] = []
        if Bool.random(using: &random) {
            note(index, "save \(number) without a name")
            // A bead that the context has not taken in may be gone.
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
        noteConflicts(of: error, index)
        for bead in twins { try sides[index].context.delete(bead) }
        if twins.isEmpty { try bead.setValue(.string("bead"), forKey: "name") }
        sides[index].context.processPendingChanges()
        if let wrong = sides[index].hooks.wrong.first { return fail(wrong) }
        sides[index].hooks.born = []
        if try board.stored() != stored { return fail("a save that failed changed the store") }
        if let wrong = differences(mine, try shown(index), sides[index]) { fail("a save that failed changed \(wrong)") }
    }
}
