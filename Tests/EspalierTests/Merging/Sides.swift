// One context of a board, and whatever somebody else saves meanwhile: what tests of two writers begin with.

import Espalier
import EspalierModel

/// A board, a context, and what somebody else saves.
struct Sides {
    let board: BeadBoard
    let mine: ManagedObjectContext

    /// All beads are in memory of `mine`, which retains none of them: `beads` does.
    private let beads: [Bead]

    init(_ place: BeadBoard.Place, count: Int, _ rules: [BeadProperty: DeleteRule] = [:]) throws {
        board = try BeadBoard(place, count: count, rules: rules)
        mine = ManagedObjectContext(board.coordinator)
        var beads: [Bead] = []
        for number in 0..<count { beads.append(try board.bead(number, in: mine)) }
        self.beads = beads
    }

    /// Saves what `body` changes in another context; reads it here too, as long as nothing is changed here.
    func store(_ body: (ManagedObjectContext) throws -> Void) throws {
        let context = ManagedObjectContext(board.coordinator)
        try body(context)
        try context.save()
        if !mine.hasChanges { mine.refreshAllObjects() }
    }

    /// Gives a property of a bead other values: numbers of beads for a relationship.
    func change(_ number: Int, _ property: BeadProperty, _ values: [Int], in context: ManagedObjectContext) throws {
        let bead = try board.bead(number, in: context)
        if !property.isRelationship {
            let value: AttributeValue = if let value = values.first { .integer(Int64(value)) } else { .null }
            return try bead.setValue(.attribute(value), forKey: property.name)
        }
        let others = try values.map { try board.bead($0, in: context) }
        try bead.setValue(property.isToOne ? .toOne(others.first) : .toMany(others), forKey: property.name)
    }

    func delete(_ number: Int) throws {
        try mine.delete(board.bead(number, in: mine))
        mine.processPendingChanges()
    }

    func shown(_ number: Int, _ property: BeadProperty) throws -> [Int] {
        try board.shown(board.bead(number, in: mine), property)
    }
}
