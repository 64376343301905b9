// A small store of objects for tests: two artists, three albums, two labels, and many-to-many links.

import EspalierModel
import EspalierStore
import Foundation
import Testing

/// The store and its model.
enum AlbumStore {
    /// Artists have albums; albums and labels have a many-to-many relationship.
    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Artist", attributes: [AttributeDescription("name", .string, isOptional: false, isIndexed: true)],
                relationships: [
                    RelationshipDescription("albums", to: "Album", inverse: "artist", .toMany, deleteRule: .cascade)
                ], uniquenessConstraints: [["name"]]),
            EntityDescription(
                "Album",
                attributes: [
                    AttributeDescription("title", .string), AttributeDescription("year", .integer16),
                    AttributeDescription("price", .decimal), AttributeDescription("released", .date),
                ],
                relationships: [
                    RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                    RelationshipDescription("labels", to: "Label", inverse: "albums", .toMany),
                ]),
            EntityDescription(
                "Label", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "labels", .toMany)]),
        ])
    }

    /// Makes the store in a file and closes it.
    static func make(at path: String) throws {
        let store = try BTreeStore.open(path: path, model: model())
        try fill(store)
        try store.close()
    }

    /// Inserts the rows into an empty store with this model.
    static func fill(_ store: any PersistentStore) throws {
        let artists = try ids(of: "Artist", 2, in: store)
        let albums = try ids(of: "Album", 3, in: store)
        let labels = try ids(of: "Label", 2, in: store)
        let price = try #require(Decimal(string: "9.90"))
        let rows: [([AttributeValue], ObjectID?)] = [
            (
                [.string("Pastel Blues"), .integer(1965), .decimal(price), .date(Date(timeIntervalSince1970: 0))],
                artists[0]
            ),
            ([.string("Homogenic"), .integer(1997), .null, .null], artists[1]),
            ([.string("A\nB"), .null, .null, .null], nil),
        ]
        var request = SaveRequest()
        for (id, name) in zip(artists, ["Nina Simone", "Björk"]) {
            request.insertions.append(.init(id: id, values: [.string(name)], destinations: [nil]))
        }
        for (id, row) in zip(albums, rows) {
            request.insertions.append(.init(id: id, values: row.0, destinations: [row.1, nil]))
        }
        for (id, name) in zip(labels, ["Philips", "One Little Indian"]) {
            request.insertions.append(.init(id: id, values: [.string(name)], destinations: [nil]))
        }
        request.links = [.init(owner: albums[1], slot: 1, added: [labels[0], labels[1]])]
        _ = try store.save(request)
    }

    private static func ids(of entity: String, _ count: Int, in store: any PersistentStore) throws -> [ObjectID] {
        try store.reserveIDs(for: try #require(store.model.entity(named: entity)), count: count)
    }
}
