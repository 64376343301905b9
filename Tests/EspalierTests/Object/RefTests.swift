// Identity with a type: references, look-up by class, IDs as text, objects as arguments of predicates.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Testing

@Suite struct RefTests {
    private func music(_ kind: StoreKind) throws -> (Stack, Track) {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        return (stack, try #require(try stack.context.fetch(FetchRequest<Track>()).first))
    }

    // MARK: References

    @Test(arguments: StoreKind.allCases)
    func `a reference leads to the object of each context, with its class (F-1)`(_ kind: StoreKind) throws {
        let (stack, track) = try music(kind)
        let (ref, other) = (Ref(track), stack.newContext())
        #expect(other.registeredObject(for: ref) == nil)

        let fault = try other.object(with: ref)
        #expect(fault.isFault && fault !== track && other.rowsFetched == 0)
        let found: Track = try other[ref]
        #expect(found === fault && !found.isFault && found.name == track.name)

        #expect(other.registeredObject(for: ref) === found && found.ref == ref && Set([ref, found.ref]).count == 1)
        #expect(try stack.context[ref] === track)
    }

    @Test func `a reference crosses to an actor and back (F-1)`() async throws {
        let (stack, track) = try music(.inMemory)
        let background = BackgroundContext(stack.coordinator)
        let ref = Ref(track)

        let album = try await background.perform { context in
            let track = try context[ref]
            track.name = "Renamed"
            try context.save()
            return track.album?.ref
        }

        stack.context.refreshAllObjects()
        #expect(track.name == "Renamed")
        #expect(try stack.context[try #require(album)] === track.album)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child context resolves references to stored and unsaved objects of its parent (F-1)`(
        _ kind: StoreKind
    ) throws {
        let (stack, track) = try music(kind)
        let new = Album(context: stack.context)
        new.title = "New"
        try stack.context.obtainPermanentIDs(for: [new])
        let child = ManagedObjectContext(parent: stack.context)

        #expect(try child[track.ref].name == track.name && child[track.ref] !== track)
        #expect(try child[new.ref].title == "New")
        #expect(try child.existingObject(with: new.objectID, as: Album.self).title == "New")
        #expect(contextError { _ = try stack.newContext()[new.ref] }?.code == 133000)
    }

    @Test func `a reference to an unsaved object says that it must be saved first`() throws {
        let stack = try Stack(.inMemory)
        let album = Album(context: stack.context)
        album.title = "New"
        let ref = album.ref
        #expect(try stack.context[ref] === album)

        let error = contextError { _ = try stack.newContext()[ref] }

        guard case .objectNotFound(ref.id)? = error else { return #expect(Bool(false), "\(error as Any)") }
        #expect("\(try #require(error))".contains("temporary"))
        try stack.context.save()
        #expect(try stack.newContext()[album.ref].title == "New")
        #expect(contextError { _ = try stack.context[ref] }?.code == 133000)
    }

    @Test(arguments: StoreKind.allCases)
    func `requests give references in their order, and make no objects (F-1)`(_ kind: StoreKind) throws {
        let (stack, _) = try music(kind)
        let context = stack.newContext()

        let refs = try context.fetchRefs(Track.fetchRequest(sortedBy: [SortKey("name", ascending: false)]))

        #expect(refs.count == 6 && context.registeredObjects.isEmpty)
        #expect(try refs.map { try context[$0].name } == Array(refs.map { try context[$0].name }.sorted().reversed()))
        let error = contextError { _ = try context.fetchRefs(FetchRequest<Album>(entityName: "Track")) }
        guard case .wrongResultType("Track", "Track", "Album")? = error else {
            return #expect(Bool(false), "\(error as Any)")
        }
    }

    // MARK: Look-up

    @Test(arguments: StoreKind.allCases)
    func `a look-up by ID gives the class that is asked for, or an error and no object (SD-15, SD-27)`(
        _ kind: StoreKind
    ) throws {
        let (stack, track) = try music(kind)
        let context = stack.newContext()
        let id = track.objectID

        for look in [
            { _ = try context.object(with: id, as: Album.self) },
            { _ = try context.existingObject(with: id, as: LiveTrack.self) }, { _ = try context[Ref<Artist>(id)] },
            { _ = try context.object(with: Ref<Artist>(id)) },
        ] {
            guard case .wrongResultType("Track", "Track", _)? = contextError(look) else {
                return #expect(Bool(false), "a look-up for another class was answered")
            }
        }
        #expect(context.registeredObjects.isEmpty && context.registeredObject(for: Ref<Artist>(id)) == nil)
        // The class is checked before the store is asked for the row.
        #expect(context.faultTrips == 0 && context.rowsFetched == 0)

        let found = try context.existingObject(with: id, as: Track.self)
        #expect(try context.object(with: id, as: ManagedObject.self) === found && found.name == track.name)
        #expect(context.registeredObject(for: Ref<Artist>(id)) == nil)
    }

    @Test func `an object of a subclass is found as its superclass (SD-15)`() throws {
        let stack = try Stack(.inMemory)
        let live = LiveTrack(context: stack.context)
        live.name = "Live"
        try stack.context.save()
        let context = stack.newContext()

        let track = try context.existingObject(with: live.objectID, as: Track.self)

        #expect(track is LiveTrack && track.name == "Live")
        #expect(try context[Ref<LiveTrack>(live.objectID)] === track)
    }

    @Test func `a look-up of an entity that the model does not have says so`() throws {
        let (_, track) = try music(.inMemory)
        let other = try Stack(.inMemory, classes: [Drawer.self, Paper.self, Author.self])

        let error = contextError { _ = try other.context.existingObject(with: track.objectID, as: Track.self) }

        guard case .unknownEntity("Track", _)? = error else { return #expect(Bool(false), "\(error as Any)") }
    }

    // MARK: Classes

    @Test(arguments: StoreKind.allCases)
    func `a class makes its own request, and names its entity in a model (MO-03)`(_ kind: StoreKind) throws {
        let (stack, _) = try music(kind)
        let model = stack.coordinator.managedObjectModel

        let found = try stack.context.fetch(
            Artist.fetchRequest(try FetchPredicate(format: "founded > 1900"), sortedBy: [SortKey("name")]))

        #expect(found.map(\.name) == ["Artist 0", "Artist 1"])
        #expect(try Artist.entity(in: model) === model.entity(named: "Artist"))
        #expect(try LiveTrack.entity(in: model).name == "LiveTrack")
        guard case .unknownEntity("Drawer", let known)? = contextError({ _ = try Drawer.entity(in: model) }) else {
            return #expect(Bool(false), "a model has a class that it does not know")
        }
        #expect(known.contains("Artist"))
    }

    @Test func `a class is no class of an entity whose objects another class makes (MO-03)`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Artist", attributes: [AttributeDescription("name", .string)])
        ])

        guard
            case .wrongResultType("Artist", "ManagedObject", "Artist")? =
                contextError({ _ = try Artist.entity(in: model) })
        else { return #expect(Bool(false), "the entity's objects are not Artists") }
    }

    // MARK: Predicates

    @Test(arguments: StoreKind.allCases)
    func `objects, references and IDs are arguments of predicates (PR-14, ID-08)`(_ kind: StoreKind) throws {
        let (stack, track) = try music(kind)
        let album = try #require(track.album)
        let artist = try #require(album.artist)
        func count(_ format: String, _ argument: any PredicateArgument) throws -> Int {
            try stack.context.count(for: Track.fetchRequest(try FetchPredicate(format: format, argument)))
        }

        #expect(try count("album == %@", album) == 2 && count("album == %@", album.ref) == 2)
        #expect(try count("SELF == %@", track) == 1 && count("SELF IN %@", [track]) == 1)
        #expect(try count("album.artist == %@", artist) == 2 * artist.albums.count)
        #expect(try count("album IN %@", artist.albums) == 2 * artist.albums.count)
        #expect(try count("SELF IN %@", album.tracks.map(\.ref)) == 2)
        #expect(try count("album == %@", Optional<Album>.none) == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `an unsaved object is an argument, too, in its context and in a child (PR-14, ID-08)`(
        _ kind: StoreKind
    ) throws {
        let (stack, track) = try music(kind)
        let album = Album(context: stack.context)
        (album.title, track.album) = ("New", album)
        func found(_ album: Album, in context: ManagedObjectContext) throws -> [Track] {
            try context.fetch(Track.fetchRequest(try FetchPredicate(format: "album == %@", album)))
        }

        #expect(try found(album, in: stack.context) == [track])
        let child = ManagedObjectContext(parent: stack.context)
        let draft = Album(context: child)
        let twin = try child[track.ref]
        (draft.title, twin.album) = ("Draft", draft)
        #expect(try found(draft, in: child) == [twin] && found(draft, in: stack.context).isEmpty)

        try stack.context.save()
        #expect(try found(album, in: stack.newContext()).map(\.objectID) == [track.objectID])
    }

    @Test(arguments: StoreKind.allCases)
    func `a CAST of a URI is the object, saved or not, and an unknown one is an error (PR-14)`(
        _ kind: StoreKind
    ) throws {
        let (stack, track) = try music(kind)
        let album = try #require(track.album)
        func found(_ uri: String, in context: ManagedObjectContext) throws -> Set<ObjectID> {
            let predicate = try FetchPredicate(format: "album == CAST(%@, 'NSManagedObjectID')", uri)
            return Set(try context.fetch(Track.fetchRequest(predicate)).map(\.objectID))
        }
        let stored = Set(album.tracks.map(\.objectID))
        #expect(try found(album.objectID.uriRepresentation, in: stack.newContext()) == stored && stored.count == 2)

        let new = Album(context: stack.context)
        (new.title, track.album) = ("New", new)
        #expect(try found(new.objectID.uriRepresentation, in: stack.context) == [track.objectID])
        #expect(
            try found(album.objectID.uriRepresentation, in: stack.context) == stored.subtracting([track.objectID]))

        let unknown = "x-espalier://\(UUID().uuidString)/Album/p1"
        #expect(throws: FetchPredicateError.self) { try found(unknown, in: stack.context) }
        let template = try FetchPredicate(format: "album == CAST($ALBUM, 'NSManagedObjectID')")
        let request = Track.fetchRequest(try template.withSubstitutionVariables(["ALBUM": unknown]))
        guard case .invalidPredicate(let error)? = contextError({ _ = try stack.context.fetch(request) }) else {
            Issue.record("a predicate with an unknown URI finds something")
            return
        }
        #expect("\(error)".contains("a store that this process has opened"))
    }

    // MARK: Text

    @Test func `an ID and a reference are coded as the URI of the object (SD-03)`() throws {
        let (stack, track) = try music(.btree)
        let text = try JSONEncoder().encode([track.objectID])
        #expect(try JSONDecoder().decode([String].self, from: text) == [track.objectID.uriRepresentation])
        #expect(try JSONDecoder().decode([ObjectID].self, from: text) == [track.objectID])

        let refs = try JSONEncoder().encode(["last": track.ref])
        let read = try JSONDecoder().decode([String: Ref<Track>].self, from: refs)

        #expect(try stack.newContext()[try #require(read["last"])].name == track.name)
        #expect(track.objectID.entityName == "Track" && track.objectID.storeIdentifier != nil)
        #expect("\(track.ref)" == "Track \(track.objectID)")
    }

    @Test(arguments: [
        "\"x-espalier://00000000-0000-0000-0000-00000000abcd/Track/p1\"", "\"x-espalier:///Track/t1\"", "\"p1\"",
        "\"\"",
        "1", "null",
    ])
    func `a text that is no URI of an open store is not decoded, and leaves no trace (SD-03)`(text: String) throws {
        let (_, track) = try music(.inMemory)
        #expect(track.objectID.entityName == "Track")

        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ObjectID].self, from: Data("[\(text)]".utf8))
        }
        let store = try #require(UUID(uuidString: "00000000-0000-0000-0000-00000000ABCD"))
        #expect(Interned.stores.existingTag(of: store) == nil)
    }

    @Test func `a temporary ID is not encoded (SD-03)`() throws {
        let stack = try Stack(.inMemory)
        let album = Album(context: stack.context)
        album.title = "New"

        #expect(throws: EncodingError.self) { try JSONEncoder().encode([album.objectID]) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([album.ref]) }
        try stack.context.save()
        #expect(try JSONEncoder().encode([album.ref]).count > 0)
    }
}
