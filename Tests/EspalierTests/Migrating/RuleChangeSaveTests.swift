// Saves after a store was opened with a model of which only delete rules, counts and defaults have changed.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct RuleChangeSaveTests {
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Band",
                attributes: [
                    AttributeDescription("name", .string),
                    AttributeDescription("style", .string, defaultValue: isNew ? .string("jazz") : .null),
                ],
                relationships: [
                    RelationshipDescription(
                        "players", to: "Player", inverse: "band", .toMany, deleteRule: isNew ? .cascade : .nullify,
                        maxCount: isNew ? 2 : 0)
                ]),
            EntityDescription(
                "Player", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("band", to: "Band", inverse: "players")]),
        ])
    }

    private static func withContext(
        at path: String, isNew: Bool, _ body: (ManagedObjectContext) throws -> Void
    ) throws {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: try model(isNew: isNew), stores: [description])
        defer { try? container.close() }
        try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    private static func objects(_ entity: String, _ context: ManagedObjectContext) throws -> [ManagedObject] {
        try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    }

    @Test func `the next save follows other delete rules, counts and defaults`() throws {
        try withStorePath { path in
            try Self.withContext(at: path, isNew: false) { context in
                let band = try context.insertNewObject(forEntityName: "Band")
                for _ in 0..<2 {
                    try context.insertNewObject(forEntityName: "Player").setValue(.toOne(band), forKey: "band")
                }
                try context.save()
            }

            try Self.withContext(at: path, isNew: true) { context in
                let band = try #require(try Self.objects("Band", context).first)
                #expect(band[attribute: "style"] == .null)
                let third = try context.insertNewObject(forEntityName: "Player")
                try third.setValue(.toOne(band), forKey: "band")
                let error = #expect(throws: ContextError.self) { try context.save() }
                guard case .violations(let found)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(found.map(\.code) == [1590])
                try context.delete(third)
                let other = try context.insertNewObject(forEntityName: "Band")
                #expect(other[attribute: "style"] == .string("jazz"))
                try context.delete(band)
                try context.save()
                #expect(try Self.objects("Player", context).isEmpty && Self.objects("Band", context).count == 1)
            }
        }
    }
}
