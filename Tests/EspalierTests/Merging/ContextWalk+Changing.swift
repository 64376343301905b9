// The steps of a walk that change something: values, relationships, new beads, deletions, and what hooks do.

import Espalier
import EspalierModel
import TestSupport

extension ContextWalk {
    /// Some bead that a step may change.
    mutating func someBead(_ index: Int) throws -> (number: Int, bead: Bead)? {
        let missing = stored.keys.filter { sides[index].beads[$0] == nil && !sides[index].deleted.contains($0) }
        // Looking for a row that its generation does not have makes a merging context merge.
        if sides[index].merges, sides[index].seen != saves, !missing.isEmpty { try takeIn(index, isAsked: false) }
        for number in missing.sorted() {
            guard let id = board.ids[number] else { continue }
            guard let bead = try? sides[index].context.existingObject(with: id) as? Bead else { continue }
            sides[index].beads[number] = bead
        }
        let usable = sides[index].beads.filter { $1.managedObjectContext != nil && !$1.isDeleted }.keys.sorted()
        guard let number = usable.randomElement(using: &random), let bead = sides[index].beads[number] else {
            return nil
        }
        return (number, bead)
    }

    /// Some beads that a step may relate to.
    private mutating func others(_ index: Int, _ count: Int) -> [Int] {
        let usable = sides[index].beads.filter { $1.managedObjectContext != nil && !$1.isDeleted }.keys.sorted()
        return Array(usable.shuffled(using: &random).prefix(count))
    }

    /// Whether somebody else has deleted a bead that a context may still show.
    private func isGone(_ bead: Int, _ index: Int) -> Bool {
        stored[bead] == nil && !sides[index].inserted.contains(bead)
    }

    /// Does something to the properties `cells` and what is related by them, and notes what has changed.
    private mutating func watch(_ index: Int, _ cells: [BeadCell], _ body: () throws -> Void) throws {
        let before = try cells.map { try shown(index, $0) }
        do {
            try body()
        } catch ContextError.violations(let violations)
            where sides[index].seen != saves || sides[index].isMuddled
            || cells.contains(where: { isGone($0.bead, index) })
        {
            // A bead that the context has not taken in may be gone.
            note(index, "refused: \(violations)")
            hasRefused = true
        }
        for (cell, former) in zip(cells, before) {
            let now = try shown(index, cell)
            if now != former { sides[index].note(now, after: former, in: cell) }
            if now != former, cell.property.isToOne, let there = stored[cell.bead]?[cell.property], there != former {
                // A merge has emptied it here, because the other end is related elsewhere: the row is what it is
                // changed from.
                sides[index].otherBases[cell, default: []].insert(there)
            }
            if now != former, let emptied = sides[index].emptied[cell] {
                sides[index].otherBases[cell, default: []].insert(emptied)
            }
            noteIfStored(now, cell, index)
        }
        if sides[index].seen != saves { sides[index].isMixed = true }
    }

    /// The properties that a new value of a relationship may change.
    private func reach(_ index: Int, _ cell: BeadCell, _ targets: [Int]) throws -> [BeadCell] {
        var cells: Set = [cell]
        guard let inverse = cell.property.inverse else { return [cell] }
        for other in try shown(index, cell) + targets {
            cells.insert(BeadCell(other, inverse))
            guard inverse.isToOne else { continue }
            for former in try shown(index, BeadCell(other, inverse)) { cells.insert(BeadCell(former, cell.property)) }
        }
        return cells.sorted { ($0.bead, $0.property) < ($1.bead, $1.property) }
    }

    // MARK: Changing

    mutating func change(_ index: Int) throws {
        guard let (number, bead) = try someBead(index),
            let property = BeadProperty.allCases.randomElement(using: &random)
        else { return }
        let cell = BeadCell(number, property)
        if !property.isRelationship {
            let value =
                property == .b && Int.random(in: 0..<4, using: &random) == 0
                ? nil : Int.random(in: 0..<4, using: &random)
            note(index, "\(cell) = \(value.map { "\($0)" } ?? "nil")")
            try watch(index, [cell]) {
                try bead.setValue(value.map { .integer(Int64($0)) } ?? .null, forKey: property.name)
            }
            return try expect(index, cell, value.map { [$0] } ?? [])
        }
        let targets = others(
            index, property.isToOne ? Int.random(in: 0..<2, using: &random) : Int.random(in: 0..<4, using: &random))
        let objects = targets.compactMap { sides[index].beads[$0] }
        let cells = try reach(index, cell, targets)
        if property.isToOne {
            note(index, "\(cell) = \(targets)")
            try watch(index, cells) { try bead.setValue(.toOne(objects.first), forKey: property.name) }
            return try expect(index, cell, targets)
        }
        let former = try shown(index, cell)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            note(index, "\(cell) = \(targets)")
            try watch(index, cells) { try bead.setValue(.toMany(objects), forKey: property.name) }
            try expect(index, cell, property.isOrdered ? targets : targets.sorted())
        case 1:
            note(index, "\(cell) -= \(targets)")
            try watch(index, cells) { try bead.remove(objects, fromRelationshipNamed: property.name) }
            try expect(index, cell, former.filter { !targets.contains($0) })
        case 2 where property.isOrdered && former.count > 1:
            let moved = former.shuffled(using: &random)
            let objects = moved.compactMap { sides[index].beads[$0] }
            guard objects.count == moved.count, !objects.contains(where: \.isDeleted) else { return }
            note(index, "\(cell) to \(moved)")
            try watch(index, [cell]) { try bead.setValue(.toMany(objects), forKey: property.name) }
            try expect(index, cell, moved)
        default:
            note(index, "\(cell) += \(targets)")
            try watch(index, cells) { try bead.add(objects, toRelationshipNamed: property.name) }
            let now = former + targets.filter { !former.contains($0) }
            try expect(index, cell, property.isOrdered ? now : now.sorted())
        }
    }

    /// Requires a property to show what it was just given.
    private mutating func expect(_ index: Int, _ cell: BeadCell, _ values: [Int]) throws {
        let now = try shown(index, cell)
        // Values that were read at different times need not fit: an object may be in one list here and lead elsewhere.
        if hasRefused { return hasRefused = false }
        let isExact =
            sides[index].seen == saves && !sides[index].isMuddled && !sides[index].isMixed
            || cell.property.inverse == nil
        // One whose row is gone keeps what it has, which others no longer have.
        let isThere = !(values + now + [cell.bead]).contains { isGone($0, index) }
        if isExact, isThere, now != values { fail("\(cell) shows \(now), was given \(values)") }
    }

    mutating func insert(_ index: Int) throws {
        guard sides[index].beads.count < Self.beadCountMax else { return }
        let bead = Bead(context: sides[index].context)
        // The same, whichever steps are left out.
        let number = 10 + stepNumber
        board.rename(bead, number)
        note(index, "insert \(number)")
        sides[index].beads[number] = bead
        sides[index].inserted.insert(number)
    }

    mutating func obtainIDs(_ index: Int) throws {
        let new = sides[index].inserted.sorted().compactMap { number in
            sides[index].beads[number].map { (number, $0) }
        }.filter { $1.managedObjectContext != nil }
        note(index, "permanent IDs of \(new.map(\.0))")
        try sides[index].context.obtainPermanentIDs(for: new.map(\.1))
        for (number, bead) in new { board.rename(bead, number) }
    }

    mutating func delete(_ index: Int) throws {
        if sides[index].merges { try takeIn(index, isAsked: false) }
        guard let (number, bead) = try someBead(index) else { return }
        note(index, "delete \(number)")
        let before = try shown(index)
        try sides[index].context.delete(bead)
        sides[index].context.processPendingChanges()
        try noteDeletions(index, before)
        if failure != nil { return }
        // In what fits together the context must follow the rules as the store will.
        guard sides[index].seen == saves, !sides[index].isMuddled, !sides[index].isMixed,
            BeadBoard.fault(in: before) == nil
        else { return }
        let gone = rules.reach(of: [number], in: [before])
        let found = Set(before.keys.filter { sides[index].beads[$0] == nil })
        if found != gone { fail("deleting \(number) takes \(found), and should take \(gone)") }
    }

    /// Notes what has become of all beads in memory by delete rules.
    mutating func noteDeletions(_ index: Int, _ before: BeadState) throws {
        for (number, bead) in sides[index].beads where bead.isDeleted || bead.managedObjectContext == nil {
            sides[index].beads[number] = nil
            sides[index].graves[number] = before[number]
            // One whose row is gone has left: there is nothing to delete.
            if sides[index].inserted.remove(number) == nil, bead.managedObjectContext != nil {
                sides[index].deleted.insert(number)
            }
        }
        for (number, values) in try shown(index) {
            for property in BeadProperty.allCases {
                let (former, now) = (before[number]?[property] ?? [], values[property])
                let cell = BeadCell(number, property)
                if former != now { sides[index].note(now, after: former, in: cell) }
                if cell.property.isSingle { noteIfStored(now, cell, index) }
            }
        }
    }

    /// A value as it is stored is no change, and the next change begins from it.
    private mutating func noteIfStored(_ now: [Int], _ cell: BeadCell, _ index: Int) {
        guard sides[index].bases[cell] != nil, stored[cell.bead]?[cell.property] == now else { return }
        sides[index].otherBases[cell, default: []].insert(now)
    }

    /// Changes something and takes it back: that is no change.
    mutating func touch(_ index: Int) throws {
        guard let (number, bead) = try someBead(index), !bead.hasChanges, let target = others(index, 1).first,
            let other = sides[index].beads[target], !other.hasChanges,
            let property = BeadProperty.relationships.filter({ !$0.isToOne }).randomElement(using: &random)
        else { return }
        let cell = BeadCell(number, property)
        let former = try shown(index, cell)
        if former.contains(target) { return }
        if let inverse = property.inverse, inverse.isToOne, try !shown(index, BeadCell(target, inverse)).isEmpty {
            return
        }
        note(index, "touch \(cell) \(target)")
        let error = contextError {
            try bead.add([other], toRelationshipNamed: property.name)
            if !bead.hasPersistentChangedValues { fail("\(cell) has \(target) more, and that is no change") }
            try bead.remove([other], fromRelationshipNamed: property.name)
        }
        if let error {
            // A bead that the context has not taken in may be gone.
            if sides[index].seen == saves, !isGone(number, index), !isGone(target, index) { throw error }
            return
        }
        if try shown(index, cell) != former { return }
        if bead.hasPersistentChangedValues || other.hasPersistentChangedValues {
            fail("\(cell) counts as changed, and is what it was")
        }
    }

    // MARK: Hooks

    /// Makes the next save call something that inserts a bead, or that must not save.
    mutating func addHook(_ index: Int) throws {
        guard let (number, bead) = try someBead(index) else { return }
        let hooks = sides[index].hooks
        if Bool.random(using: &random) {
            note(index, "\(number) inserts when it is saved")
            bead.onSave = { bead in
                if let context = bead.managedObjectContext { hooks.born.append(Bead(context: context)) }
            }
        } else {
            note(index, "\(number) saves when it is saved")
            bead.onSave = { bead in
                if case .alreadySaving? = contextError({ try bead.managedObjectContext?.save() }) { return }
                hooks.wrong.append("a save in a hook was not refused")
            }
        }
    }
}
