// Fetched properties as parts of a model: what is checked, coded, merged and hashed (FR-24, PR-15).

import EspalierModel
import Foundation
import Testing

@Suite struct FetchedPropertyModelTests {
    private func entities(_ properties: [FetchedPropertyDescription]) -> [EntityDescription] {
        [
            EntityDescription(
                "Person",
                attributes: [
                    AttributeDescription("name", .string), AttributeDescription("age", .integer16),
                    AttributeDescription("mood", .string, isTransient: true),
                    AttributeDescription(
                        "home", .composite, elements: [AttributeDescription("town", .string)]),
                ],
                relationships: [
                    RelationshipDescription("friends", to: "Person", inverse: "friends", .toMany),
                    RelationshipDescription("boss", to: "Person"),
                ],
                fetchedProperties: properties)
        ]
    }

    @Test(arguments: [
        "SELF == $FETCH_SOURCE", "boss != $FETCH_SOURCE", "ANY friends == $FETCH_SOURCE",
        "SELF IN $FETCH_SOURCE.friends",
        "boss IN $FETCH_SOURCE.friends.boss", "name LIKE $FETCH_SOURCE.boss.name", "name MATCHES $FETCH_SOURCE.name",
        "age BETWEEN {$FETCH_SOURCE.age, 90}", "friends.@count > $FETCH_SOURCE.friends.@count",
        "age > $FETCH_SOURCE.friends.@avg.age", "home.town == $FETCH_SOURCE.home.town",
        "ANY $FETCH_SOURCE.friends.name == name", "SUBQUERY(friends, $f, $f.name == $FETCH_SOURCE.name).@count > 0",
        "$FETCH_SOURCE.age > age + 1", "TERNARY($FETCH_SOURCE.age > 3, name, 'x') == $FETCHED_PROPERTY.name",
        "name CONTAINS[cd] $FETCHED_PROPERTY.userInfo.text", "name == $FETCHED_PROPERTY.entity.name",
        "NOT (age > 3 OR $FETCH_SOURCE.name == nil)", "objectID == $FETCH_SOURCE.objectID",
    ])
    func `a condition with the variables of fetched properties is valid`(_ format: String) throws {
        let property = FetchedPropertyDescription("p", of: "Person", predicateFormat: format, userInfo: ["text": "t"])

        let model = try ManagedObjectModel(entities: entities([property]))

        #expect(model.entity(named: "Person")?.fetchedProperty(named: "p") == property)
    }

    @Test(
        arguments: [
            ("name == $FETCH_SOURCE.nam", "did you mean 'name'?"),
            ("name == $FETCH_SOURCE.age", "found the whole number 0, expected text"),
            ("name == $FETCH_SOURCES.name", "variable $FETCH_SOURCES is not bound"),
            ("name == $OTHER", "variable $OTHER is not bound"),
            ("name == $FETCH_SOURCE.friends.name", "only IN takes a collection on the right"),
            ("name == $FETCH_SOURCE.mood", "'Person.mood' is not stored"),
            ("name == $FETCHED_PROPERTY.userInfo.mark", "the variable has name, entity.name, userInfo.text"),
            ("nam == $FETCH_SOURCE.name", "has no property 'nam'"),
            ("SUBQUERY($FETCH_SOURCE.friends, $f, $f.age > age).@count > 0", "$FETCH_SOURCE"),
            ("name ==", "expected"),
        ])
    func `a condition that cannot be true of the model is a problem of its entity and property`(
        format: String, message: String
    ) throws {
        let property = FetchedPropertyDescription("p", of: "Person", predicateFormat: format, userInfo: ["text": "t"])

        let error = try #require(throws: ModelError.self) { try ManagedObjectModel(entities: entities([property])) }

        #expect(error.problems.count == 1)
        #expect(error.description.contains("Person.p: its request is not valid: "), "\(error)")
        #expect(error.description.contains(message), "\(error)")
    }

    @Test func `names, destinations, limits and orders of fetched properties are checked`() throws {
        let properties = [
            FetchedPropertyDescription("name", of: "Person"), FetchedPropertyDescription("p", of: "Persons"),
            FetchedPropertyDescription("q", of: "Person", fetchLimit: -1),
            FetchedPropertyDescription("2", of: "Person"),
        ]

        let error = try #require(throws: ModelError.self) { try ManagedObjectModel(entities: entities(properties)) }

        let text = error.description
        #expect(text.contains("Person.name: this entity already has a property with this name"), "\(text)")
        #expect(text.contains("Person.p: fetches objects of the entity 'Persons', which does not exist; did you mean"))
        #expect(text.contains("Person.q: has the limit -1"))
        #expect(text.contains("'2' is not a name for a fetched property"))
        let unsorted = FetchedPropertyDescription("p", of: "Person", sortedBy: [.init("friends.name")])
        let order = try #require(throws: ModelError.self) { try ManagedObjectModel(entities: entities([unsorted])) }
        #expect(order.description.contains("Person.p: its request is not valid: sort key 'friends.name'"), "\(order)")
    }

    @Test func `a model with fetched properties is coded and merged whole, and its hash is that without them`() throws {
        let property = FetchedPropertyDescription(
            "p", of: "Person", predicateFormat: "name == $FETCH_SOURCE.name",
            sortedBy: [.init("age", isAscending: false), .init("name", options: .caseInsensitive)], fetchLimit: 3,
            includesSubentities: false, includesPendingChanges: false, userInfo: ["text": "t"])
        let model = try ManagedObjectModel(entities: entities([property]))
        let plain = try ManagedObjectModel(entities: entities([]))

        let decoded = try JSONDecoder().decode(ManagedObjectModel.self, from: try JSONEncoder().encode(model))

        #expect(decoded.descriptions == model.descriptions)
        #expect(try ManagedObjectModel(byMerging: [model, decoded]).descriptions == model.descriptions)
        #expect(throws: ModelError.self) { try ManagedObjectModel(byMerging: [model, plain]) }
        #expect(model.versionChecksum == plain.versionChecksum)
    }

    @Test func `whether large values may be outside is coded with a model, and no part of its hash (MD-22)`() throws {
        func model(_ isExternal: Bool) throws -> ManagedObjectModel {
            let scan = AttributeDescription("scan", .binary, allowsExternalBinaryDataStorage: isExternal)
            return try ManagedObjectModel(entities: [EntityDescription("Page", attributes: [scan])])
        }

        let decoded = try JSONDecoder().decode(ManagedObjectModel.self, from: try JSONEncoder().encode(model(true)))

        #expect(decoded.entities[0].attributes[0].description.allowsExternalBinaryDataStorage)
        #expect(try decoded.versionChecksum == model(false).versionChecksum)
    }
}
