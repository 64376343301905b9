// The messages of contexts and coordinators to the closures that observe them: when, how often, and about which
// objects.

import Espalier
import EspalierModel
import Synchronization
import Testing

@Suite struct ObserverTests {
    private typealias Changes = ManagedObjectContext.ObjectsDidChangeMessage

    /// Messages of one context, in order.
    private final class Log {
        var lines: [String] = []
        var changes: [Changes] = []
        var tokens: [ObservationToken] = []

        func observe(_ context: ManagedObjectContext) {
            tokens = [
                context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { [unowned self] _ in
                    lines.append("will save")
                },
                context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { [unowned self] message in
                    let counts = [message.inserted, message.updated, message.deleted].map(\.count)
                    let ids = [message.changes.inserted, message.changes.updated, message.changes.deleted].map(\.count)
                    lines.append("did save \(counts) \(ids)")
                },
                context.addObserver(for: Changes.self) { [unowned self] message in
                    lines.append("did change")
                    changes.append(message)
                },
                context.addObserver(for: ManagedObjectContext.DidMergeChangesMessage.self) { [unowned self] message in
                    lines.append("did merge \(message.changes.inserted.count + message.changes.updated.count)")
                },
            ]
        }

        /// The names of the artists in one set of the last message.
        func names(_ set: KeyPath<Changes, Set<ManagedObject>>) -> [String] {
            (changes.last?[keyPath: set] ?? []).compactMap { ($0 as? Artist)?.name }.sorted()
        }
    }

    private func artist(_ name: String, _ context: ManagedObjectContext) -> Artist {
        let artist = Artist(context: context)
        artist.name = name
        return artist
    }

    // MARK: Saves

    @Test func `a save tells before and after, with objects and IDs, and nothing if there is nothing to save`() throws {
        let stack = try Stack(.inMemory)
        let log = Log()
        log.observe(stack.context)
        try stack.context.save()
        #expect(log.lines.isEmpty)

        let (first, second) = (artist("a", stack.context), artist("b", stack.context))
        try stack.context.save()
        first.name = "c"
        try stack.context.delete(second)
        try stack.context.save()

        #expect(
            log.lines == [
                "will save", "did change", "did save [2, 0, 0] [2, 0, 0]", "will save", "did change",
                "did save [0, 1, 1] [0, 1, 1]",
            ])
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `the message after a save has the generation that the save has made (NT-02, SD-20)`(
        _ kind: StoreKind, _ isChild: Bool
    ) throws {
        let stack = try Stack(kind)
        func context() -> ManagedObjectContext {
            isChild ? ManagedObjectContext(parent: stack.context) : stack.newContext()
        }
        let (writer, reader) = (context(), context())
        var generations: [QueryGenerationToken] = []
        let token = writer.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { message in
            if let generation = message.generation { generations.append(generation) }
        }
        let first = artist("a", writer)
        try writer.save()
        first.name = "b"
        try writer.save()
        try writer.delete(first)
        try writer.save()
        withExtendedLifetime(token) {}

        let names = try generations.map { generation in
            reader.reset()
            try reader.setQueryGeneration(from: generation)
            return try reader.fetch(FetchRequest<Artist>()).map(\.name)
        }
        #expect(names == [["a"], ["b"], []])
    }

    @Test func `what an observer changes before a save is saved with it, and a save in it is refused`() throws {
        let stack = try Stack(.inMemory)
        var errors: [ContextError] = []
        let willSave = stack.context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { message in
            for object in message.context.insertedObjects { (object as? Artist)?.founded = 1950 }
            do throws(ContextError) { try message.context.save() } catch { errors.append(error) }
        }
        let didSave = stack.context.addObserver(for: ManagedObjectContext.DidSaveMessage.self) { message in
            do throws(ContextError) { try message.context.save() } catch { errors.append(error) }
        }
        _ = artist("a", stack.context)

        try stack.context.save()

        #expect(try stack.stored(Artist.self).map(\.founded) == [1950])
        #expect(errors.count == 2 && errors.allSatisfy { if case .alreadySaving(_, nil) = $0 { true } else { false } })
        #expect("\(errors)".contains("an observer of WillSaveMessage"))
        withExtendedLifetime((willSave, didSave)) {}
    }

    @Test func `a save that fails tells of nothing that it took back`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 1)
        let log = Log()
        let context = stack.context
        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        let stored = artists[0]
        log.observe(context)
        log.tokens.append(
            context.addObserver(for: ManagedObjectContext.WillSaveMessage.self) { _ in artists[1].name = "taken back" })
        let playlist = Playlist(context: context)
        try context.delete(stored)

        #expect(throws: ContextError.self) { try context.save() }

        #expect(log.lines == ["will save", "did change"])
        #expect(artists[1].name != "taken back" && !artists[1].hasChanges)
        #expect(log.changes.last?.inserted == [playlist] && log.changes.last?.deleted == [stored])
        #expect(log.changes.last?.updated == [])
        context.rollback()
        #expect(log.changes.last?.invalidated == [playlist] && log.changes.last?.refreshed == [stored])
    }

    // MARK: Changed objects

    @Test func `an event tells once of each object, and fetches and faults are no change`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 0)
        let (context, log) = (stack.context, Log())
        let albums = try context.fetch(FetchRequest<Album>())
        log.observe(context)
        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        #expect(artists.map(\.name).count == 3 && log.lines.isEmpty)

        let new = artist("new", context)
        let gone = artist("gone", context)
        try context.delete(gone)
        artists[0].name = "x"
        artists[0].founded = 1
        artists[1].name = "y"
        try context.delete(artists[1])
        context.refresh(artists[2], mergesChanges: true)
        #expect(log.changes.count == 1)

        #expect(log.names(\.inserted) == ["new"] && log.names(\.updated) == ["x"])
        #expect(log.changes.last?.deleted == [artists[1]] && log.changes.last?.refreshed == [artists[2]])
        context.processPendingChanges()
        // The delete rules ran among the objects in memory.
        #expect(log.changes.count == 2 && log.changes.last?.deleted.count == 2 && albums.count == 6)
        context.processPendingChanges()
        #expect(log.changes.count == 2)
        new.name = "newer"
        _ = try context.fetch(FetchRequest<Artist>())
        #expect(log.changes.count == 3 && log.changes.last?.updated == [new] && log.changes.last?.inserted == [])
    }

    @Test func `a merge tells once what it changed, and what it was`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 3, tracks: 0)
        let (context, log) = (stack.context, Log())
        context.automaticallyMergesChangesFromParent = true
        let artists = try context.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        _ = artists.map(\.name)
        log.observe(context)
        let other = stack.newContext()
        let theirs = try other.fetch(FetchRequest<Artist>(sortedBy: [SortKey("name")]))
        (theirs[0].name, theirs[1].name) = ("x", "y")
        try other.delete(theirs[2])
        _ = artist("new", other)
        try other.save()

        context.processPendingChanges()

        #expect(log.lines == ["did merge 3", "did change"])
        #expect(log.changes.last?.refreshed == Set(artists[0...1]) && log.changes.last?.deleted == [artists[2]])
        #expect(log.changes.last?.inserted == [] && log.changes.last?.updated == [])
    }

    @Test func `a reset tells the IDs of all that it forgot`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 2, tracks: 0)
        let (context, log) = (stack.context, Log())
        let artists = try context.fetch(FetchRequest<Artist>())
        log.observe(context)
        let new = artist("new", context)

        context.reset()

        #expect(Set(log.changes.last?.invalidatedAll ?? []) == Set((artists + [new]).map(\.objectID)))
        #expect(log.changes.count == 1 && log.changes.last?.inserted == [])
    }

    @Test func `what an observer changes is told by the next event, without end`() throws {
        let stack = try Stack(.inMemory)
        let first = artist("a", stack.context)
        var calls: [Int] = []
        let token = stack.context.addObserver(for: Changes.self) { message in
            calls.append(message.updated.count + message.inserted.count)
            first.founded = Int32(calls.count)
            message.context.processPendingChanges()
            do { _ = try message.context.fetch(FetchRequest<Artist>()) } catch { Issue.record("\(error)") }
        }

        stack.context.processPendingChanges()
        #expect(calls == [])
        first.name = "b"
        stack.context.processPendingChanges()
        #expect(calls == [1])
        stack.context.processPendingChanges()

        #expect(calls == [1, 1])
        token.cancel()
    }

    @Test func `an observation ends with its token`() throws {
        let stack = try Stack(.inMemory)
        var calls: [String] = []
        var first: ObservationToken? = stack.context.addObserver(for: Changes.self) { _ in calls.append("first") }
        let second = stack.context.addObserver(for: Changes.self) { _ in calls.append("second") }

        _ = artist("a", stack.context)
        stack.context.processPendingChanges()
        withExtendedLifetime(first) {}
        first = nil
        _ = artist("b", stack.context)
        stack.context.processPendingChanges()
        second.cancel()
        _ = artist("c", stack.context)
        stack.context.processPendingChanges()

        #expect(calls == ["first", "second", "second"])
    }

    @Test(arguments: [0, 40])
    func `the closure of an observation that has ended is released when another one begins (NT-09)`(
        livingCount: Int
    ) throws {
        // Nothing sends this message.
        typealias Message = ManagedObjectContext.DidLoseGenerationMessage
        let stack = try Stack(.inMemory)
        let context = stack.context
        var tokens = (0..<livingCount).map { _ in context.addObserver(for: Message.self) { _ in } }
        var log: Log? = Log()
        weak let captured = log
        _ = context.addObserver(for: Message.self) { [log] _ in log?.lines.append("lost") }
        log = nil
        #expect(captured != nil, "nothing retained the log")

        tokens.append(context.addObserver(for: Message.self) { _ in })
        #expect(captured == nil, "a closure is retained whose token is gone")
        withExtendedLifetime(tokens) {}
    }

    @MainActor @Test func `the view context tells what changed when the main actor is free`() async throws {
        let container = try PersistentContainer(model: ManagedObjectModel(for: musicClasses), stores: [.inMemory])
        let context = container.viewContext
        let names = AsyncStream<[String]>.makeStream()
        let token = context.addObserver(for: Changes.self) { message in
            names.continuation.yield(message.inserted.compactMap { ($0 as? Artist)?.name }.sorted())
        }
        var told = names.stream.makeAsyncIterator()

        _ = artist("a", context)
        _ = artist("b", context)

        #expect(await told.next() == ["a", "b"])
        withExtendedLifetime(token) {}
    }

    // MARK: Stores

    @Test func `a coordinator tells of stores before they come and go, and afterwards`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let lines = Mutex<[String]>([])
        let tokens = [
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { message in
                let count = message.coordinator.persistentStores.count
                lines.withLock { $0.append("will +\(message.added.count) -\(message.removed.count) of \(count)") }
                guard !message.removed.isEmpty else { return }
                let context = ManagedObjectContext(message.coordinator)
                Artist(context: context).name = "last"
                do { try context.save() } catch { Issue.record("\(error)") }
            },
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresDidChangeMessage.self) { message in
                let count = message.coordinator.persistentStores.count
                lines.withLock { $0.append("did +\(message.added.count) -\(message.removed.count) of \(count)") }
            },
        ]

        let store = try coordinator.addPersistentStore(.inMemory)
        try coordinator.remove(store)

        #expect(lines.withLock(\.self) == ["will +1 -0 of 0", "did +1 -0 of 1", "will +0 -1 of 1", "did +0 -1 of 0"])
        withExtendedLifetime(tokens) {}
    }
}
