// A small world of plain values, its store with the older model, and the content of a store as plain values again.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport

/// One object as plain values; `serial` identifies it.
struct PlainObject: Equatable {
    var entity: String
    var values: [String: AttributeValue] = [:]
    /// The serials of the destinations, ascending unless the relationship is ordered.
    var links: [String: [Int64]] = [:]
}

/// Objects by serial.
typealias PlainWorld = [Int64: PlainObject]

enum MappingWorld {
    /// People with a city, who are friends of one another and belong to clubs; clubs have a head and a ranking.
    static func former() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Person",
                attributes: [
                    AttributeDescription("serial", .integer64, isIndexed: true),
                    AttributeDescription("pay", .integer32),
                    AttributeDescription("city", .string), AttributeDescription("名", .string),
                ],
                relationships: [
                    RelationshipDescription("club", to: "Club", inverse: "members"),
                    RelationshipDescription("friends", to: "Person", inverse: "admirers", .toMany),
                    RelationshipDescription("admirers", to: "Person", inverse: "friends", .toMany),
                ]),
            EntityDescription(
                "Club",
                attributes: [AttributeDescription("serial", .integer64), AttributeDescription("fee", .integer32)],
                relationships: [
                    RelationshipDescription("members", to: "Person", inverse: "club", .toMany),
                    RelationshipDescription("head", to: "Person"),
                    RelationshipDescription("ranking", to: "Person", .ordered),
                ]),
        ])
    }

    /// The people are staff or guests now, each with a home of their own; clubs have their fee as text.
    static func newer() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Human", isAbstract: true,
                attributes: [
                    AttributeDescription("serial", .integer64, isIndexed: true), AttributeDescription("name", .string),
                ],
                relationships: [
                    RelationshipDescription("club", to: "Club", inverse: "members"),
                    RelationshipDescription("friends", to: "Human", inverse: "admirers", .toMany),
                    RelationshipDescription("admirers", to: "Human", inverse: "friends", .toMany),
                    RelationshipDescription("home", to: "Home", inverse: "owner"),
                ]),
            EntityDescription(
                "Staff", superentity: "Human",
                attributes: [AttributeDescription("pay", .integer64, isOptional: false, isIndexed: true)]),
            EntityDescription("Guest", superentity: "Human"),
            EntityDescription(
                "Home", attributes: [AttributeDescription("city", .string, isIndexed: true)],
                relationships: [RelationshipDescription("owner", to: "Human", inverse: "home", isOptional: false)]),
            EntityDescription(
                "Club",
                attributes: [
                    AttributeDescription("serial", .integer64), AttributeDescription("fee", .string),
                    AttributeDescription("motto", .string, isOptional: false, defaultValue: .string("per aspera")),
                ],
                relationships: [
                    RelationshipDescription("members", to: "Human", inverse: "club", .toMany),
                    RelationshipDescription("head", to: "Human"),
                    RelationshipDescription("ranking", to: "Human", .ordered),
                ]),
        ])
    }

    /// Splits people by their pay, and their cities off.
    static func mappings() throws -> MappingModel {
        MappingModel([
            EntityMapping(
                "Person", to: "Staff", where: try FetchPredicate(format: "pay > 0"),
                [.copy("name", from: "名"), .made("home", by: "Homes of staff")]),
            // Guests have no pay: the mapping takes it into account by its condition.
            EntityMapping(
                "Person", to: "Guest", where: try FetchPredicate(format: "pay <= 0 OR pay == nil"),
                [.copy("name", from: "名"), .made("home", by: "Homes of guests")], reading: ["pay"]),
            EntityMapping(
                "Person", to: "Home", where: try FetchPredicate(format: "pay > 0 AND city != nil"),
                [.made("owner", by: "PersonToStaff")], name: "Homes of staff"),
            EntityMapping(
                "Person", to: "Home", where: try FetchPredicate(format: "(pay <= 0 OR pay == nil) AND city != nil"),
                [.made("owner", by: "PersonToGuest")], name: "Homes of guests"),
        ])
    }

    /// A world with `people` people.
    static func random(people: Int, _ random: inout SeededGenerator) -> PlainWorld {
        var world: PlainWorld = [:]
        let serials = (0..<Int64(people)).map { 100 + $0 }
        let clubs = (0..<Int64(people == 0 ? 1 : 3)).map { 10 + $0 }
        let texts = ["", "Größe", "大きさ", "🎻 Ά", String(repeating: "ß", count: 5000)]
        for serial in serials {
            var person = PlainObject(entity: "Person")
            let pays: [AttributeValue] = [.null, .integer(0), .integer(-1), .integer(1), .integer(70_000)]
            person.values["pay"] = pays.randomElement(using: &random)
            person.values["city"] =
                Bool.random(using: &random) ? .null : .string(texts.randomElement(using: &random) ?? "")
            person.values["名"] = .string("\(texts.randomElement(using: &random) ?? "")\(serial)")
            person.links["club"] = Bool.random(using: &random) ? [] : [clubs.randomElement(using: &random) ?? 10]
            let friends = serials.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
            person.links["friends"] = friends.sorted()
            world[serial] = person
        }
        for serial in clubs {
            var club = PlainObject(entity: "Club", values: ["fee": .integer(serial * 7)])
            let some = serials.shuffled(using: &random)
            club.links["head"] = Array(some.prefix(Int.random(in: 0...1, using: &random)))
            club.links["ranking"] = Array(some.prefix(Int.random(in: 0...4, using: &random)))
            world[serial] = club
        }
        return world
    }

    /// Saves a world in a new store.
    static func save(_ world: PlainWorld, at path: String) throws {
        let container = try PersistentContainer(
            model: former(), stores: [PersistentStoreDescription(path: path)])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        var objects: [Int64: ManagedObject] = [:]
        for (serial, plain) in world.sorted(by: { $0.key < $1.key }) {
            let object = try context.insertNewObject(forEntityName: plain.entity)
            try object.setValue(.integer(serial), forKey: "serial")
            for (name, value) in plain.values { try object.setValue(value, forKey: name) }
            objects[serial] = object
        }
        for (serial, plain) in world {
            for (name, targets) in plain.links {
                let found = targets.compactMap { objects[$0] }
                let isToMany = objects[serial]?.entity.relationship(named: name)?.isToMany == true
                try objects[serial]?.setValue(isToMany ? .toMany(found) : .toOne(found.first), forKey: name)
            }
        }
        try context.save()
        try container.close()
    }

    /// The content of a store with the newer model, without homes; the city of a home is its owner's.
    static func read(at path: String) throws -> PlainWorld {
        let container = try PersistentContainer(model: newer(), stores: [PersistentStoreDescription(path: path)])
        defer { try? container.close() }
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        var world: PlainWorld = [:]
        for name in ["Human", "Club"] {
            for object in try context.fetch(FetchRequest<ManagedObject>(entityName: name)) {
                var plain = PlainObject(entity: object.entity.name)
                for attribute in object.entity.attributes {
                    plain.values[attribute.name] = object[attribute: attribute.name]
                }
                for relationship in object.entity.relationships where relationship.name != "home" {
                    let serials = try targets(of: object, relationship.name).map(serial)
                    plain.links[relationship.name] = relationship.isOrdered ? serials : serials.sorted()
                }
                if name == "Human" {
                    plain.values["city"] = try targets(of: object, "home").first?[attribute: "city"] ?? .null
                }
                plain.values["serial"] = nil
                world[serial(object)] = plain
            }
        }
        return world
    }

    private static func targets(of object: ManagedObject, _ name: String) throws -> [ManagedObject] {
        switch try object.value(forKey: name) {
        case .toOne(let target): target.map { [$0] } ?? []
        case .toMany(let targets): targets
        case .attribute: []
        }
    }

    private static func serial(_ object: ManagedObject) -> Int64 {
        if case .integer(let serial) = object[attribute: "serial"] { serial } else { -1 }
    }

    /// The values that `read` must return after the migration of a world: the change applied to plain values.
    static func expected(_ world: PlainWorld) -> PlainWorld {
        var result: PlainWorld = [:]
        for (serial, plain) in world {
            var changed = plain
            if plain.entity == "Club" {
                if case .integer(let fee)? = plain.values["fee"] { changed.values["fee"] = .string("\(fee)") }
                changed.values["motto"] = .string("per aspera")
                changed.links["members"] = world.filter { $0.value.links["club"] == [serial] }.keys.sorted()
            } else {
                let isPaid = if case .integer(let pay)? = plain.values["pay"] { pay > 0 } else { false }
                changed.entity = isPaid ? "Staff" : "Guest"
                if !isPaid { changed.values["pay"] = nil }
                changed.values["name"] = changed.values.removeValue(forKey: "名")
                changed.links["admirers"] =
                    world.filter { $0.value.links["friends"]?.contains(serial) == true }.keys.sorted()
            }
            result[serial] = changed
        }
        return result
    }
}
