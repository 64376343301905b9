// The store whose derived trees the body "derived" damages: each kind of list, index and constraint, and few rows.

import EspalierEngine
import EspalierModel
import EspalierStore
import TestSupport

/// The file of a sound store.
enum DerivedFixture {
    static let path = "store"

    static let model: ManagedObjectModel = {
        do throws(ModelError) {
            return try ManagedObjectModel(entities: [
                EntityDescription(
                    "Work", isAbstract: true, attributes: [AttributeDescription("title", .string, isIndexed: true)],
                    relationships: [
                        RelationshipDescription("owner", to: "Person", inverse: "works"),
                        RelationshipDescription("tags", to: "Tag", inverse: "works", .toMany),
                    ]),
                EntityDescription(
                    "Song", superentity: "Work", attributes: [AttributeDescription("year", .integer16)],
                    relationships: [
                        RelationshipDescription("album", to: "Album", inverse: "songs"),
                        RelationshipDescription("lists", to: "Playlist", inverse: "songs", .ordered),
                    ], indexes: [.init("byYear", on: [.init("year", isAscending: false), .init("title")])]),
                EntityDescription(
                    "Album", superentity: "Work",
                    relationships: [RelationshipDescription("songs", to: "Song", inverse: "album", .ordered)]),
                EntityDescription(
                    "Person", attributes: [AttributeDescription("name", .string)],
                    relationships: [
                        RelationshipDescription("works", to: "Work", inverse: "owner", .toMany),
                        RelationshipDescription("friends", to: "Person", inverse: "friends", .toMany),
                        RelationshipDescription("favourites", to: "Work", .ordered),
                        RelationshipDescription("seen", to: "Work", .toMany),
                        RelationshipDescription("best", to: "Work"),
                    ], uniquenessConstraints: [["name"]]),
                EntityDescription(
                    "Tag", attributes: [AttributeDescription("label", .string)],
                    relationships: [RelationshipDescription("works", to: "Work", inverse: "tags", .toMany)]),
                EntityDescription(
                    "Playlist",
                    relationships: [RelationshipDescription("songs", to: "Song", inverse: "lists", .ordered)]),
            ])
        } catch {
            preconditionFailure("the model of the body is not valid: \(error)")
        }
    }()

    static let file: [UInt8] = {
        do {
            let system = SimulatedFileSystem(seed: 21)
            var options = DatabaseOptions.small
            options.applicationID = BTreeStore.applicationID
            let database = try Database.open(path, in: system, options: options)
            let store = try BTreeStore.open(database, path: nil, model: model)
            try fill(store)
            try store.close()
            return system.contents(of: path) ?? []
        } catch {
            preconditionFailure("the store of the body cannot be made: \(error)")
        }
    }()

    private static func fill(_ store: BTreeStore) throws {
        func entity(_ name: String) throws -> Entity {
            guard let entity = model.entity(named: name) else { throw StorageError.argument(.noEntry) }
            return entity
        }
        func ids(_ name: String, _ count: Int) throws -> [ObjectID] {
            try store.reserveIDs(for: entity(name), count: count)
        }
        var request = SaveRequest()
        func insert(_ id: ObjectID, _ values: [String: AttributeValue], _ to: [String: ObjectID] = [:]) throws {
            let entity = try entity(id.entityName)
            request.insertions.append(
                .init(
                    id: id, values: entity.attributes.map { values[$0.name] ?? .null },
                    destinations: entity.relationships.map { to[$0.name] }))
        }
        func link(_ owner: ObjectID, _ name: String, _ added: [ObjectID]) throws {
            guard let slot = try entity(owner.entityName).relationship(named: name)?.slot else { return }
            request.links.append(.init(owner: owner, slot: slot, added: added))
        }
        let (people, albums, songs) = (try ids("Person", 4), try ids("Album", 2), try ids("Song", 6))
        let (tags, lists) = (try ids("Tag", 3), try ids("Playlist", 2))
        for (number, id) in people.enumerated() {
            let name: AttributeValue = number == 3 ? .null : .string("Person \(number)")
            try insert(id, ["name": name], number == 0 ? ["best": albums[0]] : [:])
        }
        // One title is longer than an index entry can hold.
        for (number, id) in albums.enumerated() {
            let title = number == 0 ? "Album" : String(repeating: "long ", count: 130)
            try insert(id, ["title": .string(title)], ["owner": people[number]])
        }
        for (number, id) in songs.enumerated() {
            try insert(
                id, ["title": .string("Song \(number % 4)"), "year": .integer(Int64(1990 + number % 2))],
                number == 5 ? [:] : ["album": albums[number % 2], "owner": people[2]])
        }
        for id in tags { try insert(id, ["label": .string("tag")]) }
        for id in lists { try insert(id, [:]) }
        try link(people[0], "friends", [people[1], people[2]])
        try link(people[0], "favourites", [songs[3], albums[0], songs[1]])
        try link(people[1], "seen", [songs[0], songs[5]])
        try link(tags[0], "works", [songs[0], albums[1]])
        try link(tags[1], "works", [songs[0], songs[2]])
        try link(lists[0], "songs", [songs[4], songs[2], songs[0]])
        try link(lists[1], "songs", [songs[2], songs[3]])
        _ = try store.save(request)
    }
}
