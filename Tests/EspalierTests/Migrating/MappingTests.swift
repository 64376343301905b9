// Mappings against plain values: entities that are split by predicate and into parts, united, and followed by the
// entities around them; losses, hooks, errors, progress.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct MappingTests {
    @Test(arguments: 0..<UInt64(campaignCount("ESPALIER_MAPPING_WALKS", default: 12)))
    func `a split by predicate and into parts keeps what the same change of plain values keeps`(number: UInt64) throws {
        let seed = testSeed(default: 29_000) + number
        var random = SeededGenerator(seed: seed)
        let world = MappingWorld.random(people: [0, 1, 2, 40][Int(number % 4)], &random)
        try withStorePath { path in
            try MappingWorld.save(world, at: path)
            let (former, newer) = (try MappingWorld.former(), try MappingWorld.newer())
            let tried = try MappingWorld.mappings().migrationPlan(storeAt: path, from: former, to: newer)
            #expect(tried.refusal == nil, "seed \(seed)")

            let plan = try MappingWorld.mappings().migrate(storeAt: path, from: former, to: newer)

            #expect(plan.mappings == tried.mappings && plan.outcome == tried.outcome, "seed \(seed)")
            let expected = MappingWorld.expected(world)
            #expect(try MappingWorld.read(at: path) == expected, "seed \(seed)")
            let staff = expected.values.filter { $0.entity == "Staff" }.count
            #expect(plan.mappings.first?.createdCount == staff, "seed \(seed)")
            let store = try BTreeStore.open(path: path, model: newer)
            let report = try store.check()
            #expect(report.isOK && report.dangling.isEmpty, "seed \(seed): \(report.findings)")
            try store.close()
        }
    }

    private static func animals(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
        var entities = [
            EntityDescription(
                "Cat", attributes: [AttributeDescription("name", .string), AttributeDescription("lives", .integer16)]),
            EntityDescription("Dog", attributes: [AttributeDescription("call", .string)]),
            EntityDescription(
                "Keeper", attributes: [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("cat", to: "Cat"), RelationshipDescription("dogs", to: "Dog", .toMany),
                ]),
        ]
        change(&entities)
        return try ManagedObjectModel(entities: entities)
    }

    private static func pets() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Pet",
                attributes: [
                    AttributeDescription("name", .string, isOptional: false, defaultValue: .string("?")),
                    AttributeDescription("kind", .string, isOptional: false),
                    AttributeDescription("lives", .integer64),
                ], uniquenessConstraints: [["name", "kind"]]),
            EntityDescription(
                "Keeper", attributes: [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("cat", to: "Pet"), RelationshipDescription("dogs", to: "Pet", .toMany),
                ]),
        ])
    }

    /// A store with two cats, a dog and a keeper.
    private static func makeAnimals(at path: String) throws {
        let container = try PersistentContainer(model: animals(), stores: [PersistentStoreDescription(path: path)])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let (tom, nameless) = (
            try context.insertNewObject(forEntityName: "Cat"), try context.insertNewObject(forEntityName: "Cat")
        )
        try tom.setValue(.string("Tom"), forKey: "name")
        try tom.setValue(.integer(9), forKey: "lives")
        try nameless.setValue(.integer(3), forKey: "lives")
        let rex = try context.insertNewObject(forEntityName: "Dog")
        try rex.setValue(.string("Rex"), forKey: "call")
        let keeper = try context.insertNewObject(forEntityName: "Keeper")
        try keeper.setValue(.string("Ann"), forKey: "name")
        try keeper.setValue(.toOne(tom), forKey: "cat")
        try keeper.setValue(.toMany([rex]), forKey: "dogs")
        try context.save()
        try container.close()
    }

    private static let union = [
        EntityMapping("Cat", to: "Pet", [.constant("kind", .string("cat"))]),
        EntityMapping("Dog", to: "Pet", [.copy("name", from: "call"), .constant("kind", .string("dog"))]),
    ]

    /// Runs `work` on a store of animals, and expects that it fails and leaves the store as it was.
    private static func refused(
        _ mappings: [EntityMapping], to newer: ManagedObjectModel? = nil, _ options: MigrationOptions = .automatic
    ) throws -> MappingError? {
        try withStorePath { path in
            try makeAnimals(at: path)
            let (former, newer) = (try animals(), try newer ?? pets())
            let error = #expect(throws: MappingError.self) {
                try MappingModel(mappings).migrate(storeAt: path, from: former, to: newer, options)
            }
            let store = try BTreeStore.open(path: path, model: former, isReadOnly: false, migration: .off)
            let report = try store.check()
            #expect(report.isOK && report.rowCounts == ["Cat": 2, "Dog": 1, "Keeper": 1])
            try store.close()
            return error
        }
    }

    @Test func `entities are united, and what led to them leads to their successors`() throws {
        try withStorePath { path in
            try Self.makeAnimals(at: path)

            let plan = try MappingModel(Self.union).migrate(storeAt: path, from: Self.animals(), to: Self.pets())

            #expect(
                plan.mappings.map(\.sourceCount) == [2, 1] && plan.mappings.map(\.name) == ["CatToPet", "DogToPet"])
            let container = try PersistentContainer(
                model: Self.pets(), stores: [PersistentStoreDescription(path: path)])
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let pets = try context.fetch(FetchRequest<ManagedObject>(entityName: "Pet"))
            #expect(Set(pets.map { "\($0[attribute: "kind"]) \($0[attribute: "name"])" }).count == 3)
            #expect(pets.map { $0[attribute: "lives"] }.contains(.integer(9)))
            // Without a value, a required attribute has its default value.
            #expect(pets.filter { $0[attribute: "name"] == .string("?") }.count == 1)
            let keeper = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Keeper")).first)
            guard case .toOne(let cat?) = try keeper.value(forKey: "cat"),
                case .toMany(let dogs) = try keeper.value(forKey: "dogs")
            else {
                Issue.record("the keeper has lost an animal")
                return
            }
            #expect(cat[attribute: "name"] == .string("Tom") && dogs.map { $0[attribute: "name"] } == [.string("Rex")])
            #expect(keeper[attribute: "name"] == .string("Ann"))
            try container.close()
        }
    }

    // MARK: Losses

    @Test func `a property that no mapping reads is refused by its name, and allowed by it`() throws {
        let without = try ManagedObjectModel(entities: [
            EntityDescription("Pet", attributes: [AttributeDescription("name", .string)]),
            EntityDescription(
                "Keeper", attributes: [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("cat", to: "Pet"), RelationshipDescription("dogs", to: "Pet", .toMany),
                ]),
        ])
        let mappings = [
            EntityMapping("Cat", to: "Pet"), EntityMapping("Dog", to: "Pet", [.copy("name", from: "call")]),
        ]

        guard case .store(.migrationRefused(_, let refusal))? = try Self.refused(mappings, to: without) else {
            Issue.record("not refused")
            return
        }

        #expect(refusal.losses == [.removal(of: "Cat.lives")])
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            let allowed = MigrationOptions(allowing: [.removal(of: "Cat.lives")], backupPath: path + ".backup")
            try MappingModel(mappings).migrate(storeAt: path, from: Self.animals(), to: without, allowed)
            let backup = try BTreeStore.openWithStoredModel(path: path + ".backup")
            #expect(backup.model.entity(named: "Cat") != nil)
            try backup.close()
        }
    }

    @Test func `objects that no mapping takes are refused with their IDs, and allowed by the name of their entity`()
        throws
    {
        var some = Self.union
        some[0].predicate = try FetchPredicate(format: "lives > 5")

        guard case .store(.migrationRefused(_, let refusal))? = try Self.refused(some) else {
            Issue.record("not refused")
            return
        }

        #expect(refusal.losses == [.removal(of: "Cat")] && refusal.failures.map(\.reason) == [.unmapped])
        #expect(refusal.failures.first?.objects.count == 1 && refusal.description.contains("no mapping takes 1 row"))
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            let allowed = MigrationOptions(allowing: [.removal(of: "Cat")])
            let plan = try MappingModel(some).migrate(storeAt: path, from: Self.animals(), to: Self.pets(), allowed)
            #expect(plan.mappings.map(\.createdCount) == [1, 1])
        }
    }

    @Test func `a value without an exact equal, a value that must be unique and a missing value refuse everything`()
        throws
    {
        var inexact = Self.union
        inexact[1].propertyMappings.append(.copy("lives", from: "call"))
        guard case .store(.migrationRefused(_, let refusal))? = try Self.refused(inexact) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.failures.map(\.subject) == ["Pet.lives"] && refusal.failures[0].objects.count == 1)

        var shared = Self.union
        shared[0].propertyMappings.append(.constant("name", .string("Tom")))
        shared[0].reading = ["name"]
        guard case .failed(_, "save", _, let error)? = try Self.refused(shared) else {
            Issue.record("not refused")
            return
        }
        guard case ContextError.constraints? = error as? ContextError else {
            Issue.record("\(error)")
            return
        }

        var missing = Self.union
        missing[1].propertyMappings.removeLast()
        guard case .failed(_, "save", _, let violations)? = try Self.refused(missing) else {
            Issue.record("not refused")
            return
        }
        #expect("\(violations)".contains("kind"))
    }

    // MARK: Rules that do not fit

    @Test func `rules that name what the models do not have are typed errors that say what there is`() throws {
        func text(_ mappings: [EntityMapping]) throws -> String { "\(try #require(try Self.refused(mappings)))" }

        #expect(try text([Self.union[0], Self.union[0]]).contains("two mappings are called CatToPet"))
        #expect(try text([EntityMapping("Cow", to: "Pet")]).contains("no entity Cow"))
        #expect(try text([EntityMapping("Cat", to: "Dog")]).contains("newer model has no entity Dog"))
        #expect(
            try text([EntityMapping("Cat", to: "Pet", [.copy("nam", from: "name")])]).contains("nam is no property"))
        #expect(try text([EntityMapping("Cat", to: "Pet", [.copy("name", from: "cat.name")])]).contains("cat is no"))
        #expect(
            try text([EntityMapping("Cat", to: "Pet", [.copy("name", from: "")])]).contains("is no property of Cat"))
        #expect(try text([EntityMapping("Cat", to: "Pet", reading: ["tail"])]).contains("tail is no property of Cat"))
        #expect(
            try text([EntityMapping("Keeper", to: "Keeper", [.made("cat", by: "Nobody")])]).contains(
                "no mapping Nobody"))
        #expect(
            try text([EntityMapping("Keeper", to: "Keeper", [.following("cat", "dogs.call")])])
                .contains("call is no property of Dog"))
        #expect(
            try text([EntityMapping("Keeper", to: "Keeper", [.following("cat", "")])])
                .contains("is no property of Keeper"))
        let other = try ManagedObjectModel(entities: [EntityDescription("Cat"), EntityDescription("Pet")])
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            let error = #expect(throws: MappingError.self) {
                try MappingModel([EntityMapping("Cat", to: "Pet")]).migrate(storeAt: path, from: other, to: other)
            }
            #expect("\(String(describing: error))".contains("another version of the model"))
        }
    }

    // MARK: Hooks

    /// Records the calls of its hooks, and fails in one of them.
    private final class Recorder: EntityMigrationPolicy {
        struct Stop: Error {}
        let calls = Mutex<[String]>([])
        let failing: String?

        init(failing: String? = nil) { self.failing = failing }

        func note(_ step: String) throws {
            calls.withLock { $0.append(step) }
            if step == failing { throw Stop() }
        }

        func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {
            try note("begin")
            #expect(session.mappingModel.entityMappingsByName[mapping.name]?.sourceEntityName == "Cat")
            #expect(session.sourceModel.entity(named: "Pet") == nil)
            #expect(session.destinationModel.entity(named: "Cat") == nil)
        }
        func createDestinationInstances(
            for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
        ) throws {
            try note("create")
            let object = try session.createDestinationInstance(for: source, mapping)
            try object.setValue(.string("\(source[attribute: "lives"])"), forKey: "kind")
        }
        func endInstanceCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws { try note("created") }
        func createRelationships(
            for destination: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
        ) throws {
            try note("relate")
            let sources = try session.sourceInstances(
                forEntityMappingNamed: mapping.name, destinations: [destination])
            let back = session.destinationInstances(forEntityMappingNamed: mapping.name, sources: sources)
            guard back.count == 1, back[0] === destination else { throw Stop() }
        }
        func endRelationshipCreation(_ mapping: EntityMapping, _ session: MigrationSession) throws {
            try note("related")
        }
        func performCustomValidation(_ mapping: EntityMapping, _ session: MigrationSession) throws {
            try note("validate")
        }
        func end(_ mapping: EntityMapping, _ session: MigrationSession) throws { try note("end") }
    }

    @Test func `hooks are called in three passes, and see both sides`() throws {
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            let recorder = Recorder()
            var mappings = Self.union
            mappings[0].policy = recorder
            mappings[0].propertyMappings = []

            try MappingModel(mappings).migrate(storeAt: path, from: Self.animals(), to: Self.pets())

            #expect(
                recorder.calls.withLock { $0 } == [
                    "begin", "create", "create", "created", "relate", "relate", "related", "validate", "end",
                ])
        }
    }

    @Test(arguments: ["begin", "create", "created", "relate", "related", "validate", "end"])
    func `a hook that fails leaves the store as it was, and the error names mapping and hook`(step: String) throws {
        var mappings = Self.union
        mappings[0].policy = Recorder(failing: step)

        guard case .failed("CatToPet", let hook, _, let error)? = try Self.refused(mappings) else {
            Issue.record("not refused")
            return
        }

        #expect(error is Recorder.Stop && !hook.isEmpty)
    }

    @Test func `a computed value and objects without a source are made by code`() throws {
        struct Founder: EntityMigrationPolicy {
            func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {
                let object = try session.destinationContext.insertNewObject(forEntityName: "Pet")
                try object.setValue(.string("Eve"), forKey: "name")
                try object.setValue(.string("first"), forKey: "kind")
                session.associate(nil, with: object, mapping)
            }
        }
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            let computed = PropertyMapping.computed("name", reading: ["call"]) { source, _ in
                .attribute(.string("\(source[attribute: "call"])!"))
            }
            let mappings = MappingModel([
                Self.union[0], EntityMapping("Dog", to: "Pet", [computed, .constant("kind", .string("dog"))]),
                EntityMapping(nil, to: "Pet", name: "founders", policy: Founder()),
            ])

            let plan = try mappings.migrate(storeAt: path, from: Self.animals(), to: Self.pets())

            #expect(plan.mappings.map(\.createdCount) == [2, 1, 1] && plan.mappings[2].sourceCount == 0)
            let store = try BTreeStore.open(path: path, model: Self.pets())
            #expect(try store.check().isOK && store.check().rowCounts["Pet"] == 4)
            try store.close()
        }
    }

    @Test func `texts of mappings and of their rules reach the hooks, also those of a description`() throws {
        final class Reader: EntityMigrationPolicy {
            let texts = Mutex<[String]>([])

            func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {
                let rules = mapping.propertyMappings.map { "\($0.name) \($0.userInfo["why"] ?? "-")" }
                texts.withLock { $0.append("\(mapping.userInfo["why"] ?? "-"): \(rules.joined(separator: ", "))") }
            }
        }
        var kind = PropertyMappingDescription("kind", .constant(.string("cat")))
        kind.userInfo = ["why": "a kind"]
        var cats = EntityMappingDescription("cats", from: "Cat", to: "Pet", [kind])
        (cats.userInfo, cats.policyClassName) = (["why": "a cat"], "Reader")
        let reader = Reader()
        var described = try MappingModel(MappingDescription([cats]), policies: ["Reader": reader])
        described.entityMappings.append(Self.union[1])
        described.entityMappings[1].policy = reader
        described.entityMappings[1].propertyMappings[0].userInfo["why"] = "in code"
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            _ = try described.migrationPlan(storeAt: path, from: Self.animals(), to: Self.pets())
        }

        let first = described.entityMappings[1].propertyMappings[0].name
        #expect(reader.texts.withLock { $0.first } == "a cat: kind a kind")
        #expect(reader.texts.withLock { $0.last }?.hasPrefix("-: \(first) in code") == true)
    }

    // MARK: Progress

    @Test(arguments: [0.0, 0.35, 0.7])
    func `a migration by mappings that is cancelled leaves the store as it was`(at limit: Double) throws {
        let holder = Mutex<MigrationProgress?>(nil)
        let progress = MigrationProgress { if $0 >= limit { holder.withLock { $0 }?.cancel() } }
        holder.withLock { $0 = progress }
        if limit == 0 { progress.cancel() }

        let error = try Self.refused(Self.union, to: nil, MigrationOptions(progress: progress))

        guard case .store(.migrationCancelled)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error?.code == 134120 && progress.fractionCompleted < 1)
        holder.withLock { $0 = nil }
    }

    @Test func `saves of the source, and calls that a running migration cannot serve, are refused`() throws {
        struct Prying: EntityMigrationPolicy {
            func end(_ mapping: EntityMapping, _ session: MigrationSession) throws {
                let cats = try session.sourceContext.fetch(FetchRequest<ManagedObject>(entityName: "Cat"))
                try cats.first?.setValue(.string("X"), forKey: "name")
                #expect(throws: ContextError.self) { try session.sourceContext.save() }
                let keeper = try session.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Keeper"))
                #expect(keeper.count == 1)
                let pet = try session.destinationContext.insertNewObject(forEntityName: "Pet")
                try pet.setValue(.string("new"), forKey: "kind")
                #expect(throws: ContextError.self) { try session.destinationContext.obtainPermanentIDs(for: [pet]) }
                let store = session.destinationContext.persistentStoreCoordinator.persistentStores[0]
                #expect(throws: StoreError.self) { try store.metadata() }
                #expect(throws: StoreError.self) { try store.setMetadata([:]) }
            }
        }
        try withStorePath { path in
            try Self.makeAnimals(at: path)
            var mappings = Self.union
            mappings[0].policy = Prying()

            let plan = try MappingModel(mappings).migrate(storeAt: path, from: Self.animals(), to: Self.pets())

            #expect(plan.outcome != nil)
            let store = try BTreeStore.open(path: path, model: Self.pets())
            #expect(try store.check().isOK && store.check().rowCounts["Pet"] == 4)
            try store.close()
        }
    }
}
