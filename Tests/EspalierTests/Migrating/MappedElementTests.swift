// Rules of mappings that copy elements of composites: their values, their losses, and paths that lead nowhere.

import Espalier
import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct MappedElementTests {
    /// People with a home: a town and a point of two numbers; each has a friend.
    private static func former() throws -> ManagedObjectModel {
        let point = AttributeDescription(
            "point", .composite,
            elements: [AttributeDescription("x", .integer32), AttributeDescription("y", .integer32)])
        let home = AttributeDescription(
            "home", .composite, elements: [AttributeDescription("town", .string), point])
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Person", attributes: [AttributeDescription("name", .string), home],
                relationships: [RelationshipDescription("friend", to: "Person")])
        ])
    }

    private static func newer() throws -> ManagedObjectModel {
        let attributes = [
            AttributeDescription("name", .string), AttributeDescription("town", .string),
            AttributeDescription("x", .integer64), AttributeDescription("friendTown", .string),
        ]
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Member", attributes: attributes, relationships: [RelationshipDescription("friend", to: "Member")])
        ])
    }

    private static func mappings(_ rules: [PropertyMapping]) -> MappingModel {
        MappingModel([EntityMapping("Person", to: "Member", rules + [PropertyMapping.following("friend", "friend")])])
    }

    /// Saves Ann, who has a home, and her friend Bob, who has none.
    private static func makeStore(at path: String) throws {
        let container = try PersistentContainer(model: former(), stores: [PersistentStoreDescription(path: path)])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let (ann, bob) = (
            try context.insertNewObject(forEntityName: "Person"), try context.insertNewObject(forEntityName: "Person")
        )
        try ann.setValue(.string("Ann"), forKey: "name")
        try bob.setValue(.string("Bob"), forKey: "name")
        let point = AttributeValue.composite(["x": .integer(3), "y": .integer(4)])
        try ann.setValue(.composite(["town": .string("Oslo"), "point": point]), forKey: "home")
        try ann.setValue(.toOne(bob), forKey: "friend")
        try bob.setValue(.toOne(ann), forKey: "friend")
        try context.save()
        try container.close()
    }

    @Test func `a rule copies an element of a composite, and the others are a loss by their paths (MG-05)`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let mappings = Self.mappings([
                .copy("town", from: "home.town"), .copy("x", from: "home.point.x"),
                .copy("friendTown", from: "friend.home.town"),
            ])
            let loss = MigrationLoss.removal(of: "Person.home.point.y")

            let plan = try mappings.migrationPlan(storeAt: path, from: Self.former(), to: Self.newer())
            try mappings.migrate(
                storeAt: path, from: Self.former(), to: Self.newer(), MigrationOptions(allowing: [loss]))

            #expect(plan.refusal?.losses == [loss])
            let container = try PersistentContainer(
                model: Self.newer(), stores: [PersistentStoreDescription(path: path, migration: .off)])
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let members = try context.fetch(FetchRequest<ManagedObject>(entityName: "Member"))
            let ann = try #require(members.first { $0[attribute: "name"] == .string("Ann") })
            let bob = try #require(members.first { $0[attribute: "name"] == .string("Bob") })
            #expect(ann[attribute: "town"] == .string("Oslo") && ann[attribute: "x"] == .integer(3))
            #expect(bob[attribute: "town"] == .null && bob[attribute: "x"] == .null)
            #expect(ann[attribute: "friendTown"] == .null && bob[attribute: "friendTown"] == .string("Oslo"))
            try container.close()
        }
    }

    @Test func `a composite of which one element alone is copied loses each other one`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let mappings = Self.mappings([.copy("x", from: "home.point.x")])

            let plan = try mappings.migrationPlan(storeAt: path, from: Self.former(), to: Self.newer())

            let losses: [MigrationLoss] = [
                .removal(of: "Person.home.point.y"), .removal(of: "Person.home.town"),
            ]
            #expect(plan.refusal.map { Set($0.losses) } == Set(losses) && plan.refusal?.losses.count == 2)
        }
    }

    @Test(arguments: ["Ann", "Bob"])
    func `an element that the mapping of its object loses, as another one keeps it, is a loss by its path (MG-05)`(
        guest: String
    ) throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let texts = [AttributeDescription("name", .string), AttributeDescription("town", .string)]
            let numbers = [AttributeDescription("x", .integer32), AttributeDescription("y", .integer32)]
            let newer = try ManagedObjectModel(entities: [
                EntityDescription("Member", attributes: texts + numbers), EntityDescription("Guest", attributes: texts),
            ])
            let town = PropertyMapping.copy("town", from: "home.town")
            let mappings = MappingModel([
                EntityMapping(
                    "Person", to: "Member", where: try FetchPredicate(format: "name != '\(guest)'"),
                    [town, .copy("x", from: "home.point.x"), .copy("y", from: "home.point.y")]),
                EntityMapping("Person", to: "Guest", where: try FetchPredicate(format: "name == '\(guest)'"), [town]),
            ])
            let allowed = MigrationOptions(
                allowing: [.removal(of: "Person.friend"), .removal(of: "Person.home.point.x")])

            let plan = try mappings.migrationPlan(storeAt: path, from: Self.former(), to: newer, allowed)

            // Bob has no home.
            let lost = guest == "Ann" ? ["Person.home.point.y"] : []
            let failures = plan.refusal?.failures ?? []
            #expect((plan.refusal?.losses ?? []) == lost.map { MigrationLoss.removal(of: $0) })
            #expect(failures.map(\.subject) == lost)
            #expect(failures.allSatisfy { $0.reason == .unread(by: ["PersonToGuest"]) && $0.rowCount == 1 })
        }
    }

    @Test func `code that reads a composite reads all of its elements`() throws {
        try withStorePath { path in
            try Self.makeStore(at: path)
            let mappings = MappingModel([
                EntityMapping(
                    "Person", to: "Member",
                    [.copy("town", from: "home.town"), .following("friend", "friend")], reading: ["home"])
            ])

            let plan = try mappings.migrationPlan(storeAt: path, from: Self.former(), to: Self.newer())

            #expect(plan.refusal == nil && plan.mappings.map(\.createdCount) == [2])
        }
    }

    @Test(arguments: [
        ("home.twon", "home.twon is no property of Person", "home.town, home.point"),
        ("home.point.z", "home.point.z is no property of Person", "home.point.x, home.point.y"),
        ("name.first", "name.first is no property of Person", "none"),
        ("hom.town", "hom is no property of Person", "friend, home"),
        ("friend.home.", "home. is no property of Person", "home.town, home.point"),
    ])
    func `a path that leads nowhere is refused with the steps that there are`(
        path: String, problem: String, known: String
    ) throws {
        try withStorePath { store in
            try Self.makeStore(at: store)
            let error = #expect(throws: MappingError.self) {
                try Self.mappings([.copy("town", from: path)]).migrate(
                    storeAt: store, from: Self.former(), to: Self.newer())
            }

            let text = "\(try #require(error))"
            #expect(text.contains(problem) && text.hasSuffix("possible are \(known)"))
        }
    }
}
