// Several objects that become one: by a policy of one mapping, or of two, with all that they lead to and that led to
// them.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct AssociationTests {
    /// Cats and dogs with toys and a house, and keepers with pets; cats and dogs are one entity in the newer version.
    private static func model(isNew: Bool) throws -> ManagedObjectModel {
        func animal(_ name: String) -> EntityDescription {
            EntityDescription(
                name, attributes: [AttributeDescription("name", .string)],
                relationships: [
                    RelationshipDescription("toys", to: "Toy", .ordered), RelationshipDescription("house", to: "House"),
                ])
        }
        let (cat, dog) = isNew ? ("Pet", "Pet") : ("Cat", "Dog")
        let animals = isNew ? [animal("Pet")] : [animal("Cat"), animal("Dog")]
        return try ManagedObjectModel(
            entities: animals + [
                EntityDescription("Toy", attributes: [AttributeDescription("name", .string)]),
                EntityDescription("House", attributes: [AttributeDescription("name", .string)]),
                EntityDescription(
                    "Keeper", attributes: [AttributeDescription("name", .string)],
                    relationships: [
                        RelationshipDescription("cats", to: cat, .toMany), RelationshipDescription("first", to: cat),
                        RelationshipDescription("second", to: cat), RelationshipDescription("dog", to: dog),
                    ]),
            ])
    }

    private static func insert(
        _ entity: String, _ name: String, _ context: ManagedObjectContext
    ) throws -> ManagedObject {
        let object = try context.insertNewObject(forEntityName: entity)
        try object.setValue(.string(name), forKey: "name")
        return object
    }

    /// Two cats and a dog that are called Tom, with a toy each, and a keeper of all.
    private static func makeStore(at path: String, housesOfCats: [String]) throws {
        let container = try PersistentContainer(
            model: model(isNew: false), stores: [PersistentStoreDescription(path: path)])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        var houses: [String: ManagedObject] = [:]
        for name in Set(housesOfCats) { houses[name] = try insert("House", name, context) }
        let cats = try (1...2).map { number in
            let cat = try insert("Cat", "Tom", context)
            try cat.setValue(.toMany([try insert("Toy", "of cat \(number)", context)]), forKey: "toys")
            try cat.setValue(.toOne(houses[housesOfCats[number - 1]]), forKey: "house")
            // The rows of cats have ascending keys in this order.
            try context.save()
            return cat
        }
        let dog = try insert("Dog", "Tom", context)
        try dog.setValue(.toMany([try insert("Toy", "of the dog", context)]), forKey: "toys")
        let keeper = try insert("Keeper", "Ann", context)
        try keeper.setValue(.toMany(cats), forKey: "cats")
        try keeper.setValue(.toOne(cats[0]), forKey: "first")
        try keeper.setValue(.toOne(cats[1]), forKey: "second")
        try keeper.setValue(.toOne(dog), forKey: "dog")
        try context.save()
        try container.close()
    }

    /// Makes one pet of all animals with one name; at the end of its mapping it has as many sources as are expected.
    private struct Uniting: EntityMigrationPolicy {
        let sourceCount: Int

        func createDestinationInstances(
            for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
        ) throws {
            let name = "\(source[attribute: "name"])"
            if let pet = session.userInfo[name] as? ManagedObject {
                // Once and again: a pair counts once.
                for _ in 0..<2 { session.associate(source, with: pet, mapping) }
            } else {
                session.userInfo[name] = try session.createDestinationInstance(for: source, mapping)
            }
        }

        func end(_ mapping: EntityMapping, _ session: MigrationSession) throws {
            let pets = session.userInfo.values.compactMap { $0 as? ManagedObject }
            let sources = try session.sourceInstances(forEntityMappingNamed: mapping.name, destinations: pets)
            #expect(sources.count == sourceCount && Set(sources.map(\.objectID)).count == sourceCount)
            for source in sources {
                let found = session.destinationInstances(forEntityMappingNamed: mapping.name, sources: [source])
                #expect(found.count == 1 && found.first === pets.first)
            }
        }
    }

    private static func mappings(unitesDogs: Bool) -> MappingModel {
        MappingModel([
            EntityMapping("Cat", to: "Pet", policy: Uniting(sourceCount: 2)),
            EntityMapping("Dog", to: "Pet", policy: unitesDogs ? Uniting(sourceCount: 1) : PlainMigrationPolicy()),
        ])
    }

    private static func names(_ object: ManagedObject, _ relationship: String) throws -> [AttributeValue] {
        switch try object.value(forKey: relationship) {
        case .toOne(let target): target.map { [$0[attribute: "name"]] } ?? []
        case .toMany(let targets): targets.map { $0[attribute: "name"] }
        case .attribute: []
        }
    }

    @Test(arguments: [false, true])
    func `objects that join one lead where each of them led, and what led to any of them leads to it (MG-10)`(
        unitesDogs: Bool
    ) throws {
        try withStorePath { path in
            try Self.makeStore(at: path, housesOfCats: ["red", "red"])

            let plan = try Self.mappings(unitesDogs: unitesDogs).migrate(
                storeAt: path, from: Self.model(isNew: false), to: Self.model(isNew: true))

            #expect(plan.mappings.map(\.sourceCount) == [2, 1])
            #expect(plan.mappings.map(\.createdCount) == [1, unitesDogs ? 0 : 1])
            let container = try PersistentContainer(
                model: Self.model(isNew: true), stores: [PersistentStoreDescription(path: path, migration: .off)])
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let keeper = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Keeper")).first)
            guard case .toMany(let cats) = try keeper.value(forKey: "cats"), let tom = cats.first else {
                Issue.record("the keeper has lost the cats")
                return
            }
            #expect(cats.count == 1)
            for name in ["first", "second"] { #expect(try keeper.value(forKey: name) == .toOne(tom)) }
            guard case .toOne(let dog?) = try keeper.value(forKey: "dog") else {
                Issue.record("the keeper has lost the dog")
                return
            }
            #expect((dog === tom) == unitesDogs)
            let ofDog: [AttributeValue] = [.string("of the dog")]
            let ofCats: [AttributeValue] = [.string("of cat 1"), .string("of cat 2")]
            #expect(try Self.names(tom, "toys") == ofCats + (unitesDogs ? ofDog : []))
            if !unitesDogs { #expect(try Self.names(dog, "toys") == ofDog) }
            #expect(try Self.names(tom, "house") == [.string("red")])
            #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Pet")) == (unitesDogs ? 1 : 2))
            try container.close()
        }
    }

    @Test func `objects that join one and lead to different ones, where it leads to one, are an error by name (MG-10)`()
        throws
    {
        try withStorePath { path in
            try Self.makeStore(at: path, housesOfCats: ["red", "blue"])

            let error = #expect(throws: MappingError.self) {
                try Self.mappings(unitesDogs: true).migrate(
                    storeAt: path, from: Self.model(isNew: false), to: Self.model(isNew: true))
            }

            guard case .severalDestinations(mapping: "CatToPet", property: "house", source: let source)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(source.entityName == "Cat")
            let store = try BTreeStore.open(path: path, model: Self.model(isNew: false), migration: .off)
            #expect(try store.check().isOK && store.check().rowCounts["Cat"] == 2)
            try store.close()
        }
    }

    @Test func `a source that joins an object made without one is its first, and many of them are all found`() throws {
        struct Founding: EntityMigrationPolicy {
            func begin(_ mapping: EntityMapping, _ session: MigrationSession) throws {
                let pet = try AssociationTests.insert("Pet", "all", session.destinationContext)
                session.associate(nil, with: pet, mapping)
                session.userInfo["all"] = pet
            }

            func createDestinationInstances(
                for source: ManagedObject, _ mapping: EntityMapping, _ session: MigrationSession
            ) throws {
                guard let pet = session.userInfo["all"] as? ManagedObject else { return }
                session.associate(source, with: pet, mapping)
            }
        }
        try withStorePath { path in
            let (former, newer) = (try Self.model(isNew: false), try Self.model(isNew: true))
            let store = try PersistentContainer(model: former, stores: [PersistentStoreDescription(path: path)])
            let context = ManagedObjectContext(store.persistentStoreCoordinator)
            for number in 0..<20 {
                let cat = try Self.insert("Cat", "cat \(number)", context)
                let toys = try (0..<(number % 3)).map { try Self.insert("Toy", "\(number) \($0)", context) }
                try cat.setValue(.toMany(toys), forKey: "toys")
            }
            try context.save()
            try store.close()
            let mappings = MappingModel([
                EntityMapping("Cat", to: "Pet", policy: Founding()), EntityMapping("Dog", to: "Pet"),
            ])

            let plan = try mappings.migrate(storeAt: path, from: former, to: newer)

            #expect(plan.mappings.map(\.createdCount) == [1, 0] && plan.mappings.map(\.sourceCount) == [20, 0])
            let container = try PersistentContainer(
                model: newer, stores: [PersistentStoreDescription(path: path, migration: .off)])
            let reader = ManagedObjectContext(container.persistentStoreCoordinator)
            let pet = try #require(try reader.fetch(FetchRequest<ManagedObject>(entityName: "Pet")).first)
            let expected = (0..<20).flatMap { number in
                (0..<(number % 3)).map { AttributeValue.string("\(number) \($0)") }
            }
            #expect(try Self.names(pet, "toys").count == expected.count)
            #expect(try Set(Self.names(pet, "toys").map { "\($0)" }) == Set(expected.map { "\($0)" }))
            try container.close()
        }
    }
}
