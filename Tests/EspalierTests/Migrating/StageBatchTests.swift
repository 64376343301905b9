// Batch requests in the work of a migration, whose transaction saves them row by row: the results and the rows are
// those of the same requests without a migration, where updates write over bytes of rows.
//
// `ESPALIER_STAGE_WALKS` makes more walks.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct StageBatchTests {
    /// One step of the work.
    private enum Step: Sendable {
        case update(condition: String?, name: String, format: String)
        case insert(number: Int)
        case delete(condition: String)
        /// Objects with this rank get a note, which is not saved.
        case change(rank: Int)
        case save
    }

    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        let added = isNew ? [AttributeDescription("extra", .integer16, defaultValue: .integer(5))] : []
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Item",
                attributes: [
                    AttributeDescription("number", .integer64),
                    AttributeDescription("rank", .integer32, isOptional: false),
                    AttributeDescription("weight", .double), AttributeDescription("note", .string),
                ] + added)
        ])
    }

    private static func steps(_ random: inout SeededGenerator) -> [Step] {
        func pick<Choice>(_ choices: [Choice]) -> Choice { choices[Int(random.next() % UInt64(choices.count))] }
        return (0..<8).map { number in
            switch random.next() % 9 {
            case 0...3:
                let (name, format) = pick([
                    ("number", "number * 7"), ("rank", "rank + 1"), ("weight", "number / 2"), ("rank", "nil"),
                    ("note", "uppercase(note)"), ("number", "70000"),
                ])
                return .update(
                    condition: pick([nil, "rank > 1", "number < 50", "weight == nil"]), name: name, format: format)
            case 4, 5: return .insert(number: 100 + number)
            case 6: return .delete(condition: pick(["number == 3", "rank == 3", "note BEGINSWITH 'X'"]))
            case 7: return .change(rank: pick([1, 2]))
            default: return .save
            }
        }
    }

    /// Carries out steps, and saves at the end; returns what each says of itself.
    private static func carryOut(_ steps: [Step], _ context: ManagedObjectContext) throws -> [String] {
        context.mergePolicy = .objectTrump
        var outcomes: [String] = []
        for step in steps {
            switch step {
            case .update(let condition, let name, let format):
                let request = BatchUpdateRequest(
                    entityName: "Item", predicate: try condition.map { try FetchPredicate(format: $0) },
                    propertiesToUpdate: [name: try FetchExpression(format: format)])
                var count = 0
                let error = contextError { count = try context.execute(request).count }
                outcomes.append("\(count) updated, \(error?.violations.map(\.code) ?? [])")
            case .insert(let number):
                let row: [String: any PredicateArgument] = ["number": number, "rank": 2, "note": "new"]
                let count = try context.execute(BatchInsertRequest(entityName: "Item", objects: [row])).count
                outcomes.append("\(count) inserted")
            case .delete(let condition):
                let request = FetchRequest<ManagedObject>(
                    entityName: "Item", predicate: try FetchPredicate(format: condition))
                let count = try context.execute(BatchDeleteRequest(request)).count
                outcomes.append("\(count) deleted")
            case .change(let rank):
                let request = FetchRequest<ManagedObject>(
                    entityName: "Item", predicate: try FetchPredicate(format: "rank == %@", rank))
                let objects = try context.fetch(request)
                for object in objects { try object.setValue(.string("x rank \(rank)"), forKey: "note") }
                outcomes.append("\(objects.count) changed")
            case .save: outcomes.append(save(context))
            }
        }
        return outcomes + [save(context)]
    }

    /// Saves, and drops the changes that a save refuses, such as those of a row that was deleted.
    private static func save(_ context: ManagedObjectContext) -> String {
        guard let error = contextError({ try context.save() }) else { return "saved" }
        context.rollback()
        return "\(error.conflicts.count) conflicts, \(error.violations.count) violations"
    }

    private static func withContext<Answer>(
        at path: String, isNew: Bool, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: try model(isNew: isNew), stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    /// The rows of a store of the newer version, whose check must find nothing.
    private static func content(at path: String) throws -> [String] {
        let store = try BTreeStore.open(path: path, model: try model(isNew: true))
        defer { try? store.close() }
        let item = try #require(store.model.entity(named: "Item"))
        let report = try store.check()
        #expect(report.isOK, "\(report.findings)")
        return try store.fetch(StoreFetch(entity: item)).map { row in
            item.attributes.map { "\(row.value(at: $0.slot))" }.joined(separator: " ")
        }
    }

    @Test func `batch requests of the work give what they give in a store without a migration`() throws {
        let seed = testSeed(default: 131_500)
        print("ESPALIER_SEED=\(seed)")
        for walk in 0..<UInt64(campaignCount("ESPALIER_STAGE_WALKS", default: 3)) {
            var random = SeededGenerator(seed: seed + walk)
            let (before, after) = (Self.steps(&random), Self.steps(&random))
            try withTemporaryFolder { folder in
                let paths = ["plain", "staged"].map { folder.appending(path: $0).path }
                for path in paths {
                    try Self.withContext(at: path, isNew: false) { context in
                        let rows = (0..<6).map { number -> [String: any PredicateArgument] in
                            ["number": number, "rank": number % 3, "note": "note \(number)"]
                        }
                        try context.execute(BatchInsertRequest(entityName: "Item", objects: rows))
                    }
                }
                let plan = SchemaMigrationPlan(from: try Self.model(isNew: false))
                var expected = try Self.withContext(at: paths[0], isNew: false) { try Self.carryOut(before, $0) }
                _ = try plan.then(.lightweight(), to: Self.model(isNew: true)).migrate(storeAt: paths[0])
                expected += try Self.withContext(at: paths[0], isNew: true) { try Self.carryOut(after, $0) }

                let outcomes = Mutex<[String]>([])
                let stage = MigrationStage.custom(
                    willMigrate: { context in
                        let found = try Self.carryOut(before, context)
                        outcomes.withLock { $0 += found }
                    },
                    didMigrate: { context in
                        let found = try Self.carryOut(after, context)
                        outcomes.withLock { $0 += found }
                    })
                _ = try plan.then(stage, to: Self.model(isNew: true)).migrate(storeAt: paths[1])

                let place = "seed \(seed + walk): \(before), \(after)"
                #expect(outcomes.withLock { $0 } == expected, "\(place)")
                #expect(try Self.content(at: paths[1]) == Self.content(at: paths[0]), "\(place)")
            }
        }
    }
}
