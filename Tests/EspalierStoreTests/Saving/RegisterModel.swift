// A model for constraints: none, one and several of them, over one and two properties, in a hierarchy, on entities with
// every kind of relationship.

import EspalierModel

enum RegisterModel {
    /// A new model.
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [party, company, city, street, badge, club, item])
    }

    static let party = EntityDescription(
        "Party",
        attributes: [
            AttributeDescription("name", .string), AttributeDescription("code", .integer64),
            AttributeDescription("note", .string), AttributeDescription("rank", .integer16, defaultValue: .integer(3)),
            AttributeDescription("shown", .string, isTransient: true),
        ],
        relationships: [
            RelationshipDescription("city", to: "City", inverse: "parties"),
            RelationshipDescription("badge", to: "Badge", inverse: "bearer"),
            RelationshipDescription("boss", to: "Party"),
            RelationshipDescription("clubs", to: "Club", inverse: "members", .toMany),
            RelationshipDescription("items", to: "Item", inverse: "owner", .ordered),
            RelationshipDescription("marks", to: "City", .ordered),
        ],
        uniquenessConstraints: [["name"], ["code"]])

    static let company = EntityDescription(
        "Company", superentity: "Party", attributes: [AttributeDescription("tax", .string)])

    static let city = EntityDescription(
        "City", attributes: [AttributeDescription("name", .string), AttributeDescription("size", .integer64)],
        relationships: [
            RelationshipDescription("parties", to: "Party", inverse: "city", .toMany),
            RelationshipDescription("streets", to: "Street", inverse: "city", .toMany, deleteRule: .cascade),
        ],
        uniquenessConstraints: [["name"]])

    static let street = EntityDescription(
        "Street", attributes: [AttributeDescription("name", .string), AttributeDescription("houses", .integer64)],
        relationships: [RelationshipDescription("city", to: "City", inverse: "streets")],
        uniquenessConstraints: [["city", "name"]])

    static let badge = EntityDescription(
        "Badge", attributes: [AttributeDescription("number", .integer64)],
        relationships: [RelationshipDescription("bearer", to: "Party", inverse: "badge")])

    static let club = EntityDescription(
        "Club", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("members", to: "Party", inverse: "clubs", .ordered)])

    static let item = EntityDescription(
        "Item", attributes: [AttributeDescription("text", .string)],
        relationships: [RelationshipDescription("owner", to: "Party", inverse: "items")])
}
