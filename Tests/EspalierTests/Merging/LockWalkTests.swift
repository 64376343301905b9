// Random locks in three contexts on one store and in a child of the first: a save is refused exactly if an object that
// it changes or has locked is no longer as the context has read it, or last asked for it.
//
// Each change sets a number that nobody has set before, so the number that an object shows says which version of its
// row the context has read.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct LockWalkTests {
    @Test func `a save fails exactly if what it changes or has locked is not as it was read (MC-35)`() throws {
        let count = campaignCount("ESPALIER_LOCK_WALKS", default: 24)
        try LockWalk.take(count, seed: testSeed(default: 35_000), steps: 50) { try LockWalk(seed: $0) }
    }
}

/// A context, and the numbers on which its changes and locks are based, by the names of pegs.
private struct LockSide {
    let context: ManagedObjectContext
    let pegs: [Peg]
    var bases: [Int: Int] = [:]
    var locks: [Int: Int] = [:]
    /// The conflicts that the last save has reported, with the number in the store or the parent.
    var reported: [Int: Int] = [:]

    init(_ context: ManagedObjectContext, _ ids: [ObjectID]) throws {
        self.context = context
        pegs = try ids.map { try #require(try context.existingObject(with: $0) as? Peg) }
    }

    var shown: [Int] { pegs.map(\.a) }

    mutating func forget() { (bases, locks, reported) = ([:], [:], [:]) }

    /// The pegs for which a save must fail if the store or the parent has these numbers.
    func outdated(_ newest: [Int]) -> Set<Int> {
        Set(pegs.indices.filter { (bases[$0] ?? newest[$0]) != newest[$0] || (locks[$0] ?? newest[$0]) != newest[$0] })
    }

    /// Notes that the application has asked for the newest row of a peg.
    mutating func adopt(_ newest: Int, of peg: Int) {
        if locks[peg] != nil { locks[peg] = newest }
        // A refresh settles a conflict only if a save has reported it.
        if bases[peg] != nil, reported[peg] == newest { bases[peg] = newest }
    }
}

private struct LockWalk: RandomWalk {
    /// The index of the child of the first context.
    private static let child = 3
    private static let pegCount = 4

    private let board: PegBoard
    private let ids: [ObjectID]
    private var random: SeededGenerator
    private var sides: [LockSide] = []
    private var stored = Array(repeating: 0, count: LockWalk.pegCount)
    private var lastNumber = 0
    /// Pegs that another context has saved below changes of the first one, which may have another version for the child
    /// then, with the same number.
    private var blurred = Set<Int>()
    private(set) var failure: String?
    private(set) var log: [String] = []
    var rulesText: String {
        let merging = sides.indices.filter { sides[$0].context.automaticallyMergesChangesFromParent }
        return "\(merging) merge"
    }

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        board = try PegBoard(seed % 4 == 0 ? .btree : .inMemory, count: Self.pegCount)
        let pegs = try board.pegs(board.theirs)
        ids = try (0..<Self.pegCount).map { try #require(pegs["\($0)"]).objectID }
        for number in 0..<3 {
            let context = ManagedObjectContext(board.coordinator)
            // The child shows what its parent would show, which is simple only if that is the newest state.
            context.automaticallyMergesChangesFromParent = number == 0 || Bool.random(using: &random)
            sides.append(try LockSide(context, ids))
        }
        let child = ManagedObjectContext(parent: sides[0].context)
        child.automaticallyMergesChangesFromParent = Bool.random(using: &random)
        sides.append(try LockSide(child, ids))
        for side in sides { _ = side.shown }
    }

    mutating func go(_ count: Int) {
        do {
            for _ in 0..<count where failure == nil { try step() }
            for index in sides.indices.reversed() where failure == nil { try save(index) }
        } catch {
            failure = "\(error)"
        }
    }

    /// The numbers above a side: in the store, or in the parent.
    private mutating func newest(_ index: Int) -> [Int] {
        sides[0].context.processPendingChanges()
        for (peg, base) in sides[0].bases where base != stored[peg] { blurred.insert(peg) }
        return index == Self.child ? sides[0].shown : stored
    }

    private mutating func step() throws {
        let index = Int.random(in: 0..<sides.count, using: &random)
        let peg = Int.random(in: 0..<ids.count, using: &random)
        let newest = newest(index)
        let side = sides[index]
        let kind = Int.random(in: 0..<16, using: &random)
        switch kind {
        case 0..<5:
            if side.bases[peg] == nil { sides[index].bases[peg] = side.pegs[peg].a }
            lastNumber += 1
            log.append("\(index): \(peg) from \(side.pegs[peg].a) to \(lastNumber)")
            side.pegs[peg].a = lastNumber
        case 5..<8:
            guard side.bases[peg] == nil else { return }
            log.append("\(index): lock \(peg) at \(side.pegs[peg].a)")
            sides[index].locks[peg] = side.pegs[peg].a
            try side.context.detectConflicts(for: side.pegs[peg])
        case 8:
            log.append("\(index): process")
            side.context.processPendingChanges()
        case 9:
            log.append("\(index): refresh \(peg)")
            side.context.refresh(side.pegs[peg], mergesChanges: true)
            sides[index].adopt(newest[peg], of: peg)
        case 10, 11:
            log.append("\(index): \(kind == 10 ? "refresh all" : "refreshing fetch")")
            if kind == 10 {
                side.context.refreshAllObjects()
            } else {
                var request = FetchRequest<Peg>()
                request.shouldRefreshRefetchedObjects = true
                _ = try side.context.fetch(request)
            }
            for peg in ids.indices { sides[index].adopt(newest[peg], of: peg) }
        case 12:
            log.append("\(index): rollback")
            side.context.rollback()
            sides[index].forget()
        default: try save(index)
        }
    }

    private mutating func save(_ index: Int) throws {
        let newest = newest(index)
        let (side, before) = (sides[index], sides[index].shown)
        let outdated = side.outdated(newest)
        let mayFail = index == Self.child ? outdated.union(blurred) : outdated
        let must = index == Self.child ? outdated.subtracting(blurred) : outdated
        log.append("\(index): save of \(side.bases.keys.sorted()), outdated \(outdated.sorted())")
        if side.bases.isEmpty { return try side.context.save() }
        side.context.mergePolicy = .error
        guard let error = contextError({ try side.context.save() }) else {
            if !must.isEmpty { failure = "saved over others" }
            return try accept(index, before)
        }
        guard case .conflicts(let conflicts) = error else {
            failure = "\(index): \(error)"
            return
        }
        let told = Dictionary(
            conflicts.compactMap { conflict in ids.firstIndex(of: conflict.object).map { ($0, conflict) } },
            uniquingKeysWith: { first, _ in first })
        log.append("in conflict: \(told.keys.sorted())")
        if told.isEmpty || !mayFail.isSuperset(of: told.keys) || !must.isSubset(of: told.keys) {
            failure = "conflicts of \(told.keys.sorted())"
        }
        checkShown(index, before, newest)
        if try storedNumbers() != stored { failure = "a save in conflict has stored \(try storedNumbers())" }
        sides[index].reported = told.compactMapValues { conflict in
            if case .integer(let number)? = conflict["a"]?.stored { Int(number) } else { nil }
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            log.append("\(index): rollback")
            side.context.rollback()
            sides[index].forget()
        case 1:
            log.append("\(index): save over others")
            side.context.mergePolicy = .objectTrump
            try side.context.save()
            try accept(index, before)
        default: break
        }
    }

    /// Checks what a side shows after a save in conflict: what it has shown before, but a save is an event, which
    /// merges the waiting saves of others into the pegs that the side has not changed.
    private mutating func checkShown(_ index: Int, _ before: [Int], _ newest: [Int]) {
        let (side, shown) = (sides[index], sides[index].shown)
        let isMerged = side.context.automaticallyMergesChangesFromParent
        let expected = ids.indices.map { peg in
            // The child's parent may show it another version with the same number.
            let isKept = index == Self.child && shown[peg] == before[peg]
            return isMerged && side.bases[peg] == nil && !isKept ? newest[peg] : before[peg]
        }
        if shown != expected { failure = "shows \(shown) after a conflict, not \(expected); before it, \(before)" }
    }

    /// Notes that a save has written what the side has changed; `before` has its numbers.
    private mutating func accept(_ index: Int, _ before: [Int]) throws {
        for peg in sides[index].bases.keys.sorted() {
            if index == Self.child {
                if sides[0].bases[peg] == nil { sides[0].bases[peg] = stored[peg] }
            } else {
                stored[peg] = before[peg]
            }
            let above = index == Self.child ? sides[0].shown[peg] : stored[peg]
            if above != before[peg] { failure = "\(peg) is \(above) after a save of \(before[peg])" }
        }
        sides[index].forget()
        if sides[index].context.hasChanges { failure = "\(index) has changes after its save" }
        let found = try storedNumbers()
        if found != stored { failure = "the store has \(found), not \(stored)" }
    }

    private func storedNumbers() throws -> [Int] {
        let reader = ManagedObjectContext(board.coordinator)
        return try ids.map { id in try #require(try reader.existingObject(with: id) as? Peg).a }
    }
}
