// Random work of a tree of contexts, with rules for values and a merge policy at each level, beside another context on
// the stores: what a save leaves above follows from what both sides have done, from the policy and from the rules.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct PolicyTreeWalkTests {
    @Test(arguments: StoreKind.allCases)
    func `children at random save what their rules and policies say, and lose nothing`(_ kind: StoreKind) throws {
        var counts = PolicyTreeWalk.Counts()
        for run in 0..<UInt64(campaignCount("ESPALIER_POLICY_WALKS", default: kind == .inMemory ? 8 : 3)) {
            let seed = testSeed(default: 83_000) &+ run
            var walk = try PolicyTreeWalk(kind, seed: seed)
            do { try walk.go(120) } catch { Issue.record("seed \(seed): \(error)") }
            if let failure = walk.failure {
                Issue.record("seed \(seed): \(failure)\n\(walk.log.suffix(30).joined(separator: "\n"))")
                return
            }
            counts.add(walk.counts)
        }
        #expect(counts.isEnough, "the walks try too little: \(counts)")
    }
}

private struct PolicyTreeWalk {
    struct Counts: CustomStringConvertible {
        var (saves, conflicts, violations) = (0, 0, 0)
        var isEnough: Bool { saves > 50 && conflicts > 5 && violations > 5 }
        var description: String { "\(saves) saves, \(conflicts) conflicts, \(violations) violations" }
        mutating func add(_ other: Counts) {
            saves += other.saves
            conflicts += other.conflicts
            violations += other.violations
        }
    }

    private struct Cell: Hashable {
        let card: ObjectID
        let property: String
    }

    /// A context, and from which values it has changed properties since its last save.
    private struct Node {
        let context: ManagedObjectContext
        let parent: Int?
        var rule = MergePolicy.Rule.error
        var bases: [Cell: AttributeValue] = [:]
    }

    private typealias Values = [ObjectID: [String: AttributeValue]]
    private static let properties = ["a", "b", "ü"]
    private static let range: ClosedRange<Int64> = 0...8

    private let coordinator: PersistentStoreCoordinator
    private let store: any PersistentStore
    private var nodes: [Node] = []
    private var random: SeededGenerator
    private(set) var failure: String?
    private(set) var log: [String] = []
    private(set) var counts = Counts()

    init(_ kind: StoreKind, seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        let rules = [
            ValidationRule(.minimum(.integer(Self.range.lowerBound))),
            ValidationRule(.predicate("SELF <= \(Self.range.upperBound)"), message: "too much"),
        ]
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Card", attributes: Self.properties.map { AttributeDescription($0, .integer64, validationRules: rules) }
            )
        ])
        store = kind == .inMemory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        // The root with two children and a grandchild, and another context on the store.
        for parent in [nil, 0, 0, 1, nil] as [Int?] {
            let context =
                parent.map { ManagedObjectContext(parent: nodes[$0].context) } ?? ManagedObjectContext(coordinator)
            context.automaticallyMergesChangesFromParent = true
            nodes.append(Node(context: context, parent: parent))
        }
        for _ in 0..<3 { _ = try nodes[0].context.insertNewObject(forEntityName: "Card") }
        try nodes[0].context.save()
    }

    mutating func go(_ count: Int) throws {
        for _ in 0..<count where failure == nil {
            let index = Int.random(in: 0..<nodes.count, using: &random)
            try sync(index)
            switch Int.random(in: 0..<16, using: &random) {
            case 0..<8: try change(index)
            case 8: _ = try nodes[index].context.insertNewObject(forEntityName: "Card")
            case 9: rollback(index)
            case 10, 11: choosePolicy(index)
            default: try save(index)
            }
        }
    }

    private mutating func fail(_ text: String) { failure = failure ?? text }

    // MARK: Steps

    private func cards(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Card"))
    }

    private func values(_ context: ManagedObjectContext) throws -> Values {
        Dictionary(
            uniqueKeysWithValues: try cards(context).map { card in
                (card.objectID, Dictionary(uniqueKeysWithValues: Self.properties.map { ($0, card[attribute: $0]) }))
            })
    }

    /// The values that a context shows that has read nothing yet: those above a node.
    private func above(_ index: Int) throws -> Values {
        let parent = nodes[index].parent.map { nodes[$0].context }
        return try values(parent.map { ManagedObjectContext(parent: $0) } ?? ManagedObjectContext(coordinator))
    }

    /// Merges what is above; where both sides have the same value, it is the base of a later change.
    private mutating func sync(_ index: Int) throws {
        // A parent that has not merged yet shows children what it has.
        var (chain, next) = ([index], nodes[index].parent)
        while let parent = next { (chain, next) = (chain + [parent], nodes[parent].parent) }
        for index in chain.reversed() {
            nodes[index].context.processPendingChanges()
            let (shown, above) = (try values(nodes[index].context), try above(index))
            for cell in nodes[index].bases.keys {
                guard let now = above[cell.card]?[cell.property] else { continue }
                if shown[cell.card]?[cell.property] == now { nodes[index].bases[cell] = now }
            }
            for (card, values) in above {
                for (property, value) in values where nodes[index].bases[Cell(card: card, property: property)] == nil {
                    if shown[card]?[property] != value { fail("\(index): \(card).\(property) is not merged") }
                }
            }
        }
    }

    private mutating func change(_ index: Int) throws {
        guard let card = try cards(nodes[index].context).randomElement(using: &random),
            let property = Self.properties.randomElement(using: &random)
        else { return }
        let isBad = Int.random(in: 0..<12, using: &random) == 0
        let number = isBad ? Self.range.upperBound + 1 : Int64.random(in: Self.range, using: &random)
        try set(card, property, .integer(number), index)
    }

    private mutating func set(
        _ card: ManagedObject, _ property: String, _ value: AttributeValue, _ index: Int
    ) throws {
        let (cell, former) = (Cell(card: card.objectID, property: property), card[attribute: property])
        log.append("\(index): \(card.objectID).\(property) = \(value)")
        try card.setValue(.attribute(value), forKey: property)
        if card.isInserted { return }
        if nodes[index].bases[cell] == nil { nodes[index].bases[cell] = former }
        if try above(index)[card.objectID]?[property] == value { nodes[index].bases[cell] = value }
    }

    private mutating func rollback(_ index: Int) {
        log.append("\(index): rollback")
        nodes[index].context.rollback()
        nodes[index].bases = [:]
    }

    private mutating func choosePolicy(_ index: Int) {
        let rule = MergePolicy.Rule.allCases.randomElement(using: &random) ?? .error
        let isAsked = Bool.random(using: &random)
        log.append("\(index): policy \(rule)\(isAsked ? ", asked" : "")")
        nodes[index].rule = rule
        nodes[index].context.mergePolicy =
            isAsked ? MergePolicy { _, _ in MergeResolution(rule) } : MergePolicy(rule)
    }

    // MARK: Saving

    private mutating func save(_ index: Int) throws {
        let node = nodes[index]
        let (former, mine) = (try above(index), try values(node.context))
        let inserted = Set(node.context.insertedObjects.map(\.objectID))
        let parentShown = try node.parent.map { try values(nodes[$0].context) }
        log.append("\(index): save, \(node.rule)")
        if let error = contextError({ try node.context.save() }) {
            if try values(node.context) != mine || above(index) != former { fail("a refused save has changed values") }
            return try explain(error, index, mine)
        }
        counts.saves += 1
        let after = try above(index)
        for (card, values) in after {
            guard let old = former[card], let here = mine[card] else { continue }
            for property in Self.properties {
                let allowed = allowedValues(
                    old[property], here[property], node.bases[Cell(card: card, property: property)], node)
                if !allowed.contains(values[property]) {
                    fail("\(card).\(property) is \(String(describing: values[property])), not one of \(allowed)")
                }
            }
        }
        if after.count != former.count + inserted.count { fail("\(after.count) cards, \(former.count) before") }
        if node.context.hasChanges { fail("changes are left") }
        if try values(node.context) != after { fail("the context shows something else than it has saved") }
        if node.parent == nil {
            let isBroken = after.values.flatMap(\.values).contains { !Self.isGood($0) }
            if isBroken { fail("a value that breaks a rule is stored") }
        }
        nodes[index].bases = [:]
        // The save has changed the parent's objects.
        guard let parent = node.parent, let parentShown else { return }
        for (card, values) in try self.values(nodes[parent].context) {
            for (property, value) in values {
                guard let shown = parentShown[card]?[property], shown != value else { continue }
                let cell = Cell(card: card, property: property)
                if nodes[parent].bases[cell] == nil { nodes[parent].bases[cell] = shown }
            }
        }
    }

    private static func isGood(_ value: AttributeValue) -> Bool {
        if case .integer(let number) = value { range.contains(number) } else { value == .null }
    }

    /// Checks that there is a reason for a refusal, and takes it away.
    private mutating func explain(_ error: ContextError, _ index: Int, _ mine: Values) throws {
        let errors: [ContextError] = if case .several(let errors) = error { errors } else { [error] }
        for error in errors {
            switch error {
            case .violations:
                counts.violations += 1
                var isBroken = false
                for card in try cards(nodes[index].context) where card.hasChanges {
                    for property in Self.properties where !Self.isGood(card[attribute: property]) {
                        isBroken = true
                        try set(card, property, .integer(1), index)
                    }
                }
                if !isBroken { fail("a violation of nothing: \(error)") }
            case .conflicts(let conflicts):
                counts.conflicts += 1
                if nodes[index].rule != .error || conflicts.isEmpty { fail("a conflict that the policy resolves") }
                for conflict in conflicts {
                    let differs = conflict.properties.contains { property in
                        guard let base = nodes[index].bases[Cell(card: conflict.object, property: property.name)] else {
                            return false
                        }
                        return property.stored != base && property.stored != property.mine
                    }
                    if !differs { fail("a conflict about nothing: \(conflict)") }
                }
                rollback(index)
            default: fail("\(error)")
            }
        }
    }

    private func allowedValues(
        _ former: AttributeValue?, _ mine: AttributeValue?, _ base: AttributeValue?, _ node: Node
    ) -> [AttributeValue?] {
        guard let base else { return node.rule == .overwrite ? [former, mine] : [former] }
        if mine == base { return [former, mine] }
        if former == base || former == mine { return node.rule == .rollback ? [mine, former] : [mine] }
        switch node.rule {
        case .error: return []
        case .storeTrump, .rollback: return [former]
        case .objectTrump, .overwrite: return [mine]
        }
    }
}
