// Live objects stay in the isolation of their context: code that sends one elsewhere does not compile in Swift 6 mode,
// and code that sends IDs and snapshots does.

import Testing

@Suite struct IsolationTests {
    private static let classes = """
        import Espalier
        @Entity final class Track: ManagedObject { var name: String = ""; var next: ToMany<Track> }

        """

    @Test(arguments: [
        "func cross(_ track: Track) -> any Sendable { track }",
        "func cross(_ context: ManagedObjectContext) -> any Sendable { context }",
        "func cross(_ track: Track) { Task.detached { print(track.name) } }",
        "func cross(_ track: Track) async { await MainActor.run { print(track.name) } }",
        "func cross(_ track: Track) -> any Sendable { track.next }",
        "func cross(_ next: OrderedToMany<Track>) { Task.detached { print(next.count) } }",
        "let shared: Track? = nil",
        "func cross(_ context: ManagedObjectContext) -> any Sendable { ManagedObjectContext(parent: context) }",
        "func cross(_ context: ManagedObjectContext) {\n"
            + "let child = ManagedObjectContext(parent: context); Task.detached { print(child.hasChanges) } }",
        "func cross(_ context: ManagedObjectContext, _ ref: Ref<Track>) throws -> any Sendable { try context[ref] }",
        "func cross(_ actor: BackgroundContext, _ ref: Ref<Track>) async throws -> Track {\n"
            + "try await actor.perform { try $0[ref] } }",
        "actor Player { var track: Track?; func give() -> Track? { track } }\n"
            + "func take(_ player: Player) async { print(await player.give()?.name ?? \"\") }",
    ])
    func `an object or a context that leaves its region does not compile`(code: String) throws {
        let snippet = try Snippet(Self.classes + code)

        #expect(!snippet.isValid)
        #expect(snippet.faults.allSatisfy { Self.isAboutIsolation($0.text) }, "\(snippet.log)")
    }

    @Test(arguments: [
        "func cross(_ track: Track) -> any Sendable { track.objectID }",
        "func cross(_ track: Track) { let id = track.objectID; Task.detached { print(id) } }",
        "func cross(_ track: Track) -> any Sendable { Ref(track) }",
        "func cross(_ track: Track) { let ref = track.ref; Task.detached { print(ref) } }",
        "func cross(_ actor: BackgroundContext, _ ref: Ref<Track>) async throws -> (String, Ref<Track>) {\n"
            + "try await actor.perform { let track = try $0[ref]; return (track.name, track.ref) } }",
        "func cross(_ coordinator: PersistentStoreCoordinator) -> any Sendable { coordinator }",
        "func stay(_ store: PersistentStoreCoordinator) { Task { print(Track(context: .init(store)).name) } }",
        "@MainActor func stay(_ track: Track) -> String { track.name }",
        "@MainActor func stay(_ context: ManagedObjectContext) -> Bool {\n"
            + "ManagedObjectContext(parent: context).hasChanges }",
        "@MainActor func stay(_ track: Track) -> Int { track.next.insert(track); return track.next.count }",
    ])
    func `an ID and a reference may go anywhere, and a context may live anywhere`(code: String) throws {
        let snippet = try Snippet(Self.classes + code)

        #expect(snippet.isValid, "\(snippet.log)")
    }

    /// An actor with a context of its own.
    private static let importer =
        classes + """
            actor Importer: ContextActor {
                let isolatedContext: IsolatedContext
                init(_ container: PersistentContainer) { isolatedContext = container.newIsolatedContext() }
                func newTrack() -> Track { Track(context: context) }
                func newName() -> (Ref<Track>, String) {
                    let track = newTrack()
                    track.name = "new"
                    return (track.ref, track.name)
                }
            }

            """

    @Test(arguments: [
        "func take(_ importer: Importer) async { print(await importer.newTrack().name) }",
        "func keep(_ importer: Importer, _ id: ObjectID) async -> Track? { await importer[id, as: Track.self] }",
        "func read(_ importer: Importer) -> Bool { importer.context.hasChanges }",
        "extension Importer { nonisolated func read() -> Bool { context.hasChanges } }",
        "func cross(_ undoManager: UndoStack) -> any Sendable { undoManager }",
        "func cross(_ undoManager: UndoStack) { Task.detached { print(undoManager.canUndo) } }",
    ])
    func `an actor's objects, its context and an undo manager stay in their region (F-1, SD-27)`(code: String) throws {
        let snippet = try Snippet(Self.importer + code)

        #expect(!snippet.isValid)
        #expect(snippet.faults.allSatisfy { Self.isAboutIsolation($0.text) }, "\(snippet.log)")
    }

    @Test func `an actor's method gives references and values (F-1, SD-27)`() throws {
        let snippet = try Snippet(
            Self.importer + "func take(_ importer: Importer) async -> String { await importer.newName().1 }")

        #expect(snippet.isValid, "\(snippet.log)")
    }

    @Test func `the view context is used on the main actor only, and its objects stay there (F-1, MC-01)`() throws {
        // The compiler checks what is sent only if it has found nothing else: these two kinds are two sources.
        let named = try Snippet(
            Self.classes + """
                func read(_ container: PersistentContainer) -> Bool {
                    container.viewContext.hasChanges // error: main actor-isolated property 'viewContext'
                }
                actor Player {
                    func play(_ container: PersistentContainer) throws {
                        try container.viewContext.save() // error: main actor-isolated property 'viewContext'
                    }
                }
                @MainActor final class Screen { var track: Track? }
                func show(_ screen: Screen) -> String? {
                    screen.track?.name // error: main actor-isolated property 'track'
                }
                @MainActor var selected: Track?
                func isEmpty() -> Bool {
                    selected == nil // error: main actor-isolated var 'selected'
                }
                func keep(_ container: PersistentContainer) async throws -> Track? {
                    try await MainActor.run { // error: conformance of 'ManagedObject' to 'Sendable' is unavailable
                        try container.viewContext.fetch(FetchRequest<Track>()).first
                    }
                }
                @MainActor func work(_ container: PersistentContainer, _ track: Track) async throws {
                    await container.performBackgroundTask { _ in
                        print(track.name) // error: capture of 'track' with non-Sendable type 'Track'
                    }
                }
                """)
        let sent = try Snippet(
            Self.classes + """
                func read(_ container: PersistentContainer) async -> Bool {
                    await container.viewContext.hasChanges // error: non-Sendable
                }
                @MainActor func play(_ container: PersistentContainer) {
                    let track = Track(context: container.viewContext)
                    Task.detached {
                        print(track.name)
                    }
                }
                """)

        #expect(named.isAsExpected, "\(named.log)")
        #expect(sent.isAsExpected, "\(sent.log)")
    }

    @Test func `code of the main actor works with the view context, and gives away references (F-1)`() throws {
        let snippet = try Snippet(
            Self.classes + """
                @MainActor final class Screen {
                    let container: PersistentContainer
                    var tracks: [Track] = []
                    init(_ container: PersistentContainer) { self.container = container }
                    func load() throws { tracks = try container.viewContext.fetch(FetchRequest<Track>()) }
                    func rename(_ name: String) async throws {
                        let refs = tracks.map { $0.ref }
                        try await container.performBackgroundTask { context in
                            for ref in refs { try context[ref].name = name }
                            try context.save()
                        }
                        try load()
                    }
                }
                func newest(_ container: PersistentContainer) async throws -> Ref<Track>? {
                    try await MainActor.run { try container.viewContext.fetch(FetchRequest<Track>()).last?.ref }
                }
                func autosave(_ container: PersistentContainer) {
                    Task { @MainActor in try container.viewContext.save() }
                }
                @MainActor func names(_ container: PersistentContainer) throws -> [String] {
                    let draft = ManagedObjectContext(parent: container.viewContext)
                    return try draft.fetch(FetchRequest<Track>()).map { $0.name }
                }
                """)

        #expect(snippet.isValid, "\(snippet.log)")
    }

    private static func isAboutIsolation(_ text: String) -> Bool {
        ["Sendable", "sending", "data race", "concurrency-safe", "isolated"].contains { text.contains($0) }
    }
}
