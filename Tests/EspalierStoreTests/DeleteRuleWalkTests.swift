// Random saves with deletions over relationships of every kind and rule, against an oracle that knows nothing of trees:
// after each save the store holds just the rows and references that the rules say, and nothing dangles.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct DeleteRuleWalkTests {
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
    func `delete rules of every kind do what an oracle says, and leave nothing dangling`(run: UInt64) throws {
        let seed = testSeed(default: 7000) &+ run
        for walk in 0..<UInt64(campaignCount("ESPALIER_RULE_WALKS", default: 12)) {
            var oracle = try RuleOracle(seed: seed &+ walk &* 1000, isTree: run % 2 == 0)
            for step in 0..<30 { try oracle.save(step) }
            try oracle.checkStore()
        }
    }
}

/// A store of nodes, and the same nodes as plain values.
private struct RuleOracle {
    /// A to-one relationship of a node, or a list.
    typealias Slot = Int
    struct Node {
        var toOnes: [Slot: ObjectID] = [:]
    }

    private let model: ManagedObjectModel
    private let store: any PersistentStore
    private let entity: Entity
    private let seed: UInt64
    private var random: SeededGenerator
    private var nodes: [ObjectID: Node] = [:]
    /// Pairs of relationships to many without a to-one inverse, by the slot of the side that sends them.
    private var pairs: [Slot: Set<[ObjectID]>] = [:]
    private var versions: [ObjectID: UInt64] = [:]

    private static let rules: [DeleteRule] = [.noAction, .nullify, .cascade, .deny]

    init(seed: UInt64, isTree: Bool) throws {
        var relationships: [RelationshipDescription] = []
        for (number, rule) in Self.rules.enumerated() {
            let other = Self.rules[(number + 1) % 4] == .deny ? DeleteRule.nullify : Self.rules[(number + 1) % 4]
            relationships += [
                .init("children\(rule)", to: "Node", inverse: "parent\(rule)", .toMany, deleteRule: rule),
                .init("parent\(rule)", to: "Node", inverse: "children\(rule)", deleteRule: .nullify),
                .init("chapters\(rule)", to: "Node", inverse: "book\(rule)", .ordered, deleteRule: rule),
                .init("book\(rule)", to: "Node", inverse: "chapters\(rule)", deleteRule: other),
                .init("mate\(rule)", to: "Node", inverse: "mateOf\(rule)", deleteRule: rule),
                .init("mateOf\(rule)", to: "Node", inverse: "mate\(rule)", deleteRule: .nullify),
                .init("peers\(rule)", to: "Node", inverse: "peersOf\(rule)", .toMany, deleteRule: rule),
                .init("peersOf\(rule)", to: "Node", inverse: "peers\(rule)", .ordered, deleteRule: .nullify),
                .init("likes\(rule)", to: "Node", .toMany, deleteRule: rule),
            ]
        }
        relationships += [
            .init("hint", to: "Node", deleteRule: .nullify),
            .init("friend", to: "Node", inverse: "friend", deleteRule: .nullify),
            .init("friends", to: "Node", inverse: "friends", .toMany, deleteRule: .nullify),
        ]
        let description = EntityDescription(
            "Node", attributes: [AttributeDescription("name", .string)], relationships: relationships)
        model = try ManagedObjectModel(entities: [description])
        store = isTree ? try BTreeStore.inMemory(model: model) : InMemoryStore(model: model)
        entity = try #require(model.entity(named: "Node"))
        self.seed = seed
        random = SeededGenerator(seed: seed)
    }

    private func inverse(_ relationship: Relationship) -> Relationship? { model.inverse(of: relationship) }

    /// To-one relationships that a request may set without another object that has to follow.
    private var freeToOnes: [Relationship] {
        entity.relationships.filter { !$0.isToMany && inverse($0)?.isToMany != false }
    }

    // MARK: Saves

    mutating func save(_ step: Int) throws {
        var request = SaveRequest()
        var (updates, deletions): ([ObjectID: [Slot: ObjectID?]], Set<ObjectID>) = ([:], [])
        var inserted: [[Slot: ObjectID]] = []
        let known = nodes.keys.sorted { $0.key < $1.key }
        for _ in 0..<random.next() % 4 {
            var row = SaveRequest.Insertion(
                id: ObjectID(temporaryFor: "Node"), values: [.string("new")],
                destinations: Array(repeating: nil, count: entity.relationships.count))
            var toOnes: [Slot: ObjectID] = [:]
            for relationship in freeToOnes where random.oneIn(3) && !known.isEmpty {
                let destination = random.pick(known)
                row.destinations[relationship.slot] = destination
                toOnes[relationship.slot] = destination
            }
            request.insertions.append(row)
            inserted.append(toOnes)
        }
        if step > 3, random.oneIn(2) {
            for _ in 0...random.next() % 2 { deletions.insert(random.pick(known)) }
        }
        for _ in 0..<random.next() % 5 where !known.isEmpty {
            let id = random.pick(known)
            if deletions.contains(id) || updates[id] != nil { continue }
            updates[id] = [:]
            for relationship in freeToOnes where random.oneIn(6) {
                updates[id]?[relationship.slot] = .some(random.oneIn(4) ? nil : random.pick(known))
            }
        }
        for _ in 0..<random.next() % 3 where known.count > 2 { mate(random.pick(known), &updates, deletions, known) }
        var links: [(slot: Slot, owner: ObjectID, added: [ObjectID], removed: [ObjectID])] = []
        for relationship in entity.relationships
        where relationship.isToMany && inverse(relationship)?.isToMany != false && random.oneIn(4) && !known.isEmpty {
            let owner = random.pick(known)
            if deletions.contains(owner) { continue }
            links.append((relationship.slot, owner, [random.pick(known)], [random.pick(known)]))
        }
        // Of two links of one save that contradict each other the last one counts: then the oracle has nothing to say.
        links = links.filter { $0.added != $0.removed }
        for (id, values) in updates.sorted(by: { $0.key.key < $1.key.key }) {
            request.updates.append(
                .init(
                    id: id, expectedVersion: versions[id] ?? 0, values: [(0, .string("step \(step)"))],
                    destinations: values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
        }
        request.deletions = deletions.sorted { $0.key < $1.key }.map {
            .init(id: $0, expectedVersion: versions[$0] ?? 0)
        }
        request.links = links.map { .init(owner: $0.owner, slot: $0.slot, added: $0.added, removed: $0.removed) }

        let expected = outcome(inserted, updates, deletions, links)
        do {
            let result = try store.save(request)
            guard let (nodes, pairs) = expected else {
                Issue.record("the save should have been refused, seed \(seed), step \(step)")
                return
            }
            let gone = Set(self.nodes.keys).subtracting(nodes.keys)
            #expect(Set(result.deleted) == gone, "seed \(seed), step \(step)")
            (self.nodes, self.pairs) = (nodes, pairs)
            for (id, toOnes) in zip(result.inserted.ids, inserted) { self.nodes[id] = Node(toOnes: toOnes) }
            for id in self.nodes.keys { versions[id] = try store.snapshots(of: [id])[0]?.version ?? 0 }
        } catch StoreError.references {
            #expect(expected == nil, "the save was refused, seed \(seed), step \(step)")
        }
        try compare(step)
    }

    /// Makes both sides of a one-to-one relationship lead to each other, and leave whom they led to before.
    private mutating func mate(
        _ id: ObjectID, _ updates: inout [ObjectID: [Slot: ObjectID?]], _ deletions: Set<ObjectID>, _ known: [ObjectID]
    ) {
        let oneToOne = entity.relationships.filter { $0.name.hasPrefix("mate") && !$0.name.hasPrefix("mateOf") }
        let relationship = random.pick(oneToOne)
        guard let back = inverse(relationship) else { return }
        let other = random.pick(known)
        func now(_ id: ObjectID, _ slot: Slot) -> ObjectID? {
            if let value = updates[id]?[slot] { return value }
            return nodes[id]?.toOnes[slot]
        }
        var changes: [(ObjectID, Slot, ObjectID?)] = []
        if let old = now(id, relationship.slot) { changes.append((old, back.slot, nil)) }
        if let old = now(other, back.slot) { changes.append((old, relationship.slot, nil)) }
        changes += [(id, relationship.slot, other), (other, back.slot, id)]
        if changes.contains(where: { deletions.contains($0.0) }) { return }
        for (id, slot, value) in changes { updates[id, default: [:]][slot] = .some(value) }
    }

    // MARK: The oracle

    /// Nodes and pairs after a save; `nil` if it must be refused.
    private func outcome(
        _ inserted: [[Slot: ObjectID]], _ updates: [ObjectID: [Slot: ObjectID?]], _ deletions: Set<ObjectID>,
        _ links: [(slot: Slot, owner: ObjectID, added: [ObjectID], removed: [ObjectID])]
    ) -> (nodes: [ObjectID: Node], pairs: [Slot: Set<[ObjectID]>])? {
        let gone = goneRows(updates, deletions)
        var after = nodes.filter { !gone.contains($0.key) }
        for (id, values) in updates where !gone.contains(id) {
            for (slot, value) in values { after[id]?.toOnes[slot] = value }
        }
        // What the request itself relates to must be there in the end.
        let named =
            inserted.flatMap(\.values)
            + updates.filter { !gone.contains($0.key) }.values.flatMap { $0.values.compactMap(\.self) }
        if named.contains(where: { after[$0] == nil }) { return nil }
        for id in gone where isDenied(id, gone, after) { return nil }
        for id in after.keys {
            for (slot, destination) in after[id]?.toOnes ?? [:] where gone.contains(destination) {
                let relationship = entity.relationships[slot]
                // Of a list, the rule of the list counts; of a pair of to-ones, the rule of the one that goes.
                if inverse(relationship)?.deleteRule == .noAction { return nil }
                after[id]?.toOnes[slot] = nil
            }
        }
        var pairs = pairs
        for (slot, _) in pairs { pairs[slot] = pairs[slot]?.filter { $0.allSatisfy { !gone.contains($0) } } }
        for link in links where !gone.contains(link.owner) {
            for id in link.removed { change(&pairs, link.slot, link.owner, id) { $0.remove($1) } }
            for id in link.added where !gone.contains(id) {
                change(&pairs, link.slot, link.owner, id) { $0.insert($1) }
            }
        }
        return (after, pairs)
    }

    private func change(
        _ pairs: inout [Slot: Set<[ObjectID]>], _ slot: Slot, _ owner: ObjectID, _ id: ObjectID,
        _ body: (inout Set<[ObjectID]>, [ObjectID]) -> Void
    ) {
        body(&pairs[slot, default: []], [owner, id])
        if let back = inverse(entity.relationships[slot]) { body(&pairs[back.slot, default: []], [id, owner]) }
    }

    /// The destinations of a relationship as stored, less those that the request leads elsewhere.
    private func destinations(
        of id: ObjectID, _ relationship: Relationship, _ updates: [ObjectID: [Slot: ObjectID?]]
    ) -> [ObjectID] {
        guard relationship.isToMany else { return nodes[id]?.toOnes[relationship.slot].map { [$0] } ?? [] }
        guard let back = inverse(relationship), !back.isToMany else {
            return (pairs[relationship.slot] ?? []).filter { $0[0] == id }.map { $0[1] }
        }
        return nodes.filter { $0.value.toOnes[back.slot] == id && updates[$0.key]?[back.slot] == nil }.map(\.key)
    }

    private func goneRows(_ updates: [ObjectID: [Slot: ObjectID?]], _ deletions: Set<ObjectID>) -> Set<ObjectID> {
        var (gone, next) = (deletions, Array(deletions))
        while let id = next.popLast() {
            for relationship in entity.relationships where relationship.deleteRule == .cascade {
                next += destinations(of: id, relationship, updates).filter { gone.insert($0).inserted }
            }
        }
        return gone
    }

    private func isDenied(_ id: ObjectID, _ gone: Set<ObjectID>, _ after: [ObjectID: Node]) -> Bool {
        entity.relationships.contains { relationship in
            guard relationship.deleteRule == .deny else { return false }
            guard relationship.isToMany, let back = inverse(relationship), !back.isToMany else {
                return destinations(of: id, relationship, [:]).contains { !gone.contains($0) }
            }
            return after.values.contains { $0.toOnes[back.slot] == id }
        }
    }

    // MARK: The store

    private func compare(_ step: Int) throws {
        let ids = nodes.keys.sorted { $0.key < $1.key }
        #expect(
            Set(try store.fetchIDs(StoreFetch(entity: entity))) == Set(ids), "seed \(seed), step \(step)")
        for (id, row) in zip(ids, try store.snapshots(of: ids)) {
            for relationship in entity.relationships {
                let place = "\(relationship.name) of \(id), seed \(seed), step \(step)"
                guard relationship.isToMany else {
                    #expect(row?.destination(at: relationship.slot) == nodes[id]?.toOnes[relationship.slot], "\(place)")
                    continue
                }
                let expected = Set(destinations(of: id, relationship, [:]))
                let found = try store.destinations(of: relationship, for: [id])[0]
                #expect(Set(found) == expected && found.count == expected.count, "\(place)")
            }
        }
    }

    func checkStore() throws {
        guard let tree = store as? BTreeStore else { return }
        let report = try tree.check()
        #expect(report.isOK && report.dangling.isEmpty, "seed \(seed): \(report.findings) \(report.dangling)")
    }
}
