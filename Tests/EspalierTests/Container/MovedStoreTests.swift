// An open store moves to another file and another kind, with all of its objects.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import Synchronization
import Testing

@Suite struct MovedStoreTests {
    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    @Test func `a store moves to another kind and file, and contexts continue with it (PS-03)`() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let stack = try Stack(.btree)
        try stack.makeMusic(artists: 3, tracks: 2)
        let coordinator = stack.coordinator
        let former = coordinator.persistentStores[0]
        let artist = try stack.stored(Artist.self)[1]
        let (id, name) = (artist.objectID, artist.name)
        var store = former
        var formerID = id
        for type in [StoreType.binary, .inMemory, .btree] {
            let path = type == .inMemory ? nil : folder.appending(path: type.rawValue).path
            let moved = try coordinator.migratePersistentStore(
                store, to: PersistentStoreDescription(type: type, path: path))
            #expect(coordinator.persistentStores.map(\.type) == [type])
            let newID = try #require(moved.copy.id(of: formerID))
            #expect(newID.key == id.key && newID.storeIdentifier == moved.store.identifier)
            let context = stack.newContext()
            let object = try #require(try context.existingObject(with: newID) as? Artist)
            #expect(object.name == name && object.albums.count == 2)
            #expect(try context.count(for: FetchRequest<Track>()) == 12)
            let album = Album(context: context)
            (album.title, album.artist) = ("new", object)
            try context.save()
            try context.delete(try #require(object.albums.first { $0.tracks.isEmpty }))
            try context.save()
            (store, formerID) = (moved.store, newID)
        }
        #expect(throws: StoreError.self) { try former.snapshot() }
        #expect(throws: ContextError.self) { try stack.newContext().existingObject(with: id) }
    }

    @Test func `a store is not moved to one that has objects, and stays open (PS-03)`() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (stack, other) = (try Stack(.inMemory), try Stack(.inMemory))
        try stack.makeMusic(artists: 1, tracks: 1)
        try other.makeMusic(artists: 1, tracks: 1)
        let description = PersistentStoreDescription(type: .binary, path: folder.appending(path: "taken").path)
        _ = try other.coordinator.migratePersistentStore(other.coordinator.persistentStores[0], to: description)
        try other.coordinator.remove(other.coordinator.persistentStores[0])

        #expect(throws: ContextError.self) {
            try stack.coordinator.migratePersistentStore(stack.coordinator.persistentStores[0], to: description)
        }
        #expect(throws: ContextError.self) {
            try stack.coordinator.migratePersistentStore(
                stack.coordinator.persistentStores[0], to: PersistentStoreDescription(path: folder.path))
        }
        #expect(stack.coordinator.persistentStores.map(\.type) == [.inMemory])
        #expect(try stack.newContext().count(for: FetchRequest<Artist>()) == 1)
    }

    @Test func `a moved store has the place, the name and the entities of the former one (PS-03)`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        var description = PersistentStoreDescription.inMemory(entityNames: ["Artist", "Album", "Track"])
        description.name = "music"
        let music = try coordinator.addPersistentStore(description)
        let others = try coordinator.addPersistentStore(.inMemory)

        let moved = try coordinator.migratePersistentStore(music, to: .inMemory).store

        #expect(coordinator.persistentStores.map(\.identifier) == [moved.identifier, others.identifier])
        #expect(coordinator.persistentStore(named: "music") === moved)
        #expect(coordinator.description(of: moved)?.entityNames == ["Artist", "Album", "Track"])
        let context = ManagedObjectContext(coordinator)
        let (artist, listener) = (Artist(context: context), Listener(context: context))
        (artist.name, listener.name) = ("Nina", "Ann")
        try context.save()
        #expect(coordinator.persistentStore(for: artist.objectID) === moved)
        #expect(coordinator.persistentStore(for: listener.objectID) === others)

        // A description that has a name and entities keeps them.
        var own = PersistentStoreDescription.inMemory(entityNames: ["Listener", "Playlist"])
        own.name = "people"
        let people = try coordinator.migratePersistentStore(others, to: own).store
        #expect(coordinator.persistentStores.map(\.identifier) == [moved.identifier, people.identifier])
        #expect(coordinator.persistentStore(named: "people") === people)
        #expect(coordinator.description(of: people)?.entityNames == ["Listener", "Playlist"])
    }

    @Test func `a coordinator has the former store or the new one at every moment of a move (PS-03)`() throws {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let former = try coordinator.addPersistentStore(.inMemory)
        let seen = Mutex<[String]>([])
        // Notes a message, the stores of this moment, and the number of objects that a new context finds.
        let note: @Sendable (String, PersistentStoreCoordinator) -> Void = { message, coordinator in
            let isFormer = coordinator.persistentStores.map { $0 === former }
            let count = try? ManagedObjectContext(coordinator).count(for: FetchRequest<Artist>())
            seen.withLock { $0.append("\(message): \(isFormer), \(count ?? -1) artists") }
        }
        let tokens = [
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresWillChangeMessage.self) { message in
                note("will +\(message.added.count) -\(message.removed.count)", message.coordinator)
            },
            coordinator.addObserver(for: PersistentStoreCoordinator.StoresDidChangeMessage.self) { message in
                note("did +\(message.added.count) -\(message.removed.count)", message.coordinator)
            },
        ]
        let context = ManagedObjectContext(coordinator)
        Artist(context: context).name = "Nina"
        try context.save()

        _ = try coordinator.migratePersistentStore(former, to: .inMemory)

        #expect(
            seen.withLock(\.self) == [
                "will +0 -1: [true], 1 artists", "will +1 -0: [true], 1 artists", "did +0 -1: [false], 1 artists",
                "did +1 -0: [false], 1 artists",
            ])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a store that is not open in a coordinator is not moved by it, and stays open (PS-03)`() throws {
        let (stack, other) = (try Stack(.inMemory), try Stack(.inMemory))
        try other.makeMusic(artists: 1, tracks: 1)

        #expect(throws: ContextError.self) {
            try stack.coordinator.migratePersistentStore(other.coordinator.persistentStores[0], to: .inMemory)
        }

        #expect(stack.coordinator.persistentStores.count == 1)
        #expect(try other.newContext().count(for: FetchRequest<Artist>()) == 1)
    }

    @Test func `a store is not moved to one that does not accept its objects, and stays open (PS-03)`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        let store = stack.coordinator.persistentStores[0]

        let error = contextError {
            _ = try stack.coordinator.migratePersistentStore(store, to: .inMemory(entityNames: ["Listener"]))
        }

        guard case .store(.invalidRequest(let reason))? = error else {
            Issue.record("objects are moved to a store that does not accept them: \(String(describing: error))")
            return
        }
        #expect(["Artist", "Album", "Track"].contains { reason.contains($0) }, "\(reason)")
        #expect(stack.coordinator.persistentStores.count == 1 && stack.coordinator.persistentStores[0] === store)
        #expect(try stack.newContext().count(for: FetchRequest<Artist>()) == 1)
    }

    @Test func `objects that are saved after the beginning of a move are looked for, too (PS-03)`() throws {
        let stack = try Stack(.inMemory)
        try stack.makeMusic(artists: 1, tracks: 1)
        let coordinator = stack.coordinator
        let store = coordinator.persistentStores[0]
        let errors = Mutex<[String]>([])
        // The new store is opened when the move has begun.
        var description = PersistentStoreDescription(type: StoreType(rawValue: "Opened late"))
        description.entityNames = ["Artist", "Album", "Track"]
        description.type.register { opening in
            do {
                let context = ManagedObjectContext(coordinator)
                Listener(context: context).name = "Ann"
                try context.save()
            } catch {
                errors.withLock { $0.append("\(error)") }
            }
            return InMemoryStore(model: opening.model)
        }

        let error = contextError { _ = try coordinator.migratePersistentStore(store, to: description) }

        guard case .store(.invalidRequest(let reason))? = error else {
            Issue.record("a listener is moved to a store that does not accept it: \(String(describing: error))")
            return
        }
        #expect(errors.withLock(\.self).isEmpty && reason.contains("Listener"), "\(reason)")
        #expect(coordinator.persistentStores.count == 1 && coordinator.persistentStores[0] === store)
        #expect(try stack.newContext().count(for: FetchRequest<Listener>()) == 1)
        Listener(context: stack.context).name = "Bob"
        try stack.context.save()
    }

    @Test func `a move stands if the former store cannot be closed, and its result has the error (PS-03)`() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        let former = WatchedStore(model: model) { call throws(StoreError) in
            if case .close = call { throw StoreError.invalidRequest(reason: "the disk is gone") }
        }
        coordinator.add(former)
        let context = ManagedObjectContext(coordinator)
        let artist = Artist(context: context)
        artist.name = "Nina"
        try context.save()

        let moved = try coordinator.migratePersistentStore(former, to: .inMemory)

        guard case .store(.invalidRequest("the disk is gone"))? = moved.closingError else {
            Issue.record("\(String(describing: moved.closingError))")
            return
        }
        #expect(coordinator.persistentStores.map(\.identifier) == [moved.store.identifier])
        let id = try #require(moved.copy.id(of: artist.objectID))
        #expect(try (context.existingObject(with: id) as? Artist)?.name == "Nina")
        let second = try coordinator.migratePersistentStore(moved.store, to: .inMemory)
        #expect(second.closingError == nil && coordinator.persistentStores.map(\.type) == [.inMemory])
    }
}
