// Hooks that set values of other objects, in three contexts one above the other: what reaches the store has passed
// every hook, whichever context has changed which object.

import Espalier
import TestSupport
import Testing

@Suite struct ValidationTierTests {
    @Test(arguments: [[0, 1], [1, 0]], [CellTree.Tier.child, .root])
    func `what a hook sets of an object that a context below has validated is validated again (MO-38, MC-43)`(
        _ order: [Int], _ tier: CellTree.Tier
    ) throws {
        // Cell 1, whose hook sets cell 0, has changed before cell 0 or after it.
        for (rule, isLater) in [
            (CellRule.set(0, to: 9), false), (.set(0, to: 9), true), (.setPrimitive(0, to: 9), false),
            (.setPrimitive(0, to: 9), true),
        ] {
            let tree = try CellTree(
                [3, 3], [[.refuse(above: 5)], [rule]], tiers: [.grandchild, isLater ? nil : tier], order: order)
            for below in CellTree.Tier.grandchild.upward where below.rawValue > tier.rawValue { try tree.save(below) }
            if isLater { tree.set(1, to: 3, in: tier) }

            #expect(violations { try tree.save(tier) }.map(\.object) == [tree.id(of: 0)], "\(rule), \(isLater)")

            #expect(try tree.levels(in: tier) == [3, 3] && tree.stored() == [-1, -1], "\(rule), \(isLater)")
            tree.endRules()
            try tree.saveUp(from: tier)
            #expect(try tree.stored() == [3, 3] && !tree.hasChanges, "\(rule), \(isLater)")
        }
    }

    @Test func `a hook that a context below has settled is called again where another one disagrees (MO-38, MC-43)`()
        throws
    {
        for order in [[0, 1], [1, 0]] {
            let tree = try CellTree(
                [3, 3], [[.clamp(to: 1)], [.set(0, to: 9)]], tiers: [.grandchild, .child], order: order)
            try tree.save(.grandchild)
            #expect(tree.levels(in: .child) == [1, 3])

            guard case .unsettledSave? = contextError({ try tree.save(.child) }) else {
                Issue.record("created in the order \(order): the child has saved \(tree.levels(in: .root))")
                continue
            }

            #expect(tree.levels(in: .child) == [1, 3] && tree.levels(in: .root) == [-1, -1])
            tree.endRules()
            try tree.saveUp(from: .child)
            #expect(try tree.stored() == [1, 3])
        }
    }

    @Test func `hooks that only raise levels settle at the same levels, whichever contexts change the objects (MO-38)`()
        throws
    {
        let seed = testSeed(default: 1841)
        var chance = SeededGenerator(seed: seed)
        for run in 0..<campaignCount("ESPALIER_VALIDATION_RUNS", default: 8) {
            let (levels, rules) = CellRule.draw(4, raisesOnly: true, &chance)
            let tiers = Self.draw(4, &chance)
            let tree = try CellTree(levels, rules, tiers: tiers, order: Array(0..<4).shuffled(using: &chance))

            try tree.saveUp(from: .grandchild)

            let (stored, about) = (try tree.stored(), "seed \(seed), run \(run): \(levels) in \(tiers), \(rules)")
            #expect(stored == CellRule.leastSettled(levels, rules), "\(about)")
            #expect(tree.levels(in: .root) == stored && !tree.hasChanges, "\(about)")
        }
    }

    @Test func `what three contexts store has passed every hook, and a save that fails changes no context (MO-38)`()
        throws
    {
        let seed = testSeed(default: 1842)
        var chance = SeededGenerator(seed: seed)
        for run in 0..<campaignCount("ESPALIER_VALIDATION_RUNS", default: 8) {
            let (levels, rules) = CellRule.draw(3, raisesOnly: false, &chance)
            let tiers = Self.draw(3, &chance)
            let tree = try CellTree(levels, rules, tiers: tiers, order: [0, 1, 2].shuffled(using: &chance))
            let about = "seed \(seed), run \(run): \(levels) in \(tiers), \(rules)"
            let failed = try CellTree.Tier.grandchild.upward.first { tier in
                try !Self.isSaved(tier, of: tree, about)
            }
            if failed == nil {
                let stored = try tree.stored()
                #expect(stored == tree.levels(in: .root) && !tree.hasChanges, "\(about) stored \(stored)")
                #expect(CellRule.isSettled(stored, rules), "\(about) stored \(stored)")
            }
        }
    }

    /// Saves one level up; returns whether the hooks have let it.
    ///
    /// If not, expects the contexts from there on to be as they were, and the store to get just that without the hooks.
    private static func isSaved(_ tier: CellTree.Tier, of tree: CellTree, _ about: String) throws -> Bool {
        tree.merge(in: tier)
        let before = tier.upward.map { tree.levels(in: $0) }
        guard let error = contextError({ try tree.save(tier) }) else { return true }
        var isExpected = !error.violations.isEmpty
        if case .unsettledSave = error { isExpected = true }
        #expect(isExpected, "\(about), \(tier): \(error)")
        #expect(tier.upward.map { tree.levels(in: $0) } == before, "\(about), \(tier): \(error)")
        #expect(try tree.stored().allSatisfy { $0 == -1 }, "\(about), \(tier)")
        tree.endRules()
        try tree.saveUp(from: tier)
        #expect(try tree.stored() == before[0], "\(about), \(tier)")
        return false
    }

    /// A context for each of some cells.
    private static func draw(_ count: Int, _ chance: inout SeededGenerator) -> [CellTree.Tier] {
        (0..<count).map { _ in CellTree.Tier.allCases.randomElement(using: &chance) ?? .root }
    }
}
