// Hooks that set values of other objects, in a context, in a child and beside two stores: what is saved has passed
// every validation hook, whatever the order in which the objects are validated.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct ValidationOrderTests {
    @Test(arguments: [[0, 1], [1, 0]])
    func `two hooks that set different values of one object end in an error, in each order (MO-38)`(
        _ order: [Int]
    ) throws {
        for rules: [CellRule] in [[.set(0, to: 1)], [.clamp(to: 1)]] {
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
            let (levels, rules) = CellRule.draw(4, raisesOnly: true, &chance)
            let expected = CellRule.leastSettled(levels, rules)
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
            let (levels, rules) = CellRule.draw(3, raisesOnly: false, &chance)
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
                #expect(stored == board.levels && CellRule.isSettled(stored, rules), "\(about) stored \(stored)")
            }
        }
    }

    @Test(arguments: [CellBoard.Place.context, .child], [false, true])
    func `a hook may leave a relationship and enter it again at each call, and read its other end (MO-38)`(
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
            let rules: [[CellRule]] = [[]] + Array(repeating: [.raise(0, to: 7)], count: count)
            let board = try CellBoard(Array(repeating: 3, count: count + 1), rules, order: Array(0...count))
            let counted = try StepCount.count { try board.context.save() }
            #expect(board.levels[0] == 7)
            return counted.steps
        }
        let (few, many) = (try steps(50), try steps(500))
        #expect(few > 0 && many <= 14 * few, "\(few) steps with 50 objects, \(many) with 500")
    }
}
