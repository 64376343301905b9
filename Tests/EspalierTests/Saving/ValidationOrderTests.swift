// Hooks that set values of other objects, in a context, in a child and beside two stores: what is saved has passed
// every validation hook, whatever the order in which the objects are validated.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ValidationOrderTests {
    @Test(arguments: [[0, 1], [1, 0]])
    func `two hooks that set different values of one object end in an error, in each order (MO-38)`(
        _ order: [Int]
    ) throws {
        for rules: [Rule] in [[.set(0, to: 1)], [.clamp(to: 1)]] {
            let board = try CellBoard([3, 3], [rules, [.set(0, to: 9)]], order: order)

            guard case .unsettledSave? = contextError({ try board.context.save() }) else {
                Issue.record("\(rules), created in the order \(order): a save stored \(try board.stored())")
                continue
            }

            #expect(board.levels == [3, 3] && board.context.insertedObjects.count == 2)
            board.endRules()
            try board.context.save()
            #expect(try board.stored() == [3, 3])
        }
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `a hook that sets back the value that another hook of its object has replaced ends in an error (MO-37)`(
        _ order: [Int]
    ) throws {
        let board = try CellBoard([3, 3], [[.clamp(to: 1), .set(0, to: 3)], []], order: order)

        guard case .unsettledSave? = contextError({ try board.context.save() }) else {
            Issue.record("a save stored \(try board.stored())")
            return
        }
        #expect(board.levels == [3, 3])
    }

    @Test func `a primitive value that a hook sets of another object is validated, too (MO-38)`() throws {
        for order in [[0, 1], [1, 0]] {
            let board = try CellBoard([3, 3], [[.refuse(above: 5)], [.setPrimitive(0, to: 9)]], order: order)

            #expect(violations { try board.context.save() }.map(\.object) == [board.cells[0].objectID])

            #expect(board.levels == [3, 3])
            board.endRules()
            try board.context.save()
            #expect(try board.stored() == [3, 3])
        }
    }

    @Test func `hooks that only raise levels settle at the same levels in each order (MO-38)`() throws {
        let seed = testSeed(default: 1838)
        var chance = SeededGenerator(seed: seed)
        for run in 0..<campaignCount("ESPALIER_VALIDATION_RUNS", default: 8) {
            let (levels, rules) = Rule.draw(4, raisesOnly: true, &chance)
            let expected = Rule.leastSettled(levels, rules)
            for place in CellBoard.Place.allCases {
                let order = Array(0..<4).shuffled(using: &chance)
                let board = try CellBoard(levels, rules, order: order, run % 2 == 1, in: place)
                try board.save()
                #expect(try board.stored() == expected, "seed \(seed), run \(run), \(place): \(levels), \(rules)")
                #expect(board.levels == expected && !board.context.hasChanges, "seed \(seed), run \(run), \(place)")
            }
        }
    }

    @Test func `what a save stores has passed every hook, and a save that fails changes nothing (MO-38)`() throws {
        let seed = testSeed(default: 1839)
        var chance = SeededGenerator(seed: seed)
        for run in 0..<campaignCount("ESPALIER_VALIDATION_RUNS", default: 8) {
            let (levels, rules) = Rule.draw(3, raisesOnly: false, &chance)
            let (place, isChanged) = (CellBoard.Place.allCases[run % 3], run % 2 == 1)
            let board = try CellBoard(levels, rules, order: [0, 1, 2].shuffled(using: &chance), isChanged, in: place)
            let about = "seed \(seed), run \(run), \(place): \(levels), \(rules)"
            if let error = contextError({ try board.save() }) {
                var isExpected = !error.violations.isEmpty
                if case .unsettledSave = error { isExpected = true }
                #expect(isExpected && board.levels == levels, "\(about): \(error)")
                #expect(try board.stored() == (isChanged ? [-1, -1, -1] : []), "\(about)")
                #expect(place != .child || !board.isParentChanged, "\(about)")
                board.endRules()
                try board.save()
                #expect(try board.stored() == levels, "\(about)")
            } else {
                let stored = try board.stored()
                #expect(stored == board.levels && Rule.isSettled(stored, rules), "\(about) stored \(stored)")
            }
        }
    }

    @Test(arguments: [CellBoard.Place.context, .child], [false, true])
    private func `a hook may leave a relationship and enter it again at each call, and read its other end (MO-38)`(
        _ place: CellBoard.Place, _ isChanged: Bool
    ) throws {
        let board = try CellBoard([0, 0, 0], [[], [], []], order: [0, 1, 2], isChanged, in: place)
        let boss = board.cells[0]
        for cell in board.cells[1...] {
            cell.follow = { [unowned cell] hook in
                guard hook == .object else { return }
                cell.owner = nil
                cell.owner = boss
                boss.level = boss.members.count
            }
        }

        try board.save()

        #expect(board.levels == [2, 0, 0] && boss.members == Set(board.cells[1...]))
        #expect(try board.stored() == [2, 0, 0] && !board.context.hasChanges)
    }

    @Test func `hooks that set a text of other bytes, or a zero of the other sign, end in an error (MO-38)`() throws {
        // Each pair is equal, but a store keeps one or the other.
        let pairs: [[(Cell) -> Void]] = [
            [{ $0.label = "\u{E9}" }, { $0.label = "e\u{301}" }], [{ $0.share = 0.0 }, { $0.share = -0.0 }],
        ]
        for (number, pair) in pairs.enumerated() {
            let board = try CellBoard([3, 3], [[], []], order: [0, 1])
            let first = board.cells[0]
            for (cell, set) in zip(board.cells, pair) {
                cell.follow = { [unowned first] hook in if hook == .object { set(first) } }
            }

            guard case .unsettledSave? = contextError({ try board.context.save() }) else {
                Issue.record("pair \(number): the save stored one of two values that hooks do not agree on")
                continue
            }
            // Hooks that set no number agree.
            for cell in board.cells {
                cell.follow = { [unowned first] hook in if hook == .object { first.share = .nan } }
            }
            try board.context.save()
            #expect(first.share.isNaN)
        }
    }

    @Test func `a primitive value of a transient attribute that a hook sets needs no second validation (MO-38)`() throws
    {
        let board = try CellBoard([3], [[]], order: [0])
        let cell = board.cells[0]
        var calls = 0
        cell.follow = { [unowned cell] hook in
            guard hook == .object else { return }
            calls += 1
            try cell.setPrimitiveValue(.attribute(.integer(Int64(calls))), forKey: "mark")
        }

        try board.context.save()

        #expect(calls == 1 && cell.mark == 1)
    }

    @Test func `hooks that leave and enter one relationship cost as much for each object, however many there are`()
        throws
    {
        func steps(_ count: Int) throws -> Int {
            let board = try CellBoard(
                Array(repeating: 3, count: count + 1), Array(repeating: [], count: count + 1), order: Array(0...count))
            let boss = board.cells[0]
            for cell in board.cells[1...] {
                cell.owner = boss
                cell.follow = { [unowned boss, unowned cell] hook in
                    guard hook == .object else { return }
                    cell.owner = nil
                    cell.owner = boss
                }
            }
            let counted = try StepCount.count { try board.context.save() }
            #expect(boss.members.count == count)
            return counted.steps
        }
        let (few, many) = (try steps(50), try steps(500))
        #expect(few > 0 && many <= 14 * few, "\(few) steps with 50 objects, \(many) with 500")
    }

    @Test func `hooks that set one shared object cost as much for each object, however many there are`() throws {
        func steps(_ count: Int) throws -> Int {
            let rules: [[Rule]] = [[]] + Array(repeating: [.raise(0, to: 7)], count: count)
            let board = try CellBoard(Array(repeating: 3, count: count + 1), rules, order: Array(0...count))
            let counted = try StepCount.count { try board.context.save() }
            #expect(board.levels[0] == 7)
            return counted.steps
        }
        let (few, many) = (try steps(50), try steps(500))
        #expect(few > 0 && many <= 14 * few, "\(few) steps with 50 objects, \(many) with 500")
    }
}

/// One action of a hook of a cell; cells are named by their numbers.
private enum Rule: Hashable {
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
    ) -> (levels: [Int], rules: [[Rule]]) {
        let levels = (0..<count).map { _ in Int.random(in: 0..<6, using: &chance) }
        let rules: [[Rule]] = levels.map { _ in
            (0..<Int.random(in: 0..<3, using: &chance)).map { _ -> Rule in
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

    /// Whether no hook refuses the levels, or leaves others.
    static func isSettled(_ levels: [Int], _ rules: [[Rule]]) -> Bool {
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
    static func leastSettled(_ levels: [Int], _ rules: [[Rule]]) -> [Int] {
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
private final class CellBoard {
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
        _ levels: [Int], _ rules: [[Rule]], order: [Int], _ isChanged: Bool = false, in place: Place = .context
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
            cell.follow = { [unowned self, unowned cell] in try act(rules, $0, of: cell) }
        }
    }

    /// Saves to the stores, also from a child.
    func save() throws {
        try context.save()
        if context !== stack.context { try stack.context.save() }
    }

    func endRules() { for cell in cells { cell.follow = { _ in } } }

    func stored() throws -> [Int] { try stack.stored(Cell.self).sorted { $0.number < $1.number }.map(\.level) }

    private func act(_ rules: [Rule], _ hook: Cell.Hook, of cell: Cell) throws {
        for rule in rules where rule.hook == hook {
            guard let (target, level) = rule.result({ cells[$0].level }, cell.number) else { throw UndoError.noGroup }
            switch rule {
            case .refuse: break
            case .raiseOnSave: if cells[target].level != level { cells[target].level = level }
            case .setPrimitive:
                try cells[target].setPrimitiveValue(.attribute(.integer(Int64(level))), forKey: "level")
            case .clamp, .raise, .raiseToOwn, .set: cells[target].level = level
            }
        }
    }
}

private final class Cell: ManagedObject {
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
