// Containers by name, in memory and opened beside other work; stores that are asked, removed and emptied.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct ContainerFileTests {
    // MARK: Making

    @Test func `a name becomes a file in the folder for data of applications, and no other path`() throws {
        #expect(PersistentContainer.defaultDirectoryURL.path.hasPrefix("/"))
        for name in ["", "a/b", "../a"] {
            let error = contextError { _ = try PersistentContainer(name: name, for: musicClasses) }
            guard case .store(.invalidRequest(let reason))? = error else {
                Issue.record("\(name): \(String(describing: error))")
                continue
            }
            #expect(reason.contains("\"\(name)\""))
        }
    }

    @Test func `stores have names, and classes whose objects they accept (SD-14)`() throws {
        let name = "Größe-\(UUID().uuidString)"
        let model = try ManagedObjectModel(for: musicClasses)
        let people = try PersistentStoreDescription(name: name, for: [Listener.self, Playlist.self])
        defer { try? FileManager.default.removeItem(atPath: people.path ?? "") }
        let path = PersistentContainer.defaultDirectoryURL.appending(path: name + ".espalier").path
        #expect(people.path == path)
        let music = PersistentStoreDescription.inMemory(name: "music")
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        for description in [people, music] { try coordinator.addPersistentStore(description) }
        let context = ManagedObjectContext(coordinator)
        let (listener, artist) = (Listener(context: context), Artist(context: context))
        (listener.name, artist.name) = ("Ann", "Nina")
        try context.save()

        #expect(coordinator.persistentStore(for: listener.objectID) === coordinator.persistentStore(named: name))
        #expect(coordinator.persistentStore(for: artist.objectID) === coordinator.persistentStore(named: "music"))
        #expect(coordinator.persistentStore(named: "Music") == nil)
        #expect(PersistentStoreDescription.inMemory(name: "a", for: [Artist.self]).entityNames == ["Artist"])
        for store in coordinator.persistentStores { try coordinator.remove(store) }
        #expect(coordinator.persistentStore(named: name) == nil)
        for name in ["", "a/b"] {
            #expect(throws: ContextError.self) { try PersistentStoreDescription(name: name) }
        }
    }

    @MainActor @Test func `a container of a name finds its objects again`() throws {
        let name = "Größe-\(UUID().uuidString)"
        let file = PersistentContainer.defaultDirectoryURL.appending(path: name + ".espalier")
        defer { try? FileManager.default.removeItem(at: file) }
        let first = try PersistentContainer(name: name, for: musicClasses)
        Artist(context: first.viewContext).name = "Miles"
        try first.viewContext.save()
        try first.close()
        let second = try PersistentContainer(for: musicClasses, at: file)

        #expect(try second.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Miles"])
        try second.close()
    }

    @MainActor @Test func `the path of no file and the container for previews keep their objects in memory`() throws {
        let container = try PersistentContainer(inMemoryFor: musicClasses) { context in
            Artist(context: context).name = "Nina"
        }
        #expect(try container.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Nina"])
        #expect(throws: CancellationError.self) {
            try PersistentContainer(inMemoryFor: musicClasses) { _ in throw CancellationError() }
        }

        let nowhere = try PersistentContainer(for: musicClasses, at: "/dev/null")
        #expect(nowhere.persistentStoreCoordinator.persistentStores.map(\.type) == [.inMemory])
    }

    @Test func `a container that is opened beside other work tells of each store, or has the error of one`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let model = try ManagedObjectModel(for: musicClasses)
        let stores = ["a", "b"].map { PersistentStoreDescription(url: folder.appending(path: $0)) }
        let counts = Mutex<[Int]>([])
        let container = try await PersistentContainer.open(model: model, stores: stores) { count in
            counts.withLock { $0.append(count) }
        }
        #expect(counts.withLock(\.self) == [1, 2])
        #expect(container.persistentStoreCoordinator.persistentStores.count == 2)
        try container.close()

        let error = await #expect(throws: ContextError.self) {
            try await PersistentContainer.open(
                model: model, stores: [stores[0], PersistentStoreDescription(path: folder.path)])
        }
        #expect(error?.code == 134030)
        // The first store was closed again.
        try BTreeStore.destroy(at: stores[0].path ?? "")
    }

    @Test func `containers of a name, a path and a URL are opened beside other work (PS-24)`() async throws {
        let name = "Größe-\(UUID().uuidString)"
        let file = PersistentContainer.defaultDirectoryURL.appending(path: name + ".espalier")
        defer { try? FileManager.default.removeItem(at: file) }
        let first = try await PersistentContainer.open(name: name, for: musicClasses)
        try await first.performBackgroundTask { context in
            Artist(context: context).name = "Miles"
            try context.save()
        }
        try first.close()
        let counts = Mutex<[Int]>([])
        let second = try await PersistentContainer.open(for: musicClasses, at: file) { count in
            counts.withLock { $0.append(count) }
        }
        #expect(counts.withLock(\.self) == [1])
        #expect(try await second.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 1)
        try second.close()
        let third = try await PersistentContainer.open(for: musicClasses, at: file.path)
        #expect(try await third.performBackgroundTask { try $0.count(for: FetchRequest<Artist>()) } == 1)
        try third.close()

        await #expect(throws: ModelError.self) {
            try await PersistentContainer.open(for: [Album.self], at: file.path)
        }
        await #expect(throws: ContextError.self) { try await PersistentContainer.open(name: "a/b", for: musicClasses) }
    }

    @Test func `a store takes the entities of a configuration, and an unknown one is refused with those there are`()
        throws
    {
        let classes = try ManagedObjectModel(for: musicClasses)
        let model = try ManagedObjectModel(
            entities: classes.descriptions,
            configurations: [ConfigurationDescription("People", entities: ["Listener", "Playlist"])])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        var description = PersistentStoreDescription.inMemory
        description.configurationName = "Peeple"
        let error = contextError { try coordinator.addPersistentStore(description) }
        #expect(coordinator.persistentStores.isEmpty)
        guard case .unknownConfiguration("Peeple", known: ["People"])? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        description.configurationName = "People"
        try coordinator.addPersistentStore(description)
        let context = ManagedObjectContext(coordinator)
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(.string("Miles"), forKey: "name")

        #expect(contextError { try context.save() }?.code == 134060)
        context.rollback()
        _ = try context.insertNewObject(forEntityName: "Listener")
        #expect(violations { try context.save() }.allSatisfy { $0.code == 1570 })
    }

    // MARK: Files

    @MainActor @Test func `a store is asked for its model and metadata without being opened, also beside its writer`()
        throws
    {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            let container = try PersistentContainer(for: musicClasses, at: path)
            let store = try #require(container.persistentStoreCoordinator.persistentStore(atPath: path))
            try store.setMetadata(["größe": .string("viel"), "count": .integer(3)])
            let open = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: path)
            try container.close()
            let before = try Data(contentsOf: URL(filePath: path))
            let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: path)

            #expect(metadata.identifier == store.identifier && open.identifier == store.identifier)
            #expect(metadata.values == ["größe": .string("viel"), "count": .integer(3)])
            #expect(open.values == metadata.values)
            #expect(metadata.isCompatible(with: container.managedObjectModel))
            #expect(!metadata.isCompatible(with: try ManagedObjectModel(for: sensorClasses)))
            // One entity has another hash; configurations with and without it.
            var entities = container.managedObjectModel.descriptions
            let place = try #require(entities.firstIndex { $0.name == "Listener" })
            entities[place].attributes.append(AttributeDescription("added", .string))
            let changed = try ManagedObjectModel(
                entities: entities,
                configurations: [
                    .init("Artists", entities: ["Artist"]), .init("All", entities: ["Artist", "Listener"]),
                ])
            #expect(!metadata.isCompatible(with: changed))
            #expect(metadata.isCompatible(with: changed, forConfigurationNamed: "Artists"))
            #expect(!metadata.isCompatible(with: changed, forConfigurationNamed: "All"))
            #expect(!metadata.isCompatible(with: changed, forConfigurationNamed: "None"))
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
            let missing = folder.appending(path: "missing").path
            let error = contextError { _ = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: missing) }
            #expect(error?.code == 260)
            let reading = PersistentStoreDescription(path: missing, isReadOnly: true)
            let coordinator = container.persistentStoreCoordinator
            #expect(contextError { try coordinator.addPersistentStore(reading) }?.code == 260)
        }
    }

    @MainActor @Test func `a store is found by its path, however that is written`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "music.espalier").path
            let container = try PersistentContainer(for: musicClasses, at: path)
            let coordinator = container.persistentStoreCoordinator
            let link = folder.appending(path: "link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: URL(filePath: path))

            #expect(coordinator.persistentStore(atPath: folder.path + "/./music.espalier") != nil)
            #expect(coordinator.persistentStore(atPath: link.path) != nil)
            #expect(coordinator.persistentStore(atPath: folder.path + "/other") == nil)
            try container.close()
        }
    }

    @MainActor @Test func `a store that is open is not destroyed, and a closed one is gone with its log`() throws {
        try withTemporaryFolder { folder in
            let description = PersistentStoreDescription(url: folder.appending(path: "music.espalier"))
            let model = try ManagedObjectModel(for: musicClasses)
            let container = try PersistentContainer(model: model, stores: [description])
            let coordinator = container.persistentStoreCoordinator
            Artist(context: container.viewContext).name = "Miles"
            try container.viewContext.save()

            #expect(contextError { try coordinator.destroyPersistentStore(description) }?.code == 134030)
            #expect(try container.viewContext.count(for: FetchRequest<Artist>()) == 1)
            try container.close()
            try coordinator.destroyPersistentStore(description)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            // There is nothing to do.
            try coordinator.destroyPersistentStore(description)
            try coordinator.destroyPersistentStore(.inMemory)

            let text = folder.appending(path: "letter.txt")
            try Data(repeating: 65, count: 100_000).write(to: text)
            let other = PersistentStoreDescription(url: text)
            #expect(contextError { try coordinator.destroyPersistentStore(other) } != nil)
            #expect(try Data(contentsOf: text).count == 100_000)
        }
    }

    @MainActor @Test
    func `the file of a closed store is replaced by a copy of another store, which may be in use (PS-03)`() throws {
        try withTemporaryFolder { folder in
            let description = PersistentStoreDescription(url: folder.appending(path: "music.espalier"))
            let source = PersistentStoreDescription(url: folder.appending(path: "other.espalier"))
            let model = try ManagedObjectModel(for: musicClasses)
            let former = try PersistentContainer(model: model, stores: [description])
            Artist(context: former.viewContext).name = "Miles"
            try former.viewContext.save()
            let open = try PersistentContainer(model: model, stores: [source])
            let coordinator = open.persistentStoreCoordinator
            let artist = Artist(context: open.viewContext)
            artist.name = "Nina"
            try open.viewContext.save()
            func replace() -> ContextError? {
                contextError { try coordinator.replacePersistentStore(description, withStoreFrom: source) }
            }

            #expect(replace()?.code == 134030)
            #expect(try former.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Miles"])
            try former.close()
            #expect(replace() == nil)
            #expect(
                try Set(FileManager.default.contentsOfDirectory(atPath: folder.path))
                    == ["music.espalier", "other.espalier", "other.espalier-wal"])
            // Both stores go on, each for itself.
            artist.name = "Nina Simone"
            try open.viewContext.save()
            let copy = try PersistentContainer(model: model, stores: [description])
            let store = try #require(copy.persistentStoreCoordinator.persistentStores.first)
            let copied = try #require(try copy.viewContext.fetch(FetchRequest<Artist>()).first)
            #expect(copied.name == "Nina" && copied.objectID.key == artist.objectID.key)
            #expect(store.identifier != coordinator.persistentStores.first?.identifier)
            Artist(context: copy.viewContext).name = "Ella"
            try copy.viewContext.save()
            #expect(try open.viewContext.count(for: FetchRequest<Artist>()) == 1)
            try copy.close()

            // Without a file the copy is made.
            let new = PersistentStoreDescription(url: folder.appending(path: "new.espalier"))
            try coordinator.replacePersistentStore(new, withStoreFrom: source)
            #expect(
                try PersistentStoreCoordinator.metadataForPersistentStore(atPath: new.path ?? "").isCompatible(
                    with: model))
            try open.close()
            let missing = PersistentStoreDescription(url: folder.appending(path: "missing"))
            for (target, from) in [(new, missing), (source, source), (.inMemory, source), (new, .inMemory)] {
                #expect(contextError { try coordinator.replacePersistentStore(target, withStoreFrom: from) } != nil)
            }
            let again = try PersistentContainer(model: model, stores: [source])
            #expect(try again.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Nina Simone"])
            try again.close()
        }
    }

    @MainActor @Test(arguments: StoreKind.allCases)
    func `an erased container is empty and goes on, and its view context forgets what it had`(kind: StoreKind) throws {
        try withTemporaryFolder { folder in
            let description =
                kind == .btree ? PersistentStoreDescription(url: folder.appending(path: "a")) : .inMemory
            let container = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses), stores: [description])
            let context = container.viewContext
            let artist = Artist(context: context)
            artist.name = "Miles"
            try context.save()
            let id = artist.objectID
            Artist(context: context).name = "unsaved"
            try container.erase()

            #expect(try context.count(for: FetchRequest<Artist>()) == 0 && !context.hasChanges)
            #expect(throws: ContextError.self) { try context.existingObject(with: id) }
            Artist(context: context).name = "Nina"
            try context.save()
            #expect(
                try ManagedObjectContext(container.persistentStoreCoordinator).count(for: FetchRequest<Artist>()) == 1)
            try container.close()
        }
    }

    @MainActor @Test
    func `new objects of an erased container go to its own store, and not to one that was added later (SD-13)`() throws
    {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let coordinator = container.persistentStoreCoordinator
        let archive = try coordinator.addPersistentStore(.inMemory)

        try container.erase()

        let own = try #require(coordinator.persistentStores.first)
        #expect(own !== archive && coordinator.persistentStores.count == 2)
        let artist = Artist(context: container.viewContext)
        artist.name = "Nina"
        try container.viewContext.save()
        #expect(coordinator.persistentStore(for: artist.objectID) === own)

        try coordinator.remove(own)
        guard case .store(.invalidRequest)? = contextError({ try container.erase() }) else {
            Issue.record("a container is erased whose store was closed")
            return
        }
        #expect(coordinator.persistentStores.count == 1)
        try container.close()
    }

    @MainActor @Test func `a container has the former store or the empty one at every moment of its erasure (SD-13)`()
        throws
    {
        let container = try PersistentContainer(inMemoryFor: musicClasses)
        let coordinator = container.persistentStoreCoordinator
        let former = coordinator.persistentStores[0]
        let archive = try coordinator.addPersistentStore(.inMemory)
        let seen = Mutex<[String]>([])
        // Notes a message, and which of its stores the coordinator has at this moment.
        let note: @Sendable (String) -> Void = { message in
            let stores = coordinator.persistentStores.map { store in
                store === former ? "former" : store === archive ? "archive" : "new"
            }
            seen.withLock { $0.append("\(message): \(stores)") }
        }
        let tokens = [
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { message in
                note("will +\(message.added.count) -\(message.removed.count)")
            },
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresDidChangeMessage.self) { message in
                note("did +\(message.added.count) -\(message.removed.count)")
            },
        ]

        try container.erase()

        #expect(
            seen.withLock(\.self) == [
                #"will +0 -1: ["former", "archive"]"#, #"will +1 -0: ["former", "archive"]"#,
                #"did +0 -1: ["new", "archive"]"#, #"did +1 -0: ["new", "archive"]"#,
            ])
        try container.close()
        withExtendedLifetime(tokens) {}
    }

    @MainActor @Test func `a container with a binary file is erased, and its file is destroyed (SD-13, PS-03)`() throws
    {
        try withTemporaryFolder { folder in
            let description = PersistentStoreDescription(type: .binary, path: folder.appending(path: "a").path)
            let container = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses), stores: [description])
            let (context, coordinator) = (container.viewContext, container.persistentStoreCoordinator)
            Artist(context: context).name = "Miles"
            try context.save()
            let former = try #require(coordinator.persistentStores.first).identifier
            let path = try #require(description.path)
            let metadata = try PersistentStoreCoordinator.metadataForPersistentStore(atPath: path)
            #expect(metadata.identifier == former && metadata.isCompatible(with: container.managedObjectModel))

            try container.erase()

            #expect(try context.count(for: FetchRequest<Artist>()) == 0)
            #expect(coordinator.persistentStores.first?.identifier != former)
            Artist(context: context).name = "Nina"
            try context.save()
            try container.close()
            let again = try PersistentContainer(model: container.managedObjectModel, stores: [description])
            #expect(try again.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Nina"])
            try again.close()
            for _ in 0..<2 { try coordinator.destroyPersistentStore(description) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @MainActor @Test
    func `a container with a kind of the application's own is not erased, and no store of it is closed`() throws {
        try withTemporaryFolder { folder in
            let own = PersistentStoreDescription(type: StoreType(rawValue: "Not erased"))
            own.type.register { InMemoryStore(model: $0.model) }
            let container = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses),
                stores: [PersistentStoreDescription(url: folder.appending(path: "a")), own])
            let context = container.viewContext
            let artist = Artist(context: context)
            artist.name = "Miles"
            try context.save()
            artist.founded = 1944

            let errors = [
                contextError { try container.erase() },
                contextError { try container.persistentStoreCoordinator.destroyPersistentStore(own) },
            ]
            for error in errors {
                guard case .unsupportedStore(own.type)? = error else {
                    Issue.record("only the application can remove such a store")
                    return
                }
            }

            #expect(context.updatedObjects == [artist] && artist.name == "Miles")
            try context.save()
            #expect(try context.count(for: FetchRequest<Artist>()) == 1)
            try container.close()
        }
    }

    @MainActor @Test func `a container with a store for reading only is not erased`() throws {
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "a").path
            let container = try PersistentContainer(for: musicClasses, at: path)
            Artist(context: container.viewContext).name = "Miles"
            try container.viewContext.save()
            try container.close()
            let reader = try PersistentContainer(
                model: ManagedObjectModel(for: musicClasses),
                stores: [.inMemory, PersistentStoreDescription(path: path, isReadOnly: true)])

            #expect(contextError { try reader.erase() }?.code == 513)
            #expect(try reader.viewContext.count(for: FetchRequest<Artist>()) == 1)
            try reader.close()
        }
    }

    @MainActor @Test
    func `a container whose store was moved is erased where that is now, and the former file stays (SD-13, PS-03)`()
        throws
    {
        try withTemporaryFolder { folder in
            let (path, newPath) = (folder.appending(path: "a").path, folder.appending(path: "b").path)
            let container = try PersistentContainer(for: musicClasses, at: path)
            let (context, coordinator) = (container.viewContext, container.persistentStoreCoordinator)
            Artist(context: context).name = "Miles"
            try context.save()
            for description in [PersistentStoreDescription.inMemory, .init(path: newPath)] {
                _ = try coordinator.migratePersistentStore(coordinator.persistentStores[0], to: description)
            }

            for _ in 0..<2 {
                try container.erase()
                #expect(coordinator.persistentStores.count == 1 && coordinator.persistentStore(atPath: newPath) != nil)
                #expect(try context.count(for: FetchRequest<Artist>()) == 0)
                Artist(context: context).name = "Nina"
                try context.save()
            }

            try container.close()
            let former = try PersistentContainer(for: musicClasses, at: path)
            #expect(try former.viewContext.fetch(FetchRequest<Artist>()).map(\.name) == ["Miles"])
            try former.close()
        }
    }
}
