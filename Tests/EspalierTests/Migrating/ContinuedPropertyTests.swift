// Properties of mapped entities that have no rule: they continue the properties that a migration without mappings finds
// for them, and stores compute the derived ones.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct ContinuedPropertyTests {
    private static let mappings = MappingModel([EntityMapping("Song", to: "Track")])

    private static func model(_ entity: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(entity, attributes: attributes, renamingIdentifier: entity == "Track" ? "Song" : nil)
        ])
    }

    /// Opens the store as it is; throws if it has another model.
    private static func withContext<Answer>(
        at path: String, _ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: model, stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    /// Saves a song; the value of each attribute that can be set is the attribute's name.
    private static func makeStore(at path: String, _ model: ManagedObjectModel) throws {
        try withContext(at: path, model) { context in
            let song = try context.insertNewObject(forEntityName: "Song")
            for attribute in song.entity.attributes where attribute.derivation == nil {
                try song.setValue(.string(attribute.name), forKey: attribute.name)
            }
            try context.save()
        }
    }

    /// The values of the one track by the names of its attributes.
    private static func values(at path: String, _ model: ManagedObjectModel) throws -> [String: AttributeValue] {
        try withContext(at: path, model) { context in
            let tracks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
            #expect(tracks.count == 1)
            let track = try #require(tracks.first)
            let names = track.entity.attributes.map(\.name)
            return Dictionary(uniqueKeysWithValues: names.map { ($0, track[attribute: $0]) })
        }
    }

    @Test func `a renaming identifier of an earlier version is not taken for a new one, as without mappings (MD-33)`()
        throws
    {
        try withStorePath { path in
            let attributes = [
                AttributeDescription("title", .string, renamingIdentifier: "name"),
                AttributeDescription("name", .string),
            ]
            let (former, model) = (try Self.model("Song", attributes), try Self.model("Track", attributes))
            try Self.makeStore(at: path, former)

            try Self.mappings.migrate(storeAt: path, from: former, to: model)

            #expect(try Self.values(at: path, model) == ["title": .string("title"), "name": .string("name")])
        }
    }

    /// Some attributes of four names, some of which have had other ones of these names.
    private static func attributes(_ random: inout SeededGenerator) -> [AttributeDescription] {
        let names = ["a", "b", "c", "d"]
        let formerNames = names.shuffled(using: &random)
        return zip(names, formerNames).shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random)).map {
            AttributeDescription($0, .string, renamingIdentifier: Bool.random(using: &random) ? $1 : nil)
        }
    }

    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_CONTINUED_RUNS", default: 32)))
    func `properties without a rule continue those that a migration without mappings finds for them`(
        number: UInt64
    ) throws {
        let seed = testSeed(default: 37_000) + number
        var random = SeededGenerator(seed: seed)
        let (older, newer) = (Self.attributes(&random), Self.attributes(&random))
        let (former, model) = (try Self.model("Song", older), try Self.model("Track", newer))
        let migration = MigrationOptions(allowing: Set(older.map { MigrationLoss.removal(of: "Song.\($0.name)") }))
        let (expected, expectedLosses) = try withStorePath { path in
            try Self.makeStore(at: path, former)
            let losses = try BTreeStore.migrationPlan(at: path, to: model).difference.losses
            _ = try BTreeStore.migrate(at: path, to: model, migration: migration)
            return (try Self.values(at: path, model), losses)
        }

        let (found, losses) = try withStorePath { path in
            try Self.makeStore(at: path, former)
            let plan = try Self.mappings.migrationPlan(storeAt: path, from: former, to: model)
            try Self.mappings.migrate(storeAt: path, from: former, to: model, migration)
            return (try Self.values(at: path, model), plan.refusal?.losses ?? [])
        }

        #expect(found == expected, "seed \(seed)")
        #expect(losses.sorted() == expectedLosses.sorted(), "seed \(seed)")
    }

    @Test func `stores compute the derived attributes of mapped objects, and values that were set are a loss (MG-05)`()
        throws
    {
        try withStorePath { path in
            let title = AttributeDescription("title", .string)
            let loud = AttributeDescription("loud", .string, derivation: .uppercase(of: "title"))
            let former = try Self.model("Song", [title, loud, AttributeDescription("low", .string)])
            let low = AttributeDescription("low", .string, derivation: .lowercase(of: "title"))
            let model = try Self.model("Track", [title, loud, low])
            try Self.makeStore(at: path, former)
            let loss = MigrationLoss.removal(of: "Song.low")

            let plan = try Self.mappings.migrationPlan(storeAt: path, from: former, to: model)
            try Self.mappings.migrate(storeAt: path, from: former, to: model, MigrationOptions(allowing: [loss]))

            #expect(plan.refusal?.losses == [loss])
            let expected = ["title": "title", "loud": "TITLE", "low": "title"].mapValues { AttributeValue.string($0) }
            #expect(try Self.values(at: path, model) == expected)
        }
    }

    @Test func `elements of mapped composites are followed, filled, lost and refused as without mappings`() throws {
        func place(_ elements: AttributeDescription...) -> [AttributeDescription] {
            [AttributeDescription("place", .composite, elements: elements)]
        }
        try withStorePath { path in
            let former = try Self.model(
                "Song", place(AttributeDescription("town", .string), AttributeDescription("old", .string)))
            let city = AttributeDescription("city", .string, renamingIdentifier: "town")
            let model = try Self.model(
                "Track", place(city, AttributeDescription("more", .string, defaultValue: .string("-"))))
            let strict = try Self.model("Track", place(city, AttributeDescription("size", .double, isOptional: false)))
            try Self.withContext(at: path, former) { context in
                let song = try context.insertNewObject(forEntityName: "Song")
                try song.setValue(.composite(["town": .string("Oslo"), "old": .string("x")]), forKey: "place")
                try context.save()
            }
            let loss = MigrationLoss.removal(of: "Song.place.old")
            let migration = MigrationOptions(allowing: [loss])

            let plan = try Self.mappings.migrationPlan(storeAt: path, from: former, to: model)
            let refused = try Self.mappings.migrationPlan(storeAt: path, from: former, to: strict, migration)
            try Self.mappings.migrate(storeAt: path, from: former, to: model, migration)

            #expect(plan.refusal?.losses == [loss] && plan.refusal?.failures == [])
            #expect(refused.refusal?.failures.map(\.subject) == ["Track.place.size"])
            #expect(refused.refusal?.failures.map(\.reason) == [.noValue])
            let expected = AttributeValue.composite(["city": .string("Oslo"), "more": .string("-")])
            #expect(try Self.values(at: path, model) == ["place": expected])
        }
    }
}
