// The version of a plan that a store has, where versions have one checksum and store different rows: they differ in the
// rule of a derived attribute, in an abstract entity, or in former names that exchange two attributes.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct SchemaCourseTests {
    /// Tracks with a form that is derived from their name.
    private static func derived(_ derivation: Derivation) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Track",
                attributes: [
                    AttributeDescription("name", .string),
                    AttributeDescription("form", .string, derivation: derivation),
                ])
        ])
    }

    /// Songs with a label.
    private static func songs() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Song", attributes: [AttributeDescription("name", .string), AttributeDescription("label", .string)])
        ])
    }

    /// The step from tracks to songs, whose labels are the forms.
    private static let split = MigrationStage.mapped(
        by: MappingModel([EntityMapping("Track", to: "Song", [.copy("label", from: "form")])]))

    private static func withContext<Answer>(
        at path: String, _ model: ManagedObjectModel, _ body: (ManagedObjectContext) throws -> Answer
    ) throws -> Answer {
        let description = PersistentStoreDescription(path: path, migration: .off)
        let container = try PersistentContainer(model: model, stores: [description])
        defer { try? container.close() }
        return try body(ManagedObjectContext(container.persistentStoreCoordinator))
    }

    /// A store with one object of these texts.
    private static func makeStore(
        at path: String, _ model: ManagedObjectModel, _ entity: String, _ values: [String: String]
    ) throws {
        try withContext(at: path, model) { context in
            let object = try context.insertNewObject(forEntityName: entity)
            for (name, value) in values { try object.setValue(.string(value), forKey: name) }
            try context.save()
        }
    }

    /// The values of the only object.
    private static func values(
        at path: String, _ model: ManagedObjectModel, _ entity: String
    ) throws -> [String: AttributeValue] {
        try withContext(at: path, model) { context in
            let objects = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
            #expect(objects.count == 1)
            let names = objects.first?.entity.attributes.map(\.name) ?? []
            return Dictionary(uniqueKeysWithValues: names.map { ($0, objects[0][attribute: $0]) })
        }
    }

    @Test(arguments: [0, 1])
    func `mappings run for a store of either of two versions that differ in a derivation (MG-12)`(
        version: Int
    ) throws {
        try withStorePath { path in
            let versions = [try Self.derived(.lowercase(of: "name")), try Self.derived(.uppercase(of: "name"))]
            #expect(versions[0].versionChecksum == versions[1].versionChecksum)
            try Self.makeStore(at: path, versions[version], "Track", ["name": "Ab"])
            let plan = SchemaMigrationPlan(from: versions[0]).then(.lightweight(), to: versions[1])
                .then(Self.split, to: try Self.songs())

            #expect(try plan.migrate(storeAt: path).count == 2 - version)

            let values = try Self.values(at: path, try Self.songs(), "Song")
            #expect(values == ["name": .string("Ab"), "label": .string("AB")])
            #expect(try plan.migrate(storeAt: path).isEmpty)
        }
    }

    @Test(arguments: [0, 1])
    func `two attributes exchange their names in one step, also if later versions say nothing of it (MG-12)`(
        version: Int
    ) throws {
        func model(exchanges: Bool, hasNote: Bool) throws -> ManagedObjectModel {
            let former: (a: String?, b: String?) = exchanges ? ("b", "a") : (nil, nil)
            var attributes = [
                AttributeDescription("a", .string, renamingIdentifier: former.a),
                AttributeDescription("b", .string, renamingIdentifier: former.b),
            ]
            if hasNote { attributes.append(AttributeDescription("note", .string)) }
            return try ManagedObjectModel(entities: [EntityDescription("Track", attributes: attributes)])
        }
        try withStorePath { path in
            let versions = [
                try model(exchanges: false, hasNote: false), try model(exchanges: true, hasNote: false),
                try model(exchanges: false, hasNote: true),
            ]
            #expect(versions[0].versionChecksum == versions[1].versionChecksum)
            try Self.makeStore(at: path, versions[version], "Track", ["a": "1", "b": "2"])
            let plan = SchemaMigrationPlan(from: versions[0]).then(.lightweight(), to: versions[1])
                .then(.lightweight(), to: versions[2])

            #expect(try plan.migrate(storeAt: path).count == 2 - version)

            let expected: [String: AttributeValue] =
                version == 0
                ? ["a": .string("2"), "b": .string("1"), "note": .null]
                : ["a": .string("1"), "b": .string("2"), "note": .null]
            #expect(try Self.values(at: path, versions[2], "Track") == expected)
        }
    }

    @Test func `a store with the checksum of a version and another rule of a derived value becomes that version first`()
        throws
    {
        try withStorePath { path in
            let (own, listed) = (try Self.derived(.lowercase(of: "name")), try Self.derived(.uppercase(of: "name")))
            try Self.makeStore(at: path, own, "Track", ["name": "Ab"])
            let plan = SchemaMigrationPlan(from: listed).then(Self.split, to: try Self.songs())
            let backup = path + ".backup"

            let tried = try plan.migrationPlan(storeAt: path)
            let done = try plan.migrate(storeAt: path, backupPath: backup)

            #expect(done.count == 2 && done[0].outcome?.derivedValuesWritten == 1)
            #expect(tried.map(\.outcome) == done.map(\.outcome))
            #expect(try Self.values(at: path, try Self.songs(), "Song")["label"] == .string("AB"))
            #expect(try Self.values(at: backup, own, "Track")["form"] == .string("ab"))
            // The last version, too.
            try FileManager.default.removeItem(atPath: path)
            try Self.makeStore(at: path, own, "Track", ["name": "Ab"])
            #expect(try SchemaMigrationPlan(from: listed).migrate(storeAt: path).count == 1)
            #expect(try Self.values(at: path, listed, "Track")["form"] == .string("AB"))
        }
    }

    @Test func `a store that cannot become the version whose checksum it has is refused, and stays as it is`() throws {
        func model(isAbstract: Bool, hasNote: Bool = false) throws -> ManagedObjectModel {
            var thing = EntityDescription(
                "Thing", isAbstract: isAbstract, attributes: [AttributeDescription("name", .string)])
            if hasNote { thing.attributes.append(AttributeDescription("note", .string)) }
            return try ManagedObjectModel(entities: [thing, EntityDescription("Chair", superentity: "Thing")])
        }
        try withStorePath { path in
            let own = try model(isAbstract: false)
            try Self.makeStore(at: path, own, "Thing", ["name": "table"])
            let plan = SchemaMigrationPlan(from: try model(isAbstract: true)).then(
                .custom(didMigrate: { _ in Issue.record("the work runs") }),
                to: try model(isAbstract: true, hasNote: true))

            let error = #expect(throws: SchemaMigrationError.self) { try plan.migrate(storeAt: path) }
            let tried = try plan.migrationPlan(storeAt: path)

            guard case .store(.migrationRefused(path, let refusal))? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal.failures.map(\.reason) == [.abstractEntity])
            #expect(tried.count == 1 && tried.first?.refusal == refusal)
            #expect(try Self.values(at: path, own, "Thing") == ["name": .string("table")])
        }
    }
}
