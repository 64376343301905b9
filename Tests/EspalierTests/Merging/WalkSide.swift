// One context of a walk, and what it has changed since its last save: what was changed from what, which pairs came and
// went, what is deleted, locked and told.

import Espalier

/// One context, and what it has changed since its last save.
struct WalkSide {
    let context: ManagedObjectContext
    var merges: Bool { context.automaticallyMergesChangesFromParent }
    /// The beads that are kept in memory.
    var beads: [Int: Bead] = [:]
    /// For each changed property, what it was changed from.
    var bases: [BeadCell: [Int]] = [:]
    /// Other values before a change, as far as the walk can tell: taking in may have settled a change.
    var otherBases: [BeadCell: Set<[Int]>] = [:]
    /// The rows' destinations of to-one relationships that taking in has emptied.
    var emptied: [BeadCell: [Int]] = [:]
    /// All changed properties, whatever was taken in since.
    var touched = Set<BeadCell>()
    /// For each changed relationship, what came, what went, and what did both, which may end either way.
    var moves: [BeadCell: Moves] = [:]
    var inserted = Set<Int>()
    var deleted = Set<Int>()
    /// The values of deleted beads when they were deleted.
    var graves: BeadState = [:]
    /// The values of beads that must not have changed in the store, and how many saves there were when that was asked.
    var locks: [Int: (row: [[Int]], saves: Int)] = [:]
    /// The beads that a save has told to be in conflict, how many saves there were then, and whether all was taken in.
    var told: (beads: Set<Int>, saves: Int, isNewest: Bool) = ([], 0, true)
    /// How many saves it has taken in; -1 if it may have taken in some of them in parts.
    var seen = 0
    /// Whether a refresh has given up changes at one side of relationships.
    var isMuddled = false
    /// Whether changes were made on what was read at different times, in which two sides need not be equal.
    var isMixed = false
    var failedSaveCount = 0
    /// The insertions and complaints of hooks.
    let hooks = HookLog()

    struct Moves {
        var added = Set<Int>()
        var removed = Set<Int>()
        var either = Set<Int>()

        mutating func note(_ name: Int, isAdded: Bool) {
            if isAdded {
                if removed.remove(name) != nil { either.insert(name) } else { added.insert(name) }
            } else {
                if added.remove(name) != nil { either.insert(name) } else { removed.insert(name) }
            }
        }
    }

    final class HookLog {
        var born: [Bead] = []
        var wrong: [String] = []
    }

    mutating func note(_ now: [Int], after former: [Int], in cell: BeadCell) {
        touched.insert(cell)
        if bases[cell] == nil { bases[cell] = former }
        let (before, after) = (Set(former), Set(now))
        let back = cell.property.isToOne ? nil : cell.property.inverse.flatMap { $0.isToOne ? nil : $0 }
        for name in after.symmetricDifference(before) {
            moves[cell, default: Moves()].note(name, isAdded: after.contains(name))
            // The other list may have been read at another time, and may not show it.
            if let back { moves[BeadCell(name, back), default: Moves()].note(cell.bead, isAdded: after.contains(name)) }
        }
    }

    /// All that a changed property may have been changed from.
    func allBases(_ cell: BeadCell) -> [[Int]] {
        bases[cell].map { base in [base] + otherBases[cell, default: []].filter { $0 != base } } ?? []
    }

    /// A bead that came or went and is gone may end either way, if a context inserts it again.
    mutating func forgetMoves(of isGone: (Int) -> Bool) {
        for (cell, change) in moves {
            let gone = change.added.union(change.removed).filter { isGone($0) || isGone(cell.bead) }
            guard !gone.isEmpty else { continue }
            moves[cell]?.added.subtract(gone)
            moves[cell]?.removed.subtract(gone)
            moves[cell]?.either.formUnion(gone)
        }
    }

    /// A change of a list that somebody else has made too is no change after a merge, and may end either way.
    mutating func forgetMoves(in list: BeadCell, stored: [Int]) {
        guard let change = moves[list] else { return }
        let same = change.added.intersection(stored).union(change.removed.subtracting(stored))
        moves[list]?.added.subtract(same)
        moves[list]?.removed.subtract(same)
        moves[list]?.either.formUnion(same)
    }

    /// Nothing is unsaved any more.
    mutating func forgetChanges() {
        (bases, otherBases, emptied, touched, moves) = ([:], [:], [:], [], [:])
        (inserted, deleted, graves, locks) = ([], [], [:], [:])
        (told, isMuddled, isMixed, failedSaveCount) = (([], 0, true), false, false, 0)
    }
}
