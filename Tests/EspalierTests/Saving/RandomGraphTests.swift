// Random operations on a context against plain values: save, rollback, failed saves, refetching, pending fetches.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct RandomGraphTests {
    @Test(arguments: StoreKind.allCases)
    func `random operations leave context and store as plain values say`(_ kind: StoreKind) throws {
        let seed = testSeed(default: 20_261)
        for round in 0..<campaignCount("ESPALIER_GRAPH_ROUNDS", default: 6) {
            var run = try RandomRun(kind, seed: seed &+ UInt64(round))
            try run.go(steps: 250)
        }
    }
}

private struct RandomRun {
    let stack: Stack
    let seed: UInt64
    var random: SeededGenerator
    var context: ManagedObjectContext
    /// The state that the context must show, and the state that the store must hold.
    var graph = ReferenceGraph()
    var saved = ReferenceGraph()
    var objects: [Int: ManagedObject] = [:]
    var nextNumber = 1

    init(_ kind: StoreKind, seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        stack = try Stack(kind)
        context = stack.newContext()
    }

    mutating func go(steps: Int) throws {
        for step in 0..<steps {
            try change()
            if step % 9 == 0 { try checkFetches(step) }
            switch Int.random(in: 0..<24, using: &random) {
            case 0, 1: try save(step)
            case 2:
                context.rollback()
                graph = saved
                try refetchMissing()
                check(step, "rollback")
            case 3:
                try refetchAll()
                check(step, "refetch")
            default: break
            }
            if step % 5 == 0 { check(step, "change") }
        }
        try save(steps)
    }

    // MARK: Operations on both

    private mutating func change() throws {
        switch Int.random(in: 0..<13, using: &random) {
        case 0, 1, 2, 3: insert()
        case 4:
            guard let number = pick(nil) else { return }
            graph.nodes[number]?.name = "\(number)-\(Int.random(in: 0..<50, using: &random))"
            try objects[number]?.setValue(.string(graph.nodes[number]?.name ?? ""), forKey: nameKey(number))
        case 5:
            guard let track = pick(.track) else { return }
            let seconds = Int.random(in: 0..<20, using: &random)
            graph.nodes[track]?.seconds = seconds
            object(track, Track.self)?.seconds = Int16(seconds)
            guard Bool.random(using: &random) else { return }
            let bytes = number()
            graph.nodes[track]?.bytes = bytes
            object(track, Track.self)?.bytes = bytes
        case 6:
            guard let album = pick(.album) else { return }
            let artist = Bool.random(using: &random) ? pick(.artist) : nil
            graph.nodes[album]?.parent = artist
            object(album, Album.self)?.artist = artist.flatMap { object($0, Artist.self) }
        case 7:
            guard let artist = pick(.artist) else { return }
            let albums = some(.album)
            graph.setAlbums(albums, ofArtist: artist)
            object(artist, Artist.self)?.albums = Set(albums.compactMap { object($0, Album.self) })
        case 8:
            guard let album = pick(.album) else { return }
            let tracks = some(.track).shuffled(using: &random)
            graph.setTracks(tracks, ofAlbum: album)
            object(album, Album.self)?.tracks = tracks.compactMap { object($0, Track.self) }
        case 9:
            guard let track = pick(.track) else { return }
            let album = Int.random(in: 0..<4, using: &random) == 0 ? nil : pick(.album)
            graph.setAlbum(album, ofTrack: track)
            object(track, Track.self)?.album = album.flatMap { object($0, Album.self) }
        case 10: changePlaylist()
        case 11:
            guard let track = pick(.track) else { return }
            let playlists = Set(some(.playlist))
            for playlist in graph.all(.playlist) {
                if playlists.contains(playlist) {
                    graph.nodes[playlist]?.entries.insert(track)
                } else {
                    graph.nodes[playlist]?.entries.remove(track)
                }
            }
            object(track, Track.self)?.playlists = Set(playlists.compactMap { object($0, Playlist.self) })
        default:
            guard let number = pick(nil), let object = objects[number] else { return }
            graph.delete(number, isStored: !object.isInserted)
            try context.delete(object)
            context.processPendingChanges()
            objects = objects.filter { graph.nodes[$0.key] != nil }
        }
    }

    private mutating func insert() {
        let number = nextNumber
        nextNumber += 1
        let kind = ReferenceGraph.Kind.allCases.randomElement(using: &random) ?? .track
        graph.nodes[number] = ReferenceGraph.Node(kind: kind, name: "\(number)-0")
        let name = "\(number)-0"
        switch kind {
        case .artist: objects[number] = made(Artist(context: context)) { $0.name = name }
        case .album: objects[number] = made(Album(context: context)) { $0.title = name }
        case .track:
            objects[number] = made(number % 3 == 0 ? LiveTrack(context: context) : Track(context: context)) {
                $0.name = name
            }
        case .playlist:
            let owner = pick(.listener)
            graph.nodes[number]?.parent = owner
            objects[number] = made(Playlist(context: context)) {
                $0.name = name
                $0.owner = owner.flatMap { object($0, Listener.self) }
            }
        case .listener: objects[number] = made(Listener(context: context)) { $0.name = name }
        }
    }

    private mutating func changePlaylist() {
        guard let playlist = pick(.playlist) else { return }
        if Bool.random(using: &random) {
            guard let owner = pick(.listener) else { return }
            graph.nodes[playlist]?.parent = owner
            object(playlist, Playlist.self)?.owner = object(owner, Listener.self)
        } else {
            guard let track = pick(.track), let node = graph.nodes[playlist] else { return }
            if node.entries.contains(track) {
                graph.nodes[playlist]?.entries.remove(track)
                object(track, Track.self).map { _ = object(playlist, Playlist.self)?.tracks.remove($0) }
            } else {
                graph.nodes[playlist]?.entries.insert(track)
                object(track, Track.self).map { _ = object(playlist, Playlist.self)?.tracks.insert($0) }
            }
        }
    }

    private mutating func save(_ step: Int) throws {
        if graph.isValid {
            try context.saveAndCompare()
            graph.deletedListeners = []
            saved = graph
            #expect(!context.hasChanges, "seed \(seed), step \(step)")
        } else {
            // An artist's deletion never makes the graph valid; its cascade has not run when the save begins.
            let artist = pick(.artist)
            if let artist, let object = objects[artist] { try context.delete(object) }
            let sets = [context.insertedObjects, context.updatedObjects, context.deletedObjects]
            #expect(!violations { try context.saveAndCompare() }.isEmpty, "seed \(seed), step \(step)")
            #expect(sets == [context.insertedObjects, context.updatedObjects, context.deletedObjects])
            context.processPendingChanges()
            if let artist { graph.delete(artist, isStored: true) }
            objects = objects.filter { graph.nodes[$0.key] != nil }
        }
        check(step, "save")
        let reader = stack.newContext()
        #expect(try Self.contents(of: reader) == saved.nodes, "stored: seed \(seed), step \(step)")
    }

    /// Replaces the context by a fresh one that has read all saved objects; unsaved changes are discarded.
    private mutating func refetchAll() throws {
        context = stack.newContext()
        objects = [:]
        graph = saved
        try refetchMissing()
    }

    private mutating func refetchMissing() throws {
        objects = objects.filter { graph.nodes[$0.key] != nil }
        for object in try Self.everything(in: context) { objects[Self.number(of: object)] = object }
    }

    // MARK: Comparing

    private func check(_ step: Int, _ what: String) {
        var shown: [Int: ReferenceGraph.Node] = [:]
        for object in objects.values { shown[Self.number(of: object)] = Self.node(of: object) }
        var expected = graph.nodes
        for number in expected.keys {
            // A listener whose deletion waits for a save that `deny` refuses still owns the playlist.
            guard let owner = expected[number]?.parent, graph.nodes[owner] == nil else { continue }
            expected[number]?.parent = owner
        }
        #expect(shown == expected, "\(what): seed \(seed), step \(step)")
        for artist in graph.all(.artist) {
            let albums = object(artist, Artist.self)?.albums.map(Self.number(of:)).sorted()
            #expect(albums == graph.children(of: artist, .album), "\(what): seed \(seed), step \(step)")
        }
        for track in graph.all(.track) {
            let playlists = object(track, Track.self)?.playlists.map(Self.number(of:)).sorted()
            let expected = graph.all(.playlist).filter { graph.nodes[$0]?.entries.contains(track) == true }
            #expect(playlists == expected, "\(what): seed \(seed), step \(step)")
        }
    }

    /// Compares fetches beside unsaved changes with the plain values; a save, where valid, must not change the results.
    private mutating func checkFetches(_ step: Int) throws {
        let limit = Int.random(in: 0..<6, using: &random)
        let offset = Int.random(in: 0..<3, using: &random)
        let bound = Int.random(in: 0..<20, using: &random)
        let digit = Int.random(in: 0..<10, using: &random)
        let formats = [
            "seconds >= \(bound)", "album != nil", "album.title ENDSWITH '\(digit)'",
            "ANY playlists.name ENDSWITH '\(digit)'", "album.artist.name ENDSWITH '\(digit)' OR seconds < \(bound)",
            "playlists.@count > 1",
        ]
        var results: [[String]] = []
        for attempt in 0..<2 {
            var fetched: [[String]] = []
            for format in formats {
                var request = FetchRequest<Track>(
                    try FetchPredicate(format: format),
                    sortedBy: [SortKey("album.title"), SortKey("seconds", ascending: false), SortKey("name")])
                (request.fetchLimit, request.fetchOffset) = (limit, offset)
                fetched.append(try context.fetch(request).map(\.name))
                #expect(try context.count(for: request) == fetched[fetched.count - 1].count)
            }
            if attempt == 0 {
                results = fetched
                guard step % 27 == 0, graph.isValid else { break }
                try save(step)
            } else {
                #expect(fetched == results, "before and after saving: seed \(seed), step \(step)")
            }
        }
        try checkMatches(formats[0], step) { $0.seconds >= bound }
        try checkMatches(formats[2], step) { track in
            track.parent.flatMap { graph.nodes[$0]?.name.hasSuffix("\(digit)") } == true
        }
        try checkMatches("album.artist.name ENDSWITH '\(digit)'", step) { track in
            let album = track.parent.flatMap { graph.nodes[$0] }
            return album?.parent.flatMap { graph.nodes[$0]?.name.hasSuffix("\(digit)") } == true
        }
    }

    private func checkMatches(_ format: String, _ step: Int, _ matches: (ReferenceGraph.Node) -> Bool) throws {
        let found = try context.fetch(FetchRequest<Track>(try FetchPredicate(format: format)))
        let expected = graph.all(.track).filter { graph.nodes[$0].map(matches) == true }
        #expect(found.map(Self.number(of:)).sorted() == expected, "\(format): seed \(seed), step \(step)")
    }

    // MARK: Looking at objects

    private static func everything(in context: ManagedObjectContext) throws -> [ManagedObject] {
        try ["Artist", "Album", "Track", "Playlist", "Listener"].flatMap { name in
            try context.fetch(FetchRequest<ManagedObject>(entityName: name))
        }
    }

    private static func contents(of context: ManagedObjectContext) throws -> [Int: ReferenceGraph.Node] {
        let objects = try everything(in: context)
        return Dictionary(uniqueKeysWithValues: objects.map { (number(of: $0), node(of: $0)) })
    }

    private static func number(of object: ManagedObject) -> Int {
        let key = object is Album ? "title" : "name"
        guard case .string(let name) = object[attribute: key] else { return -1 }
        return Int(name.prefix { $0 != "-" }) ?? -1
    }

    private static func node(of object: ManagedObject) -> ReferenceGraph.Node {
        switch object {
        case let artist as Artist: return .init(kind: .artist, name: artist.name)
        case let album as Album:
            return .init(
                kind: .album, name: album.title, parent: album.artist.map(number(of:)),
                tracks: album.tracks.map(number(of:)))
        case let track as Track:
            return .init(
                kind: .track, name: track.name, seconds: Int(track.seconds), bytes: track.bytes,
                parent: track.album.map(number(of:)))
        case let playlist as Playlist:
            return .init(
                kind: .playlist, name: playlist.name, parent: playlist.owner.map(number(of:)),
                entries: Set(playlist.tracks.map(number(of:))))
        default:
            guard case .string(let name) = object[attribute: "name"] else { return .init(kind: .listener, name: "") }
            return .init(kind: .listener, name: name)
        }
    }

    private func nameKey(_ number: Int) -> String { objects[number] is Album ? "title" : "name" }

    private func object<Object: ManagedObject>(_ number: Int, _ type: Object.Type) -> Object? {
        objects[number] as? Object
    }

    private func made<Object: ManagedObject>(_ object: Object, _ body: (Object) -> Void) -> Object {
        body(object)
        return object
    }

    /// A number of any width: at a limit of that width, or in between.
    private mutating func number() -> Int {
        let end = Int.max >> Int.random(in: 0..<63, using: &random)
        return [end, ~end, end &+ 1, end / 3, 0].randomElement(using: &random) ?? 0
    }

    private mutating func pick(_ kind: ReferenceGraph.Kind?) -> Int? {
        (kind.map(graph.all) ?? graph.nodes.keys.sorted()).randomElement(using: &random)
    }

    private mutating func some(_ kind: ReferenceGraph.Kind) -> [Int] {
        Array(graph.all(kind).shuffled(using: &random).prefix(Int.random(in: 0..<5, using: &random))).sorted()
    }
}
