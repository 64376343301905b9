// Conditions on objects in memory, saved and unsaved ones: a fetch with the same condition is the oracle.

import Espalier
import EspalierModel
import Testing

@Suite struct MatchTests {
    /// The formats, by the name of the entity to which they fit.
    private static let formats: [String: [String]] = [
        "Track": [
            "seconds > 100", "seconds == 7 OR name LIKE '*.0'", "album == nil", "album.title == 'Album 1.0'",
            "NOT album.artist.name BEGINSWITH 'Artist 1'", "ANY album.tracks.seconds == 7", "name ==[cd] 'TRACK 2.0.1'",
            "SUBQUERY(playlists, $p, $p.name == 'x').@count == 0", "TRUEPREDICATE", "bytes + seconds > 105",
        ],
        "Album": [
            "tracks.@count == 2", "ALL tracks.seconds > 99", "NONE tracks.name == 'new'", "artist.founded < 1952",
        ],
        "Artist": ["founded BETWEEN {1951, 1952}", "ANY albums.tracks.seconds == 7", "albums.@count > 1"],
    ]

    /// Compares the objects of a class for which each condition holds with those that a fetch finds; returns the number
    /// of matches.
    private func compare<Object: ManagedObject>(_ type: Object.Type, _ context: ManagedObjectContext) throws -> Int {
        var matchCount = 0
        for format in Self.formats[Object.entityName] ?? [] {
            let predicate = try FetchPredicate(format: format)
            let all = try context.fetch(FetchRequest<Object>())
            let matching = try all.filter(predicate)
            let found = try context.fetch(FetchRequest<Object>(predicate))
            #expect(Set(matching) == Set(found), "\(format)")
            for object in all { #expect(try object.matches(predicate) == found.contains(object), "\(format)") }
            matchCount += matching.count
        }
        return matchCount
    }

    @Test(arguments: StoreKind.allCases)
    func `a condition holds for an object exactly if a fetch finds it, saved or not (PR-12)`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 2)
        let context = stack.newContext()
        for isChanged in [false, true] {
            if isChanged {
                let tracks = try context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")]))
                tracks[0].seconds = 7
                tracks[1].album = nil
                let new = Track(context: context)
                (new.name, new.album) = ("new", tracks[3].album)
            }
            let count = try compare(Track.self, context) + compare(Album.self, context) + compare(Artist.self, context)
            #expect(count > 20, "most conditions hold for no object")
        }
    }

    @Test func `the effects of a deletion that is not processed yet count, as in a fetch`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 2)
        let context = stack.newContext()
        let artists = try context.fetch(FetchRequest<Artist>(FetchPredicate(format: "founded == 1951")))
        let albums = try context.fetch(FetchRequest<Album>(FetchPredicate(format: "artist.founded == 1951")))
        let hasOne = try FetchPredicate(format: "albums.@count == 1")
        #expect(try artists.filter(hasOne).isEmpty)
        try context.delete(albums[0])
        #expect(try artists.filter(hasOne) == artists)
        #expect(try context.fetch(FetchRequest<Artist>(hasOne)).contains(artists[0]))
    }

    @Test func `a condition does not see what a cascade will delete at the end of the event (PR-12)`() throws {
        let board = try BeadBoard(.memory, count: 3, rules: [.fans: .cascade])
        let context = ManagedObjectContext(board.coordinator)
        let beads = try (0..<3).map { try board.bead($0, in: context) }
        try beads[1].setValue(.toOne(beads[0]), forKey: "best")
        try beads[1].setValue(.toOne(beads[2]), forKey: "mate")
        context.processPendingChanges()
        let isSingle = try FetchPredicate(format: "mateOf == nil")
        #expect(try !beads[2].matches(isSingle))

        try context.delete(beads[0])

        #expect(try beads[2].matches(isSingle) && beads.filter(isSingle).contains(beads[2]))
        #expect(try context.fetch(FetchRequest<Bead>(isSingle)).contains(beads[2]))
    }

    @Test func `a condition that does not fit, and an object without context, are refused by name`() throws {
        let stack = try Stack(.inMemory)
        let context = stack.newContext()
        let track = Track(context: context)
        let wrong = contextError { _ = try track.matches(FetchPredicate(format: "length > 1")) }
        guard case .invalidPredicate(let error)? = wrong else {
            Issue.record("\(String(describing: wrong))")
            return
        }
        #expect("\(error)".contains("length"))
        // The properties of the object's own entity may be named.
        let live = LiveTrack(context: context)
        live.venue = "Ronnie's"
        #expect(try live.matches(FetchPredicate(format: "venue BEGINSWITH 'Ron'")))
        #expect(contextError { _ = try [track, live].filter(FetchPredicate(format: "venue == nil")) } != nil)
        #expect(try [Track]().filter(FetchPredicate(format: "length > 1")).isEmpty)

        context.reset()
        switch contextError({ _ = try track.matches(.constant(true)) }) {
        case .objectWithoutContext?, .contextEnded?: break
        case let other: Issue.record("\(String(describing: other))")
        }
    }
}
