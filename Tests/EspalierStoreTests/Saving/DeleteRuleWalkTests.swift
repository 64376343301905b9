// Random saves and commands with deletions over relationships of every kind and rule, compared with an oracle without
// trees: after each the store has exactly the rows and references that the rules demand, and no reference dangles.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct DeleteRuleWalkTests {
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
    func `delete rules of every kind do what an oracle says, and leave nothing dangling`(run: UInt64) throws {
        let seed = testSeed(default: 7000) &+ run
        for walk in 0..<UInt64(campaignCount("ESPALIER_RULE_WALKS", default: 3)) {
            var oracle = try RuleOracle(seed: seed &+ walk &* 1000, isTree: run % 2 == 0)
            for step in 0..<30 { try oracle.save(step) }
            try oracle.checkStore()
        }
    }
}

/// A store of nodes, and the same nodes as plain values.
private struct RuleOracle {
    /// The slot of a to-one relationship or of a list.
    typealias Slot = Int
    struct Node {
        var toOnes: [Slot: ObjectID] = [:]
    }
    struct Link {
        let slot: Slot
        let owner: ObjectID
        let added: ObjectID
        let removed: ObjectID
    }
    /// The changes of one save.
    struct Draft {
        var inserted: [[Slot: ObjectID]] = []
        var updates: [ObjectID: [Slot: ObjectID?]] = [:]
        var deletions = Set<ObjectID>()
        var links: [Link] = []
    }
    struct Outcome {
        var nodes: [ObjectID: Node]
        var pairs: [Slot: Set<[ObjectID]>]
    }

    private let model: ManagedObjectModel
    private let store: any PersistentStore
    private let entity: Entity
    private let seed: UInt64
    private var random: SeededGenerator
    private var nodes: [ObjectID: Node] = [:]
    /// The pairs (owner, destination) of to-many relationships without a to-one inverse, by the relationship's slot.
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

    /// The to-one relationships that a request may set without a change of another object.
    private var freeToOnes: [Relationship] {
        entity.relationships.filter { !$0.isToMany && inverse($0)?.isToMany != false }
    }

    // MARK: Saves

    mutating func save(_ step: Int) throws {
        var draft = randomDraft(step)
        let isCommand = !draft.deletions.isEmpty && random.oneIn(3)
        if isCommand { (draft.inserted, draft.updates, draft.links) = ([], [:], []) }
        let request = request(draft, step)
        let expected = outcome(draft)
        let found = Result { try isCommand ? deleteByCommand(draft.deletions) : store.save(request) }
        switch found {
        case .success(let result):
            if let expected {
                let gone = Set(nodes.keys).subtracting(expected.nodes.keys)
                #expect(Set(result.deleted) == gone, "seed \(seed), step \(step)")
                #expect(gone.isDisjoint(with: result.changed), "seed \(seed), step \(step)")
                (nodes, pairs) = (expected.nodes, expected.pairs)
                for (id, toOnes) in zip(result.inserted.ids, draft.inserted) { nodes[id] = Node(toOnes: toOnes) }
                for id in nodes.keys { versions[id] = try store.snapshots(of: [id])[0]?.version ?? 0 }
            } else {
                Issue.record("the save should have been refused, seed \(seed), step \(step)")
            }
        case .failure(let error):
            guard case StoreError.references(let conflicts) = error else { throw error }
            #expect(expected == nil, "\(conflicts), seed \(seed), step \(step)")
        }
        try compare(step)
    }

    /// Deletes nodes by a command, chunk by chunk; the result is that of the save with these deletions.
    private mutating func deleteByCommand(_ ids: Set<ObjectID>) throws -> SaveResult {
        var command = StoreCommand(.delete(.ids(Array(ids))))
        command.chunkCountMax = 1 + Int(random.next() % 2)
        let result = try store.execute(command)
        #expect(result.count == ids.count && result.inserted.isEmpty)
        return SaveResult(deleted: result.deleted, changed: result.updated)
    }

    private mutating func randomDraft(_ step: Int) -> Draft {
        var draft = Draft()
        let known = nodes.keys.sorted { $0.key < $1.key }
        for _ in 0..<random.next() % 4 {
            var toOnes: [Slot: ObjectID] = [:]
            for relationship in freeToOnes where random.oneIn(3) && !known.isEmpty {
                toOnes[relationship.slot] = random.pick(known)
            }
            draft.inserted.append(toOnes)
        }
        guard !known.isEmpty else { return draft }
        if step > 3, random.oneIn(2) {
            for _ in 0...random.next() % 2 { draft.deletions.insert(random.pick(known)) }
        }
        for _ in 0..<random.next() % 5 {
            let id = random.pick(known)
            if draft.updates[id] != nil { continue }
            var values: [Slot: ObjectID?] = [:]
            for relationship in freeToOnes where random.oneIn(6) {
                values[relationship.slot] = .some(random.oneIn(4) ? nil : random.pick(known))
            }
            draft.updates[id] = values
        }
        for _ in 0..<random.next() % 3 { mate(random.pick(known), &draft, known) }
        for relationship in entity.relationships
        where relationship.isToMany && inverse(relationship)?.isToMany != false && random.oneIn(4) {
            let (owner, added, removed) = (random.pick(known), random.pick(known), random.pick(known))
            // Skip links that contradict each other: the last one counts, which the oracle does not model.
            let back = inverse(relationship)?.slot
            if added == removed || draft.links.contains(where: { $0.slot == back }) { continue }
            draft.links.append(Link(slot: relationship.slot, owner: owner, added: added, removed: removed))
        }
        return draft
    }

    private func request(_ draft: Draft, _ step: Int) -> SaveRequest {
        var request = SaveRequest()
        for toOnes in draft.inserted {
            request.insertions.append(
                SaveRequest.Insertion(
                    id: ObjectID(temporaryFor: "Node"), values: [.string("new")],
                    destinations: entity.relationships.map { toOnes[$0.slot] }))
        }
        for (id, values) in draft.updates.sorted(by: { $0.key.key < $1.key.key }) {
            var update = SaveRequest.Update(id: id, expectedVersion: versions[id] ?? 0)
            update.values = [(0, .string("step \(step)"))]
            for (slot, value) in values.sorted(by: { $0.key < $1.key }) { update.destinations.append((slot, value)) }
            request.updates.append(update)
        }
        for id in draft.deletions.sorted(by: { $0.key < $1.key }) {
            request.deletions.append(.init(id: id, expectedVersion: versions[id] ?? 0))
        }
        for link in draft.links {
            request.links.append(
                .init(owner: link.owner, slot: link.slot, added: [link.added], removed: [link.removed]))
        }
        return request
    }

    /// Makes two nodes refer to each other by a one-to-one relationship, and clears the references of their old mates.
    private mutating func mate(_ id: ObjectID, _ draft: inout Draft, _ known: [ObjectID]) {
        let oneToOne = entity.relationships.filter { $0.name.hasPrefix("mate") && !$0.name.hasPrefix("mateOf") }
        let relationship = random.pick(oneToOne)
        guard let back = inverse(relationship) else { return }
        let other = random.pick(known)
        func now(_ id: ObjectID, _ slot: Slot) -> ObjectID? {
            if let value = draft.updates[id]?[slot] { return value }
            return nodes[id]?.toOnes[slot]
        }
        var changes: [(ObjectID, Slot, ObjectID?)] = []
        if let old = now(id, relationship.slot) { changes.append((old, back.slot, nil)) }
        if let old = now(other, back.slot) { changes.append((old, relationship.slot, nil)) }
        changes += [(id, relationship.slot, other), (other, back.slot, id)]
        if changes.contains(where: { draft.deletions.contains($0.0) }) { return }
        for (id, slot, value) in changes { draft.updates[id, default: [:]][slot] = .some(value) }
    }

    // MARK: The oracle

    /// The nodes and pairs after a save; `nil` if the store must refuse the save.
    private func outcome(_ draft: Draft) -> Outcome? {
        let gone = goneRows(draft)
        var after = nodes.filter { !gone.contains($0.key) }
        let updates = draft.updates.filter { !gone.contains($0.key) }
        for (id, values) in updates {
            for (slot, value) in values { after[id]?.toOnes[slot] = value }
        }
        // Every destination that the request itself sets must exist after the save.
        let named = draft.inserted.flatMap(\.values) + updates.values.flatMap { $0.values.compactMap(\.self) }
        if named.contains(where: { after[$0] == nil }) { return nil }
        if gone.contains(where: { isDenied($0, gone, after, draft) }) { return nil }
        for id in Array(after.keys) {
            for (slot, destination) in after[id]?.toOnes ?? [:] where gone.contains(destination) {
                // The rule of the inverse counts: that of the list, or that of the deleted node's to-one relationship.
                if inverse(entity.relationships[slot])?.deleteRule == .noAction { return nil }
                after[id]?.toOnes[slot] = nil
            }
        }
        var pairs = pairs
        for slot in Array(pairs.keys) { pairs[slot] = pairs[slot]?.filter { gone.isDisjoint(with: $0) } }
        for link in draft.links where !gone.contains(link.owner) {
            change(&pairs, link.slot, link.owner, link.removed) { $0.remove($1) }
            if gone.contains(link.added) { continue }
            change(&pairs, link.slot, link.owner, link.added) { $0.insert($1) }
        }
        return Outcome(nodes: after, pairs: pairs)
    }

    private func change(
        _ pairs: inout [Slot: Set<[ObjectID]>], _ slot: Slot, _ owner: ObjectID, _ id: ObjectID,
        _ body: (inout Set<[ObjectID]>, [ObjectID]) -> Void
    ) {
        body(&pairs[slot, default: []], [owner, id])
        if let back = inverse(entity.relationships[slot]) { body(&pairs[back.slot, default: []], [id, owner]) }
    }

    /// The stored destinations of a relationship, without those whose inverse the request changes.
    private func destinations(
        of id: ObjectID, _ relationship: Relationship, _ updates: [ObjectID: [Slot: ObjectID?]]
    ) -> [ObjectID] {
        guard relationship.isToMany else { return nodes[id]?.toOnes[relationship.slot].map { [$0] } ?? [] }
        guard let back = inverse(relationship), !back.isToMany else {
            return (pairs[relationship.slot] ?? []).filter { $0[0] == id }.map { $0[1] }
        }
        return nodes.filter { $0.value.toOnes[back.slot] == id && updates[$0.key]?[back.slot] == nil }.map(\.key)
    }

    /// The destinations of a deleted node: the stored ones, with the request's changes.
    private func followed(from id: ObjectID, _ relationship: Relationship, _ draft: Draft) -> [ObjectID] {
        let (slot, back) = (relationship.slot, inverse(relationship))
        guard relationship.isToMany else {
            guard let destination = draft.updates[id]?[slot] ?? nodes[id]?.toOnes[slot] else { return [] }
            if let back, !back.isToMany, let set = draft.updates[destination]?[back.slot], set != id { return [] }
            return [destination]
        }
        var found = destinations(of: id, relationship, draft.updates)
        if let back, !back.isToMany { return found }
        for link in draft.links {
            let isOwner = link.slot == slot && link.owner == id
            if isOwner || link.slot == back?.slot && link.removed == id {
                let removed = isOwner ? link.removed : link.owner
                found.removeAll { $0 == removed }
            }
        }
        for link in draft.links {
            if link.slot == slot, link.owner == id { found.append(link.added) }
            if link.slot == back?.slot, link.added == id { found.append(link.owner) }
        }
        return found
    }

    private func goneRows(_ draft: Draft) -> Set<ObjectID> {
        var (gone, next) = (draft.deletions, Array(draft.deletions))
        while let id = next.popLast() {
            for relationship in entity.relationships where relationship.deleteRule == .cascade {
                next += followed(from: id, relationship, draft).filter { gone.insert($0).inserted }
            }
        }
        return gone
    }

    private func isDenied(
        _ id: ObjectID, _ gone: Set<ObjectID>, _ after: [ObjectID: Node], _ draft: Draft
    ) -> Bool {
        entity.relationships.contains { relationship in
            guard relationship.deleteRule == .deny else { return false }
            guard relationship.isToMany, let back = inverse(relationship), !back.isToMany else {
                return followed(from: id, relationship, draft).contains { !gone.contains($0) }
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
