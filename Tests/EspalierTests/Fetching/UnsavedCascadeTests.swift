// Cascades to rows that nobody has in memory, before they are saved: what is found, what relationships show, and what
// nobody has to pay who does not ask (MC-13, MC-14, MC-18, MC-31).

import Espalier
import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct UnsavedCascadeTests {
    /// Three artists with one, two and three albums of two tracks each, and a playlist of all tracks.
    private func makeStack(_ kind: StoreKind) throws -> Stack {
        let stack = try Stack(kind)
        try stack.makeMusic(artists: 3, tracks: 2)
        let context = stack.newContext()
        let (owner, playlist) = (Listener(context: context), Playlist(context: context))
        (owner.name, playlist.name, playlist.owner) = ("Ann", "All", owner)
        playlist.tracks = Set(try context.fetch(FetchRequest<Track>()))
        try context.save()
        return stack
    }

    private func artist(_ number: Int, in context: ManagedObjectContext) throws -> Artist {
        let request = FetchRequest<Artist>(try FetchPredicate(format: "name == %@", "Artist \(number)"))
        return try #require(try context.fetch(request).first)
    }

    // MARK: Answers

    @Test(arguments: StoreKind.allCases)
    func `rows that a cascade reaches are counted nowhere, and no object is made of them (MC-18)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let artist = try artist(2, in: context)
        try context.delete(artist)
        func counts(_ context: ManagedObjectContext) throws -> [Int] {
            let formats = [
                "seconds >= 100", "album.artist.name == 'Artist 2'", "album.artist.name != 'Artist 2'",
                "album.tracks.@count == 2", "ANY playlists.name == 'All'",
            ]
            return try formats.map { try context.count(for: FetchRequest<Track>(FetchPredicate(format: $0))) }
                + [
                    context.count(for: FetchRequest<Track>()), context.count(for: FetchRequest<Album>()),
                    context.count(for: FetchRequest<Playlist>(FetchPredicate(format: "tracks.@count == 6"))),
                ]
        }

        let before = try counts(context)

        #expect(before == [6, 0, 6, 6, 6, 6, 3, 1])
        #expect(context.registeredObjects.allSatisfy { $0 === artist || $0 is Playlist })
        try context.save()
        #expect(try counts(stack.newContext()) == before)
    }

    @Test(arguments: StoreKind.allCases)
    func `objects, IDs, pages, values and groups leave out what a cascade reaches, on this thread and on another one`(
        _ kind: StoreKind
    ) async throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let request = FetchRequest<Track>(sortedBy: [SortKey("name", ascending: false)])
        let names = ["Track 1.1.1", "Track 1.1.0", "Track 1.0.1", "Track 1.0.0", "Track 0.0.1", "Track 0.0.0"]
        let ids = try context.fetch(request).filter { !$0.name.hasPrefix("Track 2") }.map(\.objectID)
        try context.delete(artist(2, in: context))

        #expect(try context.fetch(request).map(\.name) == names)
        #expect(try context.fetchIDs(request) == ids)
        #expect(try context.fetchPages(request).map(\.name) == names)
        var visited: [String] = []
        try context.enumerate(request, batchSize: 2) { visited.append($0.name) }
        #expect(visited == names)
        var window = request
        (window.fetchOffset, window.fetchLimit) = (1, 2)
        #expect(try context.fetch(window).map(\.name) == Array(names[1...2]))
        let columns = [FetchColumn("album.title"), try FetchColumn("n", format: "count:(name)")]
        #expect(
            try context.rows("Track", columns, by: ["album.title"], sort: [SortKey("album.title")]) == [
                [.string("Album 0.0"), .integer(2)], [.string("Album 1.0"), .integer(2)],
                [.string("Album 1.1"), .integer(2)],
            ])
        var rows: [[AttributeValue]] = []
        let values = ValueRequest(entityName: "Track", columns: ["name"])
        try context.enumerate(values) { rows.append($0.values) }
        #expect(rows.count == 6)

        #expect(try await context.fetch(request, progress: FetchProgress()).map(\.name) == names)
        #expect(try await context.fetchIDs(request, progress: FetchProgress()) == ids)
        #expect(try await context.count(for: request, progress: FetchProgress()) == 6)
        #expect(try await context.fetch(values, progress: FetchProgress()).count == 6)
    }

    @Test(arguments: StoreKind.allCases)
    func `without pending changes the rows that a cascade reaches are found, as deleted objects (FR-09)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        try context.delete(artist(2, in: context))
        var request = FetchRequest<Album>()
        #expect(try context.count(for: request) == 3)

        request.includesPendingChanges = false
        let albums = try context.fetch(request)

        #expect(albums.count == 6 && albums.filter(\.isDeleted).count == 3)
        try context.saveAndCompare()
        #expect(try stack.stored(Album.self).count == 3)
    }

    // MARK: Asking

    @Test(arguments: StoreKind.allCases)
    func `the deleted objects are all that the rules reach, at any depth (MC-31)`(_ kind: StoreKind) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let artist = try artist(2, in: context)
        try context.delete(artist)
        #expect(context.deletedObjects == [artist])

        context.processPendingChanges()

        #expect(context.deletedObjects.count == 1 + 3 + 6)
        #expect(context.deletedObjects.allSatisfy { $0.isDeleted && $0.managedObjectContext === context })
        #expect(artist.albums.count == 3 && artist.albums.allSatisfy(\.isDeleted))
        try context.saveAndCompare()
        #expect(!context.hasChanges && artist.managedObjectContext == nil)
        #expect(try stack.stored(Album.self).count == 3 && stack.stored(Track.self).count == 6)
    }

    @Test(arguments: StoreKind.allCases)
    func `a deletion and a fetch of what no cascade can reach read nothing for the rules but the first list`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let artist = try artist(2, in: context)
        let kinds = Mutex([StoreRequestRecord.Kind]())
        context.requestLog = RequestLog(.requests) { record in kinds.withLock { $0.append(record.kind) } }

        try context.delete(artist)
        context.processPendingChanges()
        #expect(try context.count(for: FetchRequest<Listener>()) == 1)
        #expect(try context.count(for: FetchRequest<Artist>()) == 2)
        #expect(context.registeredObjects == [artist])
        try context.save()

        let asked = kinds.withLock(\.self)
        #expect(asked.count { $0 == .destinations } == 1 && !asked.contains(.rows) && asked.last == .save)
        #expect(try stack.stored(Track.self).count == 6)
    }

    @Test func `a cascade to many rows is followed in one step for each, and makes no objects`() throws {
        func makeAlbums(_ count: Int) throws -> Stack {
            let stack = try Stack(.btree)
            let artist = Artist(context: stack.context)
            artist.name = "Artist"
            for number in 0..<count {
                let album = Album(context: stack.context)
                (album.title, album.artist) = ("\(number)", artist)
            }
            try stack.context.save()
            return stack
        }
        try expectGrowth(1, 100, 1000, making: makeAlbums) { stack in
            let context = stack.newContext()
            let artist = try #require(try context.fetch(FetchRequest<Artist>()).first)
            return try work(context) {
                try context.delete(artist)
                #expect(try context.count(for: FetchRequest<Album>()) == 0)
                #expect(context.registeredObjects == [artist])
            }
        }
    }

    // MARK: Stores that cannot be read

    /// - Parameter failing: the numbers of the readings of lists that fail. The first one is that of the delete rules,
    ///   which run again by ID if it fails.
    @Test(arguments: [[0], [1], [0, 1], [0, 2]])
    func `a list that cannot be read is not taken for an empty one, and the next fetch reads it again (MC-18)`(
        failing: [Int]
    ) throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let state = Mutex((isArmed: false, count: 0))
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(
            WatchedStore(model: model) { call throws(StoreError) in
                guard case .destinations = call else { return }
                let fails = state.withLock { state -> Bool in
                    guard state.isArmed else { return false }
                    defer { state.count += 1 }
                    return failing.contains(state.count)
                }
                if fails { throw StoreError.invalidRequest(reason: "a test lets this reading fail") }
            })
        let maker = ManagedObjectContext(coordinator)
        let (artist, album, track) = (Artist(context: maker), Album(context: maker), Track(context: maker))
        (artist.name, album.title, track.name) = ("Ann", "First", "One")
        (album.artist, track.album) = (artist, album)
        try maker.save()
        let context = ManagedObjectContext(coordinator)
        let gone = try #require(try context.fetch(FetchRequest<Artist>()).first)
        try context.delete(gone)
        state.withLock { $0.isArmed = true }
        func count() throws -> Int { try context.count(for: FetchRequest<Track>()) }

        if failing == [0] {
            #expect(try count() == 0)
        } else {
            guard case .store? = contextError({ _ = try count() }) else {
                Issue.record("a fetch answers without the list that it has to read")
                return
            }
        }

        #expect(try count() == 0)
        #expect(try context.count(for: FetchRequest<Album>()) == 0)
        let readCount = state.withLock { $0.count }
        #expect(readCount > failing.count)
    }

    // MARK: Taking back

    @Test(arguments: StoreKind.allCases)
    func `a deletion that is taken back takes back what its cascades reach`(_ kind: StoreKind) throws {
        let stack = try makeStack(kind)
        for isRolledBack in [false, true] {
            let context = stack.newContext()
            let artists = [try artist(1, in: context), try artist(2, in: context)]
            let playlist = try #require(try context.fetch(FetchRequest<Playlist>()).first)
            for artist in artists { try context.delete(artist) }
            #expect(try context.count(for: FetchRequest<Track>()) == 2)
            #expect(playlist.tracks.count == 2 && !playlist.hasChanges)

            if isRolledBack { context.rollback() } else { context.refresh(artists[1], mergesChanges: false) }

            let left = isRolledBack ? 12 : 8
            #expect(try context.count(for: FetchRequest<Track>()) == left && playlist.tracks.count == left)
            #expect(artists[1].albums.count == 3 && !artists[1].isDeleted && artists[0].isDeleted != isRolledBack)
            #expect(context.hasChanges != isRolledBack)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what another context adds to what is deleted here is hidden with the next merge`(_ kind: StoreKind) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        context.automaticallyMergesChangesFromParent = true
        try context.delete(artist(2, in: context))
        #expect(try context.count(for: FetchRequest<Track>()) == 6)
        let other = stack.newContext()
        let owner = try artist(2, in: other)
        let (album, tracks) = (Album(context: other), [Track(context: other), Track(context: other)])
        (album.title, album.artist) = ("Late", owner)
        // An album that nobody has in memory here gets another track, too.
        for (track, album) in zip(tracks, [album, try #require(owner.albums.first { $0 !== album })]) {
            (track.name, track.album) = ("Late", album)
        }
        try other.save()

        #expect(try context.count(for: FetchRequest<Track>()) == 6)
        #expect(try context.count(for: FetchRequest<Album>()) == 3)
        try context.save()
        #expect(try stack.stored(Track.self).count == 6)
    }

    @Test(arguments: StoreKind.allCases)
    func `a save that fails leaves what cascades reach as it was`(_ kind: StoreKind) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        try context.delete(artist(2, in: context))
        let orphan = Playlist(context: context)
        orphan.name = "Nobody's"
        #expect(try context.count(for: FetchRequest<Track>()) == 6)

        #expect(violations { try context.save() }.map(\.property) == ["owner"])

        #expect(try context.count(for: FetchRequest<Track>()) == 6)
        #expect(context.deletedObjects.count == 1 + 3 + 6)
        try context.delete(orphan)
        try context.saveAndCompare()
        #expect(try stack.stored(Track.self).count == 6)
    }

    // MARK: Objects in memory

    @Test(arguments: StoreKind.allCases)
    func `an object in memory is deleted by a cascade that reaches it across rows, and observers are told`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        let request = FetchRequest<Track>(try FetchPredicate(format: "name == 'Track 2.1.0'"))
        let track = try #require(try context.fetch(request).first)
        let other = try #require(try context.fetch(FetchRequest<Track>(sortedBy: [SortKey("name")])).first)
        var told = Set<ManagedObject>()
        let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { message in
            told.formUnion(message.deleted)
        }
        let artist = try artist(2, in: context)
        try context.delete(artist)
        #expect(!track.isDeleted)

        context.processPendingChanges()

        #expect(track.isDeleted && !other.isDeleted && told.contains(track) && !told.contains(other))
        track.name = "Changed"
        #expect(context.recordedViolations.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test(arguments: StoreKind.allCases)
    func `a relationship does not lead to what a cascade reaches, and its readers are told`(_ kind: StoreKind) throws {
        let stack = try makeStack(kind)
        let context = stack.newContext()
        context.isObservable = true
        let playlist = try #require(try context.fetch(FetchRequest<Playlist>()).first)
        let artist = try artist(2, in: context)
        func read() throws { _ = try playlist.objectIDs(forRelationshipNamed: "tracks") }

        let count = try calls(reading: read) {
            try context.delete(artist)
            context.processPendingChanges()
        }

        #expect(count == 1 && playlist.tracks.count == 6 && !playlist.hasChanges)
        #expect(playlist.tracks.allSatisfy { !$0.name.hasPrefix("Track 2") })
        #expect(try calls(reading: read, { context.rollback() }) == 1)
        #expect(playlist.tracks.count == 12)
        try context.delete(artist)
        try context.saveAndCompare()
        #expect(playlist.tracks.count == 6)
    }

    // MARK: The rule nullify

    @Test(arguments: StoreKind.allCases)
    func `a reference to a deleted object is gone from an object that comes into memory later (MC-13)`(
        _ kind: StoreKind
    ) throws {
        let stack = try makeStack(kind)
        let lonely = FetchRequest<Track>(try FetchPredicate(format: "playlists.@count == 0"))
        let context = stack.newContext()
        try context.delete(try #require(try context.fetch(FetchRequest<Playlist>()).first))

        #expect(try context.count(for: lonely) == 12)
        let tracks = try context.fetch(FetchRequest<Track>())
        #expect(tracks.allSatisfy { $0.playlists.isEmpty && !$0.hasChanges })
        let listener = try #require(try context.fetch(FetchRequest<Listener>()).first)
        #expect(listener.playlists.isEmpty)
        try context.saveAndCompare()
        #expect(try stack.newContext().count(for: lonely) == 12)
    }

    @Test(arguments: StoreKind.allCases)
    func `places in an order count what a reader sees, and the save stores that order`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let skills = (0..<4).map { number in
            let skill = Skill(context: stack.context)
            skill.number = number
            return skill
        }
        let boss = Member(context: stack.context)
        boss.ranking = OrderedToMany(skills)
        try stack.context.save()
        let context = stack.newContext()
        let gone = try context[skills[1].ref]
        try context.delete(gone)
        context.processPendingChanges()
        let member = try context[boss.ref]
        func numbers() -> [Int] { member.ranking.map(\.number) }

        #expect(numbers() == [0, 2, 3] && member.ranking.count == 3 && !member.ranking.isEmpty)
        #expect(member.ranking[1].number == 2 && member.ranking.last?.number == 3)
        #expect(!member.ranking.contains(gone) && member.ranking.firstIndex(of: gone) == nil)
        #expect(member.ranking.firstIndex(of: member.ranking[2]) == 2 && !member.hasChanges)
        member.ranking.move(from: 1, to: 0)
        let new = Skill(context: context)
        new.number = 9
        member.ranking.insert(new, at: 2)
        #expect(numbers() == [2, 0, 9, 3])
        _ = member.ranking.remove(at: 1)
        #expect(numbers() == [2, 9, 3])
        try context.saveAndCompare()

        #expect(numbers() == [2, 9, 3])
        #expect(try stack.stored(Member.self).first?.ranking.map(\.number) == [2, 9, 3])
    }

    // MARK: Unsaved objects

    @Test func `a cascade goes on across a to-one relationship of a row that nobody has in memory (MC-14)`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Band",
                relationships: [.init("members", to: "Member", inverse: "band", .toMany, deleteRule: .cascade)]),
            EntityDescription(
                "Member",
                relationships: [
                    .init("band", to: "Band", inverse: "members"),
                    .init("desk", to: "Desk", inverse: "member", deleteRule: .cascade),
                ]),
            EntityDescription("Desk", relationships: [.init("member", to: "Member", inverse: "desk")]),
        ])
        let stores: [any PersistentStore] = [
            try BTreeStore.inMemory(model: model, options: .small), InMemoryStore(model: model),
        ]
        for store in stores {
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(store)
            let maker = ManagedObjectContext(coordinator)
            let member = try maker.insertNewObject(forEntityName: "Member")
            for (name, entity) in [("band", "Band"), ("desk", "Desk")] {
                try member.setValue(.toOne(try maker.insertNewObject(forEntityName: entity)), forKey: name)
            }
            try maker.save()

            let context = ManagedObjectContext(coordinator)
            let band = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Band")).first)
            try context.delete(band)

            #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Desk")) == 0)
        }
    }

    @Test func `the cascade of an object that was never saved reaches rows, although no store runs its rules`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("Note", relationships: [.init("file", to: "File", deleteRule: .cascade)]),
            EntityDescription("File", attributes: [AttributeDescription("name", .string)]),
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(InMemoryStore(model: model))
        let writer = ManagedObjectContext(coordinator)
        let file = try writer.insertNewObject(forEntityName: "File")
        try writer.save()
        let id = file.objectID
        let context = ManagedObjectContext(coordinator)
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(.toOne(context.object(with: id)), forKey: "file")
        #expect(context.registeredObject(for: id) == nil, "nobody retains the file")

        try context.delete(note)

        let files = FetchRequest<ManagedObject>(entityName: "File")
        #expect(try context.count(for: files) == 0)
        try context.save()
        #expect(try ManagedObjectContext(coordinator).count(for: files) == 0)
    }
}
