// Batch updates that write over bytes of rows, beside contexts with unsaved changes of the same rows and a long value
// in one of them: what contexts show, how saves end, and the stored rows are those of a store in memory, which updates
// row by row.
//
// `ESPALIER_PATCH_WALKS` makes more walks, and `ESPALIER_PATCH_KIB` a longer value.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BatchPatchWalkTests {
    @Test func `updates in place beside unsaved changes of the same rows give what updates row by row give`() throws {
        let first = testSeed(default: 131_400)
        print("ESPALIER_SEED=\(first)")
        let byteCount = campaignCount("ESPALIER_PATCH_KIB", default: 64) << 10
        for seed in (0..<UInt64(campaignCount("ESPALIER_PATCH_WALKS", default: 4))).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            let merges = [Bool.random(using: &random), Bool.random(using: &random)]
            let model = try Yard.model()
            let yards = [
                try Yard(try BTreeStore.inMemory(model: model), byteCount, merges),
                try Yard(InMemoryStore(model: model), byteCount, merges),
            ]
            var log: [String] = []
            for _ in 0..<30 {
                let event = YardEvent(&random)
                log.append("\(event)")
                let states = try yards.map { yard -> [String] in
                    let outcome = try yard.take(event)
                    return [outcome] + (try yard.shown()) + (try yard.stored())
                }
                guard states[0] != states[1] else { continue }
                let story = log.joined(separator: "\n")
                Issue.record("seed \(seed): \(states[0])\ninstead of \(states[1])\nmerging \(merges)\n\(story)")
                return
            }
            #expect(try yards[0].scan() == Data(repeating: 0xA5, count: byteCount), "seed \(seed)")
            let report = try #require(yards[0].store as? BTreeStore).check()
            #expect(report.isOK, "seed \(seed): \(report.findings)")
        }
    }
}

/// One step of a walk; contexts and items are meant by their positions.
private enum YardEvent: CustomStringConvertible {
    case set(context: Int, item: Int, name: String, AttributeValue)
    case update(context: Int, condition: String?, name: String, format: String)
    case save(context: Int, policy: Int)
    case rollBack(context: Int)
    case process(context: Int)

    init(_ random: inout SeededGenerator) {
        func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(random.next() % UInt64(choices.count))] }
        let context = pick([0, 1])
        let number = Int64(pick([1, 5, 300, 70_000]))
        switch random.next() % 12 {
        case 0...3:
            let (name, value): (String, AttributeValue) = pick([
                ("number", .integer(number)), ("rank", .integer(2)), ("weight", .double(Double(number) + 0.5)),
                ("weight", .null), ("note", .string("note \(number)")),
            ])
            self = .set(context: context, item: pick(Array(0..<Yard.count)), name: name, value)
        case 4...7:
            let (name, format) = pick([
                ("number", "number + 1"), ("number", "number * 3"), ("number", "\(number)"), ("rank", "rank + 1"),
                ("rank", "2"), ("weight", "number / 2"), ("weight", "TERNARY(rank > 2, nil, weight)"),
                // Not in place, but written anew.
                ("note", "uppercase(note)"),
            ])
            let conditions = [nil, nil, "rank > 1", "number < 100", "weight == nil", "note ENDSWITH '0'"]
            self = .update(context: context, condition: pick(conditions), name: name, format: format)
        case 8, 9: self = .save(context: context, policy: pick(Array(Yard.policies.indices)))
        case 10: self = .rollBack(context: context)
        default: self = .process(context: context)
        }
    }

    var description: String {
        switch self {
        case .set(let context, let item, let name, let value): "context \(context): item \(item) \(name) = \(value)"
        case .update(let context, let condition, let name, let format):
            "context \(context): update \(name) = \(format) where \(condition ?? "anything")"
        case .save(let context, let policy): "context \(context): save, policy \(policy)"
        case .rollBack(let context): "context \(context): roll back"
        case .process(let context): "context \(context): process"
        }
    }
}

/// A store of items, the first of which has a long value, and two contexts with all of them.
private final class Yard {
    static let count = 5
    static let policies: [MergePolicy] = [.error, .storeTrump, .objectTrump, .overwrite, .rollback]
    private static let shownNames = ["number", "rank", "weight", "note"]

    let store: any PersistentStore
    private let coordinator: PersistentStoreCoordinator
    private let contexts: [ManagedObjectContext]
    private let items: [[ManagedObject]]

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("number", .integer64), AttributeDescription("rank", .integer32),
                    AttributeDescription("weight", .double), AttributeDescription("note", .string),
                    AttributeDescription("serial", .integer64), AttributeDescription("scan", .binary),
                ])
        ])
    }

    init(_ store: any PersistentStore, _ byteCount: Int, _ merges: [Bool]) throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: store.model)
        coordinator.add(store)
        let writer = ManagedObjectContext(coordinator)
        for serial in 0..<Self.count {
            let item = try writer.insertNewObject(forEntityName: "Item")
            let values: [String: AttributeValue] = [
                "number": .integer(Int64(serial)), "rank": .integer(1), "note": .string("note \(serial % 2)"),
                "serial": .integer(Int64(serial)),
                "scan": serial == 0 ? .binary(Data(repeating: 0xA5, count: byteCount)) : .null,
            ]
            for (name, value) in values { try item.setValue(value, forKey: name) }
        }
        try writer.save()
        let contexts = merges.map { merges in
            let context = ManagedObjectContext(coordinator)
            context.automaticallyMergesChangesFromParent = merges
            return context
        }
        let request = FetchRequest<ManagedObject>(entityName: "Item", sortKeys: [SortKey("serial")])
        items = try contexts.map { try $0.fetch(request) }
        (self.store, self.coordinator, self.contexts) = (store, coordinator, contexts)
    }

    /// Carries out a step; returns what it says of itself.
    func take(_ event: YardEvent) throws -> String {
        switch event {
        case .set(let context, let item, let name, let value):
            try items[context][item].setValue(value, forKey: name)
            return ""
        case .update(let context, let condition, let name, let format):
            let request = BatchUpdateRequest(
                entityName: "Item", predicate: try condition.map { try FetchPredicate(format: $0) },
                propertiesToUpdate: [name: try FetchExpression(format: format)])
            return "\(try contexts[context].execute(request).count) rows"
        case .save(let context, let policy):
            contexts[context].mergePolicy = Self.policies[policy]
            guard let error = contextError({ try contexts[context].save() }) else { return "saved" }
            let objects = error.conflicts.map(\.object)
            let places = items[context].indices.filter { objects.contains(items[context][$0].objectID) }
            return places.isEmpty ? "\(error)" : "conflicts \(places)"
        case .rollBack(let context): contexts[context].rollback()
        case .process(let context): contexts[context].processPendingChanges()
        }
        return ""
    }

    /// The values that both contexts show.
    func shown() throws -> [String] {
        try items.map { items in
            try items.map { item -> String in
                let values = try Self.shownNames.map { name -> String in
                    if case .attribute(let value) = try item.value(forKey: name) { "\(value)" } else { "" }
                }
                return values.joined(separator: " ")
            }.joined(separator: ", ")
        }
    }

    private func rows() throws -> (rows: [ObjectSnapshot], entity: Entity) {
        let entity = try #require(store.model.entity(named: "Item"))
        return (Array(try store.fetch(StoreFetch(entity: entity))), entity)
    }

    /// The stored values, without the long one.
    func stored() throws -> [String] {
        let (rows, entity) = try rows()
        let slots = Self.shownNames.compactMap { entity.attribute(named: $0)?.slot }
        return rows.map { row in "stored " + slots.map { "\(row.value(at: $0))" }.joined(separator: " ") }
    }

    /// The long value of the first row.
    func scan() throws -> Data {
        let (rows, entity) = try rows()
        let slot = try #require(entity.attribute(named: "scan")).slot
        guard case .binary(let bytes)? = rows.first?.value(at: slot) else { return Data() }
        return bytes
    }
}
