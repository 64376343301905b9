// A context reads one generation of its stores: it sees the saves of other contexts when it advances, and not earlier.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Testing

@Suite struct GenerationTests {
    /// A context that has read its generation, after another context has changed every artist.
    private struct Scene {
        let stack: Stack
        let context: ManagedObjectContext
        /// Unfired faults of all artists, in the order of their former names.
        let artists: [Artist]

        /// - Parameter prepare: prepares the context before the other one saves.
        init(_ kind: StoreKind, prepare: (ManagedObjectContext) -> Void = { _ in }) throws {
            stack = try Stack(kind)
            try stack.makeMusic(artists: 3, tracks: 2)
            context = stack.context
            prepare(context)
            let request = FetchRequest<Artist>(sortedBy: [SortKey("name")])
            let ids = try context.fetchIDs(request)
            artists = try ids.compactMap { [context] id in try context.object(with: id) as? Artist }
            let other = stack.newContext()
            for artist in try other.fetch(request).dropFirst() { try other.delete(artist) }
            let last = try #require(try other.fetch(request).first)
            last.name = "Changed"
            Artist(context: other).name = "New"
            try other.saveAndCompare()
        }

        /// The names of all artists, in order, through a fetch.
        func names() throws -> [String] {
            try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")])).map(\.name)
        }
    }

    private static let (before, after) = (["Artist 0", "Artist 1", "Artist 2"], ["Changed", "New"])

    // MARK: Staying

    @Test(arguments: StoreKind.allCases)
    func `what another context deletes stays readable, with all that it leads to`(_ kind: StoreKind) throws {
        let scene = try Scene(kind)

        #expect(scene.artists.map(\.name) == Self.before)
        #expect(scene.artists.map(\.albums.count) == [1, 2, 3])
        let tracks = scene.artists.flatMap { $0.albums.flatMap(\.tracks) }
        #expect(tracks.count == 12 && tracks.allSatisfy { !$0.name.isEmpty && !$0.isDeleted })
        #expect(tracks.allSatisfy { $0.album?.artist.map(scene.artists.contains) == true })
        #expect(try scene.names() == Self.before)
        #expect(try scene.context.count(for: FetchRequest<Track>()) == 12)
        let last = FetchRequest<Track>(try FetchPredicate(format: "album.artist.name == 'Artist 2'"))
        #expect(try scene.context.fetch(last).count == 6)
        var count = 0
        try scene.context.enumerate(FetchRequest<Track>(), batchSize: 5) { count += $0.isDeleted ? 0 : 1 }
        #expect(count == 12 && scene.context.recordedViolations.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a value of 30 MB that another context replaces or deletes is read whole where it was`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let maker = stack.newContext()
        for letter in ["a", "b"] { Listener(context: maker).name = String(repeating: letter, count: 30_000_000) }
        try maker.save()
        let ids = try stack.context.fetchIDs(FetchRequest<Listener>(sortedBy: [SortKey("name")]))
        let faults = try ids.compactMap { id in try stack.context.object(with: id) as? Listener }
        let other = stack.newContext()
        let theirs = try ids.compactMap { id in try other.object(with: id) as? Listener }
        theirs[0].name = String(repeating: "c", count: 31_000_000)
        try other.delete(theirs[1])
        try other.save()

        #expect(faults.map(\.name.utf8.count) == [30_000_000, 30_000_000])
        let areWhole = zip(faults, ["a", "b"]).allSatisfy { $0.name == String(repeating: $1, count: 30_000_000) }
        #expect(areWhole)
        #expect(stack.context.recordedViolations.isEmpty)
        try stack.context.setQueryGeneration(from: nil)
        stack.context.refreshAllObjects()
        let isTheirs = faults[0].name == String(repeating: "c", count: 31_000_000)
        #expect(isTheirs)
        #expect(faults[1].name.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `events that take in nothing leave a context where it is`(_ kind: StoreKind) throws {
        let scene = try Scene(kind)
        scene.context.processPendingChanges()
        scene.context.rollback()
        try scene.context.save()
        #expect(try scene.names() == Self.before)
        let new = try #require(try scene.stack.stored(Artist.self).first { $0.name == "New" })
        guard case .objectNotFound? = contextError({ _ = try scene.context.existingObject(with: new.objectID) }) else {
            Issue.record("a newer row is found")
            return
        }
        try scene.context.setQueryGeneration(from: nil)
        #expect((try scene.context.existingObject(with: new.objectID) as? Artist)?.name == "New")
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that fails, even after it has resolved conflicts, leaves the context in its generation`(
        _ kind: StoreKind
    ) throws {
        func makePlaylist(_ context: ManagedObjectContext) {
            let (playlist, owner) = (Playlist(context: context), Listener(context: context))
            (playlist.name, playlist.owner, owner.name) = ("Once", owner, "L")
        }
        for policy in [MergePolicy.error, .objectTrump] {
            let scene = try Scene(kind)
            scene.context.mergePolicy = policy
            try scene.context.setMergePolicy(.error, forEntityNamed: "Playlist")
            scene.artists[0].name = "Mine"
            let other = scene.stack.newContext()
            makePlaylist(other)
            try other.saveAndCompare()
            makePlaylist(scene.context)
            switch contextError({ try scene.context.save() }) {
            case .several? where policy == .error: break
            // The policy has resolved the conflicts, and the store has refused the save for another reason.
            case .constraints? where policy == .objectTrump: break
            case let error: Issue.record("\(error.map { "\($0)" } ?? "saved")")
            }
            #expect(scene.artists[0].name == "Mine" && scene.artists[0].albums.count == 1)
            #expect(scene.artists[2].name == "Artist 2" && scene.artists[2].albums.count == 3)
            #expect(try scene.context.count(for: FetchRequest<Album>()) == 6)

            scene.context.rollback()
            scene.artists[0].founded = 3
            #expect((contextError { try scene.context.save() } == nil) == (policy != .error))
            #expect(try scene.context.count(for: FetchRequest<Album>()) == (policy == .error ? 6 : 1))
        }
    }

    // MARK: Advancing

    enum Way: CaseIterable {
        case save, merge, mergeByHand, refreshAll, refreshOne, reset, byHand, current
    }

    @Test(arguments: StoreKind.allCases, Way.allCases)
    func `a context advances when it saves, merges, refreshes, is reset or told to`(
        _ kind: StoreKind, _ way: Way
    ) throws {
        let scene = try Scene(kind) { $0.automaticallyMergesChangesFromParent = way == .merge }
        let context = scene.context
        if way != .merge { #expect(try scene.names() == Self.before) }
        switch way {
        case .save:
            Listener(context: context).name = "L"
            try context.save()
        case .merge: context.processPendingChanges()
        case .mergeByHand: context.mergeChanges(from: SavedChanges(updated: [scene.artists[0].objectID]))
        case .refreshAll: context.refreshAllObjects()
        case .refreshOne: context.refresh(scene.artists[0], mergesChanges: false)
        case .reset: context.reset()
        case .byHand: try context.setQueryGeneration(from: nil)
        case .current: try context.setQueryGeneration(from: .current)
        }

        #expect(try context.count(for: FetchRequest<Album>()) == 1)
        #expect(Set(try context.fetchIDs(FetchRequest<Artist>())).count == 2)
        // A deleted object reads as deleted, or keeps the value that it had in memory.
        if way != .reset { #expect(["", "Artist 2"].contains(scene.artists[2].name)) }
        context.refreshAllObjects()
        #expect(try scene.names() == Self.after)
    }

    @Test(arguments: StoreKind.allCases)
    func `an object in memory shows what it did when the context advances, until it is refreshed`(
        _ kind: StoreKind
    ) throws {
        let scene = try Scene(kind)
        #expect(scene.artists.map(\.name) == Self.before)

        try scene.context.setQueryGeneration(from: nil)

        #expect(scene.artists.map(\.name) == Self.before)
        scene.context.refreshAllObjects()
        #expect(scene.artists[0].name == "Changed" && scene.artists.dropFirst().allSatisfy { $0.name.isEmpty })
        #expect(scene.artists.dropFirst().allSatisfy { $0.isDeleted })
    }

    @Test(arguments: StoreKind.allCases)
    func `a fault that was not read before the context advances shows the newer row`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        let context = stack.newContext()
        let artist = try #require(try context.fetch(FetchRequest<Artist>()).first)
        #expect(artist.isFault)
        let other = stack.newContext()
        try #require(try other.fetch(FetchRequest<Artist>()).first).name = "Changed"
        try other.save()

        try context.setQueryGeneration(from: nil)

        #expect(artist.name == "Changed")
    }

    @Test(arguments: StoreKind.allCases)
    func `a context that merges finds what others have saved by its ID`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 1, tracks: 0)
        stack.context.automaticallyMergesChangesFromParent = true
        #expect(try stack.context.count(for: FetchRequest<Artist>()) == 1)
        let other = stack.newContext()
        let new = Artist(context: other)
        new.name = "New"
        try other.save()

        #expect((try stack.context.existingObject(with: new.objectID) as? Artist)?.name == "New")
    }

    @Test(arguments: StoreKind.allCases)
    func `what was read ahead stays after a save of one's own, and not after one of others`(_ kind: StoreKind) throws {
        for others in [false, true] {
            let stack = try Stack(kind)
            try stack.makeMusic(artists: 4, tracks: 1)
            let artists = try stack.context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
            #expect(artists[0].albums.count == 1)
            let albums = artists.flatMap(\.albums)
            #expect(albums.count == 10)
            let trips = stack.context.faultTrips
            if others {
                let other = stack.newContext()
                let last = try #require(try other.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")])).last)
                for album in last.albums { try other.delete(album) }
                try other.saveAndCompare()
            }
            artists[0].founded = 1
            try stack.context.save()

            #expect(artists[3].albums.count == (others ? 0 : 4))
            #expect((stack.context.faultTrips > trips) == others)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that writes nothing takes no other save for its own, and moves on to what that wrote`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let maker = stack.newContext()
        let (playlist, owner) = (Playlist(context: maker), Listener(context: maker))
        (playlist.name, playlist.owner, owner.name) = ("All", owner, "Before")
        playlist.tracks = Set(try maker.fetch(FetchRequest<Track>()))
        try maker.save()
        let mine = try #require(try stack.context.fetch(FetchRequest<Playlist>()).first)
        let faults = try stack.context.fetch(FetchRequest<Listener>())
        let track = try #require(mine.tracks.first)
        #expect(faults.allSatisfy { $0.isFault })
        let other = stack.newContext()
        let theirs = try #require(try other.existingObject(with: mine.objectID) as? Playlist)
        theirs.tracks = theirs.tracks.filter { $0.objectID != track.objectID }
        for listener in try other.fetch(FetchRequest<Listener>()) { listener.name = "After" }
        try other.save()

        mine.tracks.remove(track)
        try stack.context.save()

        #expect(faults.map(\.name) == ["After"])
        #expect(mine.tracks.count == 2)
        stack.context.compareWithFreshContext()
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that only checks locks takes no other save for its own`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 0)
        let request = FetchRequest<Artist>(sortedBy: [SortKey("founded")])
        let artists = try stack.context.fetch(request)
        try stack.context.detectConflicts(for: artists[0])
        let founded = try #require(artists[0].founded)
        #expect(artists[1].isFault)
        let other = stack.newContext()
        try other.fetch(request)[1].name = "Changed"
        try other.save()

        // A change that is none: the request has only the lock.
        artists[0].founded = founded + 1
        artists[0].founded = founded
        try stack.context.save()

        #expect(artists[1].name == "Changed")
    }

    // MARK: Tokens

    @Test(arguments: StoreKind.allCases)
    func `a generation is taken from one context to another, on another thread too`(_ kind: StoreKind) async throws {
        let scene = try Scene(kind)
        let token = try scene.context.queryGenerationToken
        #expect(try scene.context.queryGenerationToken == token)
        let coordinator = scene.stack.coordinator
        let background = BackgroundContext(coordinator)
        let counts = try await background.perform { context in
            let newest = try context.count(for: FetchRequest<Artist>())
            try context.setQueryGeneration(from: token)
            let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
            return [newest, artists.count, artists.flatMap(\.albums).flatMap(\.tracks).count]
        }
        #expect(counts == [2, 3, 12])

        let other = scene.stack.newContext()
        #expect(try other.count(for: FetchRequest<Artist>()) == 2)
        #expect(try other.queryGenerationToken != token)
        try other.setQueryGeneration(from: token)
        #expect(try other.count(for: FetchRequest<Artist>()) == 3)
        try scene.context.setQueryGeneration(from: nil)
        #expect(try scene.context.count(for: FetchRequest<Artist>()) == 2)
        #expect(try other.count(for: FetchRequest<Artist>()) == 3)
        #expect(try other.queryGenerationToken == token)
    }

    @Test(arguments: StoreKind.allCases)
    func `a pinned context merges and refreshes nothing until it saves or is told to go on`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 0)
        let (context, other) = (stack.context, stack.newContext())
        context.automaticallyMergesChangesFromParent = true
        try context.setQueryGeneration(from: .current)
        let mine = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        #expect(mine[0].name == "Artist 0")
        func rename(_ name: String) throws {
            let theirs = try #require(try other.existingObject(with: mine[0].objectID) as? Artist)
            theirs.name = name
            try other.save()
        }
        try rename("1")

        context.processPendingChanges()
        context.refreshAllObjects()
        context.refresh(mine[0], mergesChanges: true)
        #expect(mine[0].name == "Artist 0")
        context.reset()
        let again = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("founded")]))
        #expect(again[0].name == "Artist 0")

        again[1].founded = 7
        try context.save()
        context.refresh(again[0], mergesChanges: false)
        #expect(again[0].name == "1")
        try rename("2")
        context.processPendingChanges()
        context.refresh(again[0], mergesChanges: false)
        #expect(again[0].name == "1")
        try context.setQueryGeneration(from: nil)
        context.processPendingChanges()
        #expect(again[0].name == "2")
    }

    @Test(arguments: StoreKind.allCases)
    func `a pinned context that merges by hand is pinned to the newest generation after that`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 0)
        let (context, other) = (stack.context, stack.newContext())
        try context.setQueryGeneration(from: .current)
        let mine = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("founded")]))
        #expect(mine.map(\.name) == ["Artist 0", "Artist 1"])
        func rename(_ name: String) throws {
            for artist in try other.fetch(FetchRequest<Artist>()) { artist.name = name }
            try other.save()
        }
        try rename("1")

        context.mergeChanges(from: SavedChanges(updated: [mine[0].objectID]))

        #expect(mine[0].name == "1")
        context.refresh(mine[1], mergesChanges: false)
        #expect(mine[1].name == "1")
        try rename("2")
        context.refreshAllObjects()
        #expect(mine.map(\.name) == ["1", "1"])
    }

    @Test func `a generation of other stores is refused`() throws {
        let (stack, stranger) = (try Stack(.inMemory), try Stack(.inMemory))
        let token = try stranger.context.queryGenerationToken
        guard
            case .queryGenerationOfOtherStores? = contextError({
                try stack.context.setQueryGeneration(from: token)
            })
        else {
            Issue.record("a generation of other stores is read")
            return
        }
        #expect(try stack.context.count(for: FetchRequest<Artist>()) == 0)
    }

    // MARK: Stores

    @Test(arguments: StoreKind.allCases)
    func `stores that come and go while a generation is read are read and missed at once`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 2, tracks: 1)
        let artists = try stack.context.fetch(FetchRequest<Artist>())
        let second = InMemoryStore(model: stack.coordinator.managedObjectModel)
        stack.coordinator.add(second)
        let listener = SaveRequest.Insertion(
            id: ObjectID(temporaryFor: "Listener"), values: [.string("L")], destinations: [nil, nil, nil])
        #expect(try stack.context.count(for: FetchRequest<Artist>()) == 2)
        var request = SaveRequest()
        request.insertions = [listener]
        _ = try second.save(request)
        #expect(try stack.context.count(for: FetchRequest<Listener>()) == 0)
        try stack.context.setQueryGeneration(from: nil)
        #expect(try stack.context.count(for: FetchRequest<Listener>()) == 1)

        try stack.coordinator.remove(stack.coordinator.persistentStores[0])
        #expect(try stack.context.count(for: FetchRequest<Artist>()) == 0)
        guard case .noStore? = contextError({ _ = try stack.context.existingObject(with: artists[1].objectID) }) else {
            Issue.record("a store that is gone answers")
            return
        }
        #expect(try stack.context.count(for: FetchRequest<Listener>()) == 1)
        try stack.coordinator.remove(second)
    }

    @Test func `a save to one store advances the generations of all`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model), entityNames: ["Artist", "Album", "Track"])
        coordinator.add(try BTreeStore.inMemory(model: model), entityNames: ["Listener", "Playlist"])
        let (mine, theirs) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
        func counts() throws -> [Int] {
            [try mine.count(for: FetchRequest<Artist>()), try mine.count(for: FetchRequest<Listener>())]
        }
        #expect(try counts() == [0, 0])
        Artist(context: theirs).name = "A"
        Listener(context: theirs).name = "L"
        try theirs.save()
        #expect(try counts() == [0, 0])
        let token = try mine.queryGenerationToken
        Listener(context: mine).name = "M"
        try mine.save()
        #expect(try counts() == [1, 2])
        try mine.setQueryGeneration(from: token)
        #expect(try counts() == [0, 0])
    }

    @Test func `a store that is opened again is read anew`() throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 0)
        let artist = try #require(try stack.context.fetch(FetchRequest<Artist>()).first)
        let store = stack.coordinator.persistentStores[0]
        let path = try #require(store.path)
        try stack.coordinator.remove(store)
        try stack.coordinator.addPersistentStore(PersistentStoreDescription(path: path))
        let other = stack.newContext()
        try #require(try other.fetch(FetchRequest<Artist>()).first).name = "Again"
        try other.save()

        stack.context.refresh(artist, mergesChanges: false)
        #expect(artist.name == "Again")
        #expect(try stack.context.count(for: FetchRequest<Artist>()) == 1)
    }

    @Test func `a background context without objects keeps no generation`() async throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 1)
        let store = try #require(stack.coordinator.persistentStores[0] as? BTreeStore)
        let before = store.statistics.snapshotCount
        let background = BackgroundContext(stack.coordinator)
        let names = try await background.perform { try $0.fetch(FetchRequest<Artist>()).map(\.name) }
        #expect(names == ["Artist 0"] && store.statistics.snapshotCount == before)
        let count = try background.performAndWait { try $0.count(for: FetchRequest<Artist>()) }
        #expect(count == 1 && store.statistics.snapshotCount == before)
    }
}
