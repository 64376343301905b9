// Attributes that an entity derives across relationships that it inherits: rows of other entities, which have the same
// relationships and may have other attributes in the same places, keep their values (MD-27).

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct InheritedDerivationTests {
    /// Houses with rooms in towns; only hotels derive something, in the places where schools keep other values.
    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Town", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("houses", to: "House", inverse: "town", .toMany)]),
            EntityDescription(
                "House", attributes: [AttributeDescription("street", .string)],
                relationships: [
                    RelationshipDescription("town", to: "Town", inverse: "houses"),
                    RelationshipDescription("rooms", to: "Room", inverse: "house", .toMany),
                ]),
            EntityDescription(
                "Hotel", superentity: "House",
                attributes: [
                    AttributeDescription("roomCount", .integer64, derivation: .count(of: "rooms")),
                    AttributeDescription("area", .integer64, derivation: .sum(of: "area", in: "rooms")),
                    // A whole number is kept by differences, another one is computed anew.
                    AttributeDescription("average", .double, derivation: .average(of: "area", in: "rooms")),
                    AttributeDescription("townName", .string, derivation: .value(of: "town.name")),
                ]),
            EntityDescription(
                "School", superentity: "House",
                attributes: [
                    AttributeDescription("pupils", .integer64), AttributeDescription("lessons", .integer64),
                    AttributeDescription("mark", .double), AttributeDescription("motto", .string),
                ]),
            EntityDescription(
                "Room", attributes: [AttributeDescription("area", .integer64)],
                relationships: [RelationshipDescription("house", to: "House", inverse: "rooms")]),
        ])
    }

    @Test(arguments: StoreKind.deriving)
    func `what an entity derives across an inherited relationship changes no row of another entity`(
        kind: StoreKind
    ) throws {
        let fixture = try StoreFixture(kind, Self.model())
        let town = try fixture.insert("Town", ["name": .string("Ulm")])
        let plain: [String: AttributeValue] = [
            "street": .string("Kirchgasse"), "pupils": .integer(300), "lessons": .integer(5), "mark": .double(1.5),
            "motto": .string("Sapere aude"),
        ]
        let hotel = try fixture.insert("Hotel", to: ["town": town])
        let school = try fixture.insert("School", plain, to: ["town": town])
        let house = try fixture.insert("House", ["street": .string("Marktgasse")], to: ["town": town])
        func expect(_ roomCount: Int64, _ area: Int64, _ townName: String, _ place: String) throws {
            #expect(try fixture.value(hotel, "roomCount") == .integer(roomCount), "\(place)")
            #expect(try fixture.value(hotel, "area") == .integer(area), "\(place)")
            let average = roomCount == 0 ? AttributeValue.null : .double(Double(area) / Double(roomCount))
            #expect(try fixture.value(hotel, "average") == average, "\(place)")
            #expect(try fixture.value(hotel, "townName") == .string(townName), "\(place)")
            for (name, value) in plain { #expect(try fixture.value(school, name) == value, "\(place): \(name)") }
            #expect(try fixture.value(house, "street") == .string("Marktgasse"), "\(place)")
        }
        try expect(0, 0, "Ulm", "houses")
        var rooms: [ObjectID] = []
        for owner in [school, hotel, house, hotel] {
            rooms.append(try fixture.insert("Room", ["area": .integer(20)], to: ["house": owner]))
        }
        try expect(2, 40, "Ulm", "rooms")
        for room in rooms { try fixture.change(room, ["area": .integer(30)]) }
        try expect(2, 60, "Ulm", "areas")
        try fixture.change(town, ["name": .string("Bonn")])
        try expect(2, 60, "Bonn", "the town")
        try fixture.change(rooms[1], to: ["house": school])
        try expect(1, 30, "Bonn", "a move")
        try fixture.delete(rooms[0], rooms[2])
        try expect(1, 30, "Bonn", "deletions")
        if let store = fixture.store as? BTreeStore { #expect(try store.check().findings.map(\.description) == []) }
        try fixture.store.close()
    }
}
