// Two and three contexts on one store relate, unrelate and delete at random, over relationships of every kind and rule:
// whatever they do to each other, no reference in the store leads nowhere, both sides of every relationship are equal,
// and a save that fails leaves its context as it was.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ContextReferenceWalkTests {
    @Test(arguments: StoreKind.allCases, [2, 3])
    func `contexts that relate and delete at random leave no reference to nothing, and both sides equal`(
        kind: StoreKind, contexts: Int
    ) throws {
        let seed = testSeed(default: 9100)
        for walk in 0..<UInt64(campaignCount("ESPALIER_REFERENCE_WALKS", default: 20)) {
            var test = try ReferenceWalk(kind, contexts: contexts, seed: seed &+ walk &* 10)
            for step in 0..<campaignCount("ESPALIER_REFERENCE_STEPS", default: 60) { try test.step(step) }
        }
    }
}

private struct ReferenceWalk {
    private let stack: RuleStack
    private var contexts: [ManagedObjectContext]
    private let seed: UInt64
    private var random: SeededGenerator
    private static let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]

    init(_ kind: StoreKind, contexts count: Int, seed: UInt64) throws {
        let stack = try RuleStack(kind)
        self.stack = stack
        self.seed = seed
        random = SeededGenerator(seed: seed)
        contexts = (0..<count).map { _ in stack.newContext() }
        contexts[0].automaticallyMergesChangesFromParent = true
        for _ in 0..<12 { _ = try contexts[0].insertNewObject(forEntityName: "Node") }
        try contexts[0].save()
    }

    private mutating func pick<T>(_ choices: [T]) -> T { choices[Int(random.next() % UInt64(choices.count))] }

    mutating func step(_ step: Int) throws {
        let context = pick(contexts)
        let nodes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Node"))
            .sorted { $0.objectID.key < $1.objectID.key }
        switch random.next() % 20 {
        case 0, 1: _ = try context.insertNewObject(forEntityName: "Node")
        case 2, 3: if !nodes.isEmpty { try context.delete(pick(nodes)) }
        case 4: context.refreshAllObjects()
        case 5: context.processPendingChanges()
        case 6: context.rollback()
        case 7: if !nodes.isEmpty { context.refresh(pick(nodes), mergesChanges: random.next() % 2 == 0) }
        case 8: if random.next() % 4 == 0 { context.reset() }
        case 9, 10, 11: try save(context, step)
        default: if !nodes.isEmpty { relate(pick(nodes), nodes) }
        }
    }

    private mutating func relate(_ node: ManagedObject, _ nodes: [ManagedObject]) {
        let relationship = pick(node.entity.relationships)
        let other = pick(nodes)
        // A refused change is recorded, and reported by the next save.
        if relationship.isToMany {
            if random.next() % 3 == 0 {
                try? node.remove([other], fromRelationshipNamed: relationship.name)
            } else {
                try? node.add([other], toRelationshipNamed: relationship.name)
            }
        } else {
            try? node.setValue(.toOne(random.next() % 4 == 0 ? nil : other), forKey: relationship.name)
        }
    }

    private mutating func save(_ context: ManagedObjectContext, _ step: Int) throws {
        context.mergePolicy = pick(Self.policies)
        let place = "seed \(seed), step \(step), \(context.mergePolicy)"
        let before = context.deletedObjects.count
        do {
            try context.save()
            #expect(!context.hasChanges, "\(place)")
        } catch {
            switch error {
            case .violations, .conflicts, .references, .several: break
            default: Issue.record("\(error), \(place)")
            }
            #expect(context.hasChanges && context.deletedObjects.count >= before, "\(place)")
            context.rollback()
        }
        try stack.expectWhole(place)
    }
}

/// A store of nodes that are related in every way, under every rule.
private final class RuleStack {
    private let coordinator: PersistentStoreCoordinator
    private let store: any PersistentStore

    init(_ kind: StoreKind) throws {
        var relationships: [RelationshipDescription] = []
        for rule in [DeleteRule.noAction, .nullify, .cascade, .deny] {
            relationships += [
                .init("children\(rule)", to: "Node", inverse: "parent\(rule)", .toMany, deleteRule: rule),
                .init("parent\(rule)", to: "Node", inverse: "children\(rule)"),
                .init("chapters\(rule)", to: "Node", inverse: "book\(rule)", .ordered, deleteRule: rule),
                .init("book\(rule)", to: "Node", inverse: "chapters\(rule)"),
                .init("mate\(rule)", to: "Node", inverse: "mateOf\(rule)", deleteRule: rule),
                .init("mateOf\(rule)", to: "Node", inverse: "mate\(rule)"),
                .init("peers\(rule)", to: "Node", inverse: "peersOf\(rule)", .toMany, deleteRule: rule),
                .init("peersOf\(rule)", to: "Node", inverse: "peers\(rule)", .ordered),
                .init("likes\(rule)", to: "Node", .toMany, deleteRule: rule),
            ]
        }
        relationships += [
            .init("hint", to: "Node"), .init("friend", to: "Node", inverse: "friend"),
            .init("friends", to: "Node", inverse: "friends", .toMany),
        ]
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Node", attributes: [AttributeDescription("name", .string)], relationships: relationships)
        ])
        store = kind == .inMemory ? InMemoryStore(model: model) : try BTreeStore.inMemory(model: model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }

    /// Requires every destination to be there and every relationship to say the same from both ends.
    func expectWhole(_ place: String) throws {
        if let tree = store as? BTreeStore {
            let report = try tree.check()
            #expect(report.isOK && report.dangling.isEmpty, "\(place): \(report.findings) \(report.dangling)")
        }
        let entity = try #require(store.model.entity(named: "Node"))
        let ids = try store.fetchIDs(StoreFetch(entity: entity))
        let (rows, known) = (try store.snapshots(of: ids), Set(ids))
        var pairs: [Int: Set<[ObjectID]>] = [:]
        for (id, row) in zip(ids, rows) {
            for relationship in entity.relationships {
                let destinations =
                    relationship.isToMany
                    ? try store.destinations(of: relationship, for: [id])[0]
                    : row?.destination(at: relationship.slot).map { [$0] } ?? []
                for destination in destinations {
                    #expect(known.contains(destination), "\(relationship.name) of \(id), \(place)")
                    pairs[relationship.slot, default: []].insert([id, destination])
                }
            }
        }
        for relationship in entity.relationships {
            guard let inverse = store.model.inverse(of: relationship) else { continue }
            let back = Set((pairs[inverse.slot] ?? []).map { [$0[1], $0[0]] })
            #expect((pairs[relationship.slot] ?? []) == back, "\(relationship.name) and \(inverse.name), \(place)")
        }
    }
}
