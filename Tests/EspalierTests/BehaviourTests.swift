// The rows of the article Behaviour that no other suite tests completely: one small test for each.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct BehaviourTests {
    /// A stack with one artist of one album of two tracks, and that artist in the stack's context.
    private func music(_ kind: StoreKind) throws -> (Stack, Artist) {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 2)
        return (stack, try #require(try stack.context.fetch(FetchRequest<Artist>()).first))
    }

    private func shelfContext() throws -> ManagedObjectContext {
        let model = try ManagedObjectModel(for: [Shelf.self, Volume.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    // MARK: Objects

    @Test func `an object has changes while it is inserted, updated or deleted (MO-06)`() throws {
        let (stack, artist) = try music(.inMemory)
        let new = Artist(context: stack.context)
        new.name = "New"
        #expect(new.hasChanges)
        try stack.context.save()
        #expect(!new.hasChanges && !stack.context.hasChanges)

        artist.name = "Artist 0"
        #expect(artist.hasChanges && stack.context.hasChanges)
        try stack.context.save()
        try stack.context.delete(artist)

        #expect(artist.hasChanges && stack.context.hasChanges && stack.context.updatedObjects.isEmpty)
    }

    @Test func `a transient value changes the object and the context, and nothing that is stored (MO-07, MC-32)`()
        throws
    {
        let (stack, _) = try music(.inMemory)
        let track = try #require(try stack.context.fetch(FetchRequest<Track>()).first)
        #expect(!stack.context.hasChanges)

        track.plays = 7

        #expect(track.hasChanges && stack.context.hasChanges)
        #expect(!track.hasPersistentChangedValues && track.changedValues().isEmpty)
    }

    @Test func `a transient value is gone when the object becomes a fault (MO-40)`() throws {
        let (stack, _) = try music(.inMemory)
        let track = try #require(try stack.context.fetch(FetchRequest<Track>()).first)
        track.plays = 7

        stack.context.refresh(track, mergesChanges: false)

        #expect(track.isFault && track.plays == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `asking what a fault is loads nothing (MO-11)`(_ kind: StoreKind) throws {
        let (stack, artist) = try music(kind)
        let context = stack.newContext()
        let fault = try context.object(with: artist.objectID)

        #expect(!fault.isDeleted && !fault.isInserted && !fault.isUpdated && !fault.hasChanges)
        #expect(fault.entity.name == "Artist" && fault.objectID == artist.objectID && fault == fault)
        #expect(Set([fault]).contains(fault) && fault.managedObjectContext === context)

        #expect(fault.isFault && context.rowsFetched == 0 && context.faultTrips == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `the IDs of destinations are read without making objects of them (MO-14)`(_ kind: StoreKind) throws {
        let (stack, artist) = try music(kind)
        let album = try #require(artist.albums.first)
        let before = stack.context.registeredObjects

        #expect(try album.objectIDs(forRelationshipNamed: "tracks").count == 2)
        #expect(try album.objectIDs(forRelationshipNamed: "artist") == [artist.objectID])

        #expect(stack.context.registeredObjects == before)
    }

    @Test func `prepareForDeletion still sees the relationships of the object, and is called once (MO-30)`() throws {
        let context = try shelfContext()
        let shelf = Shelf(context: context)
        for _ in 0..<3 { Volume(context: context).shelf = shelf }
        try context.save()
        var seen: [Int] = []
        shelf.onHook = { name in if name == "prepareForDeletion" { seen.append(shelf.volumes.count) } }

        try context.delete(shelf)
        #expect(seen == [3])
        try context.delete(shelf)
        try context.save()

        #expect(seen == [3])
        shelf.onHook = { _ in }
    }

    @Test func `objects of one row in two contexts are not equal (MO-42)`() throws {
        let (stack, artist) = try music(.inMemory)

        let twin = try stack.newContext().object(with: artist.objectID)

        #expect(twin.objectID == artist.objectID && twin != artist && Set([twin, artist]).count == 2)
    }

    @Test func `a temporary ID names its concrete entity and no store (ID-03)`() throws {
        let stack = try Stack(.inMemory)
        let live = LiveTrack(context: stack.context)
        let id = live.objectID

        #expect(id.storeIdentifier == nil && id.entityName == "LiveTrack")
        #expect(stack.coordinator.persistentStore(for: id) == nil)
        live.name = "Live"
        try stack.context.save()
        #expect(live.objectID.storeIdentifier == stack.coordinator.persistentStores.first?.identifier)
        #expect(live.objectID.entityName == "LiveTrack")
    }

    // MARK: Contexts

    @Test(arguments: StoreKind.allCases)
    func `deleting a fault loads its row (MC-11)`(_ kind: StoreKind) throws {
        let (stack, artist) = try music(kind)
        let context = stack.newContext()
        let fault = try context.object(with: artist.objectID)

        try context.delete(fault)

        #expect(!fault.isFault && fault.isDeleted && context.rowsFetched == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `a fetch leaves the values of an object in use alone (MC-20)`(_ kind: StoreKind) throws {
        let (stack, artist) = try music(kind)
        #expect(artist.name == "Artist 0")
        let other = stack.newContext()
        try other.existingObject(with: artist.objectID).setValue(.string("Theirs"), forKey: "name")
        try other.save()

        let found = try stack.context.fetch(FetchRequest<Artist>())

        #expect(found == [artist] && artist.name == "Artist 0")
    }

    @Test func `existingObject gives unsaved objects, and never a fault (MC-25)`() throws {
        let (stack, artist) = try music(.inMemory)
        let new = Artist(context: stack.context)

        #expect(try stack.context.existingObject(with: new.objectID) === new)
        #expect(artist.isFault)
        #expect(try stack.context.existingObject(with: artist.objectID) === artist && !artist.isFault)
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh without merging drops the changes of one object, and no other's (MC-27)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 0)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let album = try #require(artists[0].albums.first)
        let title = album.title
        (album.title, album.artist) = ("Changed", artists[1])

        stack.context.refresh(album, mergesChanges: false)

        #expect(album.isFault && album.title == title && album.artist === artists[0])
        #expect(artists[1].albums.contains(album) && artists[1].hasChanges)
        for artist in artists { stack.context.refresh(artist, mergesChanges: false) }
        #expect(artists[0].albums == [album] && !artists[1].albums.contains(album))
    }

    @Test(arguments: StoreKind.allCases)
    func `a rollback asks no store (MC-29)`(_ kind: StoreKind) throws {
        let (stack, artist) = try music(kind)
        let album = try #require(artist.albums.first)
        (artist.name, album.title) = ("Changed", "Changed")
        try stack.context.delete(artist)
        stack.context.processPendingChanges()
        let before = (stack.context.rowsFetched, stack.context.faultTrips)

        stack.context.rollback()

        #expect(artist.name == "Artist 0" && album.title == "Album 0.0" && !artist.isDeleted && !album.isDeleted)
        #expect((stack.context.rowsFetched, stack.context.faultTrips) == before)
    }

    @Test func `a permanent ID is given once (MC-37)`() throws {
        let (stack, artist) = try music(.inMemory)
        let (new, id) = (Artist(context: stack.context), artist.objectID)
        try stack.context.obtainPermanentIDs(for: [new, artist])
        let newID = new.objectID

        try stack.context.obtainPermanentIDs(for: [artist, new])

        #expect(artist.objectID == id && new.objectID == newID && !newID.isTemporary && new.isInserted)
    }

    @Test(arguments: [true, false])
    func `a refresh leaves a new object as it is (MC-64)`(_ mergesChanges: Bool) throws {
        let stack = try Stack(.inMemory)
        let new = Artist(context: stack.context)
        new.name = "New"

        stack.context.refresh(new, mergesChanges: mergesChanges)

        #expect(new.isInserted && new.name == "New" && !new.isFault)
        try stack.context.saveAndCompare()
    }

    @Test func `hooks and messages of a save come in one order (MC-39)`() throws {
        let context = try shelfContext()
        var calls: [String] = []
        let tokens = [
            context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { _ in calls.append("will save") },
            context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { _ in calls.append("did save") },
        ]
        try context.save()
        #expect(calls.isEmpty)
        let shelf = Shelf(context: context)
        shelf.onHook = { calls.append($0) }

        try context.save()

        #expect(calls == ["will save", "willSave", "validateForInsert", "didSave", "did save"])
        shelf.onHook = { _ in }
        withExtendedLifetime(tokens) {}
    }

    @Test func `a save to two stores says that the second has refused, and the next save writes the rest (MC-40)`()
        throws
    {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model), entityNames: ["Artist", "Album", "Track"])
        coordinator.add(InMemoryStore(model: model), entityNames: ["Listener", "Playlist"])
        let context = ManagedObjectContext(coordinator)
        let owner = Listener(context: context)
        owner.name = "Ann"
        let lists = (0..<2).map { _ in
            let list = Playlist(context: context)
            (list.name, list.owner) = ("Evening", owner)
            return list
        }
        let artist = Artist(context: context)
        artist.name = "Miles"

        let error = contextError { try context.save() }

        guard case .partlySaved(.constraints)? = error else {
            Issue.record("\(error.map { "\($0)" } ?? "no error")")
            return
        }
        #expect(!artist.hasChanges && context.insertedObjects == Set([owner] + lists))
        lists[1].name = "Night"
        try context.saveAndCompare()
        #expect(try ManagedObjectContext(coordinator).count(for: FetchRequest<Playlist>()) == 2)
        #expect(try ManagedObjectContext(coordinator).count(for: FetchRequest<Artist>()) == 1)
    }

    @Test func `too few destinations are refused, and none at all where the relationship is optional are not (MD-29)`()
        throws
    {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Team", relationships: [RelationshipDescription("players", to: "Player", .toMany, minCount: 2)]),
            EntityDescription("Player"),
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let team = try context.insertNewObject(forEntityName: "Team")
        try context.save()

        try team.add([context.insertNewObject(forEntityName: "Player")], toRelationshipNamed: "players")
        #expect(violations { try context.save() }.map(\.code) == [1580])
        try team.add([context.insertNewObject(forEntityName: "Player")], toRelationshipNamed: "players")
        try context.saveAndCompare()
    }

    // MARK: Errors and models

    @Test func `errors have Core Data's numbers`() throws {
        let stack = try Stack(.inMemory)
        let artist = Artist(context: stack.context)
        #expect(contextError { try stack.context.save() }?.code == 1570)
        _ = Artist(context: stack.context)
        #expect(contextError { try stack.context.save() }?.code == 1560)

        let numbers: [(ContextError, Int)] = [
            (.conflicts([]), 133020), (.constraints([]), 133021), (.references([]), 133000),
            (.objectNotFound(artist.objectID), 133000), (.readOnlyStore(path: nil), 513),
            (.partlySaved(underlying: .conflicts([])), 134040), (.unsupportedStore(.btree), 134000),
            (.store(.incompatibleModel(path: "", reason: "")), 134100), (.store(.modelChanged(path: "")), 134100),
            (.store(.closed), 134030),
            (.noStore(entity: "Artist"), 134060),
            (.store(.migrationRefused(path: nil, MigrationRefusal(losses: [.removal(of: "Artist")]))), 134190),
        ]
        for (error, number) in numbers { #expect(error.code == number, "\(error)") }
    }

    @Test func `a model of other rows is refused, and neither file nor coordinator change (MG-01)`() throws {
        try withTemporaryFolder { folder in
            let file = folder.appending(path: "music.espalier")
            try PersistentContainer(for: musicClasses, at: file.path).close()
            let before = try Data(contentsOf: file)
            let other = PersistentStoreCoordinator(
                managedObjectModel: try ManagedObjectModel(entities: [
                    EntityDescription("Artist", attributes: [AttributeDescription("name", .integer64)])
                ]))

            let description = PersistentStoreDescription(path: file.path, migration: .off)
            let error = contextError { try other.addPersistentStore(description) }

            #expect(error?.code == 134100 && other.persistentStores.isEmpty)
            let refused = contextError { try other.addPersistentStore(PersistentStoreDescription(path: file.path)) }
            #expect(refused?.code == 134190 && other.persistentStores.isEmpty)
            #expect(try Data(contentsOf: file) == before)
        }
    }

    @Test func `the numbers of attribute types are Core Data's (MD-18)`() {
        let numbers: [AttributeType: UInt16] = [
            .undefined: 0, .integer16: 100, .integer32: 200, .integer64: 300, .decimal: 400, .double: 500, .float: 600,
            .string: 700, .boolean: 800, .date: 900, .binary: 1000, .uuid: 1100, .uri: 1200, .transformable: 1800,
            .objectID: 2000, .composite: 2100,
        ]

        #expect(numbers.count == AttributeType.allCases.count)
        for (type, number) in numbers { #expect(type.rawValue == number, "\(type)") }
    }

    // MARK: Predicates

    @Test func `noindex keeps the planner off an index (PR-16)`() throws {
        let stack = try Stack(.btree)
        let owner = Listener(context: stack.context)
        owner.name = "Ann"
        for number in 0..<50 {
            let list = Playlist(context: stack.context)
            (list.name, list.owner) = ("List \(number)", owner)
        }
        try stack.context.save()
        func steps(_ format: String) throws -> String {
            let request = FetchRequest<Playlist>(try FetchPredicate(format: format))
            #expect(try stack.context.count(for: request) == 1)
            return try stack.context.explain(request).joined(separator: "\n")
        }

        #expect(try steps("name == 'List 7'").contains("unique:Playlist.name"))
        #expect(try !steps("noindex:(name) == 'List 7'").contains("unique:Playlist.name"))
    }

    @Test(arguments: StoreKind.allCases)
    func `BETWEEN takes arithmetic in its bounds (PX-11)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 5)
        func count(_ format: String) throws -> Int {
            try stack.context.count(for: FetchRequest<Track>(FetchPredicate(format: format)))
        }

        #expect(try count("seconds BETWEEN {50 * 2, 90 + 12}") == 3)
        #expect(try count("seconds BETWEEN {seconds - 1, seconds + 1}") == 5)
        #expect(try count("seconds BETWEEN {seconds + 1, 30 * 10}") == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `IN takes a list of thousands (PX-12)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 3)
        let names = (0..<5_000).map { "Track 1.0.\($0)" }

        let request = FetchRequest<Track>(try FetchPredicate(format: "name IN %@", names))

        #expect(try stack.context.count(for: request) == 3)
        #expect(try Set(stack.context.fetch(request).map(\.name)) == Set(names.prefix(3)))
    }

    @Test func `a sort key that is not stored is refused (PX-10)`() throws {
        let stack = try Stack(.inMemory)

        let error = contextError { _ = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("plays")])) }

        #expect(error.map { "\($0)" }?.contains("is not stored") == true)
    }

    @Test(arguments: [
        ("ln(a) > 1", "compute it before"), ("log(a) > 1", "compute it before"), ("exp(a) > 1", "compute it before"),
        ("random() > 1", "the same answer each time"), ("random:(9) > 1", "the same answer each time"),
        ("distanceToLocation:fromLocation:(a, b) < 5", "compare latitude and longitude with BETWEEN"),
    ]) func `functions that no store computes are refused with what to do instead (PR-17)`(
        format: String, advice: String
    ) throws {
        let error = try #require(throws: FetchPredicateError.self) { try FetchPredicate(format: format) }

        #expect("\(error)".contains(advice), "\(error)")
    }
}

/// An object that reports the hooks that are called.
private final class Shelf: ManagedObject {
    var onHook: (String) -> Void = { _ in }

    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Shelf",
            properties: [
                EntityDescription._property(
                    "volumes", Set<Volume>.self, options: .init(inverse: "shelf", deleteRule: .cascade))
            ])
    }
    var volumes: Set<Volume> { _get("volumes", at: 0) }

    override func prepareForDeletion() { onHook("prepareForDeletion") }
    override func willSave() { onHook("willSave") }
    override func didSave() { onHook("didSave") }
    override func validateForInsert() throws { onHook("validateForInsert") }
}

private final class Volume: ManagedObject {
    override class var entityDescription: EntityDescription {
        EntityDescription(
            "Volume",
            properties: [EntityDescription._property("shelf", Shelf?.self, options: .init(inverse: "volumes"))])
    }
    var shelf: Shelf? {
        get { _get("shelf", at: 0) }
        set { _set("shelf", at: 0, newValue) }
    }
}
