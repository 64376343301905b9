// The model of the bodies' predicates, rows and encoded models: every attribute type, inheritance, and relationships of
// all cardinalities.

import EspalierModel
import FoundationEssentials

/// The bodies' model.
enum FuzzModel {
    static let descriptions = [
        EntityDescription(
            "Named", isAbstract: true, attributes: [AttributeDescription("name", .string, isIndexed: true)]),
        EntityDescription(
            "Artist", superentity: "Named", attributes: [AttributeDescription("founded", .date)],
            relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered)]),
        EntityDescription("Band", superentity: "Artist", attributes: [AttributeDescription("size", .integer16)]),
        EntityDescription(
            "Album",
            attributes: [
                AttributeDescription("title", .string, isIndexed: true), AttributeDescription("year", .integer32),
                AttributeDescription("plays", .integer64), AttributeDescription("rating", .double),
                AttributeDescription("weight", .float), AttributeDescription("price", .decimal),
                AttributeDescription("isLive", .boolean), AttributeDescription("released", .date),
                AttributeDescription("key", .uuid), AttributeDescription("site", .uri),
                AttributeDescription("cover", .binary), AttributeDescription("draft", .string, isTransient: true),
                AttributeDescription("note", .transformable, valueTransformerName: "Notes"),
                AttributeDescription(
                    "label", .composite,
                    elements: [AttributeDescription("name", .string), AttributeDescription("code", .integer16)]),
            ],
            relationships: [
                RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                RelationshipDescription("tags", to: "Tag", inverse: "albums", .toMany, deleteRule: .cascade),
            ],
            indexes: [EntityDescription.Index("byYear", on: [.init("year", isAscending: false), .init("title")])]),
        EntityDescription(
            "Tag", attributes: [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("albums", to: "Album", inverse: "tags", .toMany)],
            uniquenessConstraints: [["name"]]),
    ]

    static let model: ManagedObjectModel = {
        do throws(ModelError) {
            return try ManagedObjectModel(entities: descriptions)
        } catch {
            preconditionFailure("the bodies' model is not valid: \(error)")
        }
    }()

    static func entity(_ name: String) -> Entity {
        guard let entity = model.entity(named: name) else { preconditionFailure("no entity \(name)") }
        return entity
    }

    /// Values of an album by attribute; all others are null.
    static let albumValues: [String: AttributeValue] = [
        "title": .string("Abbey Road (e\u{301}dition)"), "year": .integer(1969), "plays": .integer(.max),
        "rating": .double(4.75), "weight": .float(0.5), "price": .decimal(Decimal(1999) / 100),
        "isLive": .boolean(false), "released": .date(Date(timeIntervalSinceReferenceDate: -988_000_000)),
        "key": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
        "cover": .binary(Data([0, 1, 0xFF])), "note": .transformable(Data([9, 9])),
        "label": .composite(["name": .string("Apple"), "code": .integer(7)]),
    ]
}

/// An object on which predicates are evaluated.
final class FuzzObject: PredicateSubject {
    let entity: Entity
    let objectID: ObjectID
    private let values: [String: AttributeValue]
    private let links: [String: [FuzzObject]]

    init(
        _ entityName: String, key: UInt64, values: [String: AttributeValue] = [:], links: [String: [FuzzObject]] = [:]
    ) {
        entity = FuzzModel.entity(entityName)
        objectID = ObjectID(entityName: entityName, storeIdentifier: Self.store, key: key)
        (self.values, self.links) = (values, links)
    }

    private static let store = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))

    func value(at slot: Int) throws(Never) -> AttributeValue { values[entity.attributes[slot].name] ?? .null }
    func destination(at slot: Int) throws(Never) -> FuzzObject? { destinations(at: slot).first }
    func destinations(at slot: Int) throws(Never) -> [FuzzObject] { links[entity.relationships[slot].name] ?? [] }
}
