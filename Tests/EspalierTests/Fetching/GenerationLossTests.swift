// Generations that a store drops when its log has reached its cap: only contexts that are pinned to one fail.

import Espalier
import EspalierEngine
import EspalierModel
import EspalierStore
import Synchronization
import TestSupport
import Testing

@Suite struct GenerationLossTests {
    /// Music in a store whose log fills up soon.
    private final class Scene {
        let coordinator: PersistentStoreCoordinator
        let store: BTreeStore
        let context: ManagedObjectContext

        init() throws {
            let model = try ManagedObjectModel(for: musicClasses)
            store = try BTreeStore.inMemory(model: model, options: .small)
            coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            coordinator.add(store)
            context = ManagedObjectContext(coordinator)
            let maker = ManagedObjectContext(coordinator)
            for number in 0..<3 {
                let (artist, album) = (Artist(context: maker), Album(context: maker))
                (artist.name, album.title, album.artist) = ("\(number)", "\(number)", artist)
            }
            try maker.save()
        }

        /// Deletes the last artist, renames the others, and writes until the log has wrapped around.
        func changeAndWriteMuch() throws {
            let other = ManagedObjectContext(coordinator)
            let artists = try other.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
            try other.delete(artists[2])
            for artist in artists.dropLast() { artist.name += "'" }
            try other.save()
            try writeMuch()
        }

        /// Writes until the log has wrapped around.
        func writeMuch() throws { try Self.writeMuch(coordinator) }

        static func writeMuch(_ coordinator: PersistentStoreCoordinator) throws {
            let other = ManagedObjectContext(coordinator)
            let listener = Listener(context: other)
            for number in 0..<100 {
                listener.name = String(repeating: "\(number % 10)", count: 20_000)
                try other.save()
            }
        }

        func artists() throws -> [Artist] {
            try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        }
    }

    @Test func `a context that is idle for long moves on at its next read, keeps its changes, and says so once`() throws
    {
        let scene = try Scene()
        let artists = try scene.artists()
        #expect(artists.map(\.name) == ["0", "1", "2"])
        artists[1].founded = 5
        var lost = 0
        var refreshed: Set<ManagedObject> = []
        let tokens = [
            scene.context.addObserver(for: ManagedObjectContext.DidLoseGenerationMessage.self) { _ in lost += 1 },
            scene.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) {
                refreshed.formUnion($0.refreshed)
            },
        ]
        try scene.changeAndWriteMuch()
        #expect(artists.map(\.name) == ["0", "1", "2"])

        #expect(artists[0].albums.count == 1)

        #expect(artists[0].name == "0'" && artists[2].isFault && artists[2].name.isEmpty && artists[2].isDeleted)
        #expect(artists[1].name == "1" && artists[1].founded == 5 && artists[1].isUpdated)
        #expect(lost == 0)
        scene.context.processPendingChanges()
        #expect(lost == 1 && refreshed == [artists[0], artists[2]])
        scene.context.mergePolicy = .objectTrump
        try scene.context.save()
        #expect(artists[1].name == "1'" && artists[1].founded == 5 && lost == 1)
        withExtendedLifetime(tokens) {}
    }

    @Test(arguments: 0..<6)
    func `each way of reading goes on in the newest generation`(_ way: Int) throws {
        let scene = try Scene()
        let artists = try scene.artists()
        try scene.changeAndWriteMuch()

        switch way {
        case 0: #expect(try scene.artists().map(\.name) == ["0'", "1'"])
        case 1: #expect(try scene.context.count(for: FetchRequest<Artist>()) == 2)
        case 2: #expect(try scene.context.fetchIDs(FetchRequest<Artist>()).count == 2)
        case 3:
            var names: [String] = []
            try scene.context.enumerate(FetchRequest<Artist>(), batchSize: 1) { names.append($0.name) }
            #expect(names == ["0'", "1'"])
        case 4: #expect(artists[0].albums.first?.title == "0")
        default:
            scene.context.refresh(artists[0], mergesChanges: false)
            #expect(artists[0].name == "0'")
        }
        #expect(scene.context.recordedViolations.isEmpty)
    }

    @Test func `a context pinned to a lost generation is told so, until it goes on`() throws {
        let scene = try Scene()
        try scene.context.setQueryGeneration(from: .current)
        let artists = try scene.artists()
        let token = try scene.context.queryGenerationToken
        let album = ObjectID(entityName: "Album", storeIdentifier: scene.store.identifier, key: 1)
        try scene.changeAndWriteMuch()

        for question in [
            { _ = try scene.context.count(for: FetchRequest<Artist>()) },
            { _ = try scene.context.existingObject(with: album) },
        ] as [() throws -> Void] {
            guard case .queryGenerationExpired? = contextError(question) else {
                Issue.record("a lost generation answers")
                return
            }
        }
        #expect(artists[0].name == "0")
        let other = ManagedObjectContext(scene.coordinator)
        try other.setQueryGeneration(from: token)
        #expect(contextError { _ = try other.count(for: FetchRequest<Artist>()) } != nil)
        try other.setQueryGeneration(from: nil)
        #expect(try other.count(for: FetchRequest<Artist>()) == 2)

        try scene.context.setQueryGeneration(from: nil)
        #expect(try scene.context.count(for: FetchRequest<Artist>()) == 2)
        scene.context.refreshAllObjects()
        #expect(try scene.artists().map(\.name) == ["0'", "1'"])
    }

    // MARK: Deletions

    /// The titles of all albums, in each way of reading them.
    private static let readings: [@Sendable (ManagedObjectContext) throws -> [String]] = [
        { try $0.fetch(FetchRequest<Album>(sortedBy: [SortKey("title")])).map(\.title) },
        { context in
            var request = FetchRequest<Album>(sortedBy: [SortKey("title")])
            request.includesPropertyValues = false
            return try context.fetch(request).map(\.title)
        },
        { context in
            try context.fetchIDs(FetchRequest<Album>(sortedBy: [SortKey("title")])).map {
                (try context.existingObject(with: $0) as? Album)?.title ?? ""
            }
        },
        { try $0.fetchPages(FetchRequest<Album>(sortedBy: [SortKey("title")])).map(\.title) },
        { context in
            var titles: [String] = []
            try context.enumerate(FetchRequest<Album>(sortedBy: [SortKey("title")]), batchSize: 1) {
                titles.append($0.title)
            }
            return titles
        },
    ]

    @Test(arguments: readings.indices)
    func `what a cascade reaches stays hidden when its generation is lost, in the first read already (MC-18)`(
        _ reading: Int
    ) throws {
        let scene = try Scene()
        let artists = try scene.artists()
        try scene.context.delete(artists[0])
        #expect(try scene.context.count(for: FetchRequest<Album>()) == 2)
        try scene.writeMuch()

        #expect(try Self.readings[reading](scene.context) == ["1", "2"])

        try scene.context.save()
        #expect(try Self.readings[reading](ManagedObjectContext(scene.coordinator)) == ["1", "2"])
    }

    @Test func `counts and values leave out what a cascade reaches when its generation is lost (MC-18)`() throws {
        for isCounted in [true, false] {
            let scene = try Scene()
            let artists = try scene.artists()
            try scene.context.delete(artists[0])
            #expect(try scene.context.count(for: FetchRequest<Album>()) == 2)
            try scene.writeMuch()

            let values = ValueRequest(entityName: "Album", columns: ["title"])
            let count =
                try isCounted
                ? scene.context.count(for: FetchRequest<Album>()) : scene.context.fetch(values).count

            #expect(count == 2)
        }
    }

    @Test func `an asynchronous fetch that loses its generation leaves out what a cascade reaches (MC-18, FR-22)`()
        async throws
    {
        func lose() throws -> ManagedObjectContext {
            let scene = try Scene()
            let artists = try scene.artists()
            try scene.context.delete(artists[0])
            #expect(try scene.context.count(for: FetchRequest<Album>()) == 2)
            try scene.writeMuch()
            return scene.context
        }
        // The order leads to the deleted artist: the search for the albums that lead there loses the generation.
        let request = FetchRequest<Album>(sortedBy: [SortKey("artist.name")])

        let context = try lose()
        #expect(try await context.fetch(request, progress: FetchProgress()).map(\.title) == ["1", "2"])
        let other = try lose()
        #expect(try await other.fetchIDs(request, progress: FetchProgress()).count == 2)
        let third = try lose()
        var values = ValueRequest(entityName: "Album", columns: ["title"])
        values.sortKeys = [SortKey("artist.name")]
        #expect(try await third.fetch(values, progress: FetchProgress()).count == 2)
    }

    @Test(arguments: 0..<4)
    func `an asynchronous fetch that loses its generation after its rows are read begins again (MC-18, FR-22)`(
        _ way: Int
    ) async throws {
        let scene = try Scene()
        let artists = try scene.artists()
        artists[1].founded = 5
        let coordinator = scene.coordinator
        let outcomes = Mutex<[String]>([])
        // The stores have answered when they are told of. The album of the changed artist is read after that.
        let progress = FetchProgress { _ in
            guard outcomes.withLock({ $0.isEmpty }) else { return }
            do {
                let other = ManagedObjectContext(coordinator)
                let found = try other.fetch(FetchRequest<Artist>(try FetchPredicate(format: "name == '1'")))
                let late = Album(context: other)
                (late.title, late.artist) = ("11", found.first)
                try other.save()
                try Scene.writeMuch(coordinator)
                outcomes.withLock { $0.append("written") }
            } catch {
                outcomes.withLock { $0.append("\(error)") }
            }
        }
        let predicate = try FetchPredicate(format: "artist.founded == 5 OR title == '2'")
        let request = FetchRequest<Album>(predicate, sortedBy: [SortKey("title")])

        switch way {
        case 0:
            let albums = try await scene.context.fetch(request, progress: progress)
            #expect(albums.map(\.title) == ["1", "11", "2"])
        case 1: #expect(try await scene.context.fetchIDs(request, progress: progress).count == 3)
        case 2: #expect(try await scene.context.count(for: request, progress: progress) == 3)
        default:
            var values = ValueRequest(entityName: "Album", columns: ["title"])
            values.predicate = predicate
            #expect(try await scene.context.fetch(values, progress: progress).count == 3)
        }
        #expect(outcomes.withLock(\.self) == ["written"])
    }

    @Test(arguments: readings.indices, [false, true])
    func `what a cascade reaches only in the generation after a lost one is hidden, too (MC-18)`(
        _ reading: Int, losesWithTracks: Bool
    ) throws {
        let scene = try Scene()
        let artists = try scene.artists()
        try scene.context.delete(artists[0])
        #expect(try scene.context.count(for: FetchRequest<Album>()) == 2)
        #expect(try scene.context.count(for: FetchRequest<Track>()) == 0)
        let other = ManagedObjectContext(scene.coordinator)
        let owner = try #require(try other.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")])).first)
        let (late, track) = (Album(context: other), Track(context: other))
        (late.title, late.artist) = ("00", owner)
        (track.name, track.album) = ("Late", late)
        try other.save()
        try scene.writeMuch()

        // Before the loss no unsaved change affects a fetch of tracks.
        switch losesWithTracks ? reading : .max {
        case .max: break
        case 0: #expect(try scene.context.fetch(FetchRequest<Track>()).isEmpty)
        case 1: #expect(try scene.context.count(for: FetchRequest<Track>()) == 0)
        case 2: #expect(try scene.context.fetchIDs(FetchRequest<Track>()).isEmpty)
        case 3:
            let names = ValueRequest(entityName: "Track", columns: ["name"])
            try scene.context.enumerate(names) { Issue.record("\($0.values) is visited") }
        default: try scene.context.enumerate(FetchRequest<Track>()) { Issue.record("\($0.name) is visited") }
        }

        #expect(try Self.readings[reading](scene.context) == ["1", "2"])
    }

    @Test func `contexts that nobody uses keep the log below its cap`() throws {
        let scene = try Scene()
        let idle = (0..<8).map { _ in ManagedObjectContext(scene.coordinator) }
        for context in idle { _ = try context.count(for: FetchRequest<Artist>()) }
        for _ in 0..<3 { try scene.writeMuch() }
        #expect(scene.store.statistics.logByteCount <= UInt64(DatabaseOptions.small.logByteCountMax))
        for context in idle { #expect(try context.count(for: FetchRequest<Listener>()) == 3) }
    }
}
