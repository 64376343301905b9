// Actors of an application with a context of their own (SD-27).

import EspalierEngine
import EspalierModel
import EspalierStore
import Foundation
import Testing

@testable import Espalier

private actor Importer: ContextActor {
    let isolatedContext: IsolatedContext

    init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext(name: "import") }

    func add(_ names: [String]) throws -> [ObjectID] {
        let artists = names.map { name in
            let artist = Artist(context: context)
            artist.name = name
            return artist
        }
        try context.save()
        return artists.map(\.objectID)
    }

    func name(of id: ObjectID) -> String? { self[id, as: Artist.self]?.name }

    func isAlbum(_ id: ObjectID) -> Bool { self[id, as: Album.self] != nil }
}

/// An actor whose methods leave the end of their events to the executor.
private actor Editor: ContextActor {
    let isolatedContext: IsolatedContext

    init(_ coordinator: PersistentStoreCoordinator) { isolatedContext = IsolatedContext(coordinator) }

    func begin(saves: Bool) {
        if saves { context.autosaveEnabled = true } else { context.undoManager = UndoStack() }
    }

    func add(_ name: String) { Artist(context: context).name = name }

    func addWithPause(_ first: String, _ second: String) async {
        add(first)
        await Task.yield()
        add(second)
    }

    func names() throws -> [String] { try context.fetch(FetchRequest<Artist>()).map(\.name) }

    /// Makes each kind of request that another thread reads; returns how many rows each was told, and how many it had
    /// expected.
    func readAside() async throws -> [[Int?]] {
        let told = (0..<4).map { _ in FetchProgress() }
        let request = FetchRequest<Artist>()
        _ = try await context.count(for: request, progress: told[0])
        _ = try await context.fetchIDs(request, progress: told[1])
        _ = try await context.fetch(ValueRequest(entityName: "Artist", columns: ["name"]), progress: told[2])
        _ = try await context.fetch(request, progress: told[3])
        return told.map { [$0.completedCount, $0.totalCount] }
    }

    var hasChanges: Bool { context.hasChanges }
    var undoCount: Int { context.undoManager?.undoCount ?? 0 }
}

/// An actor that keeps an object of its context.
private actor Keeper: ContextActor {
    let isolatedContext: IsolatedContext
    private var current: Artist?
    private var token: ObservationToken?

    init(_ coordinator: PersistentStoreCoordinator) { isolatedContext = IsolatedContext(coordinator) }

    func begin(_ atEndOfEvent: @escaping @Sendable () -> Void) {
        token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in atEndOfEvent() }
    }

    func add(_ name: String) {
        current = Artist(context: context)
        current?.name = name
    }
}

/// An actor that does not keep its context, against the documentation.
private actor Forgetful: ContextActor {
    private let container: PersistentContainer
    nonisolated var isolatedContext: IsolatedContext { container.newIsolatedContext() }

    init(_ container: PersistentContainer) { self.container = container }

    func doubled(_ number: Int) -> Int { 2 * number }
}

@Suite struct ContextActorTests {
    @Test func `the methods of an actor use objects of its context, and only values leave it`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let importer = Importer(container)
        let ids = try await importer.add(["Miles", "Ünal"])

        #expect(await importer.name(of: ids[1]) == "Ünal")
        #expect(await !importer.isAlbum(ids[0]))
        #expect(try await container.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 2)
    }

    @Test func `actors that are called by many tasks lose nothing, wherever they were made`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let importers = await MainActor.run { [Importer(container), Importer(container)] }
        let saved = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<40 {
                group.addTask { try await importers[number % 2].add(["A\(number)", "B\(number)"]).count }
            }
            return try await group.reduce(0, +)
        }

        #expect(saved == 80)
        #expect(try await container.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 80)
    }

    @Test func `an actor that makes its context anew at each call keeps its first executor`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        // More actors than the table of executors keeps without a look at those that were freed.
        for number in 0..<200 {
            let actor = Forgetful(container)
            let executor = ActorExecutors.executor(of: actor)
            #expect(await actor.doubled(number) == 2 * number)
            #expect(ActorExecutors.executor(of: actor) === executor, "the actor has changed its executor")
        }
    }

    // MARK: Events

    @Test func `a context with autosave saves after each method of its actor`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let editor = Editor(container.persistentStoreCoordinator)
        await editor.begin(saves: true)
        // A task for each call: two calls of one task can be one job.
        await Task { await editor.add("Miles") }.value

        #expect(await !editor.hasChanges)
        #expect(try await container.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 1)
    }

    @Test func `the last method of an actor saves, although nobody keeps the actor`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        for _ in 0..<5 {
            let editor = Editor(container.persistentStoreCoordinator)
            await editor.begin(saves: true)
            await editor.add("Miles")
        }
        let reader = container.newBackgroundContext()
        var count = 0
        let deadline = ContinuousClock.now + .seconds(600)
        while count < 5, .now < deadline {
            try await Task.sleep(for: .milliseconds(1))
            count = try await reader.perform { try $0.count(for: FetchRequest<Artist>()) }
        }

        #expect(count == 5, "the save that follows the last method was lost with its actor")
    }

    @Test func `an actor and its objects live until the event of its last method has ended`() async throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        // The time limit passes only in case of a fault: other tests may hold the pool's threads for minutes.
        let gate = Gate(seconds: 600)
        weak var freed: Keeper?
        do {
            let keeper = Keeper(container.persistentStoreCoordinator)
            freed = keeper
            await keeper.begin { gate.wait() }
            await keeper.add("Miles")
        }
        await wait { gate.waitingCount == 1 }
        #expect(gate.waitingCount == 1)
        #expect(freed != nil, "the actor is freed while its executor works with its context")
        gate.release(1)
        await wait { freed == nil }

        #expect(freed == nil && gate.timedOutCount == 0, "the executor keeps its actor")
    }

    @Test func `each part of an actor's method up to a suspension is an undo group (MC-54)`() async throws {
        let editor = Editor(try PersistentContainer(inMemoryFor: musicClasses).persistentStoreCoordinator)
        await editor.begin(saves: false)
        for name in ["Miles", "Nina"] { await Task { await editor.add(name) }.value }
        #expect(await editor.undoCount == 2)
        await Task { await editor.addWithPause("Ella", "Chet") }.value

        #expect(await editor.undoCount == 4)
    }

    @Test func `an actor without objects reads a request on another thread once (FR-22)`() async throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 3, tracks: 0)
        let editor = Editor(stack.coordinator)

        let told = try await editor.readAside()
        #expect(told == [[3, 3], [3, 3], [3, 3], [3, 3]], "requests were read again, or not on another thread")
    }

    @Test func `an actor without objects keeps no generation`() async throws {
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 1, tracks: 1)
        let store = try #require(stack.coordinator.persistentStores[0] as? BTreeStore)
        let before = store.statistics.snapshotCount
        let editor = Editor(stack.coordinator)
        #expect(try await editor.names() == ["Artist 0"])
        // The second method starts after the end of the first one's event; it reads nothing.
        #expect(await !editor.hasChanges)

        #expect(store.statistics.snapshotCount == before)
    }
}
