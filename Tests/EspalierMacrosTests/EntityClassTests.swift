// Classes with `@Entity` at run time: the model that is made from them, and their properties in a context.

import Espalier
import Foundation
import Testing

@Suite struct EntityClassTests {
    private func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(for: [Artist.self, Band.self, Album.self, Track.self])
    }

    /// A container with a store in memory.
    private func container() throws -> PersistentContainer {
        try PersistentContainer(model: try model(), stores: [.inMemory])
    }

    private func context() throws -> ManagedObjectContext {
        ManagedObjectContext(try container().persistentStoreCoordinator)
    }

    @Test func `Swift types and default values become attributes`() {
        let attributes = Track.entityDescription.attributes

        #expect(
            attributes.map(\.name) == [
                "name", "seconds", "price", "isLive", "medium", "cover", "recorded", "identifier", "page", "note",
            ])
        #expect(
            attributes.map(\.type) == [
                .string, .double, .decimal, .boolean, .string, .binary, .date, .uuid, .uri, .string,
            ])
        #expect(
            attributes.map(\.defaultValue) == [
                .string(""), .double(0.5), .decimal(0.99), .boolean(true), .string("vinyl"), .null, .null, .null, .null,
                .null,
            ])
        #expect(attributes.map(\.isOptional) == Array(repeating: false, count: 5) + Array(repeating: true, count: 5))
        #expect(attributes.filter(\.isTransient).map(\.name) == ["note"])
    }

    @Test func `optionals, sets and arrays of entity classes become relationships`() {
        let relationships =
            Band.entityDescription.relationships + Album.entityDescription.relationships
            + Artist.entityDescription.relationships

        #expect(relationships.map(\.name) == ["singer", "artist", "tracks", "albums"])
        #expect(relationships.map(\.destination) == ["Artist", "Artist", "Track", "Album"])
        #expect(relationships.map(\.cardinality) == [.toOne, .toOne, .toMany, .ordered])
        #expect(relationships.map(\.deleteRule) == [.nullify, .nullify, .cascade, .nullify])
        #expect(relationships.map(\.isOptional) == [true, false, true, true])
        #expect(relationships.map(\.minCount) == [0, 0, 1, 0])
        #expect(relationships.map(\.maxCount) == [1, 1, 99, 0])
    }

    @Test func `options of classes and properties reach the model`() throws {
        let model = try model()
        let artist = try #require(model.entity(named: "Artist"))

        #expect(artist.description.renamingIdentifier == "Performer")
        #expect(artist.uniquenessConstraints == [["name", "year"]])
        #expect(artist.indexes.map(\.name) == ["name"])
        #expect(Track.entityDescription.uniquenessConstraints == [["name"]])
        #expect(Track.entityDescription.attributes.first?.renamingIdentifier == "title")
    }

    @Test func `inheritance of classes is inheritance of entities`() throws {
        let band = try #require(try model().entity(named: "Band"))

        #expect(band.superentity.map { try? model().entities[$0].name } == "Artist")
        #expect(band.attributes.map(\.name) == ["name", "year", "members"])
        #expect(band.relationships.map(\.name) == ["albums", "singer"])
    }

    @Test func `an inverse named at one end holds at both`() throws {
        let model = try model()
        for (entity, relationship, inverse) in [
            ("Album", "artist", "albums"), ("Artist", "albums", "artist"), ("Band", "albums", "artist"),
            ("Track", "album", "tracks"), ("Album", "tracks", "album"),
        ] {
            let found = try #require(model.entity(named: entity)?.relationship(named: relationship))
            #expect(model.inverse(of: found)?.name == inverse, "\(entity).\(relationship)")
        }
    }

    @Test func `a new object begins with the defaults and reads what was written`() throws {
        let context = try context()
        let track = Track(context: context)

        #expect(track.name.isEmpty && track.price == 0.99 && track.medium == .vinyl && track.cover == nil)

        (track.name, track.price, track.medium, track.isLive) = ("So What", 1.5, .file, false)
        (track.cover, track.page) = (Data([1, 2]), URL(string: "https://example.com/a"))
        (track.recorded, track.note) = (Date(timeIntervalSinceReferenceDate: 7), "live")
        track.seconds += 119.5

        #expect(track.name == "So What" && track.price == 1.5 && track.medium == .file && !track.isLive)
        #expect(track.cover == Data([1, 2]) && track.page?.absoluteString == "https://example.com/a")
        #expect(track.recorded == Date(timeIntervalSinceReferenceDate: 7) && track.note == "live")
        #expect(track.minutes == 2)

        track.cover = nil

        #expect(track.cover == nil)
    }

    @Test func `both ends of a relationship follow a write at either`() throws {
        let context = try context()
        let (track, album, band) = (Track(context: context), Album(context: context), Band(context: context))

        track.album = album
        band.albums.append(album)
        band.singer = band

        #expect(album.tracks == [track])
        #expect(album.artist === band)
        #expect(band.singer === band)

        album.tracks.remove(track)

        #expect(track.album == nil)
    }

    @Test func `a subclass keeps its properties apart from those it inherits`() throws {
        let context = try context()
        let band = Band(context: context)

        (band.name, band.members, band.year) = ("Quintet", 5, 1959)

        #expect(band.name == "Quintet" && band.members == 5 && band.year == 1959)
    }

    @Test func `what is saved in one context is read in another`() throws {
        let container = try container()
        let writer = ManagedObjectContext(container.persistentStoreCoordinator)
        let (band, album, track) = (Band(context: writer), Album(context: writer), Track(context: writer))
        (band.name, band.year, band.albums) = ("Quintet", 1959, [album])
        (album.title, track.name, track.album, track.medium) = ("Kind of Blue", "So What", album, .file)
        (track.identifier, track.recorded) = (UUID(), Date(timeIntervalSinceReferenceDate: -1.5))

        try writer.save()
        let reader = ManagedObjectContext(container.persistentStoreCoordinator)
        let read = try #require(try reader.existingObject(with: track.objectID) as? Track)

        #expect(read !== track && read.name == "So What" && read.medium == .file && read.cover == nil)
        #expect(read.identifier == track.identifier && read.recorded == track.recorded && read.note == nil)
        #expect(read.album?.title == "Kind of Blue" && read.album?.tracks == [read])
        #expect((read.album?.artist as? Band)?.year == 1959 && read.album?.artist?.albums.first === read.album)
    }
}
