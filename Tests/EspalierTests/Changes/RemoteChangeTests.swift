// The writes of other coordinators and processes, which a coordinator finds by looking at its stores.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct RemoteChangeTests {
    private static let interval = Duration.milliseconds(2)

    private static func coordinator(_ path: String, isReadOnly: Bool = false) throws -> PersistentStoreCoordinator {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: musicClasses))
        try coordinator.addPersistentStore(PersistentStoreDescription(path: path, isReadOnly: isReadOnly))
        return coordinator
    }

    private static func close(_ coordinator: PersistentStoreCoordinator) throws {
        for store in coordinator.persistentStores { try coordinator.remove(store) }
    }

    /// Saves one artist more, and closes the store.
    private static func addArtist(_ name: String, to path: String) throws {
        let coordinator = try coordinator(path)
        let context = ManagedObjectContext(coordinator)
        Artist(context: context).name = name
        try context.save()
        try close(coordinator)
    }

    private static func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "Bücher.espalier").path)
    }

    @Test func `another process has written a store, and a context that reads it follows (NT-08)`() async throws {
        try await Self.withFolder { path in
            try Self.addArtist("first", to: path)
            let coordinator = try Self.coordinator(path, isReadOnly: true)
            let context = ManagedObjectContext(coordinator)
            let artists = try context.fetch(FetchRequest<Artist>())
            #expect(artists.map(\.name) == ["first"])
            var iterator = coordinator.remoteChanges(every: Self.interval).makeAsyncIterator()
            let before = try #require(coordinator.persistentStores.first).snapshot().generation

            await #expect(processExitsWith: .success) { [path = path as String] in
                let coordinator = try RemoteChangeTests.coordinator(path)
                let context = ManagedObjectContext(coordinator)
                try context.fetch(FetchRequest<Artist>())[0].name = "renamed"
                Artist(context: context).name = "second"
                try context.save()
                try RemoteChangeTests.close(coordinator)
            }

            let change = try #require(await iterator.next())
            #expect(change.generation > before && change.path == path)
            #expect(change.storeIdentifier == coordinator.persistentStores.first?.identifier)
            #expect(artists[0].name == "first")
            context.mergeChanges(from: change.savedChanges)
            #expect(artists[0].name == "renamed")
            #expect(try context.count(for: FetchRequest<Artist>()) == 2)
            try Self.close(coordinator)
        }
    }

    @Test func `another coordinator of the process has written, once for many saves (PS-28)`() async throws {
        try await Self.withFolder { path in
            let (mine, theirs) = (try Self.coordinator(path), try Self.coordinator(path))
            // Nobody writes to this one, so that nothing is told of it.
            try mine.addPersistentStore(.inMemory)
            var iterator = mine.remoteChanges(every: Self.interval).makeAsyncIterator()
            let context = ManagedObjectContext(theirs)
            for number in 0..<10 {
                Artist(context: context).name = "\(number)"
                try context.save()
            }
            let first = try #require(await iterator.next())
            let newest = try #require(theirs.persistentStores.first).snapshot().generation
            #expect(first.generation == newest)

            Artist(context: context).name = "last"
            try context.save()
            let second = try #require(await iterator.next())
            #expect(second.generation == newest + 1 && second != first)
            try Self.close(theirs)
            try Self.close(mine)
        }
    }

    @Test func `the sequence ends with its task and its coordinator, and a closed store ends nothing`() async throws {
        let coordinator = PersistentStoreCoordinator(
            managedObjectModel: try ManagedObjectModel(for: musicClasses))
        let store = try coordinator.addPersistentStore(.inMemory)
        let sequence = coordinator.remoteChanges(every: Self.interval)
        let task = Task {
            for await _ in sequence { return true }
            return false
        }
        try await Task.sleep(for: .milliseconds(10))
        task.cancel()
        #expect(await task.value == false)

        try store.close()
        let other = try coordinator.addPersistentStore(.inMemory)
        var iterator = coordinator.remoteChanges(every: Self.interval).makeAsyncIterator()
        let context = ManagedObjectContext(coordinator)
        let artist = Artist(context: context)
        artist.name = "a"
        try context.assign(artist, to: other)
        try context.save()
        #expect(await iterator.next()?.storeIdentifier == other.identifier)
    }

    @Test func `an iterator whose coordinator is gone has no next element`() async throws {
        var coordinator: PersistentStoreCoordinator? = PersistentStoreCoordinator(
            managedObjectModel: try ManagedObjectModel(for: musicClasses))
        var iterator = coordinator?.remoteChanges(every: Self.interval).makeAsyncIterator()
        coordinator = nil
        #expect(await iterator?.next() == nil)
    }
}
