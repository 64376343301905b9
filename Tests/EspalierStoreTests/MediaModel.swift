// The model of the store tests: every kind of relationship, inheritance, indexes, constraints, every attribute type.

import EspalierModel

enum MediaModel {
    /// A new model; two calls return equal models.
    static func make() throws -> ManagedObjectModel { try ManagedObjectModel(entities: entities) }

    static var entities: [EntityDescription] { [media, song, book, album, person, tag, playlist, note, sample] }

    static let media = EntityDescription(
        "Media", isAbstract: true,
        attributes: [
            AttributeDescription("title", .string, isIndexed: true), AttributeDescription("length", .integer32),
            AttributeDescription("rating", .double, isIndexed: true), AttributeDescription("added", .date),
            AttributeDescription("shown", .string, isTransient: true),
        ],
        relationships: [
            RelationshipDescription("owner", to: "Person", inverse: "media"),
            RelationshipDescription("tags", to: "Tag", inverse: "media", .toMany),
        ],
        indexes: [.init("byLengthAndTitle", on: [.init("length"), .init("title", isAscending: false)])])

    static let song = EntityDescription(
        "Song", superentity: "Media",
        attributes: [
            AttributeDescription("bitrate", .integer16, isIndexed: true), AttributeDescription("lossless", .boolean),
        ],
        relationships: [
            RelationshipDescription("album", to: "Album", inverse: "songs"),
            RelationshipDescription("playlists", to: "Playlist", inverse: "songs", .ordered),
        ])

    static let book = EntityDescription(
        "Book", superentity: "Media",
        attributes: [AttributeDescription("isbn", .string), AttributeDescription("pages", .integer64)],
        uniquenessConstraints: [["isbn"]])

    static let album = EntityDescription(
        "Album",
        attributes: [AttributeDescription("name", .string, isIndexed: true), AttributeDescription("year", .integer16)],
        relationships: [
            RelationshipDescription("artist", to: "Person", inverse: "albums"),
            RelationshipDescription("songs", to: "Song", inverse: "album", .ordered),
        ],
        uniquenessConstraints: [["name", "artist"]],
        indexes: [.init("byYear", on: [.init("year", isAscending: false)])])

    static let person = EntityDescription(
        "Person", attributes: [AttributeDescription("name", .string), AttributeDescription("born", .integer16)],
        relationships: [
            RelationshipDescription("media", to: "Media", inverse: "owner", .toMany),
            RelationshipDescription("albums", to: "Album", inverse: "artist", .toMany),
            RelationshipDescription("friends", to: "Person", inverse: "friends", .toMany),
            RelationshipDescription("favourites", to: "Media", .ordered),
            RelationshipDescription("watched", to: "Media", .toMany),
            RelationshipDescription("note", to: "Note"),
        ],
        uniquenessConstraints: [["name"]])

    static let tag = EntityDescription(
        "Tag", attributes: [AttributeDescription("label", .string, isIndexed: true)],
        relationships: [RelationshipDescription("media", to: "Media", inverse: "tags", .toMany)])

    static let playlist = EntityDescription(
        "Playlist", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("songs", to: "Song", inverse: "playlists", .ordered)])

    static let note = EntityDescription("Note", attributes: [AttributeDescription("text", .string)])

    static let sample = EntityDescription(
        "Sample",
        attributes: [
            AttributeDescription("integer16", .integer16), AttributeDescription("integer32", .integer32),
            AttributeDescription("integer64", .integer64, isIndexed: true),
            AttributeDescription("decimal", .decimal, isIndexed: true),
            AttributeDescription("double", .double), AttributeDescription("float", .float, isIndexed: true),
            AttributeDescription("string", .string), AttributeDescription("boolean", .boolean),
            AttributeDescription("date", .date, isIndexed: true), AttributeDescription("binary", .binary),
            AttributeDescription("uuid", .uuid, isIndexed: true), AttributeDescription("uri", .uri, isIndexed: true),
            AttributeDescription("transformable", .transformable, valueTransformerName: "Colours"),
            AttributeDescription(
                "composite", .composite,
                elements: [AttributeDescription("x", .double), AttributeDescription("label", .string)]),
        ])
}
