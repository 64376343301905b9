// Misuse: each wrong use is refused with a typed error that names the place, and changes nothing.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct MisuseTests {
    @Test func `an object of another context is refused by relationships, delete, insert and detectConflicts`() throws {
        let stack = try Stack(.inMemory)
        let other = stack.newContext()
        let foreign = Artist(context: other)
        let album = Album(context: stack.context)
        album.title = "Kind of Blue"

        album.artist = foreign
        #expect(album.artist == nil && foreign.albums.isEmpty)
        #expect(stack.context.recordedViolations.count == 1)
        let found = violations { try stack.context.saveAndCompare() }
        guard found.count == 1, case .objectOfOtherContext(foreign.objectID) = found[0].reason else {
            Issue.record("\(found)")
            return
        }
        #expect(found[0].property == "artist" && found[0].object == album.objectID)
        #expect("\(found[0])".contains("belongs to another context"))
        #expect(stack.context.recordedViolations.isEmpty)
        try stack.context.saveAndCompare()

        #expect(violations { try album.setValue(.toOne(foreign), forKey: "artist") }.count == 1)
        for body in [
            { try stack.context.delete(foreign) }, { try stack.context.insert(foreign) },
            { try stack.context.detectConflicts(for: foreign) },
            { try stack.context.obtainPermanentIDs(for: [foreign]) },
        ] {
            guard case .objectOfOtherContext(foreign.objectID)? = contextError(body) else {
                Issue.record("a foreign object was accepted")
                return
            }
        }
    }

    @Test func `unknown keys and wrong types are refused with what would fit`() throws {
        let stack = try Stack(.inMemory)
        let artist = Artist(context: stack.context)
        artist.name = "Miles"

        let wrongs: [(PropertyValue, String)] = [
            (.attribute(.string("x")), "nmae"), (.attribute(.integer(1)), "name"), (.toOne(artist), "name"),
            (.toOne(artist), "albums"), (.toMany([artist]), "albums"), (.attribute(.integer(1)), "albums"),
        ]
        for (value, key) in wrongs {
            #expect(violations { try artist.setValue(value, forKey: key) }.first?.property == key)
        }
        #expect(throws: ContextError.self) { try artist.value(forKey: "nmae") }
        #expect(
            violations { try artist.setValue(.null, forKey: "nmae") }.first?.description.contains("founded") == true)
        #expect(artist.name == "Miles" && artist.albums.isEmpty)
        try stack.context.saveAndCompare()
    }

    @Test func `an entity that is unknown or abstract is refused`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Shape", isAbstract: true),
            EntityDescription("Circle", superentity: "Shape", attributes: [AttributeDescription("radius", .double)]),
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)

        #expect(throws: ContextError.self) { try context.insertNewObject(forEntityName: "Square") }
        #expect(throws: ContextError.self) { try context.insertNewObject(forEntityName: "Shape") }
        let circle = try context.insertNewObject(forEntityName: "Circle")
        try circle.setValue(.double(2), forKey: "radius")
        #expect(circle[attribute: "radius"] == .double(2))

        let artist = Artist(context: context)
        artist.name = "Miles"
        #expect(artist.managedObjectContext == nil && artist.name == "Miles")
        let found = violations { try context.saveAndCompare() }
        #expect(found.map(\.entityName) == ["Artist"] && "\(found)".contains("Circle"))
        try context.saveAndCompare()
    }

    @Test func `a deleted object takes no values and is no destination`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let album = Album(context: stack.context)
        album.title = "New"
        try stack.context.delete(artist)

        artist.name = "Changed"
        album.artist = artist

        #expect(artist.name == "Artist 0" && album.artist == nil)
        #expect(violations { try stack.context.saveAndCompare() }.map(\.property) == ["name", "artist"])
    }

    @Test func `a store that is read-only or missing refuses the save and keeps the changes`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let context = ManagedObjectContext(coordinator)
        let artist = Artist(context: context)
        artist.name = "Miles"

        guard case .noStore(entity: "Artist")? = contextError({ try context.saveAndCompare() }) else {
            Issue.record("saved without a store")
            return
        }
        #expect(artist.isInserted)
        try coordinator.addPersistentStore(.inMemory)
        try context.saveAndCompare()
    }

    @Test func `a read-only file can be read and not written`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 0)
        let path = try #require(stack.coordinator.persistentStores.first?.path)
        try stack.coordinator.remove(try #require(stack.coordinator.persistentStores.first))
        try stack.coordinator.addPersistentStore(PersistentStoreDescription(path: path, isReadOnly: true))
        let context = stack.newContext()
        let artist = try #require(try context.fetch(FetchRequest<Artist>()).first)
        artist.name = "Changed"

        guard case .readOnlyStore(path: path)? = contextError({ try context.saveAndCompare() }) else {
            Issue.record("a read-only store was written")
            return
        }
        #expect(artist.name == "Changed" && artist.isUpdated)
        _ = Artist(context: context)
        #expect(throws: ContextError.self) { try context.saveAndCompare() }
    }

    @Test func `a text that is no URI of an open store is refused`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let id = try #require(try stack.context.fetchIDs(FetchRequest<Artist>()).first)

        #expect(try stack.coordinator.managedObjectID(forURIRepresentation: id.uriRepresentation) == id)
        let wrongs = [
            "", "x-espalier://", "x-coredata://a/b/p1", id.uriRepresentation.replacing("Artist", with: "Song"),
            id.uriRepresentation + "x", id.uriRepresentation.replacing("/p", with: "/t"),
            "x-espalier://00000000-0000-0000-0000-000000000000/Artist/p1",
        ]
        for wrong in wrongs {
            #expect(throws: ContextError.self) { try stack.coordinator.managedObjectID(forURIRepresentation: wrong) }
        }
    }

    @Test func `an ID of a store that is not open leads to nothing, and the next save says so`() throws {
        let (stack, stranger) = (try Stack(.inMemory), try Stack(.inMemory))
        try stranger.makeMusic(artists: 1, tracks: 0)
        let id = try #require(try stranger.context.fetchIDs(FetchRequest<Artist>()).first)

        #expect(throws: ContextError.self) { try stack.context.existingObject(with: id) }
        let artist = try #require(try stack.context.object(with: id) as? Artist)
        #expect(artist.name == "" && !artist.isDeleted)
        let found = violations { try stack.context.save() }
        #expect("\(found)".contains("no open store accepts objects of Artist"))
    }

    @Test func `a willSave that never comes to rest is reported`() throws {
        let model = try ManagedObjectModel(for: [Restless.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let object = Restless(context: context)

        guard case .unsettledSave? = contextError({ try context.saveAndCompare() }) else {
            Issue.record("the save came to an end")
            return
        }
        #expect(object.count == 0 && object.isInserted)
    }
}

final class Restless: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Restless", properties: [EntityDescription._property("count", Int.self, defaultValue: 0)])
    }
    var count: Int {
        get { _get("count", at: 0) }
        set { _set("count", at: 0, newValue) }
    }
    override func willSave() { count += 1 }
}
