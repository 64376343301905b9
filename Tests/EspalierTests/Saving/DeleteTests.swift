// Deleting: the four rules, and the state before and after the save.

import Espalier
import EspalierModel
import Testing

@Suite struct DeleteTests {
    @Test(arguments: StoreKind.allCases)
    func `cascade deletes what belongs to the object, at any depth`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 3)
        let artist = try #require(
            try stack.context.fetch(FetchRequest<Artist>(FetchPredicate(format: "name == 'Artist 1'"))).first)
        let held = try (stack.context.fetch(FetchRequest<Album>()), stack.context.fetch(FetchRequest<Track>()))

        try stack.context.delete(artist)
        #expect(artist.isDeleted && stack.context.deletedObjects == [artist])
        stack.context.processPendingChanges()
        #expect(stack.context.deletedObjects.count == 1 + 2 + 6 && held.0.count == 3)
        try stack.context.saveAndCompare()

        #expect(artist.managedObjectContext == nil && !artist.isDeleted)
        #expect(try stack.stored(Artist.self).map(\.name) == ["Artist 0"])
        #expect(try stack.stored(Album.self).count == 1 && stack.stored(Track.self).count == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh takes a deletion back before its rules run`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let albums = try stack.context.fetch(FetchRequest<Album>())
        try stack.context.delete(artist)

        stack.context.refresh(artist, mergesChanges: false)
        stack.context.processPendingChanges()

        #expect(!stack.context.hasChanges && !artist.isDeleted && !albums.isEmpty)
        #expect(albums.allSatisfy { !$0.isDeleted && $0.artist === artist })
    }

    @Test(arguments: StoreKind.allCases)
    func `cascade deletes what nobody has in memory, and makes no objects of it`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 3)
        let artist = try #require(
            try stack.context.fetch(FetchRequest<Artist>(FetchPredicate(format: "name == 'Artist 1'"))).first)

        try stack.context.delete(artist)
        stack.context.processPendingChanges()
        #expect(stack.context.registeredObjects == [artist] && stack.context.hasChanges)
        try stack.context.saveAndCompare()

        #expect(try stack.stored(Album.self).count == 1 && stack.stored(Track.self).count == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `nullify takes the object out of the other side`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 3)
        let tracks = try stack.context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")]))
        let album = try #require(tracks[0].album)

        try stack.context.delete(tracks[1])
        stack.context.processPendingChanges()

        #expect(album.tracks == [tracks[0], tracks[2]])
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Album.self).first?.tracks.map(\.name) == ["Track 0.0.0", "Track 0.0.2"])
    }

    @Test(arguments: StoreKind.allCases)
    func `deny refuses the save as long as there is a destination`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let listener = Listener(context: stack.context)
        listener.name = "Ann"
        let playlist = Playlist(context: stack.context)
        (playlist.name, playlist.owner) = ("Evening", listener)
        try stack.context.saveAndCompare()

        try stack.context.delete(listener)
        let found = violations { try stack.context.saveAndCompare() }
        #expect(found.map(\.code) == [1600] && found.first?.property == "playlists")
        #expect(listener.isDeleted && playlist.owner === listener)

        try stack.context.delete(playlist)
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Listener.self).isEmpty && stack.stored(Playlist.self).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion that breaks a rule elsewhere is refused whole`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let listener = Listener(context: stack.context)
        listener.name = "Ann"
        let playlist = Playlist(context: stack.context)
        (playlist.name, playlist.owner) = ("Evening", listener)
        try stack.context.saveAndCompare()
        playlist.owner = nil
        try stack.context.delete(listener)

        #expect(violations { try stack.context.saveAndCompare() }.map(\.property) == ["owner"])
        #expect(listener.isDeleted && listener.managedObjectContext === stack.context)
        #expect(stack.context.deletedObjects == [listener] && stack.context.updatedObjects == [playlist])
        #expect(try stack.stored(Playlist.self).first?.owner != nil)
    }

    @Test func `deleting an unsaved object takes it and its traces out of the context`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let album = Album(context: stack.context)
        album.artist = artist
        let track = Track(context: stack.context)
        track.album = album

        try stack.context.delete(album)
        stack.context.processPendingChanges()

        #expect(album.managedObjectContext == nil && track.managedObjectContext == nil)
        #expect(stack.context.insertedObjects.isEmpty && stack.context.deletedObjects.isEmpty)
        #expect(artist.albums.count == 1)
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Album.self).count == 1)
    }

    @Test func `relationships are looked at when the rules run, not when the object is deleted`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 1)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let album = try #require(artists[0].albums.first)

        try stack.context.delete(artists[0])
        album.artist = artists[1]
        try stack.context.saveAndCompare()

        #expect(try stack.stored(Artist.self).count == 1 && stack.stored(Album.self).count == 3)
    }

    @Test func `after a save that deleted it an object shows its last values and takes no new ones`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        try stack.context.delete(artist)
        try stack.context.saveAndCompare()

        artist.name = "New"

        #expect(artist.name == "Artist 0")
        #expect(violations { try artist.setValue(.string("New"), forKey: "name") }.count == 1)
        #expect(throws: ContextError.self) { try stack.context.delete(artist) }
        #expect(throws: ContextError.self) { try stack.context.insert(artist) }
    }

    @Test func `one save carries out the rules in each of two stores, over rows that nobody has in memory`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        for round in 0..<2 {
            let store: any PersistentStore =
                round == 0
                ? InMemoryStore(model: coordinator.managedObjectModel)
                : try BTreeStore.inMemory(model: coordinator.managedObjectModel)
            let alone = PersistentStoreCoordinator(managedObjectModel: coordinator.managedObjectModel)
            alone.add(store)
            let context = ManagedObjectContext(alone)
            for number in 0..<3 {
                let (artist, album, track) = (
                    Artist(context: context), Album(context: context), Track(context: context)
                )
                (artist.name, album.title, track.name) = ("\(number)", "\(round)", "\(round)")
                (album.artist, track.album) = (artist, album)
            }
            try context.saveAndCompare()
            coordinator.add(store)
        }
        let context = ManagedObjectContext(coordinator)
        let artists = try context.fetch(FetchRequest<Artist>(try FetchPredicate(format: "name != '1'")))
        #expect(artists.count == 4 && Set(artists.map(\.objectID.storeTag)).count == 2)
        for artist in artists { try context.delete(artist) }

        try context.save()

        let fresh = ManagedObjectContext(coordinator)
        #expect(try fresh.fetch(FetchRequest<Artist>()).map(\.name) == ["1", "1"])
        #expect(try Set(fresh.fetch(FetchRequest<Album>()).map(\.title)) == ["0", "1"])
        let tracks = try fresh.fetch(FetchRequest<Track>())
        #expect(tracks.count == 2 && tracks.allSatisfy { $0.album?.artist != nil })
    }
}
