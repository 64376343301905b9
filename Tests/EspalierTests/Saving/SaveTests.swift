// Saving: the rows that reach the store, the changes in the context, and that a failed save changes nothing.

import Espalier
import EspalierModel
import Testing

@Suite struct SaveTests {
    @Test(arguments: StoreKind.allCases)
    func `a saved graph reads the same in a fresh context`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let artist = Artist(context: stack.context)
        artist.name = "Miles Davis"
        let album = Album(context: stack.context)
        album.title = "Kind of Blue"
        album.artist = artist
        let tracks = ["So What", "Freddie Freeloader", "Blue in Green"].map { name in
            let track = Track(context: stack.context)
            track.name = name
            return track
        }
        album.tracks = [tracks[2], tracks[0], tracks[1]]
        let live = LiveTrack(context: stack.context)
        live.name = "So What, live"
        live.venue = "Olympia"
        let listener = Listener(context: stack.context)
        listener.name = "Ann"
        let playlist = Playlist(context: stack.context)
        playlist.name = "Evening"
        playlist.owner = listener
        playlist.tracks = [tracks[0], live]
        try stack.context.saveAndCompare()

        let fresh = stack.newContext()
        let found = try #require(try fresh.fetch(FetchRequest<Artist>()).first)
        #expect(found.name == "Miles Davis" && found.founded == nil)
        #expect(found.albums.first?.tracks.map(\.name) == ["Blue in Green", "So What", "Freddie Freeloader"])
        let foundPlaylist = try #require(try fresh.fetch(FetchRequest<Playlist>()).first)
        #expect(Set(foundPlaylist.tracks.map(\.name)) == ["So What", "So What, live"])
        #expect(foundPlaylist.tracks.contains { ($0 as? LiveTrack)?.venue == "Olympia" })
        #expect(foundPlaylist.owner?.playlists == [foundPlaylist])
        #expect(try fresh.count(for: FetchRequest<Track>()) == 4)
    }

    @Test(arguments: StoreKind.allCases)
    func `saving makes IDs permanent and objects clean, and they keep their identity`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let artist = Artist(context: stack.context)
        artist.name = "Nina Simone"
        #expect(artist.hasChanges && artist.isInserted && stack.context.hasChanges)

        try stack.context.saveAndCompare()

        #expect(!artist.objectID.isTemporary && !artist.hasChanges && !artist.isInserted)
        #expect(!stack.context.hasChanges && stack.context.insertedObjects.isEmpty)
        #expect(stack.context.registeredObject(for: artist.objectID) === artist)
        #expect(try stack.context.fetch(FetchRequest<Artist>()) == [artist])
        #expect(artist.changedValues().isEmpty)
        #expect(artist.committedValues()["name"] == .attribute(.string("Nina Simone")))
    }

    @Test(arguments: StoreKind.allCases)
    func `a changed object is updated and its old value is known until the save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 1)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)

        artist.name = "Artist 0"
        #expect(artist.hasChanges && !artist.hasPersistentChangedValues)
        artist.name = "Other"
        #expect(artist.hasPersistentChangedValues)
        #expect(artist.isUpdated && stack.context.updatedObjects == [artist])
        #expect(artist.changedValues() == ["name": .attribute(.string("Other"))])
        #expect(artist.committedValues()["name"] == .attribute(.string("Artist 0")))
        try stack.context.saveAndCompare()

        #expect(try stack.stored(Artist.self).map(\.name) == ["Other"])
    }

    @Test(arguments: StoreKind.allCases)
    func `all broken rules are reported together and the context stays as it was`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let artist = Artist(context: stack.context)
        let playlist = Playlist(context: stack.context)
        let track = Track(context: stack.context)
        try track.setValue(.integer(40_000), forKey: "seconds")
        let tooMany = Album(context: stack.context)
        tooMany.title = "Long"
        tooMany.tracks = (0..<31).map { _ in
            let track = Track(context: stack.context)
            track.name = "x"
            return track
        }

        let found = violations { try stack.context.saveAndCompare() }

        let named = Set(found.map { "\($0.code) \($0.entityName).\($0.property ?? "")" })
        #expect(
            named == [
                "1570 Artist.name", "1570 Playlist.name", "1570 Playlist.owner", "1570 Track.name",
                "1610 Track.seconds", "1590 Album.tracks",
            ])
        #expect(artist.objectID.isTemporary && stack.context.insertedObjects.count == 35)
        #expect(try stack.stored(Artist.self).isEmpty)

        artist.name = "Named"
        track.name = "Named"
        track.seconds = 1
        tooMany.tracks.removeLast()
        let owner = Listener(context: stack.context)
        owner.name = "Ann"
        playlist.owner = owner
        playlist.name = "Evening"
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Artist.self).count == 1)
    }

    @Test func `a refused save tells its first 1,000 findings whole and counts the others`() throws {
        let stack = try Stack(.inMemory)
        let artists = (0..<1500).map { _ in Artist(context: stack.context) }

        let found = violations { try stack.context.saveAndCompare() }

        #expect(found.count == 1001 && found.prefix(1000).allSatisfy { $0.code == 1570 && $0.property == "name" })
        #expect(Set(found.prefix(1000).compactMap(\.object)).count == 1000)
        guard case .more(let count)? = found.last?.reason else {
            Issue.record("nothing says how many more there are")
            return
        }
        #expect(count == 500)
        for artist in artists.dropFirst(1000) { artist.name = "Named" }
        #expect(violations { try stack.context.saveAndCompare() }.count == 1000)
        for artist in artists { artist.name = "Named" }
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Artist.self).count == 1500)
    }

    @Test(arguments: StoreKind.allCases)
    func `a value that must be unique is reported with both objects`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let owner = Listener(context: stack.context)
        owner.name = "Ann"
        let first = Playlist(context: stack.context)
        (first.name, first.owner) = ("Evening", owner)
        try stack.context.saveAndCompare()
        let second = Playlist(context: stack.context)
        (second.name, second.owner) = ("Evening", owner)

        guard case .constraints(let conflicts)? = contextError({ try stack.context.saveAndCompare() }) else {
            Issue.record("no constraint error")
            return
        }

        #expect(conflicts.map(\.properties) == [["name"]] && conflicts[0].values == [.string("Evening")])
        #expect(conflicts[0].stored == first.objectID && conflicts[0].objects == [second.objectID])
        #expect(second.objectID.isTemporary && stack.context.insertedObjects == [second])
        second.name = "Night"
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Playlist.self).count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `rollback brings back values, relationships and deleted objects`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 2)
        let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let album = try #require(artists[0].albums.first)
        let new = Artist(context: stack.context)
        artists[1].name = "Changed"
        album.artist = new
        try stack.context.delete(artists[1])
        stack.context.processPendingChanges()

        stack.context.rollback()

        #expect(!stack.context.hasChanges && new.managedObjectContext == nil)
        #expect(artists[1].name == "Artist 1" && !artists[1].isDeleted)
        #expect(album.artist === artists[0] && artists[0].albums == [album] && artists[1].albums.count == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `permanent IDs can be had before the save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let artist = Artist(context: stack.context)
        artist.name = "Miles Davis"
        let album = Album(context: stack.context)
        album.title = "Kind of Blue"
        album.artist = artist

        try stack.context.obtainPermanentIDs(for: [artist])
        let id = artist.objectID

        #expect(!id.isTemporary && artist.isInserted && album.artist === artist && artist.albums == [album])
        try stack.context.saveAndCompare()
        #expect(artist.objectID == id)
        #expect(try stack.stored(Album.self).first?.artist?.objectID == id)
    }

    @Test(arguments: StoreKind.allCases)
    func `a new object's set holds what leads to it, whatever happened before somebody looks`(_ kind: StoreKind)
        throws
    {
        let stack = try Stack(kind)
        let context = stack.context
        let (artist, other) = (Artist(context: context), Artist(context: context))
        (artist.name, other.name) = ("One", "Other")
        func newAlbum() -> Album {
            let album = Album(context: context)
            (album.title, album.artist) = ("New", artist)
            return album
        }
        let albums = (0..<4).map { _ in newAlbum() }
        (albums[1].artist, albums[2].artist) = (other, nil)
        try context.delete(albums[3])
        context.processPendingChanges()
        #expect(artist.albums == [albums[0]] && other.albums == [albums[1]])

        let early = newAlbum()
        try context.obtainPermanentIDs(for: [early, artist])
        #expect(artist.albums == [albums[0], early])

        let late = newAlbum()
        let orphan = Playlist(context: context)
        orphan.name = "Nobody's"
        #expect(violations { try context.saveAndCompare() }.map(\.property) == ["owner"])
        #expect(artist.albums == [albums[0], early, late])

        try context.delete(orphan)
        let last = newAlbum()
        try context.saveAndCompare()
        #expect(artist.albums == [albums[0], early, late, last])
        #expect(try stack.stored(Artist.self).map(\.albums.count).sorted() == [1, 4])

        let gone = Artist(context: context)
        newAlbum().artist = gone
        context.rollback()
        #expect(gone.albums.isEmpty && artist.albums.count == 4)
    }

    @Test func `an object made without a context joins one by insert or by a relationship`() throws {
        let stack = try Stack(.inMemory)
        let entity = { (name: String) in try #require(stack.context.model.entity(named: name)) }
        let artist = Artist(entity: try entity("Artist"), insertInto: nil)
        artist.name = "Outside"
        let album = Album(entity: try entity("Album"), insertInto: nil)
        album.title = "Outside too"
        #expect(artist.managedObjectContext == nil && artist.name == "Outside" && !artist.hasChanges)

        try stack.context.insert(artist)
        album.artist = artist

        #expect(album.managedObjectContext === stack.context && artist.albums == [album])
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Album.self).first?.artist?.name == "Outside")
    }

    @Test func `transient values stay in the object and out of the store`() throws {
        let stack = try Stack(.inMemory)
        let track = Track(context: stack.context)
        track.name = "So What"
        track.plays = 7
        try stack.context.saveAndCompare()

        #expect(track.plays == 7 && !track.hasChanges)
        #expect(try stack.stored(Track.self).first?.plays == nil)
    }

    @Test func `an object lives as long as it is used or changed, and no longer`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 0)
        do {
            let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
            artists[0].name = "Changed"
            #expect(stack.context.registeredObjects.count == 3)
        }
        #expect(stack.context.registeredObjects.count == 1)
        try stack.context.saveAndCompare()
        #expect(stack.context.registeredObjects.isEmpty)

        var context: ManagedObjectContext? = stack.newContext()
        let artist = try #require(try context?.fetch(FetchRequest<Artist>()).first)
        context = nil
        #expect(artist.managedObjectContext == nil)
    }
}
