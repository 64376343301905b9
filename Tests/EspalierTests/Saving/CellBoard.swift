// Cells whose hooks follow rules: they set the levels of other cells, and refuse their own; and a context of them.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

/// One action of a hook of a cell; cells are named by their numbers.
enum CellRule: Hashable {
    /// Makes its own level at most this one, as its validated value.
    case clamp(to: Int)
    /// Makes the level of a cell at least this one.
    case raise(Int, to: Int)
    /// Makes the level of a cell at least this one, before the validation.
    case raiseOnSave(Int, to: Int)
    /// Makes the level of a cell at least its own one.
    case raiseToOwn(Int)
    /// Sets the level of a cell.
    case set(Int, to: Int)
    /// Sets the level of a cell, as a primitive value.
    case setPrimitive(Int, to: Int)
    /// Refuses a level of its own above this one.
    case refuse(above: Int)

    /// Levels of cells, and the rules of each.
    static func draw(
        _ count: Int, raisesOnly: Bool, _ chance: inout SeededGenerator
    ) -> (levels: [Int], rules: [[CellRule]]) {
        let levels = (0..<count).map { _ in Int.random(in: 0..<6, using: &chance) }
        let rules: [[CellRule]] = levels.map { _ in
            (0..<Int.random(in: 0..<3, using: &chance)).map { _ -> CellRule in
                let (cell, level) = (Int.random(in: 0..<count, using: &chance), Int.random(in: 0..<6, using: &chance))
                return switch Int.random(in: raisesOnly ? 0..<3 : 1..<7, using: &chance) {
                case 0: .raiseOnSave(cell, to: level)
                case 1: .raise(cell, to: level)
                case 2: .raiseToOwn(cell)
                case 3: .clamp(to: level)
                case 4: .set(cell, to: level)
                case 5: .setPrimitive(cell, to: level)
                default: .refuse(above: level)
                }
            }
        }
        return (levels, rules)
    }

    /// The hook that follows the rule.
    var hook: Cell.Hook {
        switch self {
        case .clamp: .value
        case .raiseOnSave: .saving
        case .raise, .raiseToOwn, .set, .setPrimitive, .refuse: .object
        }
    }

    /// The level to which the rule of the cell `own` sets a cell; `nil` if it refuses its own.
    func result(_ levelOf: (Int) -> Int, _ own: Int) -> (cell: Int, level: Int)? {
        switch self {
        case .clamp(let level): (own, min(levelOf(own), level))
        case .raise(let cell, let level), .raiseOnSave(let cell, let level): (cell, max(levelOf(cell), level))
        case .raiseToOwn(let cell): (cell, max(levelOf(cell), levelOf(own)))
        case .set(let cell, let level), .setPrimitive(let cell, let level): (cell, level)
        case .refuse(let level): levelOf(own) > level ? nil : (own, levelOf(own))
        }
    }

    /// Does what the rules of the cell `own` say for one of its hooks, which it calls among these cells of a context.
    static func carryOut(_ rules: [CellRule], _ hook: Cell.Hook, of own: Int, among cells: [Cell]) throws {
        for rule in rules where rule.hook == hook {
            guard let (target, level) = rule.result({ cells[$0].level }, own) else { throw UndoError.noGroup }
            let cell = cells[target]
            switch rule {
            case .refuse: break
            case .raiseOnSave: if cell.level != level { cell.level = level }
            // A primitive value of an object without changes is no part of a save (MO-21).
            case .setPrimitive where cell.hasChanges:
                try cell.setPrimitiveValue(.attribute(.integer(Int64(level))), forKey: "level")
            case .clamp, .raise, .raiseToOwn, .set, .setPrimitive: cell.level = level
            }
        }
    }

    /// Whether no hook refuses the levels, or leaves others.
    static func isSettled(_ levels: [Int], _ rules: [[CellRule]]) -> Bool {
        rules.enumerated().allSatisfy { own, rules in
            Cell.Hook.allCases.allSatisfy { hook in
                var left = levels
                for rule in rules where rule.hook == hook {
                    guard let (cell, level) = rule.result({ left[$0] }, own) else { return false }
                    left[cell] = level
                }
                return left == levels
            }
        }
    }

    /// The lowest levels from `levels` on that rules which only raise them leave as they are.
    static func leastSettled(_ levels: [Int], _ rules: [[CellRule]]) -> [Int] {
        var levels = levels
        while !isSettled(levels, rules) {
            for (own, rules) in rules.enumerated() {
                for rule in rules {
                    if let (cell, level) = rule.result({ levels[$0] }, own) { levels[cell] = level }
                }
            }
        }
        return levels
    }
}

/// Cells in a context, whose hooks follow rules.
final class CellBoard {
    /// The context of the cells, and the stores to which it saves.
    enum Place: CaseIterable {
        case context, child
        /// Every other cell is in a second store.
        case twoStores
    }

    private let stack: Stack
    let context: ManagedObjectContext
    private(set) var cells: [Cell] = []
    var levels: [Int] { cells.map(\.level) }
    var isParentChanged: Bool { stack.context.hasChanges }

    /// - Parameters:
    ///   - order: the order in which the cells are created, which is that of their validation.
    ///   - isChanged: whether the cells are stored with the level -1 before.
    init(
        _ levels: [Int], _ rules: [[CellRule]], order: [Int], _ isChanged: Bool = false, in place: Place = .context
    ) throws {
        let stack = try Stack(.inMemory, classes: [Cell.self])
        let context = place == .child ? ManagedObjectContext(parent: stack.context) : stack.context
        (self.stack, self.context) = (stack, context)
        let made = order.map { number in
            let cell = Cell(context: context)
            cell.number = number
            return cell
        }
        cells = made.sorted { $0.number < $1.number }
        if place == .twoStores {
            let store = InMemoryStore(model: stack.coordinator.managedObjectModel)
            stack.coordinator.add(store)
            try context.assign(made.filter { $0.number % 2 == 1 }, to: store)
        }
        if isChanged {
            for cell in cells { cell.level = -1 }
            try save()
        }
        for (cell, level) in zip(cells, levels) { cell.level = level }
        for (cell, rules) in zip(cells, rules) {
            cell.follow = { [unowned self, unowned cell] in
                try CellRule.carryOut(rules, $0, of: cell.number, among: cells)
            }
        }
    }

    /// Saves to the stores, also from a child.
    func save() throws {
        try context.save()
        if context !== stack.context { try stack.context.save() }
    }

    func endRules() { for cell in cells { cell.follow = { _ in } } }

    func stored() throws -> [Int] { try stack.stored(Cell.self).sorted { $0.number < $1.number }.map(\.level) }
}

final class Cell: ManagedObject {
    enum Hook: CaseIterable { case saving, value, object }

    var follow: (Hook) throws -> Void = { _ in }

    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Cell",
            properties: [
                EntityDescription._property("number", Int.self, defaultValue: 0),
                EntityDescription._property("level", Int.self, defaultValue: 0),
                EntityDescription._property("owner", Cell?.self, options: .init(inverse: "members")),
                EntityDescription._property("members", Set<Cell>.self, options: .init(inverse: "owner")),
                EntityDescription._property("label", String.self, defaultValue: ""),
                EntityDescription._property("share", Double.self, defaultValue: 0),
                EntityDescription._property("mark", Int?.self, options: .init(isTransient: true)),
            ])
    }
    override class var validatedKeys: [String] { ["level"] }
    var number: Int {
        get { _get("number", at: 0) }
        set { _set("number", at: 0, newValue) }
    }
    var level: Int {
        get { _get("level", at: 1) }
        set { _set("level", at: 1, newValue) }
    }
    var owner: Cell? {
        get { _get("owner", at: 2) }
        set { _set("owner", at: 2, newValue) }
    }
    var members: Set<Cell> {
        get { _get("members", at: 3) }
        set { _set("members", at: 3, newValue) }
    }
    var label: String {
        get { _get("label", at: 4) }
        set { _set("label", at: 4, newValue) }
    }
    var share: Double {
        get { _get("share", at: 5) }
        set { _set("share", at: 5, newValue) }
    }
    var mark: Int? {
        get { _get("mark", at: 6) }
        set { _set("mark", at: 6, newValue) }
    }

    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        try follow(.value)
        value = .attribute(.integer(Int64(level)))
    }
    override func willSave() {
        do { try follow(.saving) } catch { Issue.record(error) }
    }
    override func validateForInsert() throws { try follow(.object) }
    override func validateForUpdate() throws { try follow(.object) }
}
