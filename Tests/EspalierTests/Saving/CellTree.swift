// Cells in three contexts, one above the other, whose hooks follow the same rules in each of them.

import Espalier
import EspalierModel

/// A root context, its child and a grandchild, and the same stored cells in each of them.
final class CellTree {
    enum Tier: Int, CaseIterable {
        case root, child, grandchild

        /// This tier and those above it, in the order in which saves go up.
        var upward: [Tier] { Tier.allCases.filter { $0.rawValue <= rawValue }.reversed() }
    }

    private let stack: Stack
    private let contexts: [ManagedObjectContext]
    /// The cells of each tier, by their numbers.
    private let cells: [[Cell]]
    var hasChanges: Bool { contexts.contains(where: \.hasChanges) }

    /// Makes cells that are stored with the level -1, and gives each its level in one context.
    ///
    /// - Parameters:
    ///   - tiers: the context that sets the level, for each cell; those below it then show it. None sets it for `nil`.
    ///   - order: the order in which the cells are created, which is that of their validation.
    init(_ levels: [Int], _ rules: [[CellRule]], tiers: [Tier?], order: [Int]) throws {
        let stack = try Stack(.inMemory, classes: [Cell.self])
        let made = order.map { number in
            let cell = Cell(context: stack.context)
            (cell.number, cell.level) = (number, -1)
            return cell
        }
        try stack.context.save()
        let ids = made.sorted { $0.number < $1.number }.map(\.objectID)
        let child = ManagedObjectContext(parent: stack.context)
        let contexts = [stack.context, child, ManagedObjectContext(parent: child)]
        let cells = try contexts.map { context in
            try ids.map { id in try context.existingObject(with: id, as: Cell.self) }
        }
        (self.stack, self.contexts, self.cells) = (stack, contexts, cells)
        for tier in Tier.allCases {
            let own = cells[tier.rawValue]
            for number in order where tiers[number] == tier { own[number].level = levels[number] }
            contexts[tier.rawValue].processPendingChanges()
            for (number, cell) in own.enumerated() {
                cell.follow = { [unowned self] hook in
                    try CellRule.carryOut(rules[number], hook, of: number, among: self.cells[tier.rawValue])
                }
            }
        }
    }

    /// The ID of a cell, which is the same in all contexts.
    func id(of number: Int) -> ObjectID { cells[0][number].objectID }

    /// The levels that a context shows.
    func levels(in tier: Tier) -> [Int] { cells[tier.rawValue].map(\.level) }

    /// Sets the level of a cell in one context.
    func set(_ number: Int, to level: Int, in tier: Tier) { cells[tier.rawValue][number].level = level }

    /// Merges what the contexts above have changed.
    func merge(in tier: Tier) { contexts[tier.rawValue].processPendingChanges() }

    /// Saves one level up.
    func save(_ tier: Tier) throws { try contexts[tier.rawValue].save() }

    /// Saves from a context up to the store.
    func saveUp(from tier: Tier) throws { for tier in tier.upward { try save(tier) } }

    func endRules() { for cell in cells.joined() { cell.follow = { _ in } } }

    func stored() throws -> [Int] { try stack.stored(Cell.self).sorted { $0.number < $1.number }.map(\.level) }
}
