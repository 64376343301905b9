// The model and the objects that the predicate tests use: a small music library in memory.

import EspalierModel
import Foundation
import Testing

/// The model and the objects of the predicate tests.
struct MusicLibrary {
    static let descriptions: [EntityDescription] = [
        EntityDescription(
            "Named", isAbstract: true, attributes: [AttributeDescription("name", .string, isOptional: false)]),
        EntityDescription(
            "Artist", superentity: "Named",
            attributes: [AttributeDescription("country", .string), AttributeDescription("founded", .date)],
            relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .ordered)]),
        EntityDescription(
            "Band", superentity: "Artist", attributes: [AttributeDescription("memberCount", .integer16)]),
        EntityDescription(
            "Album",
            attributes: [
                AttributeDescription("title", .string, isIndexed: true), AttributeDescription("year", .integer32),
                AttributeDescription("rating", .double), AttributeDescription("weight", .float),
                AttributeDescription("price", .decimal), AttributeDescription("isLive", .boolean),
                AttributeDescription("released", .date), AttributeDescription("key", .uuid),
                AttributeDescription("site", .uri), AttributeDescription("cover", .binary),
                AttributeDescription("note", .transformable), AttributeDescription("draft", .string, isTransient: true),
                AttributeDescription(
                    "label", .composite,
                    elements: [
                        AttributeDescription("name", .string), AttributeDescription("code", .integer16),
                    ]),
            ],
            relationships: [
                RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                RelationshipDescription("tracks", to: "Track", inverse: "album", .toMany, deleteRule: .cascade),
            ]),
        EntityDescription(
            "Track",
            attributes: [AttributeDescription("name", .string), AttributeDescription("milliseconds", .integer64)],
            relationships: [
                RelationshipDescription("album", to: "Album", inverse: "tracks"),
                RelationshipDescription("playlists", to: "Playlist", inverse: "tracks", .toMany),
            ]),
        EntityDescription(
            "Playlist", attributes: [AttributeDescription("name", .string)],
            relationships: [RelationshipDescription("tracks", to: "Track", inverse: "playlists", .toMany)]),
    ]

    let model: ManagedObjectModel
    let store = UUID()

    init() throws { model = try ManagedObjectModel(entities: MusicLibrary.descriptions) }

    /// An object of `entity` with these values; attributes that are not named are null.
    func object(_ entity: String, _ values: [String: AttributeValue] = [:], key: UInt64 = 1) throws -> TableObject {
        let entity = try #require(model.entity(named: entity))
        return TableObject(
            entity: entity, objectID: ObjectID(entityName: entity.name, storeIdentifier: store, key: key),
            values: values)
    }

    /// Whether `format` holds for `object`, resolved for `entity` or else for the object's own entity.
    func holds(
        _ format: String, _ arguments: (any PredicateArgument)?..., on object: TableObject, entity: String? = nil
    ) throws -> Bool {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        let entity = try entity.map { try #require(model.entity(named: $0)) } ?? object.entity
        return try ResolvedPredicate(predicate, for: entity, in: model).evaluate(on: object)
    }

    /// The error of resolving `format` for `entity`; `nil` if it fits.
    func problem(_ format: String, _ arguments: (any PredicateArgument)?..., for entity: String) throws
        -> FetchPredicateError?
    {
        let entity = try #require(model.entity(named: entity))
        do {
            let predicate = try FetchPredicate(format: format, argumentArray: arguments)
            _ = try ResolvedPredicate(predicate, for: entity, in: model)
            return nil
        } catch {
            return error
        }
    }
}

/// An object whose properties are in dictionaries.
final class TableObject: PredicateSubject {
    let entity: Entity
    let objectID: ObjectID
    var values: [String: AttributeValue]
    var links: [String: [TableObject]] = [:]

    init(entity: Entity, objectID: ObjectID, values: [String: AttributeValue]) {
        (self.entity, self.objectID, self.values) = (entity, objectID, values)
    }

    func value(at slot: Int) throws(Never) -> AttributeValue { values[entity.attributes[slot].name] ?? .null }

    func destination(at slot: Int) throws(Never) -> TableObject? { links[entity.relationships[slot].name]?.first }

    func destinations(at slot: Int) throws(Never) -> [TableObject] { links[entity.relationships[slot].name] ?? [] }
}
